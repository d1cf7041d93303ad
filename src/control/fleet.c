#include "config.h"

#include "control/fleet.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "control/audit.h"
#include "control/memory-file.h"
#include "control/session.h"
#include "control/settings.h"
#include "source/replay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	JOURNAL_MOST = 5000,
	RECORDED_ACTS_BYTES = 64 * 1024 * 1024,
	FREE_MOST = 20000,        /* rows */
	ACTS_WAIT_MS = 12 * 1000, /* longer than the audit's lock is waited for */
};

struct fleet {
	const struct settings *settings;
	struct session_shared shared;
	char *state_dir;
	const struct replay *replay; /* NULL: live */
	struct session *sessions;
	size_t n;
	struct board *board; /* the last one that was given out */
	struct memory past;  /* of the roles, which no one source's memory can keep */
	struct memory_file past_file;
	struct audit audit;
	int fd;
	bool abandoned;        /* a thread hangs, and may still use all this */
	pthread_mutex_t mutex; /* guards the journal, acts, and the wait for news */
	pthread_cond_t news;
	struct journal journal;
	size_t acts; /* confirmed, and not over */
};

static void fleet_published(void *arg)
{
	struct fleet *fleet = arg;
	uint64_t one = 1;

	if (write(fleet->fd, &one, sizeof(one)) < 0)
		one = 0; /* a counter that is full is readable as well */
	pthread_mutex_lock(&fleet->mutex);
	pthread_cond_broadcast(&fleet->news);
	pthread_mutex_unlock(&fleet->mutex);
}

static void fleet_event(void *arg, struct event *event)
{
	struct fleet *fleet = arg;

	pthread_mutex_lock(&fleet->mutex);
	journal_add(&fleet->journal, event);
	pthread_mutex_unlock(&fleet->mutex);
}

/* Roles of two programs may be called the same: what is remembered of one that is not in our config
 * only lies there. */
static void fleet_open_past(struct fleet *fleet)
{
	struct err err = { 0 };

	memory_init(&fleet->past);
	if (!fleet->state_dir || !fleet->settings->n_roles)
		return;
	if (memory_file_init(&fleet->past_file, fleet->state_dir, "role", "board", "all", &err) ||
		memory_file_load(&fleet->past_file, &fleet->past, &err))
		fleet_event(fleet, event_new(clock_wall_us(fleet->shared.clock), 0, "role", NULL,
					   "source", err.text));
	fleet->past.dirty = false;
}

static void fleet_save_past(struct fleet *fleet)
{
	if (fleet->past_file.path && fleet->past.dirty)
		memory_file_save(&fleet->past_file, &fleet->past, NULL);
}

struct fleet *fleet_new(const struct settings *settings, const struct fleet_options *options)
{
	struct fleet *fleet = xcalloc(1, sizeof(*fleet));
	pthread_condattr_t attr;
	size_t i;

	fleet->settings = settings;
	fleet->replay = options->replay;
	fleet->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&fleet->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fleet->news, &attr);
	pthread_condattr_destroy(&attr);
	journal_init(&fleet->journal, JOURNAL_MOST);
	if (options->memory && options->state_dir)
		fleet->state_dir = xstrdup(options->state_dir);
	else if (options->memory && fs_state_dir(&fleet->state_dir, NULL))
		fleet->state_dir = NULL;
	fleet->shared = (struct session_shared){
		.clock = options->clock,
		.roles = settings->roles,
		.n_roles = settings->n_roles,
		.thresholds = &settings->thresholds,
		.state_dir = fleet->state_dir,
		.one_shot = options->one_shot,
		.published = fleet_published,
		.event = fleet_event,
		.arg = fleet,
	};
	if (options->sim)
		audit_init_sim(&fleet->audit, options->state_dir);
	else
		audit_init(&fleet->audit, options->state_dir);
	fleet->audit.program = settings->audit_program;
	fleet->audit.syslog = settings->audit_syslog;
	fleet_open_past(fleet);
	fleet->n = settings->n_sources;
	fleet->sessions = xcalloc(fleet->n, sizeof(*fleet->sessions));
	for (i = 0; i < fleet->n; i++)
		session_init(&fleet->sessions[i], &fleet->shared, &settings->sources[i]);
	return fleet;
}

const struct clock_source *fleet_clock(const struct fleet *fleet)
{
	return fleet->shared.clock;
}

void fleet_start(struct fleet *fleet)
{
	size_t i;

	for (i = 0; i < fleet->n; i++) {
		struct err err = { 0 };

		if (session_start(&fleet->sessions[i], &err))
			fleet_event(fleet,
				event_new(clock_wall_us(fleet->shared.clock), 0,
					fleet->sessions[i].config->name, NULL, "source", err.text));
	}
}

static bool session_is_finished(struct session *s)
{
	bool finished;

	pthread_mutex_lock(&s->mutex);
	finished = s->finished || !s->started;
	pthread_mutex_unlock(&s->mutex);
	return finished;
}

static bool fleet_finished(struct fleet *fleet)
{
	size_t i;

	for (i = 0; i < fleet->n; i++)
		if (!session_is_finished(&fleet->sessions[i]))
			return false;
	return true;
}

