#include "config.h"

#include "cli/look.h"
#include "base/clock.h"
#include "base/moment.h"
#include "base/str.h"
#include "source/sim-host.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

enum {
	SPEED_REAL = 1000,
	AT_MS = 60 * 1000 /* how long a built-in fleet has lived, when it is not said */
};

/* The settings of a scenario. */
static int look_load_sim(struct look *look, const struct cli *cli, struct err *err)
{
	struct scenario_options options = { .has_seed = cli->has_seed, .seed = cli->seed };
	int rc;

	if (cli->at && !cli->has_at)
		return err_set(err, ERR_USAGE,
			"--at of a built-in fleet must be a duration such as 90s or 5m, at most "
			"31d");
	rc = scenario_load(cli->sim, &options, &look->scenario, err);
	if (rc)
		return rc == ERR_NOTFOUND ? ERR_USAGE : rc;
	look->settings = look->scenario->settings;
	return 0;
}

static void look_unload(struct look *look)
{
	if (look->scenario)
		scenario_free(look->scenario);
	else
		settings_free(look->settings);
	if (look->replay)
		vclock_release(&look->clock);
	replay_close(look->replay);
	look->replay = NULL;
	look->scenario = NULL;
	look->settings = NULL;
}

static int look_nothing(const struct look *look, struct err *err)
{
	const char *looked_for = look->settings->looked_for;

	/* More than an error's text holds: said here, whole. */
	if (looked_for && !look->quiet)
		fputs(looked_for, stderr);
	return err_set(err, ERR_CONFIG, "%s",
		!looked_for ? "the config names no source"
		: look->quiet
			? "no source to look at: there is no config that names one, nor do PG*, "
			  "ETCDCTL_* or KUBECONFIG (`baton list` tells what was looked for)"
			: "");
}

/* Whoever asks for a moment that the record does not have is told which one is shown. */
static int64_t look_within(
	const struct look *look, const char *at, const struct moment_span *span, int64_t at_us)
{
	char first[CLOCK_TEXT_MAX], last[CLOCK_TEXT_MAX];
	bool before = at_us < span->first_us;

	if (!before && at_us <= span->last_us)
		return at_us;
	clock_format_utc(first, span->first_us, 0);
	clock_format_utc(last, span->last_us, 0);
	if (!look->quiet)
		cli_complain("--at %s: the record goes from %s to %s; its %s is shown", at, first,
			last, before ? "beginning" : "end");
	return before ? span->first_us : span->last_us;
}

/* The moment of the record that is asked for. */
static int look_moment(struct look *look, const char *at, int64_t *ret_ms, struct err *err)
{
	int64_t epoch_us = replay_epoch_us(look->replay), at_us;
	struct moment_span span = {
		.first_us = epoch_us + (int64_t)REPLAY_START_MS * 1000,
		.last_us = epoch_us + replay_last_ms(look->replay) * 1000,
	};
	int rc;

	span.plus_us = span.first_us;
	span.minus_us = span.last_us;
	rc = moment_parse_meant(at ? at : "end", &span, &at_us, err);
	if (rc)
		return err_prefix(err, "--at");
	at_us = look_within(look, at, &span, at_us);
	*ret_ms = (at_us - epoch_us) / 1000;
	return 0;
}

static int look_open_record(struct look *look, const struct cli *cli, struct err *err)
{
	int64_t at_ms = 0;
	int rc = replay_open(cli->replay, &look->replay, err);

	if (!rc)
		rc = look_moment(look, cli->at, &at_ms, err);
	if (rc) {
		replay_close(look->replay);
		look->replay = NULL;
		return rc;
	}
	vclock_init(&look->clock, &clock_system, replay_epoch_us(look->replay), at_ms);
	vclock_most(&look->clock, replay_last_ms(look->replay));
	look->settings = settings_of_replay(look->replay);
	if (replay_trouble(look->replay) && !look->quiet)
		cli_complain("%s", replay_trouble(look->replay));
	return 0;
}

static int look_load(struct look *look, const struct cli *cli, struct err *err)
{
	int rc;

	if (cli->at && !cli->replay && !cli->sim)
		return err_set(err, ERR_USAGE,
			"--at is a moment of a record or of a built-in fleet: --replay or --sim");
	if (cli->replay && cli->sim)
		return err_set(err, ERR_USAGE, "--replay and --sim exclude each other");
	if (cli->config && (cli->replay || cli->sim))
		return err_set(err, ERR_USAGE,
			"--config is not read with %s, which needs no source: leave one of them "
			"out",
			cli->sim ? "--sim" : "--replay");
	rc = cli->replay ? look_open_record(look, cli, err)
	     : cli->sim  ? look_load_sim(look, cli, err)
			 : settings_load(cli->config, cli->timeout_ms, &look->settings, err);
	if (rc)
		return rc;
	if (cli->n_sources)
		rc = settings_choose(look->settings, cli->sources, cli->n_sources, err);
	if (!rc && !look->settings->n_sources)
		rc = look_nothing(look, err);
	if (rc)
		look_unload(look);
	return rc;
}

/* A built-in fleet that is driven to its moment, or one that lives. */
static void look_make_fleet(struct look *look, const struct cli *cli, bool driven)
{
	struct fleet_options options = { .clock = &clock_system,
		.one_shot = look->one_shot && !look->scenario,
		.memory = !cli->no_memory && !look->scenario,
		.sim = look->scenario != NULL };

	look->at_ms = cli->has_at ? cli->at_ms : AT_MS;
	if (look->scenario && driven) {
		look->drive = drive_new(look->scenario, &(struct drive_options){ 0 });
		look->fleet = drive_fleet(look->drive);
		return;
	}
	if (look->replay) {
		options.clock = &look->clock.source;
		options.replay = look->replay;
		options.memory = false;
	}
	if (look->scenario)
		options.clock = sim_host_clock(look->scenario->host);
	look->fleet = fleet_new(look->settings, &options);
}

