#include "config.h"

#include "show/recorder.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/record.h"
#include "model/redact.h"
#include "model/thresholds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	BUFFER = 256 * 1024,
	WAITING_MOST = 20000, /* events and acts that were not written yet */
	PATH_SHOWN = 200,
	END_ROOM = 200, /* for the last line, within the bound */
	READER_LOOK_MS = 50,
	READER_STOPS_MS = 1000, /* told to end, so long a reader that stands still is waited for, */
	READER_ENDS_MS = 10000, /* ... and one that takes little, in all */
	LEAVES_MS = 2000,       /* beyond that: a write that waits for ever is left behind */
	STOOD_TOLD_MS = 1000,   /* a reader that stood still so long missed something */
};

/* How much was written of a source since its last whole picture. */
struct track {
	int64_t whole_ms;
	int64_t whole_bytes, bytes;
};

struct waiting_list {
	void **at;
	size_t n, cap;
};

struct recorder {
	pthread_t thread;
	int fd;
	bool is_stdout;
	bool unwaiting; /* no write to fd waits: a file, or our own descriptor of the reader's */
	char *path;     /* sanitised, for messages */
	int64_t most;
	char *program;
	struct thresholds thresholds;
	int ended; /* an eventfd */

	/* ---- the thread's own ---- */
	struct record_writer writer;
	bool begun; /* the head was written */
	struct redact *redact;
	struct board *last;
	struct track *tracks;
	char *buf;
	size_t n;
	bool unsynced, full;
	int64_t synced_ms;
	int64_t stood_ms;   /* the reader stood still, and it is not told yet */
	int64_t stopped_ms; /* so long it was waited for since it was told to end */

	/* ---- guarded by mutex ---- */
	pthread_mutex_t mutex;
	pthread_cond_t news;
	struct board *board; /* what is to be written next; NULL: nothing */
	struct waiting_list events, acts;
	size_t lost;     /* of them, since one was written last: there were too many */
	bool stop, busy; /* busy: what was taken is not written yet */
	pthread_cond_t idle;
	struct err err; /* why it ended */
	int64_t written;
};

static void ended(struct recorder *r, enum err_code code, const char *text)
{
	uint64_t one = 1;

	pthread_mutex_lock(&r->mutex);
	if (!r->err.code)
		err_set(&r->err, code, "the record %s: %s", r->path, text);
	pthread_mutex_unlock(&r->mutex);
	if (write(r->ended, &one, sizeof(one)) < 0)
		return; /* a counter that is full is readable as well */
}

static bool is_over(struct recorder *r)
{
	bool over;

	pthread_mutex_lock(&r->mutex);
	over = r->err.code != 0;
	pthread_mutex_unlock(&r->mutex);
	return over;
}

/* ---- the file ---- */

static bool is_stopping(struct recorder *r)
{
	bool stop;

	pthread_mutex_lock(&r->mutex);
	stop = r->stop;
	pthread_mutex_unlock(&r->mutex);
	return stop;
}

/* Waits for the reader of standard output, who may stand still for ever; false: it is over. */
static bool wait_for_reader(struct recorder *r)
{
	struct pollfd fd = { .fd = r->fd, .events = POLLOUT };
	int64_t stood_ms = 0, stops_ms = 0;

	for (; poll(&fd, 1, READER_LOOK_MS) <= 0; stood_ms += READER_LOOK_MS) {
		if (!is_stopping(r))
			continue;
		r->stopped_ms += READER_LOOK_MS;
		stops_ms += READER_LOOK_MS;
		if (stops_ms < READER_STOPS_MS && r->stopped_ms < READER_ENDS_MS)
			continue;
		ended(r, ERR_IO, "its reader takes nothing more, and its end was not written");
		return false;
	}
	if (stood_ms >= STOOD_TOLD_MS)
		r->stood_ms += stood_ms;
	return true;
}

/* As much as can be written without waiting for a reader: of a pipe that is known, once it takes
 * something. */
static size_t at_once(const struct recorder *r, size_t len)
{
	return r->is_stdout && !r->unwaiting && len > PIPE_BUF ? PIPE_BUF : len;
}

