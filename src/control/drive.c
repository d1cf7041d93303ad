#include "config.h"

#include "control/drive.h"
#include "base/mem.h"
#include "control/fleet.h"
#include "control/session.h"
#include "control/settings.h"
#include "source/sim-host.h"

#include <stdlib.h>

enum {
	GATE_MOST_MS = 3600 * 1000
};

struct drive {
	struct scenario *scenario;
	struct fleet *fleet;
	int64_t *polled_ms; /* of each session: when its news was last looked at */
	size_t n;
};

struct drive *drive_new(struct scenario *scenario, const struct drive_options *options)
{
	struct fleet_options fleet = {
		.clock = sim_host_clock(scenario->host),
		.state_dir = options->state_dir,
		.sim = true,
	};
	struct drive *d = xcalloc(1, sizeof(*d));
	struct session *s;
	size_t i;

	d->scenario = scenario;
	d->fleet = fleet_new(scenario->settings, &fleet);
	for (; fleet_session_at(d->fleet, d->n); d->n++)
		;
	d->polled_ms = xcalloc(d->n + 1, sizeof(*d->polled_ms));
	for (i = 0; (s = fleet_session_at(d->fleet, i)) != NULL; i++) {
		session_step_begin(s);
		d->polled_ms[i] = INT64_MIN / 2;
	}
	return d;
}

void drive_free(struct drive *d)
{
	struct session *s;
	size_t i;

	if (!d)
		return;
	for (i = 0; (s = fleet_session_at(d->fleet, i)) != NULL; i++)
		session_step_end(s);
	fleet_stop(d->fleet, 0);
	fleet_free(d->fleet);
	free(d->polled_ms);
	free(d);
}

struct fleet *drive_fleet(struct drive *d)
{
	return d->fleet;
}

int64_t drive_now_ms(struct drive *d)
{
	return clock_mono_ms(sim_host_clock(d->scenario->host));
}

struct board *drive_board(struct drive *d)
{
	return fleet_board(d->fleet);
}

/* When the next event of the world may be seen: on a grid, so that a busy world does not make a
 * picture of each of its moments. */
static int64_t next_news_ms(const struct drive *d)
{
	int64_t next_ms = sim_host_next_ms(d->scenario->host);

	return next_ms > INT64_MAX - DRIVE_NEWS_MS
		       ? INT64_MAX
		       : (next_ms + DRIVE_NEWS_MS - 1) / DRIVE_NEWS_MS * DRIVE_NEWS_MS;
}

/* Does what is due in one session; returns when it wants to be called again. */
static int64_t step_session(struct drive *d, size_t i, int64_t now_ms)
{
	struct session *s = fleet_session_at(d->fleet, i);
	bool news = false;

	if (s->state && now_ms - d->polled_ms[i] >= DRIVE_NEWS_MS) {
		news = sim_changed(s->state);
		d->polled_ms[i] = now_ms;
	}
	return session_step(s, news);
}

/* Does all that is due now; returns when something is due next. */
static int64_t step_all(struct drive *d)
{
	int64_t now_ms = drive_now_ms(d), next_ms, due_ms;
	size_t i;

	/* The world first: what is polled is as of this moment. */
	sim_host_enter(d->scenario->host);
	sim_host_leave(d->scenario->host);
	next_ms = next_news_ms(d);
	for (i = 0; i < d->n; i++) {
		due_ms = step_session(d, i, now_ms);
		if (due_ms < next_ms)
			next_ms = due_ms;
	}
	return next_ms > now_ms ? next_ms : now_ms + 1;
}

bool drive_step(struct drive *d, int64_t at_ms)
{
	int64_t next_ms = step_all(d);
	bool before = next_ms < at_ms;

	vclock_set(sim_host_vclock(d->scenario->host), before ? next_ms : at_ms);
	return before;
}

void drive_to(struct drive *d, int64_t at_ms)
{
	if (at_ms > drive_now_ms(d))
		while (drive_step(d, at_ms))
			;
	step_all(d);
}

struct gate_view *drive_gate(struct drive *d, struct gate *gate, enum gate_phase phase)
{
	int64_t most_ms = drive_now_ms(d) + GATE_MOST_MS;
	size_t steps = SIZE_MAX;

	for (;;) {
		struct gate_view *view = gate_look(gate);
		bool further = view->n_steps != steps;

		if (view->phase >= phase || drive_now_ms(d) >= most_ms)
			return view;
		steps = view->n_steps;
		gate_view_free(view);
		/* What a source's thread would do at once takes none of the world's time. */
		if (further)
			step_all(d);
		else
			drive_step(d, most_ms);
	}
}

struct gate_view *drive_act(struct drive *d, const struct gate_want *want, const char *reason)
{
	struct gate_options options = {
		.way = GATE_WAY_COMMAND, .agreed = reason, .forecast_only = !reason
	};
	struct board *board = drive_board(d);
	struct gate *gate = gate_begin(d->fleet, board, want, 1, &options);
	struct gate_view *view = drive_gate(d, gate, GATE_PHASE_OVER);

	gate_close(gate);
	board_unref(board);
	step_all(d);
	return view;
}