/*
 * Waits until something is so, or the deadline. The condition is asked outside the lock, as it
 * takes the sessions' own: a news between the question and the wait would be missed, so no wait is
 * longer than a moment.
 */
static bool fleet_wait(struct fleet *fleet, bool (*so)(struct fleet *fleet), int64_t deadline_ms)
{
	enum {
		MOMENT_MS = 20
	};

	while (!so(fleet)) {
		int64_t now = clock_mono_ms(&clock_system), left = deadline_ms - now;
		struct timespec until;

		if (left <= 0)
			return false;
		if (left > MOMENT_MS)
			left = MOMENT_MS;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += left * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&fleet->mutex);
		pthread_cond_timedwait(&fleet->news, &fleet->mutex, &until);
		pthread_mutex_unlock(&fleet->mutex);
	}
	return true;
}

void fleet_act_begins(struct fleet *fleet)
{
	pthread_mutex_lock(&fleet->mutex);
	fleet->acts++;
	pthread_mutex_unlock(&fleet->mutex);
}

void fleet_act_ends(struct fleet *fleet)
{
	pthread_mutex_lock(&fleet->mutex);
	fleet->acts--;
	pthread_cond_broadcast(&fleet->news);
	pthread_mutex_unlock(&fleet->mutex);
}

size_t fleet_acts(struct fleet *fleet)
{
	size_t n;

	pthread_mutex_lock(&fleet->mutex);
	n = fleet->acts;
	pthread_mutex_unlock(&fleet->mutex);
	return n;
}

static bool fleet_acts_over(struct fleet *fleet)
{
	return fleet_acts(fleet) == 0;
}

/* A thread that hangs in a call is left behind, but not an act that was confirmed: it may be sent
 * and unrecorded. */
static void fleet_wait_ended(struct fleet *fleet, int64_t wait_ms)
{
	int64_t end_ms = clock_mono_ms(&clock_system) + wait_ms;

	if (fleet_wait(fleet, fleet_finished, end_ms) || fleet_acts_over(fleet))
		return;
	fleet_wait(fleet, fleet_acts_over, end_ms + ACTS_WAIT_MS);
	fleet_wait(fleet, fleet_finished, clock_mono_ms(&clock_system) + wait_ms);
}

bool fleet_stop(struct fleet *fleet, int64_t wait_ms)
{
	size_t i;

	for (i = 0; i < fleet->n; i++)
		session_signal(&fleet->sessions[i], true, false);
	fleet_save_past(fleet);
	fleet_wait_ended(fleet, wait_ms);
	for (i = 0; i < fleet->n; i++) {
		struct session *s = &fleet->sessions[i];

		if (!s->started || s->joined)
			continue;
		if (session_is_finished(s)) {
			pthread_join(s->thread, NULL);
		} else {
			/* Nobody waits for its end any more. */
			pthread_detach(s->thread);
			fleet->abandoned = true;
		}
		s->joined = true;
	}
	return !fleet->abandoned;
}

void fleet_free(struct fleet *fleet)
{
	size_t i;

	/* A great many rows take longer to free one by one than the kernel takes to drop them all.
	 */
	if (!fleet || fleet->abandoned || (fleet->board && fleet->board->n_rows > FREE_MOST))
		return;
	board_unref(fleet->board);
	for (i = 0; i < fleet->n; i++)
		session_release(&fleet->sessions[i]);
	free(fleet->sessions);
	journal_release(&fleet->journal);
	memory_release(&fleet->past);
	memory_file_release(&fleet->past_file);
	audit_release(&fleet->audit);
	pthread_cond_destroy(&fleet->news);
	pthread_mutex_destroy(&fleet->mutex);
	close(fleet->fd);
	free(fleet->state_dir);
	free(fleet);
}

int fleet_fd(const struct fleet *fleet)
{
	return fleet->fd;
}

/* What a record says of the roles and across the sources is not judged again. */
static void fleet_judged_before(struct fleet *fleet, struct board *board)
{
	size_t i;

	for (i = 0; i < board->n_roles; i++)
		board_set_role(board, i,
			replay_role(fleet->replay, board->mono_ms, board->roles[i].role->name));
	for (i = 0; i < board->n_snapshots; i++)
		board_set_cross(board, i,
			replay_cross(fleet->replay, board->mono_ms, board->snapshots[i]->source));
}

struct board *fleet_board(struct fleet *fleet)
{
	struct snapshot **snapshots = xcalloc(fleet->n, sizeof(*snapshots));
	struct board *board;
	uint64_t count;
	size_t i;

	if (read(fleet->fd, &count, sizeof(count)) < 0)
		count = 0; /* nothing new: compose all the same, time has passed */
	for (i = 0; i < fleet->n; i++)
		snapshots[i] = session_snapshot(&fleet->sessions[i]);
	board = board_compose(snapshots, fleet->n, fleet->shared.roles, fleet->shared.n_roles,
		fleet->shared.thresholds, fleet->board, &fleet->past,
		clock_mono_ms(fleet->shared.clock), clock_wall_us(fleet->shared.clock));
	board->sim = fleet->settings->sim;
	board->record = fleet->settings->past;
	if (fleet->replay)
		fleet_judged_before(fleet, board);
	else
		board_remember(board, &fleet->past);
	free(snapshots);
	board_unref(fleet->board);
	fleet->board = board_ref(board);
	return board;
}

