/*
 * The console on a stage: the real terminal code and views over a fleet that is made up, so that
 *tests of the terminal and measurements of 100,000 rows need no server. Takes the place of
 *control/fleet.c.
 *
 *	stage NAME			a board of boards.h
 *	stage N [CHANGES [EVERY_MS]]	N rows, of which CHANGES change every EVERY_MS, from a
 *thread of their own
 *
 * STAGE_ASCII, STAGE_THEME and NO_COLOR do what the options of baton do.
 */
#include "config.h"

#include "../golden/acts.h"
#include "../golden/boards.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/fleet.h"
#include "control/settings.h"
#include "tui/console.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct fleet {
	struct board *fixed, *last;
	struct big_source *big;
	struct snapshot *newest;
	pthread_mutex_t lock;
	pthread_t thread;
	size_t changes;
	int64_t every_ms, armed_until_ms;
	int fd;
	bool paused, stop, told;
};

static int64_t wall(void)
{
	return clock_wall_us(&clock_system);
}

static void *play(void *arg)
{
	struct fleet *f = arg;
	uint64_t one = 1;

	for (;;) {
		struct snapshot *snap, *old;

		usleep((useconds_t)f->every_ms * 1000);
		snap = big_source_publish(f->big, f->changes, clock_mono_ms(&clock_system), wall());
		pthread_mutex_lock(&f->lock);
		old = f->newest;
		f->newest = snap;
		if (f->stop) {
			pthread_mutex_unlock(&f->lock);
			snapshot_unref(old);
			return NULL;
		}
		pthread_mutex_unlock(&f->lock);
		snapshot_unref(old);
		if (write(f->fd, &one, sizeof(one)) < 0)
			return NULL;
	}
}

const struct clock_source *fleet_clock(const struct fleet *f)
{
	(void)f;
	return &clock_system;
}

int fleet_fd(const struct fleet *f)
{
	return f->fd;
}

struct board *fleet_board(struct fleet *f)
{
	struct thresholds thresholds = thresholds_default();
	struct snapshot *snap;
	struct board *board;
	uint64_t count;

	if (read(f->fd, &count, sizeof(count)) < 0)
		count = 0;
	if (f->fixed)
		return board_ref(f->fixed);
	pthread_mutex_lock(&f->lock);
	snap = snapshot_ref(f->newest);
	pthread_mutex_unlock(&f->lock);
	board = board_compose(&snap, 1, NULL, 0, &thresholds, f->last, NULL,
		clock_mono_ms(&clock_system), wall());
	board_unref(f->last);
	f->last = board_ref(board);
	return board;
}

size_t fleet_events(struct fleet *f, uint64_t *seq, struct event **ret, size_t max)
{
	struct journal j;
	size_t i, n = 0;

	(void)seq;
	if (f->told || !f->fixed)
		return 0;
	f->told = true;
	journal_init(&j, 16);
	boards_events(&j, wall());
	for (i = 0; i < j.n && i < max; i++) {
		const struct event *e = journal_at(&j, i);

		ret[n++] = event_copy(e);
	}
	journal_release(&j);
	return n;
}

size_t fleet_recorded_acts(struct fleet *f)
{
	(void)f;
	return 0;
}

bool fleet_each_recorded_act(struct fleet *f, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg)
{
	(void)f;
	(void)max;
	(void)each;
	(void)arg;
	return true;
}

void fleet_poll_now(struct fleet *f, const char *source)
{
	(void)f;
	(void)source;
}

void fleet_pause(struct fleet *f, bool paused)
{
	f->paused = paused;
}

void fleet_want(struct fleet *f, const char *const *ids, size_t n)
{
	(void)f;
	(void)ids;
	(void)n;
}

/* ---- a gate that is made up: release waits for its confirmation, suspend for y ---- */

struct gate {
	struct fleet *fleet;
	const struct gate_view *view;
};

struct gate *gate_begin(struct fleet *f, const struct board *board, const struct gate_want *wants,
	size_t n, const struct gate_options *options)
{
	struct gate *gate = xcalloc(1, sizeof(*gate));

	(void)board;
	(void)options;
	gate->fleet = f;
	gate->view = acts_view(n > 1                         ? "set"
			       : wants->verb == VERB_SUSPEND ? "reversible"
							     : "release");
	return gate;
}

struct gate_view *gate_look(struct gate *gate)
{
	return (struct gate_view *)(uintptr_t)gate->view;
}

void gate_view_free(struct gate_view *view)
{
	(void)view;
}

