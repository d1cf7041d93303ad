#include "config.h"

#include "control/session.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/session-events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BACKOFF_FIRST_MS = 250,
	BACKOFF_MOST_MS = 8 * 1000,
	BACKOFF_REFUSED_MS =
		60 * 1000,    /* credentials: asking again soon locks accounts and mends nothing */
	POKE_LEAST_MS = 1000, /* an impatient key does not hammer a server that is down */
	SAVE_EVERY_MS = 60 * 1000,
	GHOST_MOST = 20000,
	IDENTITY_MAX = 40,
};

static const int64_t ghost_keep_us = INT64_C(7) * 24 * 3600 * 1000000; /* a week of FREE rows */

static int64_t session_now_ms(const struct session *s)
{
	return clock_mono_ms(s->shared->clock);
}

static int64_t session_now_us(const struct session *s)
{
	return clock_wall_us(s->shared->clock);
}

/* What tells this server from another that a source of the same name led to before; "" when it
 * can't be told. */
static void session_identity(const struct session *s, char *buf)
{
	const struct singleton *self = s->round.self;
	int64_t id;

	buf[0] = '\0';
	if (!self)
		return;
	id = singleton_int(self, DETAIL_SYSTEM_IDENTIFIER, 0);
	if (!id)
		id = singleton_int(self, DETAIL_CLUSTER_ID, 0);
	if (id)
		snprintf(buf, IDENTITY_MAX, "%" PRIx64, (uint64_t)id);
}

/* Whether the one that answers now is not the one whose memory and rows these are. */
static bool session_is_other(const struct session *s)
{
	char identity[IDENTITY_MAX];

	session_identity(s, identity);
	return s->identity && identity[0] && strcmp(s->identity, identity) != 0;
}

/* ---- rows that nobody holds, and that stay ---- */

static bool ghost_add(struct session *s, const char *id)
{
	char *own;

	if (map_get(&s->ghosts, id, strlen(id)) || s->ghosts.n >= GHOST_MOST)
		return false;
	own = xstrdup(id);
	map_put(&s->ghosts, own, strlen(own), own);
	return true;
}

void session_row_held(struct session *s, const char *id)
{
	if (s->ghosts.n)
		free(map_remove(&s->ghosts, id, strlen(id)));
}

static struct singleton *ghost_singleton(struct session *s, const struct remembered *r)
{
	const char *slash = strchr(r->id, '/');
	struct draft *d = s->round.draft;
	struct str raw;

	str_init(&raw, 1024 * 1024);
	if (!slash || text_unescape(&raw, slash + 1)) {
		str_release(&raw);
		return NULL;
	}
	draft_begin(d, r->mechanism, s->config->name, raw.s, raw.len);
	if (r->has_highest)
		draft_token(d, mechanism_word(r->mechanism)->token, r->highest_token);
	draft_int(d, DETAIL_REMEMBERED, 1);
	str_release(&raw);
	return draft_finish(d);
}

/* Whether what is remembered stays as a FREE row. */
static bool ghost_wanted(const struct session *s, const struct remembered *r)
{
	return r && r->mechanism < MECH_COUNT && mechanism_word(r->mechanism)->stays &&
	       r->last_seen_us > session_now_us(s) - ghost_keep_us;
}

void session_settle(struct session *s)
{
	if (s->picture_ms == TIME_UNKNOWN)
		memory_settle_many(&s->memory);
	else
		memory_settle_watched(&s->memory);
}

void session_row_hidden(struct session *s, const char *id)
{
	session_row_held(s, id);
	memory_observe_hidden(&s->memory, id);
	picture_remove(&s->picture, id);
}

/* What hides a row that is remembered, by what the source said; NULL: it would be seen. */
static const struct hidden *session_hides(const struct session *s, const struct remembered *r)
{
	const struct snapshot seen = { .hidden = s->round.hidden, .n_hidden = s->round.n_hidden };

	return r->mechanism < MECH_COUNT ? snapshot_hides_of(&seen, r->id, r->mechanism)
					 : snapshot_hides(&seen, r->id);
}

