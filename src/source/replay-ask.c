#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/replay-inside.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a record that was opened can be asked. */

enum {
	ACT_TEXT_MAX = 2000,
};

int64_t replay_epoch_us(const struct replay *r)
{
	return r->epoch_us;
}

bool replay_is_sim(const struct replay *r)
{
	return r->sim;
}

int64_t replay_last_ms(const struct replay *r)
{
	return r->last_ms;
}

const char *replay_trouble(const struct replay *r)
{
	return r->trouble;
}

size_t replay_n_sources(const struct replay *r)
{
	return r->n_tracks;
}

const struct replay_source *replay_source_at(const struct replay *r, size_t i)
{
	return &r->tracks[i].fact;
}

const struct role *replay_roles(const struct replay *r, size_t *ret_n)
{
	*ret_n = r->n_roles;
	return r->roles;
}

const struct thresholds *replay_thresholds(const struct replay *r)
{
	return &r->thresholds;
}

static size_t until(const struct replay_mark *at, size_t n, int64_t now_ms)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at[middle].at_ms <= now_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t replay_marks_until(const struct replay_marks *m, int64_t now_ms)
{
	return until(m->at, m->n, now_ms);
}

int64_t replay_next_ms(const struct replay *r, int64_t after_ms)
{
	size_t i = until(r->moments, r->n_moments, after_ms);

	return i < r->n_moments ? r->moments[i].at_ms : INT64_MAX;
}

int64_t replay_finding_ms(const struct replay *r, int64_t at_ms, bool back)
{
	size_t i = replay_marks_until(&r->findings, back ? at_ms - 1 : at_ms);

	if (back)
		return i ? r->findings.at[i - 1].at_ms : INT64_MAX;
	return i < r->findings.n ? r->findings.at[i].at_ms : INT64_MAX;
}

/* ---- events ---- */

static enum event_hold hold_of(const char *word)
{
	static const char *const words[] = {
		[EVENT_NO_HOLD] = "none",
		[EVENT_TOOK] = "took",
		[EVENT_SEEN] = "seen",
		[EVENT_LAST_SEEN] = "last-seen",
		[EVENT_LET_GO] = "let-go",
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i], word) == 0)
			return (enum event_hold)i;
	return EVENT_NO_HOLD;
}

struct event_texts {
	char *source, *id, *what, *text, *holder, *key;
};

static const char *act_text(const struct json_node *object, const char *name)
{
	const char *text = json_node_text(json_node_get(object, name));

	return text ? text : "-";
}

/* What an act's line tells: that it was confirmed, by whom and why; or what became of it. */
static void tell_act(struct str *s, const struct json_node *audit)
{
	const struct json_node *who = json_node_get(audit, "who");
	const char *outcome = json_node_text(json_node_get(audit, "outcome"));
	const char *more = json_node_text(json_node_get(audit, outcome ? "answer" : "reason"));

	str_addf(s, "%s ", act_text(audit, "verb"));
	if (outcome)
		str_add(s, outcome);
	else
		str_addf(s, "begun by %s on %s", act_text(who, "user"), act_text(who, "host"));
	if (more && *more)
		str_addf(s, ": %s", more);
}

/* The audit's times have milliseconds; the line's own is that of the next picture. */
static int64_t act_time(const struct json_node *line, const struct json_node *audit)
{
	const char *at = act_text(audit, "at");
	char text[CLOCK_TEXT_MAX];

	if (strlen(at) != strlen("2026-01-02T03:04:05.678Z"))
		return replay_time(json_node_get(line, "at"));
	snprintf(text, sizeof(text), "%.23s000Z", at);
	return replay_time(&(struct json_node){ .kind = JSON_KIND_TEXT, .text = text });
}

/* An act as an event of its singleton; NULL: it is of none. */
static struct event *make_act_event(const struct json_node *line)
{
	const struct json_node *audit = json_node_get(line, "audit");
	char *id = replay_text_copy(json_node_get(audit, "id"));
	size_t len = id ? strcspn(id, "/") : 0;
	struct event *e = NULL;
	struct str raw, text;
	char *source;

	if (id && id[len]) {
		source = xstrdup(id);
		source[len] = '\0';
		str_init(&raw, ACT_TEXT_MAX);
		str_init(&text, ACT_TEXT_MAX * 4 + 4);
		tell_act(&raw, audit);
		text_escape_again(&text, raw.s, ACT_TEXT_MAX);
		e = event_new(act_time(line, audit), 0, source, id, "act", text.s);
		str_release(&raw);
		str_release(&text);
		free(source);
	}
	free(id);
	return e;
}

static struct event *make_event(const struct json_node *line)
{
	struct event_texts t = {
		.source = replay_text_copy(json_node_get(line, "source")),
		.id = replay_text_copy(json_node_get(line, "id")),
		.what = replay_text_copy(json_node_get(line, "what")),
		.text = replay_text_copy(json_node_get(line, "text")),
		.holder = replay_text_copy(json_node_get(line, "holder")),
		.key = replay_text_copy(json_node_get(line, "key")),
	};
	enum event_hold hold = hold_of(replay_word(line, "hold"));
	struct event *e = NULL;
	int64_t token = 0;

