#include "config.h"

#include "show/forecast.h"
#include "base/text.h"
#include "show/json.h"

#include <string.h>

enum {
	LABEL_WIDTH = 14
};

/* ---- as JSON ---- */

void show_target_json(struct json_writer *j, const struct forecast *f)
{
	jw_map(j);
	jw_key_text(j, "identity", f->identity);
	jw_key_text(j, "key", f->key);
	jw_key(j, "token");
	if (f->has_token)
		jw_big(j, f->token);
	else
		jw_null(j);
	jw_map_end(j);
}

static void json_texts(struct json_writer *j, const char *key, const struct plan_list *list)
{
	struct str text;
	size_t i;

	str_init(&text, 64 * 1024);
	jw_key(j, key);
	jw_list(j);
	for (i = 0; i < list->n; i++) {
		const struct plan_item *item = &list->items[i];

		str_clear(&text);
		str_addf(&text, "%s%s%s", item->what, item->id[0] ? " " : "", item->id);
		jw_text(j, text.s);
	}
	jw_list_end(j);
	str_release(&text);
}

static void json_items(struct json_writer *j, const char *key, const char *first,
	const char *second, const struct plan_list *list)
{
	size_t i;

	jw_key(j, key);
	jw_list(j);
	for (i = 0; i < list->n; i++) {
		jw_map(j);
		jw_key_text(j, first, list->items[i].what);
		jw_key_text(j, second, list->items[i].id);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void json_gap(struct json_writer *j, const struct forecast *f)
{
	jw_key(j, "gap_ms");
	jw_map(j);
	jw_key_ms(j, "min", f->gap_min_ms);
	jw_key_ms(j, "max", f->gap_max_ms);
	jw_key_text(j, "why", f->gap_why);
	jw_map_end(j);
}

static void json_overlap(struct json_writer *j, const struct forecast *f)
{
	jw_key(j, "overlap");
	jw_map(j);
	jw_key(j, "possible");
	if (f->overlap == TRI_UNKNOWN)
		jw_null(j);
	else
		jw_bool(j, f->overlap == TRI_YES);
	jw_key_time(j, "last_sign", f->last_sign_us, 3);
	jw_key_text(j, "sign", f->last_sign);
	jw_key_text(j, "text", f->overlap_text);
	jw_map_end(j);
}

void show_forecast_json(struct json_writer *j, const struct forecast *f)
{
	jw_key_text(j, "id", f->id);
	jw_key_text(j, "verb", verb_word(f->verb)->word);
	jw_key_bool(j, "allowed", f->allowed);
	json_texts(j, "reasons", &f->reasons);
	jw_key(j, "target");
	show_target_json(j, f);
	jw_key_text(j, "request", f->request);
	jw_key_text(j, "guarded_by", f->guarded_by);
	json_items(j, "destroys", "what", "id", &f->destroys);
	json_items(j, "keeps", "what", "id", &f->keeps);
	jw_key_int(j, "cut", (int64_t)(f->destroys.cut + f->keeps.cut));
	json_texts(j, "told", &f->told);
	jw_key_text(j, "successor", f->successor);
	json_gap(j, f);
	json_overlap(j, f);
	jw_key_text(j, "permission", permission_word(f->permission));
	jw_key_text(j, "permission_why", f->permission_why);
	jw_key_text(j, "if_left_alone", f->alone);
	json_items(j, "warnings", "code", "text", &f->warnings);
}

/* ---- as text ---- */

struct telling {
	struct out *out;
	size_t columns;
};

/* How many bytes of a text fit into so many columns, at a space where there is one. */
static size_t fitting(const char *text, size_t columns)
{
	size_t at = 0, space = 0, used = 0, len = strlen(text);

	while (at < len) {
		uint32_t cp;
		size_t n = text_decode(text + at, len - at, &cp);
		int width = n ? text_cp_width(cp) : 1;

		used += width > 0 ? (size_t)width : 0;
		if (used > columns)
			return space ? space : at ? at : n ? n : 1;
		if (text[at] == ' ')
			space = at;
		at += n ? n : 1;
	}
	return len;
}

static void tell_line(void *arg, const char *label, const char *text)
{
	struct telling *t = arg;
	size_t room = t->columns > LABEL_WIDTH + 20 ? t->columns - LABEL_WIDTH - 2 : SIZE_MAX;

	out_text(t->out, label);
	out_spaces(t->out, strlen(label) < LABEL_WIDTH ? LABEL_WIDTH - strlen(label) : 1);
	while (*text) {
		size_t n = fitting(text, room);

		out_mem(t->out, text, n);
		out_char(t->out, '\n');
		text += n;
		while (*text == ' ')
			text++;
		if (*text)
			out_spaces(t->out, LABEL_WIDTH);
	}
}

void show_forecast_text(struct out *out, const struct show_style *style, const struct forecast *f)
{
	struct telling t = { out, style->columns };

	out_fmt(out, "%s  ", verb_word(f->verb)->word);
	out_text(out, f->id);
	out_text(out, "  ");
	out_text(out, f->environment ? f->environment : "(environment not said)");
	out_char(out, '\n');
	forecast_tell(f, tell_line, &t);
}