/* Whether the config leaves a row out: it is not looked at, which is no sign that it is free. */
static bool session_leaves_out(const struct session *s, const struct remembered *r)
{
	const struct hidden *h = session_hides(s, r);

	return h && h->chosen;
}

void session_row_gone(struct session *s, const char *id)
{
	struct remembered *r = memory_find(&s->memory, id);
	struct observed observed = { 0 };
	struct singleton *ghost;

	if (!r || !s->identity) {
		picture_remove(&s->picture, id);
		return;
	}
	if (session_is_other(s) || session_leaves_out(s, r)) {
		session_row_hidden(s, id);
		return;
	}
	if (map_get(&s->ghosts, id, strlen(id)))
		return; /* told once more: it is a row that nobody holds already */
	memory_observe_gone(&s->memory, id, session_now_ms(s), session_now_us(s), &observed);
	session_event_gone(s, id, &observed);
	ghost = ghost_wanted(s, r) && ghost_add(s, id) ? ghost_singleton(s, r) : NULL;
	if (ghost)
		picture_put(&s->picture, ghost);
	else
		picture_remove(&s->picture, id);
}

void session_keep_ghosts(struct session *s)
{
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&s->ghosts, &pos)) != NULL)
		picture_keep(&s->picture, e->key);
}

/* Where nothing can be seen any more, nobody may be told that it is free. */
static void session_hide_ghosts(struct session *s)
{
	const struct remembered *r;
	struct map_entry *e;
	struct str ids;
	size_t pos = 0, at;

	if (!s->round.n_hidden)
		return;
	str_init(&ids, 256 * 1024 * 1024);
	while ((e = map_next(&s->ghosts, &pos)) != NULL) {
		r = memory_find(&s->memory, e->key);
		if (!r || session_hides(s, r))
			str_add_mem(&ids, e->key, e->len + 1);
	}
	for (at = 0; at < ids.len; at += strlen(ids.s + at) + 1) {
		session_row_hidden(s, ids.s + at);
		session_settle(s);
	}
	str_release(&ids);
}

static void session_seed_ghosts(struct session *s)
{
	const struct remembered *r;
	bool held, present;
	size_t pos = 0, at;

	for (; memory_peek(&s->memory, pos, &held, &present); pos++) {
		struct singleton *ghost;

		/* What was judged in this run is in the picture: no need to look for it. */
		if (present)
			continue;
		at = pos;
		r = memory_next(&s->memory, &at);
		if (!ghost_wanted(s, r) || session_hides(s, r) ||
			picture_find(&s->picture, r->id) || !ghost_add(s, r->id))
			continue;
		ghost = ghost_singleton(s, r);
		if (ghost)
			picture_put(&s->picture, ghost);
	}
}

static void session_forget_ghosts(struct session *s)
{
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&s->ghosts, &pos)) != NULL)
		free(e->value);
	map_clear(&s->ghosts);
}

/* ---- the memory on disk ---- */

static void session_memory_failed(struct session *s, const struct err *err)
{
	bool news;

	pthread_mutex_lock(&s->mutex);
	news = strcmp(s->memory_error.text, err->text) != 0;
	s->memory_error = *err;
	pthread_mutex_unlock(&s->mutex);
	if (news)
		session_event_source(s, "source", err->text);
}

static void session_save(struct session *s)
{
	int64_t now_us = session_now_us(s);
	struct err err = { 0 };

	s->saved_ms = session_now_ms(s);
	if (!s->file.path || s->picture_ms == TIME_UNKNOWN)
		return;
	memory_seen(&s->memory, now_us);
	if (memory_file_save(&s->file, &s->memory, &err))
		session_memory_failed(s, &err);
	if (s->history.dirty &&
		memory_file_save_history(&s->file, &s->history, s->config->name, now_us, &err))
		session_memory_failed(s, &err);
}