	replay_big(json_node_get(line, "token"), 10, &token);
	if (!t.holder)
		hold = EVENT_NO_HOLD;
	if (t.source && t.what && t.text)
		e = event_held(replay_time(json_node_get(line, "at")), token, t.source, t.id,
			t.what, t.text, hold, hold == EVENT_NO_HOLD ? NULL : t.holder,
			hold == EVENT_NO_HOLD ? NULL : t.key);
	if (e)
		e->late = replay_true(line, "late");
	free(t.source);
	free(t.id);
	free(t.what);
	free(t.text);
	free(t.holder);
	free(t.key);
	return e;
}

/* NULL: it can't be read, or is of nothing that is shown. */
static struct event *event_at(const struct replay *r, int64_t offset)
{
	struct replay_line line;
	struct event *e = NULL;

	replay_line_read(&line, r, offset);
	if (line.json)
		e = json_node_get(line.json, "audit") ? make_act_event(line.json)
						      : make_event(line.json);
	replay_line_release(&line);
	return e;
}

size_t replay_events(const struct replay *r, int64_t now_ms, uint64_t *seq, struct event **ret,
	size_t max, size_t most)
{
	size_t end = replay_marks_until(&r->events, now_ms), n = 0;

	if (*seq == 0 && end > most)
		*seq = end - most;

	while (*seq < end && n < max) {
		struct event *e = event_at(r, r->events.at[*seq].offset);

		++*seq;
		if (!e)
			continue;
		e->seq = *seq;
		ret[n++] = e;
	}
	return n;
}

/* ---- acts ---- */

bool replay_is_redacted(const struct replay *r)
{
	return r->redacted;
}

size_t replay_n_acts(const struct replay *r, int64_t now_ms)
{
	return replay_marks_until(&r->acts, now_ms);
}

static json_t *clean_value(const struct json_node *value)
{
	char *text = replay_text_copy(value);
	json_t *clean = NULL;

	if (text)
		clean = json_string(text);
	else if (json_node_is(value, JSON_KIND_NUMBER))
		clean = json_integer(value->number);

	free(text);
	return clean;
}

/* Texts and numbers, and those of its objects: nothing that is deeper is shown. */
static json_t *clean_act(const struct json_node *audit)
{
	const struct json_node *value, *part;
	json_t *clean = json_object(), *inner;

	for (value = json_node_first(audit); value; value = json_node_next(value)) {
		if (!json_node_is(value, JSON_KIND_OBJECT)) {
			json_object_set_new(clean, value->name, clean_value(value));
			continue;
		}
		inner = json_object();
		for (part = json_node_first(value); part; part = json_node_next(part))
			json_object_set_new(inner, part->name, clean_value(part));
		json_object_set_new(clean, value->name, inner);
	}
	return clean;
}

static void tell_line(const struct replay *r, int64_t offset,
	void (*each)(void *arg, const char *line), void *arg)
{
	const struct json_node *audit;
	struct replay_line line;
	json_t *clean;
	char *text;

	replay_line_read(&line, r, offset);
	audit = json_node_get(line.json, "audit");
	if (json_node_is(audit, JSON_KIND_OBJECT)) {
		clean = clean_act(audit);
		text = json_dumps(clean, JSON_COMPACT);
		if (text)
			each(arg, text);
		free(text);
		json_decref(clean);
	}
	replay_line_release(&line);
}

void replay_acts(const struct replay *r, int64_t now_ms, size_t most,
	void (*each)(void *arg, const char *line), void *arg)
{
	size_t end = replay_n_acts(r, now_ms), i;

	for (i = end > most ? end - most : 0; i < end; i++)
		tell_line(r, r->acts.at[i].offset, each, arg);
}

/* ---- what was judged ---- */

static struct row *judged_at(const struct replay *r, const struct replay_marks *marks,
	int64_t now_ms, const char *source, const char *path)
{
	size_t n = replay_marks_until(marks, now_ms);
	struct replay_maker maker;
	struct replay_line line;
	struct row *row = NULL;

	if (!n)
		return NULL;
	replay_line_read(&line, r, marks->at[n - 1].offset);
	if (json_node_is(json_node_get(line.json, "verdict"), JSON_KIND_OBJECT)) {
		replay_maker_init(&maker);
		row = replay_make_judged(&maker, source, path, line.json);
		replay_maker_release(&maker);
	}
	replay_line_release(&line);
	return row;
}

struct row *replay_role(const struct replay *r, int64_t now_ms, const char *name)
{
	size_t i;

	for (i = 0; i < r->n_roles; i++)
		if (strcmp(r->roles[i].name, name) == 0)
			return judged_at(r, &r->role_facts[i].marks, now_ms, "role", name);
	return NULL;
}

struct row *replay_cross(const struct replay *r, int64_t now_ms, const char *source)
{
	size_t i;

	for (i = 0; i < r->n_tracks; i++)
		if (strcmp(r->tracks[i].fact.name, source) == 0)
			return judged_at(r, &r->tracks[i].cross, now_ms, source, "");
	return NULL;
}
