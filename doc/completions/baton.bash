# bash completion for baton; made by doc/update.py

_baton_ask() {
	# What the sources say now; silent, and at most a second. The config that is being asked for counts.
	local config=() i
	for ((i = 1; i < COMP_CWORD - 1; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --config) config=(--config "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	"${COMP_WORDS[0]}" "${config[@]}" __complete "$1" 2>/dev/null
}

_baton() {
	local cur prev words cword command="" i
	if declare -F _init_completion >/dev/null; then
		# Ids hold colons: they are no separators here.
		_init_completion -n := || return
	else
		cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	fi
	COMPREPLY=()
	for ((i = 1; i < cword; i++)); do
		case ${words[i]} in
		-c | --config | -s | --source | --timeout | --state | --ignore | --color | --theme | --expect | --expect-token | --reason | --sim | --at | --seed | --script | --inject | --replay | --for | --most) ((i++)) ;;
		-*) ;;
		*)
			command=${words[i]}
			break
			;;
		esac
	done
	case $prev in
	-c | --config)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-s | --source)
		mapfile -t COMPREPLY < <(compgen -W "$(_baton_ask sources)" -- "$cur")
		return
		;;
	--timeout)
		:
		return
		;;
	--state)
		mapfile -t COMPREPLY < <(compgen -W 'DUPLICATE STALE ORPHAN STUCK EXPIRING CONTENDED HELD SUSPENDED FREE UNKNOWN' -- "$cur")
		return
		;;
	--ignore)
		mapfile -t COMPREPLY < <(compgen -W 'dup-run dup-slot dup-pod dup-holder dup-identity token-regress two-primaries flapping same-holder-new-session stale-holder no-lease prepared-holder idle-holder working-holder pooled-holder lock-cycle no-successor possible-overlap forbid-blocked stuck-run missed-slots late-run retry-ran-again orphan-run dangling-active pile-up never-runs unknown-zone zone-in-schedule short-deadline name-too-long resume-starts lost-holder unproven-holder preferred-missing all-stale controllers-stopped old-heartbeats key-collision on-standby unsupported-server lock-table hidden read-only-cluster endpoints-disagree ttl-extended mass-expiry clock-skew unfenced-harmful overkill no-mechanism' -- "$cur")
		return
		;;
	--color)
		mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
		return
		;;
	--theme)
		mapfile -t COMPREPLY < <(compgen -W 'contrast dark light mono okabe-ito' -- "$cur")
		return
		;;
	--expect)
		:
		return
		;;
	--expect-token)
		:
		return
		;;
	--reason)
		:
		return
		;;
	--sim)
		mapfile -t COMPREPLY < <(compgen -f -W "$(_baton_ask scenarios)" -- "$cur")
		return
		;;
	--at)
		:
		return
		;;
	--seed)
		:
		return
		;;
	--script)
		:
		return
		;;
	--inject)
		:
		return
		;;
	--replay)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--for)
		:
		return
		;;
	--most)
		:
		return
		;;
	esac
	if [[ $cur == -* ]]; then
		local options='--config --source --timeout --json --state --ignore --no-memory --color --ascii --theme --print --expect --expect-token --reason --yes --write --force --sim --at --seed --script --inject --results --replay --for --most --redact --help --version -c -s -h -V'
		case $command in
		console) options='--config -c --source -s --timeout --no-memory --color --ascii --theme --write --at --replay --help -h --version -V' ;;
		list) options='--config -c --source -s --timeout --json --state --no-memory --color --ascii --sim --at --seed --replay --help -h --version -V' ;;
		show) options='--config -c --source -s --timeout --json --no-memory --color --ascii --sim --at --seed --replay --help -h --version -V' ;;
		watch) options='--config -c --source -s --timeout --json --state --no-memory --color --ascii --sim --at --seed --replay --help -h --version -V' ;;
		check) options='--config -c --source -s --timeout --json --ignore --no-memory --color --ascii --sim --at --seed --replay --help -h --version -V' ;;
		forecast) options='--config -c --source -s --timeout --json --no-memory --color --ascii --expect --expect-token --sim --at --seed --help -h --version -V' ;;
		act) options='--config -c --source -s --timeout --json --no-memory --color --ascii --expect --expect-token --reason --yes --sim --at --seed --help -h --version -V' ;;
		record) options='--config -c --source -s --timeout --no-memory --color --ascii --force --sim --at --seed --for --most --redact --help -h --version -V' ;;
		replay) options='--config -c --source -s --color --ascii --theme --at --help -h --version -V' ;;
		audit) options='--config -c --json --color --ascii --sim --help -h --version -V' ;;
		demo) options='--config -c --source -s --color --ascii --theme --seed --help -h --version -V' ;;
		train) options='--config -c --json --color --ascii --theme --seed --script --inject --results --help -h --version -V' ;;
		doctor) options='--config -c --source -s --timeout --json --no-memory --color --ascii --help -h --version -V' ;;
		init) options='--config -c --color --ascii --print --force --help -h --version -V' ;;
		help) options='--config -c --color --ascii --help -h --version -V' ;;
		version) options='--config -c --json --color --ascii --help -h --version -V' ;;
		esac
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		return
	fi
	local IFS=$'\n'
	case $command in
	"") mapfile -t COMPREPLY < <(compgen -W $'console\nlist\nshow\nwatch\ncheck\nforecast\nact\nrecord\nreplay\naudit\ndemo\ntrain\ndoctor\ninit\nhelp\nversion' -- "$cur") ;;
	show) mapfile -t COMPREPLY < <(compgen -W "$(_baton_ask ids)" -- "$cur") ;;
	forecast)
		if [[ $prev == step-down || $prev == cancel || $prev == release || $prev == revoke || $prev == keep-one || $prev == suspend || $prev == resume || $prev == trigger || $prev == ask || $prev == stop || $prev == start || $prev == restart || $prev == isolate || $prev == rejoin || $prev == fence || $prev == mend || $prev == unhold || $prev == apply || $prev == apply-guarded || $prev == crash || $prev == pause || $prev == partition || $prev == skew-clock || $prev == kill-connection || $prev == drain-node ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_baton_ask ids)" -- "$cur")
		else
			mapfile -t COMPREPLY < <(IFS=' ' compgen -W 'step-down cancel release revoke keep-one suspend resume trigger ask stop start restart isolate rejoin fence mend unhold apply apply-guarded crash pause partition skew-clock kill-connection drain-node' -- "$cur")
		fi
		;;
	act)
		if [[ $prev == step-down || $prev == cancel || $prev == release || $prev == revoke || $prev == keep-one || $prev == suspend || $prev == resume || $prev == trigger || $prev == ask || $prev == stop || $prev == start || $prev == restart || $prev == isolate || $prev == rejoin || $prev == fence || $prev == mend || $prev == unhold || $prev == apply || $prev == apply-guarded || $prev == crash || $prev == pause || $prev == partition || $prev == skew-clock || $prev == kill-connection || $prev == drain-node ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_baton_ask ids)" -- "$cur")
		else
			mapfile -t COMPREPLY < <(IFS=' ' compgen -W 'step-down cancel release revoke keep-one suspend resume trigger ask stop start restart isolate rejoin fence mend unhold apply apply-guarded crash pause partition skew-clock kill-connection drain-node' -- "$cur")
		fi
		;;
	demo) mapfile -t COMPREPLY < <(compgen -f -W "$(_baton_ask scenarios)" -- "$cur") ;;
	train) mapfile -t COMPREPLY < <(compgen -W "$(_baton_ask lessons)" -- "$cur") ;;
	help) mapfile -t COMPREPLY < <(compgen -W $'console\nlist\nshow\nwatch\ncheck\nforecast\nact\nrecord\nreplay\naudit\ndemo\ntrain\ndoctor\ninit\nhelp\nversion' -- "$cur") ;;
	esac
	if declare -F __ltrim_colon_completions >/dev/null; then
		__ltrim_colon_completions "$cur"
	fi
}

complete -F _baton baton