static void session_open_memory(struct session *s, const char *identity)
{
	struct err err = { 0 };

	s->identity = xstrdup(identity);
	if (!s->shared->state_dir)
		return;
	if (memory_file_init(&s->file, s->shared->state_dir, s->config->name, s->config->ops->kind,
		    identity, &err) ||
		memory_file_load(&s->file, &s->memory, &err))
		session_memory_failed(s, &err);
	if (s->file.path && memory_file_load_history(&s->file, &s->history, s->config->name, &err))
		session_memory_failed(s, &err);
	history_trim(&s->history, session_now_us(s));
	if (!s->shared->one_shot)
		session_event_history(s);
	memory_set_back(&s->memory, session_now_us(s));
}

/* What was seen before our clock was set back would else be seen in the future. */
static void session_check_clock(struct session *s)
{
	int64_t now_us = session_now_us(s);

	/* A step of less than a second is a clock that is kept right. */
	if (now_us < s->wall_us - 1000000 && memory_set_back(&s->memory, now_us)) {
		picture_redo(&s->picture, session_now_ms(s));
		session_event_source(s, "source",
			"our clock was set back: ages that were seen before are too short now");
	}
	s->wall_us = now_us;
}

/* The memory of one server says nothing about another: a restored or exchanged server begins anew.
 */
static void session_bind_memory(struct session *s)
{
	char identity[IDENTITY_MAX];

	if (s->identity && !session_is_other(s))
		return;
	session_identity(s, identity);
	if (s->identity) {
		session_event_source(s, "source",
			"another server answers under this name: what was remembered of the one "
			"before does not apply to it");
		session_save(s);
		free(s->identity);
		memory_file_release(&s->file);
		memory_release(&s->memory);
		memory_init(&s->memory);
		history_release(&s->history);
		session_forget_ghosts(s);
		s->seeded = false;
	}
	session_open_memory(s, identity);
}

/* What is remembered, and not in a whole picture, stays as a row for a while. */
static void session_seed(struct session *s)
{
	if (s->seeded || !s->round.complete)
		return;
	s->seeded = true;
	session_judge_early(s, SIZE_MAX);
	session_seed_ghosts(s);
}

/* ---- judging and publishing ---- */

static void session_judge_slot(struct session *s, size_t i, int64_t now_ms, int64_t now_us)
{
	struct picture_slot *slot = &s->picture.slots[i];
	bool dirty = picture_is_dirty(&s->picture, i);
	bool ghost = singleton_detail(slot->s, DETAIL_REMEMBERED) != NULL;
	struct observed observed = { 0 };
	struct remembered *memory;
	struct judge_input in;
	struct row *row;

	__builtin_prefetch(slot->row); /* compared with what is judged now */
	in = (struct judge_input){
		.s = slot->s,
		.self = s->round.self,
		.thresholds = s->shared->thresholds,
		.role = role_of(s->shared->roles, s->shared->n_roles, slot->s->id),
		.all_stale = s->all_stale,
		.now_ms = now_ms,
		.now_us = now_us,
		.seen_ms = s->failures ? s->picture_ms : now_ms,
	};
	in.observed = dirty && !ghost;
	if (in.observed)
		memory = memory_observe(&s->memory, slot->s, in.now_ms, in.now_us, &observed);
	else
		memory = memory_find(&s->memory, slot->s->id);
	in.memory = memory;
	verdict_draft_begin(&s->verdict);
	judge_singleton(&in, &s->verdict);
	if (memory)
		judge_note(&s->memory, memory, slot->s, &s->verdict, in.now_us);
	row = row_new(singleton_ref(slot->s), &s->verdict);
	if (s->picture_ms != TIME_UNKNOWN)
		session_event_row(s, slot->row, row, &observed);
	else
		session_event_between(s, row, &observed);
	picture_judged(&s->picture, i, row, s->verdict.next_ms);
	if (s->forgetful)
		memory_clear(&s->memory);
	else
		session_settle(s);
}

