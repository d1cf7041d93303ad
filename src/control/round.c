#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a source may call while it polls (source.h). */

enum {
	SERVER_TEXT_MAX = 400,
	EVENT_TEXT_MAX = 600
};

void round_init(struct round *r, struct session *s)
{
	memset(r, 0, sizeof(*r));
	r->session = s;
	r->draft = draft_new();
	r->cost.round_trip_ms = TIME_UNKNOWN;
}

void round_release(struct round *r)
{
	round_hidden_clear(r);
	free(r->hidden);
	free(r->server);
	free(r->degraded);
	singleton_unref(r->self);
	draft_free(r->draft);
	memset(r, 0, sizeof(*r));
}

void round_start(struct round *r, int64_t deadline_ms)
{
	r->deadline_ms = deadline_ms;
	r->partial = false;
	free(r->degraded);
	r->degraded = NULL;
}

const struct clock_source *round_clock(const struct round *r)
{
	return r->session->shared->clock;
}

int64_t round_now_ms(const struct round *r)
{
	return clock_mono_ms(round_clock(r));
}

int64_t round_deadline_ms(const struct round *r)
{
	return r->deadline_ms;
}

int round_wake_fd(const struct round *r)
{
	return r->session->wake_read;
}

bool round_cancelled(const struct round *r)
{
	bool stop;

	pthread_mutex_lock(&r->session->mutex);
	stop = r->session->stop;
	pthread_mutex_unlock(&r->session->mutex);
	return stop;
}

bool round_one_shot(const struct round *r)
{
	return r->session->shared->one_shot;
}

struct draft *round_draft(struct round *r)
{
	return r->draft;
}

void round_begin(struct round *r)
{
	picture_begin(&r->session->picture);
	r->session->judged_to = 0;
}

void round_put(struct round *r, struct singleton *s)
{
	session_row_held(r->session, s->id);
	picture_put(&r->session->picture, s);
}

const struct row *round_row(const struct round *r, const char *id)
{
	const struct picture_slot *slot = picture_find(&r->session->picture, id);

	return slot ? slot->row : NULL;
}

void round_put_judged(struct round *r, struct row *row)
{
	struct picture *pic = &r->session->picture;

	picture_put(pic, singleton_ref(row->s));
	picture_judged(pic, (size_t)(picture_find(pic, row->s->id) - pic->slots), row, INT64_MAX);
}

void round_head(struct round *r, const struct snapshot *head)
{
	r->head = head;
}

void round_drop(struct round *r, const char *id)
{
	session_row_gone(r->session, id);
	session_settle(r->session);
}

void round_hide(struct round *r, const char *id)
{
	session_row_hidden(r->session, id);
	session_settle(r->session);
}

void round_partial(struct round *r)
{
	r->partial = true;
}

void round_behind(struct round *r, bool behind)
{
	r->behind = behind;
}

static void round_gone(void *arg, const struct singleton *s)
{
	struct str *ids = arg;

	str_add_mem(ids, s->id, strlen(s->id) + 1);
}

void round_end(struct round *r)
{
	struct str ids;
	size_t at;

	/* The ids first: what becomes of them changes the picture that is walked. */
	str_init(&ids, 256 * 1024 * 1024);
	session_keep_ghosts(r->session);
	picture_end(&r->session->picture, round_gone, &ids);
	for (at = 0; at < ids.len; at += strlen(ids.s + at) + 1) {
		(r->partial ? session_row_hidden : session_row_gone)(r->session, ids.s + at);
		session_settle(r->session);
	}
	str_release(&ids);
	r->complete = true;
}

/* It was seen, and whether it is there still the next reading tells. */
static void round_forget(void *arg, const struct singleton *s)
{
	memory_observe_hidden(arg, s->id);
	memory_settle_many(arg);
}

void round_abandon(struct round *r)
{
	if (r->complete)
		return;
	picture_begin(&r->session->picture);
	picture_end(&r->session->picture, round_forget, &r->session->memory);
}

bool round_use_time(struct round *r, size_t most)
{
	return session_judge_early(r->session, most);
}

void round_self(struct round *r, struct singleton *s)
{
	singleton_unref(r->self);
	r->self = s;
}

void round_server(struct round *r, const char *text)
{
	struct str clean;

	str_init(&clean, SERVER_TEXT_MAX * 4);
	text_escape_cut(&clean, text, strlen(text), SERVER_TEXT_MAX);
	free(r->server);
	r->server = str_take(&clean);
}

void round_hidden_clear(struct round *r)
{
	while (r->n_hidden > 0)
		hidden_release(&r->hidden[--r->n_hidden]);
}

void round_hidden_rows(struct round *r, const char *what, const char *remedy, const char *rows,
	const char *const *except)
{
	const struct hidden hidden = {
		.what = what, .remedy = remedy, .rows = rows, .except = except
	};

	MEM_GROW(r->hidden, r->n_hidden, r->cap_hidden);
	hidden_copy(&r->hidden[r->n_hidden++], &hidden);
}

void round_unlooked(struct round *r, const char *what, const char *remedy,
	const char *const *except, unsigned found)
{
	round_hidden_rows(r, what, remedy, "", except);
	r->hidden[r->n_hidden - 1].chosen = true;
	r->hidden[r->n_hidden - 1].found = found;
}

void round_hidden(struct round *r, const char *what, const char *remedy)
{
	round_hidden_rows(r, what, remedy, NULL, NULL);
}

void round_degraded(struct round *r, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(r->degraded);
	r->degraded = xstrdup(text);
}

void round_cost(struct round *r, uint64_t requests, uint64_t bytes_in, uint64_t bytes_out,
	int64_t round_trip_ms)
{
	r->cost.requests += requests;
	r->cost.bytes_in += bytes_in;
	r->cost.bytes_out += bytes_out;
	if (round_trip_ms != TIME_UNKNOWN)
		r->cost.round_trip_ms = round_trip_ms;
}

void round_event(struct round *r, const char *path, int64_t at_us, int64_t token, const char *what,
	const char *text)
{
	struct session_shared *shared = r->session->shared;
	const char *source = r->session->config->name;
	struct event *event;
	struct str id;

	str_init(&id, 8192);
	if (path)
		str_addf(&id, "%s/%s", source, path);
	event = event_new(at_us, token, source, path ? id.s : NULL, what, text);
	event->late = true;
	shared->event(shared->arg, event);
	str_release(&id);
}

bool round_wanted(const struct round *r, const char *id)
{
	bool wanted;

	pthread_mutex_lock(&r->session->mutex);
	wanted = map_get(&r->session->want_index, id, strlen(id)) != NULL;
	pthread_mutex_unlock(&r->session->mutex);
	return wanted;
}

void round_each_wanted(const struct round *r, void (*each)(void *arg, const char *id), void *arg)
{
	size_t i;

	pthread_mutex_lock(&r->session->mutex);
	for (i = 0; i < r->session->n_wanted; i++)
		each(arg, r->session->wanted[i]);
	pthread_mutex_unlock(&r->session->mutex);
}
