#include "config.h"

#include "cli/look.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int look_load(struct look *look, const struct cli *cli, struct err *err)
{
	int rc = settings_load(cli->config, cli->timeout_ms, &look->settings, err);

	if (rc)
		return rc;
	if (cli->n_sources)
		rc = settings_choose(look->settings, cli->sources, cli->n_sources, err);
	if (!rc && !look->settings->n_sources) {
		/* More than an error's text holds: said here, whole. */
		if (look->settings->looked_for && !look->quiet)
			fputs(look->settings->looked_for, stderr);
		rc = err_set(err, ERR_CONFIG, "%s",
			!look->settings->looked_for ? "the config names no source"
			: look->quiet               ? look->settings->looked_for
						    : "");
	}
	if (rc) {
		settings_free(look->settings);
		look->settings = NULL;
	}
	return rc;
}

int look_open(
	struct look *look, const struct cli *cli, bool one_shot, bool start, struct err *quiet)
{
	struct fleet_options options = {
		.clock = &clock_system, .one_shot = one_shot, .memory = !cli->no_memory
	};
	struct err err = { 0 };
	size_t i;
	int rc;

	*look = (struct look){ .one_shot = one_shot,
		.quiet = quiet != NULL,
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
	look->fleet = fleet_new(look->settings, &options);
	if (start)
		fleet_start(look->fleet);
	return 0;
}

/* The sources keep their own deadline; half of it more is for a call that can't be interrupted. */
struct board *look_wait(struct look *look)
{
	fleet_wait_settled(look->fleet, look->started_ms + look->timeout_ms * 3 / 2);
	return fleet_board(look->fleet);
}

int64_t look_patience_ms(const struct look *look)
{
	return look->one_shot ? look->timeout_ms : 0;
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

void look_close(struct look *look)
{
	struct err err = { 0 };
	bool all = true;
	int64_t wait_ms = look->timeout_ms / 4 < 500 ? look->timeout_ms / 4 : 500;

	if (look->fleet) {
		all = fleet_stop(look->fleet, wait_ms);
		if (fleet_acts(look->fleet))
			cli_complain("an act that was confirmed has not ended: look at the "
				     "singleton again, and at what baton audit has of it");
		if (!look->quiet && fleet_memory_status(look->fleet, &err))
			cli_complain("the observation memory: %s", err.text);
		fleet_free(look->fleet);
	}
	/* A thread that was left behind may still use them. */
	if (all)
		settings_free(look->settings);
	*look = (struct look){ .settings = NULL };
}