static void session_judge_source(struct session *s)
{
	const struct round *r = &s->round;
	struct judge_source_input in;
	struct row *before = s->self_row;

	in = (struct judge_source_input){
		.self = r->self,
		.before = s->last,
		.pic = &s->picture,
		.memory = &s->memory,
		.thresholds = s->shared->thresholds,
		.hidden = r->hidden,
		.n_hidden = r->n_hidden,
		.now_ms = session_now_ms(s),
		.now_us = session_now_us(s),
		.seen_ms = s->failures ? s->picture_ms : session_now_ms(s),
	};
	if (r->self) {
		verdict_draft_begin(&s->verdict);
		judge_source(&in, &s->verdict, &s->all_stale);
		s->self_row = row_new(singleton_ref(r->self), &s->verdict);
		session_event_findings(s, NULL, before ? &before->v : NULL, &s->self_row->v);
		row_unref(before);
	}
}

static void session_publish(struct session *s)
{
	const struct round *r = &s->round;
	struct snapshot head, *snap, *old;

	head = (struct snapshot){
		.source = s->config->name,
		.kind = s->config->ops->kind,
		.environment = s->config->environment,
		.protect = s->config->protect,
		.live = s->config->ops->wait && s->state_word != SOURCE_FAILING,
		.behind = r->behind,
		.state = s->state_word,
		.picture_ms = s->picture_ms,
		.error = s->error.code ? s->error.text : NULL,
		.error_since_us = s->error_since_us,
		.server = r->server,
		.self = s->self_row,
		.hidden = r->hidden,
		.n_hidden = r->n_hidden,
		.cost = r->cost,
	};
	if (r->head)
		head = *r->head;
	snap = picture_publish(&s->picture, &head);
	snapshot_unref(s->last);
	s->last = snapshot_ref(snap);
	pthread_mutex_lock(&s->mutex);
	old = s->snapshot;
	s->snapshot = snap;
	pthread_mutex_unlock(&s->mutex);
	snapshot_unref(old);
	s->shared->published(s->shared->arg);
}

/* Tells who steps through a record that a poll is over. */
static void session_polled(struct session *s, int64_t began_ms)
{
	pthread_mutex_lock(&s->mutex);
	s->polled_ms = began_ms;
	pthread_mutex_unlock(&s->mutex);
	s->shared->published(s->shared->arg);
}

/* Judges what is new, and what time alone has changed. */
static void session_judge(struct session *s)
{
	int64_t now_ms = session_now_ms(s), now_us = session_now_us(s);
	uint64_t context;
	size_t pos = 0;
	ptrdiff_t slot;

	session_judge_source(s);
	context = judge_context(s->round.self, s->all_stale);
	if (context != s->context)
		picture_redo(&s->picture, now_ms);
	s->context = context;
	while ((slot = picture_next_due(&s->picture, &pos, now_ms)) >= 0)
		session_judge_slot(s, (size_t)slot, now_ms, now_us);
}

bool session_judge_early(struct session *s, size_t most)
{
	int64_t now_ms = session_now_ms(s), now_us = session_now_us(s);
	char identity[IDENTITY_MAX];
	ptrdiff_t slot;

	session_identity(s, identity);
	/* Without knowing whose memory applies nothing can be judged; and what is on a screen is
	 * judged as a whole. */
	if (s->picture_ms != TIME_UNKNOWN || !identity[0])
		return false;
	session_bind_memory(s);
	/* Where the end of the reading shows another context, all is judged again (session_judge).
	 */
	if (!s->judged_to)
		s->context = judge_context(s->round.self, s->all_stale);
	while (most-- && (slot = picture_next_due(&s->picture, &s->judged_to, now_ms)) >= 0)
		session_judge_slot(s, (size_t)slot, now_ms, now_us);
	return s->judged_to < s->picture.n;
}

static void session_set_state(struct session *s, enum source_state state, const struct err *err)
{
	bool was_trouble = s->error.code != ERR_NONE;

	if (err && (!was_trouble || s->error.code != err->code)) {
		s->error_since_us = session_now_us(s);
		session_event_source(s, "source", err->text);
	} else if (!err && was_trouble) {
		session_event_source(s, "source", "answers again");
	}
	s->state_word = state;
	if (err)
		s->error = *err;
	else
		err_clear(&s->error);
}