static void flush(struct recorder *r)
{
	size_t done = 0;

	while (done < r->n && !is_over(r)) {
		ssize_t n;

		if (r->is_stdout && !r->unwaiting && !wait_for_reader(r))
			break;
		n = r->is_stdout && r->unwaiting
			    ? fs_write_unwaiting(r->fd, r->buf + done, r->n - done)
			    : write(r->fd, r->buf + done, at_once(r, r->n - done));
		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN && r->is_stdout)
			wait_for_reader(r);
		else if (errno == EPIPE && r->is_stdout)
			ended(r, ERR_CANCELLED, "nobody reads it any more");
		else if (errno != EINTR && errno != EAGAIN)
			ended(r, ERR_IO, strerror(errno));
	}
	pthread_mutex_lock(&r->mutex);
	r->written += (int64_t)done;
	pthread_mutex_unlock(&r->mutex);
	r->unsynced = r->unsynced || r->n;
	r->n = 0;
}

static void put_bytes(struct recorder *r, const char *text, size_t len)
{
	while (len) {
		size_t part = len < BUFFER - r->n ? len : BUFFER - r->n;

		memcpy(r->buf + r->n, text, part);
		r->n += part;
		text += part;
		len -= part;
		if (r->n == BUFFER)
			flush(r);
	}
}

/* Beyond the bound nothing is written but the last line. */
static void take_line(void *arg, const char *text, size_t len)
{
	struct recorder *r = arg;
	int64_t size = r->written + (int64_t)(r->n + len);

	if (r->full || (r->most && size > r->most - END_ROOM)) {
		r->full = true;
		return;
	}
	put_bytes(r, text, len);
}

static void sync_file(struct recorder *r)
{
	struct stat st;

	r->synced_ms = clock_mono_ms(&clock_system);
	r->unsynced = false;
	if (r->is_stdout)
		return;
	if (fsync(r->fd) < 0 && errno != EINVAL && errno != EROFS)
		ended(r, ERR_IO, strerror(errno));
	else if (fstat(r->fd, &st) == 0 && st.st_nlink == 0)
		ended(r, ERR_IO, "the file was deleted while it was written");
}

/* ---- boards ---- */

static bool wants_whole(const struct recorder *r, const struct track *t, int64_t now_ms)
{
	int64_t age = now_ms - t->whole_ms;

	if (!r->last)
		return true;
	return (age >= RECORDER_WHOLE_MS && t->bytes >= t->whole_bytes) ||
	       age >= RECORDER_WHOLE_LATEST_MS;
}

static int64_t put_so_far(const struct recorder *r)
{
	return r->written + (int64_t)r->n;
}

static void write_source(struct recorder *r, const struct board *board, size_t i)
{
	struct track *t = &r->tracks[i];
	bool whole = wants_whole(r, t, board->mono_ms);
	int64_t before = put_so_far(r);

	record_snapshot(&r->writer, board, i, whole ? NULL : r->last->snapshots[i]);
	t->bytes += put_so_far(r) - before;
	if (!whole)
		return;
	t->whole_ms = board->mono_ms;
	t->whole_bytes = put_so_far(r) - before;
	t->bytes = 0;
}

static void write_board(struct recorder *r, struct board *board)
{
	size_t i;

	if (!r->begun) {
		record_init(&r->writer, board, take_line, r, r->redact);
		record_head(&r->writer, board, &r->thresholds, r->program);
		r->tracks = xcalloc(board->n_snapshots, sizeof(*r->tracks));
		r->begun = true;
	}
	for (i = 0; i < board->n_snapshots && i < RECORD_SOURCES_MAX; i++)
		write_source(r, board, i);
	record_verdicts(&r->writer, board, r->last);
	board_unref(r->last);
	r->last = board;
}

/* What is not in the record is said there. */
static void write_lost(struct recorder *r, size_t lost)
{
	struct event *e;
	char text[120];

	if (!lost)
		return;
	snprintf(text, sizeof(text),
		"%zu events and acts came faster than they could be written: they are not in this "
		"record",
		lost);
	e = event_new(r->writer.now_us, 0, "record", NULL, "gap", text);
	record_event(&r->writer, e);
	free(e);
}

/* Boards that came meanwhile were taken together, however long that was. */
static void write_stood(struct recorder *r)
{
	struct event *e;
	char text[160];

	if (!r->stood_ms)
		return;
	snprintf(text, sizeof(text),
		"the reader of this record stood still for %" PRId64
		" s: what came and went meanwhile is not in it",
		r->stood_ms / 1000);
	r->stood_ms = 0;
	e = event_new(r->writer.now_us, 0, "record", NULL, "gap", text);
	record_event(&r->writer, e);
	free(e);
}

static void write_waiting(
	struct recorder *r, struct waiting_list *events, struct waiting_list *acts, size_t lost)
{
	size_t i;

	write_lost(r, lost);
	write_stood(r);
	for (i = 0; i < events->n; i++) {
		record_event(&r->writer, events->at[i]);
		free(events->at[i]);
	}
	for (i = 0; i < acts->n; i++) {
		record_act(&r->writer, acts->at[i]);
		free(acts->at[i]);
	}
	free(events->at);
	free(acts->at);
}

