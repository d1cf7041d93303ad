#include "config.h"

#include "cli/debrief.h"
#include "base/str.h"
#include "show/json.h"
#include "tui/lesson-prose.h"

#include <string.h>

void debrief_text(struct out *out, const struct debrief *d, int columns, bool ascii)
{
	struct canvas c = { .ascii = ascii };
	struct prose p;
	struct str text;

	prose_init(&p);
	p.width = columns;
	p.ascii = ascii;
	prose_debrief(&p, d);
	canvas_init(&c, prose_height(&p, &c, columns), columns, ascii);
	prose_draw(&p, &c, canvas_all(&c), 0, NULL);
	str_init(&text, 4 * 1024 * 1024);
	canvas_dump(&c, &text);
	out_mem(out, text.s, text.len);
	str_release(&text);
	canvas_release(&c);
	prose_release(&p);
}

static void json_score(struct json_writer *j, const struct score *s)
{
	size_t i;

	jw_key_int(j, "score", s->total);
	jw_key_bool(j, "capped", s->capped);
	jw_key(j, "parts");
	jw_map(j);
	jw_key_int(j, "diagnosis", s->diagnosis);
	jw_key_int(j, "safety", s->safety);
	jw_key_int(j, "time", s->time);
	jw_key_int(j, "communication", s->communication);
	jw_key_int(j, "hints", s->hints);
	jw_map_end(j);
	jw_key(j, "lines");
	jw_list(j);
	for (i = 0; i < s->n_lines; i++) {
		jw_map(j);
		jw_key_text(j, "what", s->lines[i].what);
		jw_key_int(j, "points", s->lines[i].points);
		jw_key_int(j, "of", s->lines[i].of);
		jw_key_text(j, "text", s->lines[i].text);
		jw_map_end(j);
	}
	jw_list_end(j);
}

void debrief_json_causes(struct json_writer *j, const struct lesson *l, uint64_t causes)
{
	size_t i;

	jw_key(j, "causes");
	jw_list(j);
	for (i = 0; i < l->n_causes; i++)
		if (causes >> i & 1)
			jw_text(j, l->causes[i].id);
	jw_list_end(j);
}

static void json_said(struct json_writer *j, const struct debrief *d)
{
	static const char *const words[] = { "diagnosis", "hint", "note" };
	size_t i;

	jw_key(j, "said");
	jw_list(j);
	for (i = 0; i < d->n_said; i++) {
		const struct debrief_said *s = &d->said[i];

		jw_map(j);
		jw_key_int(j, "at_ms", s->at_ms);
		jw_key_text(j, "what", words[s->kind]);
		if (s->kind == SAID_DIAGNOSIS)
			debrief_json_causes(j, d->lesson, s->causes);
		else if (s->kind == SAID_HINT)
			jw_key_int(j, "hint", (int64_t)s->hint + 1);
		else
			jw_key_text(j, "text", s->note);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void json_acts(struct json_writer *j, const struct debrief *d)
{
	size_t i;

	jw_key(j, "acts");
	jw_list(j);
	for (i = 0; i < d->n_acts; i++) {
		const struct debrief_act *a = &d->acts[i];

		jw_map(j);
		jw_key_int(j, "at_ms", a->at_ms);
		jw_key_text(j, "verb", a->verb);
		jw_key_text(j, "id", a->id);
		jw_key_text(j, "holder", a->identity);
		jw_key_text(j, "reason", a->reason);
		jw_key_text(j, "was", a->was);
		jw_key_text(j, "text", a->text);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void json_measures(struct json_writer *j, const struct debrief *d)
{
	const struct referee_rules *rules = &d->lesson->rules;
	size_t i, k;

	jw_key(j, "measures");
	jw_list(j);
	for (i = 0; i < d->n_values; i++) {
		const struct measure *m = &rules->measures[i];

		jw_map(j);
		jw_key_text(j, "measure", measure_word(m->kind)->word);
		jw_key(j, "of");
		jw_list(j);
		for (k = 0; k < m->n_of; k++)
			jw_text(j, m->of[k]);
		jw_list_end(j);
		jw_key_text(j, "on", m->on);
		jw_key_int(j, "value", d->values[i]);
		jw_map_end(j);
	}
	jw_list_end(j);
	jw_key_int(j, "unfenced_doubles", (int64_t)d->unfenced_doubles);
}

static void json_bands(struct json_writer *j, const struct debrief *d)
{
	static const char *const kinds[] = { "work", "idle", "overlap", "vacant", "record" };
	const char *head = "";
	size_t i, k;

	jw_key(j, "timeline");
	jw_list(j);
	for (i = 0; i < d->n_bands; i++) {
		const struct band *b = &d->bands[i];

		head = b->head ? b->head : head;
		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "group", head);
		jw_key_text(j, "label", b->label);
		jw_key(j, "spans");
		jw_list(j);
		for (k = 0; k < b->n; k++) {
			jw_map(j);
			jw_key_text(j, "what", kinds[b->spans[k].kind]);
			jw_key_int(j, "from_ms", b->spans[k].from_ms);
			jw_key_int(j, "to_ms", b->spans[k].to_ms);
			jw_map_end(j);
		}
		jw_list_end(j);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void json_events(struct json_writer *j, const struct debrief *d)
{
	size_t i;

	jw_key(j, "events");
	jw_list(j);
	for (i = 0; i < d->n_events; i++) {
		const struct debrief_event *e = &d->events[i];

		jw_newline(j);
		jw_map(j);
		jw_key_int(j, "at_ms", e->at_ms);
		jw_key_text(j, "what", happening_word(e->kind));
		jw_key_text(j, "text", e->text);
		jw_key_int(j, "times", (int64_t)e->times);
		jw_key_int(j, "last_ms", e->last_ms);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void json_faults(struct json_writer *j, const char *faults)
{
	jw_key(j, "faults");
	jw_list(j);
	while (*faults) {
		size_t len = strcspn(faults, "\n");
		struct str line;

		str_init(&line, 2048);
		str_add_mem(&line, faults, len);
		jw_text(j, line.s);
		str_release(&line);
		faults += len + (faults[len] != '\0');
	}
	jw_list_end(j);
}

void debrief_json(struct out *out, const struct debrief *d, const char *way, const char *faults)
{
	struct json_writer j;

	jw_init(&j, out);
	jw_map(&j);
	jw_key_text(&j, "schema", "baton-lesson/1");
	jw_key_text(&j, "lesson", d->lesson->number);
	jw_key_text(&j, "title", d->lesson->title);
	jw_key_int(&j, "seed", (int64_t)d->seed);
	jw_key_text(&j, "inject", d->inject);
	jw_key_text(&j, "way", way);
	jw_key_text(&j, "end", account_end_word(d->end));
	jw_key_int(&j, "begins_ms", d->begins_ms);
	jw_key_int(&j, "end_ms", d->end_ms);
	jw_key_ms(&j, "restored_ms", d->restored_ms < 0 ? INT64_MIN : d->restored_ms);
	json_score(&j, &d->score);
	json_said(&j, d);
	json_acts(&j, d);
	json_measures(&j, d);
	json_bands(&j, d);
	json_events(&j, d);
	json_faults(&j, faults ? faults : "");
	jw_map_end(&j);
	out_char(out, '\n');
}