static void session_failed(struct session *s, const struct err *err)
{
	s->failures++;
	session_set_state(s, SOURCE_FAILING, err);
	/* Rows that were told before the failure are true, and must have been judged to be
	 * published. */
	session_judge(s);
	session_publish(s);
}

static void tell_past(void *arg, const char *id)
{
	struct session *s = arg;
	const struct remembered *r = memory_find(&s->memory, id);

	if (r)
		session_event_past(s, r);
}

/* A command that asks for one singleton and ends sees nothing change: all that it can tell of the
 * past is what is remembered. */
static void session_tell_past(struct session *s)
{
	round_each_wanted(&s->round, tell_past, s);
}

/* What a record says of a moment is neither judged nor remembered. */
static void session_succeeded_before(struct session *s)
{
	s->failures = 0;
	s->state_word = s->round.head->state;
	s->picture_ms = s->round.head->picture_ms;
	session_publish(s);
}

static void session_succeeded(struct session *s)
{
	struct err degraded = { 0 };
	bool first = s->picture_ms == TIME_UNKNOWN;

	s->failures = 0;
	if (s->round.degraded)
		err_set(&degraded, ERR_UNSUPPORTED, "%s", s->round.degraded);
	session_set_state(
		s, degraded.code ? SOURCE_DEGRADED : SOURCE_OK, degraded.code ? &degraded : NULL);
	session_bind_memory(s);
	session_hide_ghosts(s);
	session_seed(s);
	session_check_clock(s);
	session_judge(s);
	/* Of what only a part was read, the rest need not have gone. */
	if (s->round.complete && !s->round.degraded)
		memory_confirm(&s->memory, session_now_ms(s), session_now_us(s), !s->round.partial);
	if (first)
		session_event_first(
			s, s->round.complete && !s->round.degraded && !s->round.partial);
	if (s->shared->one_shot)
		session_tell_past(s);
	s->picture_ms = session_now_ms(s);
	if (first)
		s->first_us = session_now_us(s);
	session_publish(s);
	if (!first && s->picture_ms - s->saved_ms >= SAVE_EVERY_MS && s->memory.dirty)
		session_save(s);
}

static bool session_stopping(struct session *s)
{
	bool stop;

	pthread_mutex_lock(&s->mutex);
	stop = s->stop;
	pthread_mutex_unlock(&s->mutex);
	return stop;
}

bool session_poll(struct session *s)
{
	struct err err = s->open_error;
	int64_t began_ms = session_now_ms(s);
	int rc = err.code;

	s->repoll = false;
	if (!rc) {
		round_start(&s->round, session_now_ms(s) + s->config->timeout_ms);
		rc = s->config->ops->poll(s->state, &s->round, &err);
	}
	if (rc == ERR_CANCELLED && session_stopping(s))
		return false;
	if (rc < 0) {
		if (!err.code)
			err_set(&err, rc, "the poll failed without a reason");
		session_failed(s, &err);
		return false;
	}
	if (s->round.head)
		session_succeeded_before(s);
	else
		session_succeeded(s);
	if (s->round.head)
		session_polled(s, began_ms);
	return true;
}

/* ---- work that was posted ---- */

static int64_t session_task_run(
	struct session *s, struct session_task *task, bool stopping, int64_t now)
{
	if (!stopping && task->due_ms > now)
		return task->due_ms;
	return task->run(task, s, stopping);
}

/* Does what is due; returns when the next is, or INT64_MAX. */
static int64_t session_work(struct session *s, bool stopping)
{
	int64_t next_ms = INT64_MAX, now = session_now_ms(s);
	struct session_task *task, *next;

	pthread_mutex_lock(&s->mutex);
	task = s->tasks;
	s->tasks = NULL;
	pthread_mutex_unlock(&s->mutex);
	for (; task; task = next) {
		int64_t due;

		next = task->next;
		due = session_task_run(s, task, stopping, now);
		if (due == INT64_MAX)
			continue;
		pthread_mutex_lock(&s->mutex);
		task->due_ms = due;
		task->next = s->tasks;
		s->tasks = task;
		pthread_mutex_unlock(&s->mutex);
		if (due < next_ms)
			next_ms = due;
	}
	return next_ms;
}