static void write_end(struct recorder *r)
{
	bool full = r->full;

	if (!r->begun || is_over(r))
		return;
	r->full = false;
	r->most = 0;
	record_end(&r->writer, full ? "full" : "stopped");
	flush(r);
	sync_file(r);
	if (full)
		ended(r, ERR_LIMIT, "its bound was reached, and it ends here");
}

/* ---- the thread ---- */

struct work {
	struct board *board;
	struct waiting_list events, acts;
	size_t lost;
	bool stop;
};

static int64_t sync_due_ms(const struct recorder *r)
{
	return r->unsynced ? r->synced_ms + RECORDER_SYNC_MS : INT64_MAX;
}

static void wait_for_news(struct recorder *r)
{
	int64_t due = sync_due_ms(r);
	struct timespec until;

	if (due == INT64_MAX) {
		pthread_cond_wait(&r->news, &r->mutex);
		return;
	}
	until.tv_sec = due / 1000;
	until.tv_nsec = due % 1000 * 1000000;
	pthread_cond_timedwait(&r->news, &r->mutex, &until);
}

/* Takes what waits; nothing when only the disk is to be synced. */
static void take_work(struct recorder *r, struct work *w)
{
	pthread_mutex_lock(&r->mutex);
	while (!r->board && !r->stop && clock_mono_ms(&clock_system) < sync_due_ms(r))
		wait_for_news(r);
	*w = (struct work){ .board = r->board, .stop = r->stop };
	if (r->board || (r->stop && r->begun)) {
		w->events = r->events;
		w->acts = r->acts;
		w->lost = r->lost;
		r->lost = 0;
		r->events = r->acts = (struct waiting_list){ NULL, 0, 0 };
	}
	r->busy = r->board != NULL;
	r->board = NULL;
	pthread_mutex_unlock(&r->mutex);
}

static void work_done(struct recorder *r)
{
	pthread_mutex_lock(&r->mutex);
	r->busy = false;
	pthread_cond_broadcast(&r->idle);
	pthread_mutex_unlock(&r->mutex);
}

static void do_work(struct recorder *r, struct work *w)
{
	if (w->board)
		write_board(r, w->board);
	if (r->begun) {
		write_waiting(r, &w->events, &w->acts, w->lost);
		flush(r);
	}
	if (w->stop || r->full)
		write_end(r);
	else if (r->unsynced && clock_mono_ms(&clock_system) >= sync_due_ms(r))
		sync_file(r);
}

static void *recorder_main(void *arg)
{
	struct recorder *r = arg;
	struct work w = { .stop = false };

	while (!w.stop && !is_over(r)) {
		take_work(r, &w);
		do_work(r, &w);
		work_done(r);
	}
	return NULL;
}

/* ---- what is called ---- */

static int open_stdout(struct recorder *r, struct err *err)
{
	struct stat st;

	r->is_stdout = true;
	r->fd = fs_open_unwaiting(STDOUT_FILENO);
	r->unwaiting = r->fd >= 0 || (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode));
	if (r->fd < 0)
		r->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return r->fd < 0 ? err_set(err, ERR_IO, "standard output: %s", strerror(errno)) : 0;
}

static int open_failed(const struct recorder *r, struct err *err)
{
	if (errno == EEXIST)
		return err_set(err, ERR_IO,
			"%s is there already; --force replaces it, or take another name", r->path);
	return err_set(err, ERR_IO, "can't make the record %s: %s", r->path, strerror(errno));
}

