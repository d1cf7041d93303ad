#include "config.h"

#include "cli/look.h"
#include "control/gate.h"
#include "source/sim-host.h"
#include "tui/console.h"

#include <unistd.h>

enum {
	STEP_MOST_MS = 10 * 60 * 1000
};

static const char demo_hello[] = "a made-up fleet; ? help, x faster, a break it, q quit; your own: "
				 "baton init";

static const char record_hello[] =
	"a record: Z holds it, x faster, ( ) by 10 s, { } by findings, ? help";

static int64_t next_ms(void *arg, int64_t after_ms)
{
	(void)after_ms; /* where the clock stands, which the world was brought up to */
	return sim_host_story_ms(arg, STEP_MOST_MS);
}

static int64_t record_next_ms(void *arg, int64_t after_ms)
{
	return replay_next_ms(arg, after_ms);
}

static int64_t record_finding_ms(void *arg, int64_t at_ms, bool back)
{
	return replay_finding_ms(arg, at_ms, back);
}

static void console_of_sim(struct look *look, struct console_time *ret)
{
	if (!look->scenario)
		return;
	*ret = (struct console_time){
		.clock = sim_host_vclock(look->scenario->host),
		.mark = "SIM",
		.next_ms = next_ms,
		.arg = look->scenario->host,
	};
}

/* How a record's time is driven. */
static void console_of_record(struct look *look, struct console_time *ret)
{
	if (!look->replay)
		return;
	*ret = (struct console_time){
		.clock = &look->clock,
		.mark = "REPLAY",
		.next_ms = record_next_ms,
		.finding_ms = record_finding_ms,
		.first_ms = REPLAY_START_MS,
		.last_ms = replay_last_ms(look->replay),
		.arg = look->replay,
	};
}

int look_console(struct look *look, const struct cli *cli, bool armed)
{
	struct show_style style = cli_style(cli);
	struct console_options options = {
		.theme = cli->theme,
		.ascii = cli->ascii,
		.utf8 = cli->utf8,
		.no_color = !style.color,
	};
	struct console_time time = { .clock = NULL };
	struct err err = { 0 };
	int code;

	if (look->scenario)
		options.hello = demo_hello;
	else if (look->replay)
		options.hello = record_hello;
	console_of_sim(look, &time);
	console_of_record(look, &time);
	if (time.clock)
		options.time = &time;
	/* What stands still for a picture runs for the console. */
	if (look->replay) {
		vclock_pause(&look->clock, false);
		/* Who began to wait while it stood still would wait for ever. */
		fleet_poll_now(look->fleet, NULL);
	}
	if (armed && gate_arm(look->fleet, NULL, INT64_MAX, &err)) {
		look_close(look);
		return cli_fail(EXIT_CODE_CONFIG, &err);
	}
	code = console_run(look->fleet, look->settings, &options, &err);
	look_close(look);
	if (code >= 0 && err.code)
		cli_complain("%s", err.text);
	return code < 0 ? cli_fail(EXIT_CODE_FAILED, &err) : code;
}

/* Neither a config nor anything in the environment says what to look at: a newcomer, who sees the
 * built-in fleet. Whoever has a config is none, and is told that it names no source. On anything
 * but a terminal it is an error, as before. */
static bool nothing_to_look_at(const struct cli *cli)
{
	struct settings *settings = NULL;
	bool nothing;

	if (cli->config || cli->n_sources || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
		settings_load(NULL, 0, &settings, NULL))
		return false;
	nothing =
		settings->discovered && !settings->path && !settings->n_sources && !settings->note;
	settings_free(settings);
	return nothing;
}

static int demo_start(struct cli *cli)
{
	struct look look;
	int code;

	if (!cli->sim)
		cli->sim = cli->n_args ? cli->args[0] : "demo";
	code = look_open(&look, cli, false, true, NULL);
	return code ? code : look_console(&look, cli, true);
}

static int console_start(struct cli *cli)
{
	struct look look;
	int code;

	if (!cli->replay && nothing_to_look_at(cli))
		return demo_start(cli);
	code = look_open(&look, cli, false, true, NULL);
	return code ? code : look_console(&look, cli, cli->write);
}

const struct command cli_command_console = {
	.name = "console",
	.summary = "Open the console; what baton does without a command.",
	.help = "The console shows the same as list, show and watch, on a terminal of 80 by 24 or "
		"more. "
		"'?' in it lists the keys. Where neither a config nor the environment names "
		"anything to "
		"look at, it opens on the built-in fleet, as demo does.",
	.takes = TAKES_SOURCES | TAKES(REPLAY) | TAKES(AT) | TAKES(THEME) | TAKES(WRITE),
	.run = console_start,
};

const struct command cli_command_demo = {
	.name = "demo",
	.args = "[SCENARIO]",
	.most = 1,
	.completes = "scenario",
	.summary = "Open the console on a built-in fleet, where everything can be tried.",
	.help = "A fleet of some forty singletons over all mechanisms, in which things go wrong "
		"all "
		"the time. It is made up and lives in this program: nothing real is read or "
		"touched, "
		"nothing is remembered, and what is done stands in an audit of its own (audit "
		"--sim). "
		"The console is armed from the start, and its menu of verbs can break things too: "
		"crash, pause, partition. x and X change the speed of time, Z stops it, s goes to "
		"the "
		"next thing that happens. SCENARIO is the name or the file of another fleet.",
	.takes = TAKES(SOURCE) | TAKES(THEME) | TAKES(SEED),
	.run = demo_start,
};