/* Ends all work; nothing can be posted afterwards. */
static void session_finish(struct session *s)
{
	bool finished = false;

	while (!finished) {
		session_work(s, true);
		pthread_mutex_lock(&s->mutex);
		finished = s->finished = !s->tasks;
		pthread_mutex_unlock(&s->mutex);
	}
}

/* ---- the thread ---- */

static int64_t session_backoff_ms(struct session *s)
{
	bool refused = s->error.code == ERR_AUTH || s->error.code == ERR_DENIED ||
		       s->error.code == ERR_CONFIG;
	int64_t most = refused ? BACKOFF_REFUSED_MS : BACKOFF_MOST_MS;
	int64_t ms = BACKOFF_FIRST_MS;
	unsigned i;

	for (i = 1; i < s->failures && ms < most; i++)
		ms *= 2;
	if (ms > most)
		ms = most;
	/* A quarter either way, so that many consoles don't come back in step. */
	return ms * 3 / 4 + rand_r(&s->seed) % (ms / 2 + 1);
}

static void session_drain(struct session *s)
{
	char buf[64];

	while (read(s->wake_read, buf, sizeof(buf)) > 0)
		continue;
}

/* Takes the flags that woke us; returns whether to poll at once. */
static bool session_woken(struct session *s, bool *ret_stop, bool *ret_paused)
{
	bool poke;

	session_drain(s);
	pthread_mutex_lock(&s->mutex);
	poke = s->poke;
	s->poke = false;
	*ret_stop = s->stop;
	*ret_paused = s->paused;
	pthread_mutex_unlock(&s->mutex);
	return poke;
}

static void session_sleep(struct session *s, int64_t until_ms)
{
	struct pollfd fd = { .fd = s->wake_read, .events = POLLIN };

	poll(&fd, 1, clock_wait_ms(s->shared->clock, until_ms));
}

/* Waits for the source's own news or the time. Returns whether to poll at once. */
static bool session_wait(struct session *s, int64_t until_ms)
{
	struct err err = { 0 };
	int rc;

	if (!s->config->ops->wait || s->failures) {
		session_sleep(s, until_ms);
		return false;
	}
	s->round.deadline_ms = until_ms;
	rc = s->config->ops->wait(s->state, &s->round, &err);
	if (rc < 0 && rc != ERR_CANCELLED)
		session_failed(s, &err);
	return rc > 0;
}

/* Nothing is done for a while. What the first picture was made with is not needed again. */
static void session_at_rest(struct session *s)
{
	/* A built-in fleet may live a hundred times as fast: no entry of it rests for long. */
	if (!s->config->sim || !s->settled)
		memory_rest(&s->memory);
	if (s->picture_ms == TIME_UNKNOWN || s->settled)
		return;
	s->settled = true;
	mem_give_back();
}

/* Rests until the next poll is due. Returns false when the thread must end. */
static bool session_rest(struct session *s)
{
	int64_t started = session_now_ms(s);
	unsigned failures = s->failures;
	int64_t next = started + (failures ? session_backoff_ms(s) : s->config->interval_ms);
	bool stop = false, paused = false;

	session_at_rest(s);
	for (;;) {
		int64_t now, work = session_work(s, false), due = picture_due_ms(&s->picture);
		int64_t rest = paused ? INT64_MAX : due < next ? due : next;
		bool news, poke;

		if (s->repoll && !paused)
			return true;
		news = session_wait(s, work < rest ? work : rest);
		poke = session_woken(s, &stop, &paused);
		now = session_now_ms(s);
		if (stop)
			return false;
		if (s->failures > failures) {
			/* The wait itself failed: from now on this is a back-off. */
			failures = s->failures;
			next = now + session_backoff_ms(s);
			continue;
		}
		if (paused)
			continue;
		if (poke && (!failures || now - started >= POKE_LEAST_MS))
			return true;
		if (poke && started + POKE_LEAST_MS < next)
			next = started + POKE_LEAST_MS;
		if (news || now >= next)
			return true;
		if (picture_due_ms(&s->picture) <= now) {
			session_judge(s);
			session_publish(s);
		}
	}
}