static int open_file(struct recorder *r, const struct recorder_options *o, struct err *err)
{
	/* A pipe is not waited for. */
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;

	if (strcmp(o->path, "-") == 0)
		return open_stdout(r, err);
	r->fd = open(o->path, flags | (o->force ? 0 : O_EXCL), 0600);
	if (r->fd < 0)
		return open_failed(r, err);
	if (fstat(r->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(
			err, ERR_IO, "%s is no ordinary file: - is standard output", r->path);
	if (fchmod(r->fd, 0600) < 0 || ftruncate(r->fd, 0) < 0)
		return open_failed(r, err);
	return 0;
}

static char *shown_path(const char *path)
{
	struct str s;

	str_init(&s, PATH_SHOWN * 4 + 4);
	text_escape_cut(&s, path, strlen(path), PATH_SHOWN);
	return str_take(&s);
}

static void recorder_free(struct recorder *r)
{
	size_t i;

	for (i = 0; i < r->events.n; i++)
		free(r->events.at[i]);
	for (i = 0; i < r->acts.n; i++)
		free(r->acts.at[i]);
	free(r->events.at);
	free(r->acts.at);
	board_unref(r->board);
	board_unref(r->last);
	if (r->begun)
		record_release(&r->writer);
	redact_free(r->redact);
	free(r->tracks);
	free(r->buf);
	free(r->path);
	free(r->program);
	if (r->fd >= 0)
		close(r->fd);
	if (r->ended >= 0)
		close(r->ended);
	pthread_cond_destroy(&r->news);
	pthread_cond_destroy(&r->idle);
	pthread_mutex_destroy(&r->mutex);
	free(r);
}

static struct recorder *recorder_new(const struct recorder_options *o)
{
	struct recorder *r = xcalloc(1, sizeof(*r));
	pthread_condattr_t attr;

	r->fd = -1;
	r->path = shown_path(o->path);
	r->most = o->most;
	r->program = xstrdup(o->program);
	r->thresholds = *o->thresholds;
	r->redact = o->redact ? redact_new() : NULL;
	r->buf = xmalloc(BUFFER);
	r->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->synced_ms = clock_mono_ms(&clock_system);
	pthread_mutex_init(&r->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->news, &attr);
	pthread_cond_init(&r->idle, &attr);
	pthread_condattr_destroy(&attr);
	return r;
}

int recorder_start(const struct recorder_options *options, struct recorder **ret, struct err *err)
{
	struct recorder *r = recorder_new(options);
	int rc = open_file(r, options, err);

	if (!rc && pthread_create(&r->thread, NULL, recorder_main, r) != 0)
		rc = err_set(err, ERR_IO, "can't start a thread for the record");
	if (rc)
		recorder_free(r);
	else
		*ret = r;
	return rc;
}

static void waiting_add(struct recorder *r, struct waiting_list *list, void *item)
{
	if (list->n >= WAITING_MOST) {
		r->lost++;
		free(item);
		return;
	}
	MEM_GROW(list->at, list->n, list->cap);
	list->at[list->n++] = item;
}

void recorder_take(struct recorder *r, const struct board *board, struct event **events, size_t n)
{
	size_t i;

	pthread_mutex_lock(&r->mutex);
	board_unref(r->board);
	r->board = board_ref(board);
	for (i = 0; i < n; i++)
		waiting_add(r, &r->events, events[i]);
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->mutex);
}

bool recorder_wait(struct recorder *r, int64_t most_ms)
{
	int64_t until_ms = clock_mono_ms(&clock_system) + most_ms;
	struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };
	bool busy = true;
	int rc = 0;

	pthread_mutex_lock(&r->mutex);
	while (rc != ETIMEDOUT && (busy = (r->board || r->busy) && !r->err.code))
		rc = pthread_cond_timedwait(&r->idle, &r->mutex, &until);
	pthread_mutex_unlock(&r->mutex);
	return !busy;
}

void recorder_act(struct recorder *r, const char *line)
{
	pthread_mutex_lock(&r->mutex);
	waiting_add(r, &r->acts, xstrdup(line));
	pthread_mutex_unlock(&r->mutex);
}

int recorder_status(struct recorder *r, struct err *err)
{
	int rc;

	pthread_mutex_lock(&r->mutex);
	rc = r->err.code;
	if (rc && err)
		*err = r->err;
	pthread_mutex_unlock(&r->mutex);
	return rc;
}

int recorder_fd(const struct recorder *r)
{
	return r->ended;
}

/*
 * Waits for the thread. Of a terminal that is another user's no descriptor of our own is to be had,
 * and a write to it may wait for ever: then the thread is left behind, and nothing that it uses is
 * freed.
 */
static bool recorder_join(struct recorder *r)
{
	struct timespec until;

	if (!r->is_stdout || r->unwaiting) {
		pthread_join(r->thread, NULL);
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (READER_ENDS_MS + LEAVES_MS) / 1000;
	return pthread_timedjoin_np(r->thread, NULL, &until) == 0;
}

int recorder_stop(struct recorder *r, int64_t *ret_bytes, struct err *err)
{
	int rc;

	pthread_mutex_lock(&r->mutex);
	r->stop = true;
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->mutex);
	if (!recorder_join(r)) {
		if (ret_bytes)
			*ret_bytes = 0;
		return err_set(err, ERR_IO,
			"the record -: its reader takes nothing more, and its end was not written");
	}
	rc = recorder_status(r, err);
	if (ret_bytes)
		*ret_bytes = r->written;
	recorder_free(r);
	return rc;
}
