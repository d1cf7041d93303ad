#include "config.h"

#include "cli/command.h"

const struct cli_option cli_options[OPT_COUNT] = {
	[OPT_CONFIG] = { .name = "config",
		.letter = 'c',
		.value = "FILE",
		.completes = "file",
		.help = "Read this config instead of BATON_CONFIG or the default one." },
	[OPT_SOURCE] = { .name = "source",
		.letter = 's',
		.value = "NAME",
		.completes = "source",
		.help = "Look at this source only. May be given several times." },
	[OPT_TIMEOUT] = { .name = "timeout",
		.value = "SECONDS",
		.help = "The deadline for each source, by default 5 or what the config says. A "
			"command that "
			"makes one picture ends within twice that, whatever hangs." },
	[OPT_JSON] = { .name = "json", .help = "Write JSON, as baton-1.schema.json describes it." },
	[OPT_STATE] = { .name = "state",
		.value = "STATE",
		.completes = "state",
		.help = "Only singletons in this state; a word may be cut short. May be given "
			"several times." },
	[OPT_IGNORE] = { .name = "ignore",
		.value = "FINDING",
		.completes = "finding",
		.help = "Pass over findings of this code. May be given several times." },
	[OPT_NO_MEMORY] = { .name = "no-memory",
		.help = "Neither read nor write what was observed before." },
	[OPT_COLOR] = { .name = "color",
		.value = "WHEN",
		.choices = "auto|always|never",
		.help = "Colour the text: auto (a terminal, and NO_COLOR is not set), always or "
			"never." },
	[OPT_ASCII] = { .name = "ascii",
		.help = "Draw with ASCII only, whatever the locale says." },
	[OPT_THEME] = { .name = "theme",
		.value = "NAME",
		.completes = "theme",
		.help = "The console's theme." },
	[OPT_PRINT] = { .name = "print", .help = "Print the config instead of writing the file." },
	[OPT_EXPECT] = { .name = "expect",
		.value = "KEY-OR-HOLDER",
		.help = "Whom a verb is meant for: a key as list --json prints it, or an identity. "
			"If that one does "
			"not hold it any more, nothing is sent; an identity that several hold is "
			"refused, with their keys." },
	[OPT_EXPECT_TOKEN] = { .name = "expect-token",
		.value = "N",
		.help = "The fencing token that the singleton must have." },
	[OPT_REASON] = { .name = "reason",
		.value = "TEXT",
		.help = "Why; it is recorded with the act." },
	[OPT_YES] = { .name = "yes",
		.help = "Confirm beforehand. It stands for what would else be typed." },
	[OPT_WRITE] = { .name = "write",
		.help = "Start the console armed for every source that is not protected, instead "
			"of read only." },
	[OPT_FORCE] = { .name = "force", .help = "Replace the file that is there." },
	[OPT_SIM] = { .name = "sim",
		.value = "SCENARIO",
		.completes = "scenario",
		.help = "Look at a built-in fleet instead of real systems: a scenario's name "
			"(demo) or "
			"file. Nothing else is read, and nothing real is touched; what is done "
			"stands "
			"in an audit of its own." },
	[OPT_AT] = { .name = "at",
		.value = "TIME",
		.help = "With --sim: how long the fleet has lived at the moment of the picture, by "
			"default 60s. watch prints what changed until then, without waiting, and "
			"ends; without --at it goes on at the speed of life. With --replay: the "
			"moment of the record, by default its end: 2026-01-02T03:04:05Z, 03:04 "
			"(UTC), +90s or 5m from its beginning, -5m from its end, start or end." },
	[OPT_SEED] = { .name = "seed",
		.value = "N",
		.help = "With --sim and train: another seed than the scenario's. The same seed "
			"gives the "
			"same "
			"fleet, byte for byte." },
	[OPT_SCRIPT] = { .name = "script",
		.value = "WAY",
		.help = "Play this way of the lesson, or a file of steps, without a screen." },
	[OPT_INJECT] = { .name = "inject",
		.value = "FAULT",
		.help = "One more fault for the lesson: 'at: 40s, pause: {process: worker-a, for: "
			"20s}'." },
	[OPT_RESULTS] = { .name = "results", .help = "List what lessons gave that were played." },
	[OPT_REPLAY] = { .name = "replay",
		.value = "FILE",
		.completes = "file",
		.help = "Look at this record, which baton record or R in the console wrote, "
			"instead of at sources." },
	[OPT_FOR] = { .name = "for",
		.value = "DURATION",
		.help = "Stop after so long: 90s, 5m, 8h. Of a built-in fleet it is the fleet's "
			"own time." },
	[OPT_MOST] = { .name = "most",
		.value = "SIZE",
		.help = "Stop before the file is larger than that: 500k, 100M, 2G. By default "
			"there is no bound." },
	[OPT_REDACT] = { .name = "redact",
		.help = "Replace names (identities, hosts, users, databases, namespaces, pods, "
			"nodes, queries, addresses), the same one always by the same, and leave "
			"sentences out." },
	[OPT_HELP] = { .name = "help", .letter = 'h', .help = "Explain the command, and stop." },
	[OPT_VERSION] = { .name = "version",
		.letter = 'V',
		.help = "Print the version, and stop." },
};