/* Whether what is seen now will matter to nothing later: it is a good part of a large picture. */
static bool session_is_forgetful(struct session *s)
{
	bool asked;

	pthread_mutex_lock(&s->mutex);
	asked = s->n_wanted > 0;
	pthread_mutex_unlock(&s->mutex);
	return s->shared->one_shot && !s->shared->state_dir && !asked;
}

static void *session_main(void *arg)
{
	struct session *s = arg;

	s->forgetful = session_is_forgetful(s);
	do {
		session_poll(s);
	} while (!s->shared->one_shot && !session_stopping(s) && session_rest(s));
	session_save(s);
	session_finish(s);
	s->shared->published(s->shared->arg);
	return NULL;
}

/* ---- without a thread ---- */

void session_step_begin(struct session *s)
{
	pthread_mutex_lock(&s->mutex);
	s->started = s->joined = true;
	pthread_mutex_unlock(&s->mutex);
	s->next_ms = INT64_MIN;
}

static void session_step_poll(struct session *s)
{
	session_poll(s);
	s->next_ms =
		session_now_ms(s) + (s->failures ? session_backoff_ms(s) : s->config->interval_ms);
}

int64_t session_step(struct session *s, bool news)
{
	int64_t now = session_now_ms(s), work, next;

	if (now >= s->next_ms || (news && !s->failures))
		session_step_poll(s);
	work = session_work(s, false);
	if (s->repoll)
		session_step_poll(s);
	if (picture_due_ms(&s->picture) <= now) {
		session_judge(s);
		session_publish(s);
	}
	next = picture_due_ms(&s->picture);
	next = work < next ? work : next;
	return s->next_ms < next ? s->next_ms : next;
}

void session_step_end(struct session *s)
{
	session_finish(s);
}

/* ---- what the fleet calls ---- */

static void session_make_pipe(struct session *s)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		err_set(&s->open_error, ERR_IO, "can't make a pipe for source %s: %s",
			s->config->name, strerror(errno));
		s->wake_read = s->wake_write = -1;
		return;
	}
	s->wake_read = fds[0];
	s->wake_write = fds[1];
}

void session_init(
	struct session *s, struct session_shared *shared, const struct source_config *config)
{
	memset(s, 0, sizeof(*s));
	s->shared = shared;
	s->config = config;
	s->picture_ms = s->first_us = TIME_UNKNOWN;
	s->saved_ms = session_now_ms(s);
	s->error_since_us = TIME_UNKNOWN;
	s->armed_until_ms = INT64_MIN;
	s->polled_ms = INT64_MIN;
	/* In the built-in fleet everything is the same the next time. */
	s->seed = config->sim ? (unsigned)strlen(config->name)
			      : (unsigned)session_now_us(s) ^ (unsigned)getpid() ^
					(unsigned)(uintptr_t)s;
	pthread_mutex_init(&s->mutex, NULL);
	picture_init(&s->picture);
	memory_init(&s->memory);
	history_init(&s->history);
	map_init(&s->ghosts);
	map_init(&s->want_index);
	verdict_draft_init(&s->verdict);
	round_init(&s->round, s);
	session_make_pipe(s);
	if (!s->open_error.code && config->ops->open(config, &s->state, &s->open_error) &&
		!s->open_error.code)
		err_set(&s->open_error, ERR_CONFIG, "source %s can't be opened", config->name);
	s->state_word = SOURCE_CONNECTING;
	session_publish(s);
}