int look_open(
	struct look *look, const struct cli *cli, bool one_shot, bool start, struct err *quiet)
{
	struct err err = { 0 };
	size_t i;
	int rc;

	*look = (struct look){ .one_shot = one_shot,
		.quiet = quiet != NULL,
		.left = cli->left,
		.started_ms = clock_mono_ms(&clock_system) };
	rc = look_load(look, cli, quiet ? quiet : &err);
	if (rc) {
		if (!quiet && *err.text)
			cli_complain("%s", err.text);
		/* A name that no source has is a wrong word of the command line, not of the config.
		 */
		return rc == ERR_USAGE ? EXIT_CODE_USAGE : EXIT_CODE_CONFIG;
	}
	if (look->settings->note && !quiet)
		cli_complain("%s", look->settings->note);
	for (i = 0; i < look->settings->n_sources; i++)
		if (look->settings->sources[i].timeout_ms > look->timeout_ms)
			look->timeout_ms = look->settings->sources[i].timeout_ms;
	look_make_fleet(look, cli, !start || one_shot || cli->has_at);
	if (start)
		look_start(look);
	return 0;
}

void look_start(struct look *look)
{
	if (look->drive)
		return;
	if (look->scenario) {
		vclock_set(sim_host_vclock(look->scenario->host), look->scenario->opens_ms);
		vclock_speed(sim_host_vclock(look->scenario->host), SPEED_REAL);
	}
	fleet_start(look->fleet);
}

const struct clock_source *look_clock(const struct look *look)
{
	return fleet_clock(look->fleet);
}

/* The sources keep their own deadline; half of it more is for a call that can't be interrupted. */
struct board *look_wait(struct look *look)
{
	if (look->drive) {
		drive_to(look->drive, look->at_ms);
		return drive_board(look->drive);
	}
	fleet_wait_settled(look->fleet, look->started_ms + look->timeout_ms * 3 / 2);
	return fleet_board(look->fleet);
}

int64_t look_patience_ms(const struct look *look)
{
	return look->one_shot && !look->replay ? look->timeout_ms : 0;
}

static bool look_answered(const struct snapshot *snap)
{
	return snap->state == SOURCE_OK || snap->state == SOURCE_DEGRADED;
}

static void look_complain_findings(const char *source, const struct row *row)
{
	size_t i;

	for (i = 0; row && i < row->v.n_findings; i++)
		if (row->v.findings[i].severity != SEVERITY_INFO)
			cli_complain("%s: %s: %s", source,
				finding_word(row->v.findings[i].code)->word,
				row->v.findings[i].text);
}

void look_complain(const struct look *look, const struct board *board, bool findings)
{
	struct show show = { .patience_ms = look_patience_ms(look) };
	size_t i;

	for (i = 0; i < board->n_snapshots; i++) {
		const struct snapshot *snap = board->snapshots[i];
		char why[SHOW_VAIN_MAX];
		const char *error = show_source_error(&show, snap, why, sizeof(why));

		if (error)
			cli_complain("%s: %s", snap->source, error);
		if (!findings || !look_answered(snap))
			continue;
		look_complain_findings(snap->source, snap->self);
		look_complain_findings(snap->source, board->cross ? board->cross[i] : NULL);
	}
}

static int look_code(size_t answered, size_t failed)
{
	if (!failed)
		return EXIT_CODE_OK;
	return answered ? EXIT_CODE_PARTIAL : EXIT_CODE_NO_SOURCE;
}

bool look_any_answered(const struct board *board)
{
	size_t i;

	for (i = 0; i < board->n_snapshots; i++)
		if (look_answered(board->snapshots[i]))
			return true;
	return false;
}

int look_exit_code(const struct board *board)
{
	size_t i, answered = 0;

	for (i = 0; i < board->n_snapshots; i++)
		answered += look_answered(board->snapshots[i]);
	return look_code(answered, board->n_snapshots - answered);
}

int look_exit_code_now(const struct board *board)
{
	size_t i, answered = 0, failed = 0;

	for (i = 0; i < board->n_snapshots; i++) {
		answered += look_answered(board->snapshots[i]);
		failed += board->snapshots[i]->state == SOURCE_FAILING;
	}
	return look_code(answered, failed);
}

static bool look_stop(struct look *look)
{
	struct err err = { 0 };
	int64_t wait_ms = look->timeout_ms / 4 < 500 ? look->timeout_ms / 4 : 500;
	bool all = fleet_stop(look->fleet, wait_ms);

	if (fleet_acts(look->fleet))
		cli_complain("an act that was confirmed has not ended: look at the "
			     "singleton again, and at what baton audit has of it");
	if (!look->quiet && fleet_memory_status(look->fleet, &err))
		cli_complain("the observation memory: %s", err.text);
	fleet_free(look->fleet);
	return all;
}

void look_close(struct look *look)
{
	bool all = true;

	if (look->drive)
		drive_free(look->drive);
	else if (look->fleet)
		all = look_stop(look);
	/* A thread that was left behind may still use them. */
	if (all)
		look_unload(look);
	else
		*look->left = true;
	*look = (struct look){ .settings = NULL };
}

int look_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

bool look_signalled(int signals)
{
	struct pollfd fd = { .fd = signals, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}
