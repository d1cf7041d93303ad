#include "config.h"

#include "base/mem.h"
#include "source/replay-inside.h"

#include <stdlib.h>
#include <string.h>

/* What a record that was opened can be asked. */

enum {
	KIND_TEXT_MAX = 4096,
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

static struct event *make_event(const json_t *line)
{
	struct event_texts t = {
		.source = replay_text_copy(json_object_get(line, "source")),
		.id = replay_text_copy(json_object_get(line, "id")),
		.what = replay_text_copy(json_object_get(line, "what")),
		.text = replay_text_copy(json_object_get(line, "text")),
		.holder = replay_text_copy(json_object_get(line, "holder")),
		.key = replay_text_copy(json_object_get(line, "key")),
	};
	enum event_hold hold = hold_of(replay_word(line, "hold"));
	struct event *e = NULL;
	int64_t token = 0;

	replay_big(json_object_get(line, "token"), 10, &token);
	if (!t.holder)
		hold = EVENT_NO_HOLD;
	if (t.source && t.what && t.text)
		e = event_held(replay_time(json_object_get(line, "at")), token, t.source, t.id,
			t.what, t.text, hold, hold == EVENT_NO_HOLD ? NULL : t.holder,
			hold == EVENT_NO_HOLD ? NULL : t.key);
	free(t.source);
	free(t.id);
	free(t.what);
	free(t.text);
	free(t.holder);
	free(t.key);
	return e;
}

size_t replay_events(const struct replay *r, int64_t now_ms, uint64_t *seq, struct event **ret,
	size_t max, size_t most)
{
	size_t end = replay_marks_until(&r->events, now_ms), n = 0;

	if (*seq == 0 && end > most)
		*seq = end - most;

	while (*seq < end && n < max) {
		json_t *line = replay_line_at(r, r->events.at[*seq].offset);
		struct event *e = line ? make_event(line) : NULL;

		json_decref(line);
		++*seq;
		if (!e)
			continue;
		e->seq = *seq;
		ret[n++] = e;
	}
	return n;
}

void replay_acts(const struct replay *r, int64_t now_ms, void (*each)(void *arg, const char *line),
	void *arg)
{
	size_t end = replay_marks_until(&r->acts, now_ms), i;

	for (i = 0; i < end; i++) {
		json_t *line = replay_line_at(r, r->acts.at[i].offset);
		char *audit = json_dumps(json_object_get(line, "audit"), JSON_COMPACT);

		if (audit)
			each(arg, audit);
		free(audit);
		json_decref(line);
	}
}

/* ---- what was judged ---- */

static struct row *judged_at(const struct replay *r, const struct replay_marks *marks,
	int64_t now_ms, const char *source, const char *path)
{
	size_t n = replay_marks_until(marks, now_ms);
	struct replay_maker maker;
	struct row *row = NULL;
	json_t *line;

	if (!n)
		return NULL;
	line = replay_line_at(r, marks->at[n - 1].offset);
	if (line && json_is_object(json_object_get(line, "verdict"))) {
		replay_maker_init(&maker);
		row = replay_make_judged(&maker, source, path, line);
		replay_maker_release(&maker);
	}
	json_decref(line);
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