int gate_confirm(struct gate *gate, const char *typed, const char *reason, struct err *err)
{
	uint64_t one = 1;

	if (strcmp(typed, gate->view->to_type) != 0)
		return err_set(err, ERR_USAGE, "that is not %s", gate->view->to_type);
	if (gate->view->needs_reason && !*reason)
		return err_set(err, ERR_USAGE, "a reason is needed");
	gate->view = acts_view(strcmp(reason, "stay") == 0 ? "acting" : "done");
	return write(gate->fleet->fd, &one, sizeof(one)) < 0 ? ERR_IO : 0;
}

bool gate_cancel(struct gate *gate)
{
	(void)gate;
	return true;
}

void gate_close(struct gate *gate)
{
	free(gate);
}

bool gate_knows(struct fleet *f, const struct board *board, const char *id, enum verb verb)
{
	(void)f;
	(void)board;
	(void)id;
	(void)verb;
	return false;
}

void gate_hinders(struct fleet *f, const struct board *board, const struct gate_want *wants,
	size_t n, enum gate_way way, char *why[VERB_COUNT])
{
	int verb;

	(void)board;
	(void)wants;
	(void)n;
	(void)way;
	for (verb = 0; verb < VERB_COUNT; verb++) {
		why[verb] = NULL;
		if (verb == VERB_CANCEL)
			why[verb] = xstrdup("not for an etcd-election");
		else if (!f->armed_until_ms)
			why[verb] = xstrdup("read only: :arm lifts it");
	}
}

int gate_arm(struct fleet *f, const char *source, int64_t for_ms, struct err *err)
{
	if (source && strcmp(source, "west") == 0)
		return err_set(err, ERR_DENIED, "the source west is protected");
	f->armed_until_ms = clock_mono_ms(&clock_system) + for_ms;
	return 0;
}

void gate_disarm(struct fleet *f, const char *source)
{
	(void)source;
	f->armed_until_ms = 0;
}

int64_t gate_armed_ms(struct fleet *f, const char *source)
{
	int64_t left = f->armed_until_ms - clock_mono_ms(&clock_system);

	(void)source;
	return left > 0 ? left : 0;
}

const char *gate_outcome_word(enum gate_outcome outcome)
{
	return outcome == GATE_DONE ? "done" : outcome == GATE_PARTIAL ? "partial" : "";
}

static void setup(struct fleet *f, int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "mixed";
	size_t n = strtoul(what, NULL, 10);

	pthread_mutex_init(&f->lock, NULL);
	f->fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!n) {
		f->fixed = boards_make(what, clock_mono_ms(&clock_system), wall());
		return;
	}
	f->big = big_source_new(n, clock_mono_ms(&clock_system), wall());
	f->newest = big_source_publish(f->big, 0, clock_mono_ms(&clock_system), wall());
	f->changes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	f->every_ms = argc > 3 ? atoi(argv[3]) : 1000;
	if (f->changes)
		pthread_create(&f->thread, NULL, play, f);
}

int main(int argc, char **argv)
{
	struct settings settings = { .thresholds = thresholds_default() };
	struct console_options options = { .theme = getenv("STAGE_THEME"),
		.ascii = getenv("STAGE_ASCII") != NULL };
	struct fleet fleet = { 0 };
	struct err err = { 0 };
	int rc;

	options.utf8 = text_init_locale();
	options.no_color = getenv("NO_COLOR") && *getenv("NO_COLOR");
	setup(&fleet, argc, argv);
	if (!fleet.fixed && !fleet.big) {
		fprintf(stderr, "stage: no such board\n");
		return 64;
	}
	if (fleet.fixed && fleet.fixed->n_snapshots == 0)
		settings.looked_for =
			(char *)(uintptr_t) "Looked for PGHOST, PGHOSTADDR, PGSERVICE, PGDATABASE, "
					    "PGPORT and "
					    "ETCDCTL_ENDPOINTS in the environment: none is set.";
	rc = console_run(&fleet, &settings, &options, &err);
	if (rc < 0)
		fprintf(stderr, "stage: %s\n", err.text);
	if (fleet.changes) {
		pthread_mutex_lock(&fleet.lock);
		fleet.stop = true;
		pthread_mutex_unlock(&fleet.lock);
		pthread_join(fleet.thread, NULL);
	}
	board_unref(fleet.fixed);
	board_unref(fleet.last);
	snapshot_unref(fleet.newest);
	if (fleet.big)
		big_source_free(fleet.big);
	return rc < 0 ? 69 : rc;
}
