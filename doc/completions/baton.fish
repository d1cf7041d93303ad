# fish completion for baton; made by doc/update.py

complete -c baton -f
set -l commands console list show watch check forecast act audit doctor init help version
set -l none "not __fish_seen_subcommand_from $commands"

complete -c baton -n "$none" -a console -d 'Open the console'
complete -c baton -n "$none" -a list -d 'Print one picture of all singletons'
complete -c baton -n "$none" -a show -d 'Print everything known about one singleton'
complete -c baton -n "$none" -a watch -d 'Print a line for each change'
complete -c baton -n "$none" -a check -d 'For monitoring'
complete -c baton -n "$none" -a forecast -d 'Say what a verb would do to one singleton'
complete -c baton -n "$none" -a act -d 'Carry out a verb on one singleton'
complete -c baton -n "$none" -a audit -d 'Print what was done'
complete -c baton -n "$none" -a doctor -d 'Examine each source'
complete -c baton -n "$none" -a init -d 'Write a commented config'
complete -c baton -n "$none" -a help -d 'Explain the program'
complete -c baton -n "$none" -a version -d 'Print the version'

complete -c baton -s c -l config -r -F -d 'Read this config instead of BATON_CONFIG or the default one'
complete -c baton -n "$none; or __fish_seen_subcommand_from console list show watch check forecast act doctor" -s s -l source -x -a '(baton __complete sources 2>/dev/null)' -d 'Look at this source only'
complete -c baton -n "$none; or __fish_seen_subcommand_from console list show watch check forecast act doctor" -l timeout -x -d 'The deadline for each source'
complete -c baton -n "$none; or __fish_seen_subcommand_from list show watch check forecast act audit doctor version" -l json -d 'Write JSON'
complete -c baton -n "$none; or __fish_seen_subcommand_from list watch" -l state -x -a 'DUPLICATE STALE ORPHAN STUCK EXPIRING CONTENDED HELD SUSPENDED FREE UNKNOWN' -d 'Only singletons in this state'
complete -c baton -n "$none; or __fish_seen_subcommand_from check" -l ignore -x -a 'dup-run dup-slot dup-pod dup-holder dup-identity token-regress two-primaries flapping same-holder-new-session stale-holder no-lease prepared-holder idle-holder working-holder pooled-holder lock-cycle no-successor possible-overlap forbid-blocked stuck-run missed-slots late-run retry-ran-again orphan-run dangling-active pile-up never-runs unknown-zone zone-in-schedule short-deadline name-too-long resume-starts lost-holder unproven-holder preferred-missing controllers-stopped old-heartbeats key-collision on-standby unsupported-server lock-table hidden read-only-cluster endpoints-disagree ttl-extended mass-expiry clock-skew all-stale unfenced-harmful overkill no-mechanism' -d 'Pass over findings of this code'
complete -c baton -n "$none; or __fish_seen_subcommand_from console list show watch check forecast act doctor" -l no-memory -d 'Neither read nor write what was observed before'
complete -c baton -l color -x -a 'auto always never' -d 'Colour the text'
complete -c baton -l ascii -d 'Draw with ASCII only'
complete -c baton -n "$none; or __fish_seen_subcommand_from console" -l theme -x -a 'contrast dark light mono okabe-ito' -d 'The console\'s theme'
complete -c baton -n "$none; or __fish_seen_subcommand_from init" -l print -d 'Print the config instead of writing the file'
complete -c baton -n "$none; or __fish_seen_subcommand_from forecast act" -l expect -x -d 'Whom a verb is meant for'
complete -c baton -n "$none; or __fish_seen_subcommand_from forecast act" -l expect-token -x -d 'The fencing token that the singleton must have'
complete -c baton -n "$none; or __fish_seen_subcommand_from act" -l reason -x -d 'Why'
complete -c baton -n "$none; or __fish_seen_subcommand_from act" -l yes -d 'Confirm beforehand'
complete -c baton -n "$none; or __fish_seen_subcommand_from console" -l write -d 'Start the console armed for every source that is not protected'
complete -c baton -n "$none; or __fish_seen_subcommand_from init" -l force -d 'Replace the file that is there'
complete -c baton -s h -l help -d 'Explain the command'
complete -c baton -s V -l version -d 'Print the version'

complete -c baton -n '__fish_seen_subcommand_from show' -a '(baton __complete ids 2>/dev/null)'
complete -c baton -n '__fish_seen_subcommand_from forecast' -a 'step-down cancel release revoke keep-one suspend resume trigger (baton __complete ids 2>/dev/null)'
complete -c baton -n '__fish_seen_subcommand_from act' -a 'step-down cancel release revoke keep-one suspend resume trigger (baton __complete ids 2>/dev/null)'
complete -c baton -n '__fish_seen_subcommand_from help' -a 'console list show watch check forecast act audit doctor init help version'