static bool fleet_all_settled(struct fleet *fleet)
{
	size_t i;

	for (i = 0; i < fleet->n; i++) {
		struct session *s = &fleet->sessions[i];
		struct snapshot *snap = session_snapshot(s);
		bool settled = snap->state != SOURCE_CONNECTING || session_is_finished(s);

		snapshot_unref(snap);
		if (!settled)
			return false;
	}
	return true;
}

bool fleet_settled(const struct fleet *fleet)
{
	return fleet_all_settled((struct fleet *)(uintptr_t)fleet);
}

bool fleet_wait_settled(struct fleet *fleet, int64_t deadline_ms)
{
	return fleet_wait(fleet, fleet_all_settled, deadline_ms);
}

size_t fleet_events(struct fleet *fleet, uint64_t *seq, struct event **ret, size_t max)
{
	size_t n = 0, i;

	if (fleet->replay)
		return replay_events(fleet->replay, clock_mono_ms(fleet->shared.clock), seq, ret,
			max, JOURNAL_MOST);
	pthread_mutex_lock(&fleet->mutex);
	for (i = 0; i < fleet->journal.n && n < max; i++) {
		const struct event *e = journal_at(&fleet->journal, i);

		if (e->seq <= *seq)
			continue;
		ret[n] = event_copy(e);
		*seq = e->seq;
		n++;
	}
	pthread_mutex_unlock(&fleet->mutex);
	return n;
}

size_t fleet_recorded_acts(struct fleet *fleet)
{
	return fleet->replay ? replay_n_acts(fleet->replay, clock_mono_ms(fleet->shared.clock)) : 0;
}

static void add_line(void *arg, const char *line)
{
	str_addf(arg, "%s\n", line);
}

bool fleet_each_recorded_act(struct fleet *fleet, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg)
{
	struct str lines;

	if (!fleet->replay || replay_is_redacted(fleet->replay))
		return false;
	str_init(&lines, RECORDED_ACTS_BYTES);
	/* An act has two lines. */
	replay_acts(fleet->replay, clock_mono_ms(fleet->shared.clock), 2 * max, add_line, &lines);
	audit_acts_of(lines.s, lines.len, max, each, arg);
	str_release(&lines);
	return true;
}

struct session *fleet_session(struct fleet *fleet, const char *source, size_t len)
{
	size_t i;

	for (i = 0; i < fleet->n; i++) {
		const char *name = fleet->sessions[i].config->name;

		if (strlen(name) == len && memcmp(name, source, len) == 0)
			return &fleet->sessions[i];
	}
	return NULL;
}

struct session *fleet_session_at(struct fleet *fleet, size_t i)
{
	return i < fleet->n ? &fleet->sessions[i] : NULL;
}

const struct settings *fleet_settings(const struct fleet *fleet)
{
	return fleet->settings;
}

struct audit *fleet_audit(struct fleet *fleet)
{
	return &fleet->audit;
}

bool fleet_has_polled(struct fleet *fleet, size_t source, int64_t at_ms)
{
	struct session *s = &fleet->sessions[source];
	bool has;

	pthread_mutex_lock(&s->mutex);
	has = s->polled_ms >= at_ms || s->finished || !s->started;
	pthread_mutex_unlock(&s->mutex);
	return has;
}

void fleet_poll_now(struct fleet *fleet, const char *source)
{
	size_t i;

	for (i = 0; i < fleet->n; i++)
		if (!source || strcmp(source, fleet->sessions[i].config->name) == 0)
			session_signal(&fleet->sessions[i], false, true);
}

void fleet_pause(struct fleet *fleet, bool paused)
{
	size_t i;

	for (i = 0; i < fleet->n; i++)
		session_pause(&fleet->sessions[i], paused);
}

void fleet_want(struct fleet *fleet, const char *const *ids, size_t n)
{
	size_t i;

	for (i = 0; i < fleet->n; i++)
		session_want(&fleet->sessions[i], ids, n);
}

int fleet_memory_status(struct fleet *fleet, struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < fleet->n && !rc; i++) {
		struct session *s = &fleet->sessions[i];

		pthread_mutex_lock(&s->mutex);
		rc = s->memory_error.code;
		if (rc && err)
			*err = s->memory_error;
		pthread_mutex_unlock(&s->mutex);
	}
	return rc;
}

int fleet_examine(struct fleet *fleet, size_t i, struct report *report, struct err *err)
{
	struct session *s = &fleet->sessions[i];

	if (s->open_error.code) {
		if (err)
			*err = s->open_error;
		return s->open_error.code;
	}
	if (!s->config->ops->examine)
		return err_set(err, ERR_UNSUPPORTED, "a source of kind %s can't be examined",
			s->config->ops->kind);
	session_round_start(s, clock_mono_ms(fleet->shared.clock) + s->config->timeout_ms);
	return s->config->ops->examine(s->state, &s->round, report, err);
}