int session_start(struct session *s, struct err *err)
{
	int rc = pthread_create(&s->thread, NULL, session_main, s);

	if (rc)
		return err_set(err, ERR_IO, "can't start a thread for source %s: %s",
			s->config->name, strerror(rc));
	s->started = true;
	return 0;
}

static void session_wake(struct session *s)
{
	if (write(s->wake_write, "w", 1) < 0 && errno != EAGAIN)
		return; /* a full pipe wakes as well; nothing else can be wrong with it */
}

void session_signal(struct session *s, bool stop, bool poke)
{
	pthread_mutex_lock(&s->mutex);
	s->stop = s->stop || stop;
	s->poke = s->poke || poke;
	pthread_mutex_unlock(&s->mutex);
	session_wake(s);
}

void session_pause(struct session *s, bool paused)
{
	pthread_mutex_lock(&s->mutex);
	s->paused = paused;
	s->poke = s->poke || !paused;
	pthread_mutex_unlock(&s->mutex);
	session_wake(s);
}

bool session_post(struct session *s, struct session_task *task)
{
	bool takes;

	pthread_mutex_lock(&s->mutex);
	takes = s->started && !s->finished;
	if (takes) {
		task->due_ms = INT64_MIN;
		task->next = s->tasks;
		s->tasks = task;
	}
	pthread_mutex_unlock(&s->mutex);
	if (takes)
		session_wake(s);
	return takes;
}

void session_arm(struct session *s, int64_t until_ms)
{
	pthread_mutex_lock(&s->mutex);
	s->armed_until_ms = until_ms;
	pthread_mutex_unlock(&s->mutex);
}

int64_t session_armed_ms(struct session *s)
{
	int64_t until_ms, now = session_now_ms(s);

	pthread_mutex_lock(&s->mutex);
	until_ms = s->armed_until_ms;
	pthread_mutex_unlock(&s->mutex);
	if (until_ms == INT64_MAX)
		return INT64_MAX;
	return until_ms > now ? until_ms - now : 0;
}

static void session_forget_wanted(struct session *s)
{
	map_clear(&s->want_index);
	while (s->n_wanted > 0)
		free(s->wanted[--s->n_wanted]);
	free(s->wanted);
	s->wanted = NULL;
}

void session_want(struct session *s, const char *const *ids, size_t n)
{
	size_t len = strlen(s->config->name), i;

	pthread_mutex_lock(&s->mutex);
	session_forget_wanted(s);
	s->wanted = xcalloc(n, sizeof(*s->wanted));
	for (i = 0; i < n; i++) {
		char *own;

		if (strncmp(ids[i], s->config->name, len) != 0 || ids[i][len] != '/' ||
			map_get(&s->want_index, ids[i], strlen(ids[i])))
			continue;
		own = xstrdup(ids[i]);
		s->wanted[s->n_wanted++] = own;
		map_put(&s->want_index, own, strlen(own), own);
	}
	pthread_mutex_unlock(&s->mutex);
}

struct snapshot *session_snapshot(struct session *s)
{
	struct snapshot *snap;

	pthread_mutex_lock(&s->mutex);
	snap = snapshot_ref(s->snapshot);
	pthread_mutex_unlock(&s->mutex);
	return snap;
}

void session_round_start(struct session *s, int64_t deadline_ms)
{
	round_start(&s->round, deadline_ms);
}

void session_release(struct session *s)
{
	if (s->state)
		s->config->ops->close(s->state);
	session_forget_ghosts(s);
	session_forget_wanted(s);
	map_release(&s->ghosts);
	map_release(&s->want_index);
	row_unref(s->self_row);
	snapshot_unref(s->last);
	snapshot_unref(s->snapshot);
	round_release(&s->round);
	picture_release(&s->picture);
	memory_release(&s->memory);
	history_release(&s->history);
	memory_file_release(&s->file);
	verdict_draft_release(&s->verdict);
	free(s->identity);
	if (s->wake_read >= 0)
		close(s->wake_read);
	if (s->wake_write >= 0)
		close(s->wake_write);
	pthread_mutex_destroy(&s->mutex);
}
