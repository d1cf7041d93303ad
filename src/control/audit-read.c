#include "config.h"

#include "control/audit-file.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILE_MOST = 2 * AUDIT_FILE_MAX + AUDIT_LINE_MAX
};

/* One file, line by line, in either direction. */
struct lines {
	struct str bytes;
	size_t at; /* of the line to come; going back: behind its end */
};

static int lines_load(struct lines *l, const struct audit *audit, int i, struct err *err)
{
	char *path = audit_path(audit, i);
	int rc;

	str_init(&l->bytes, FILE_MOST);
	rc = fs_read(path, &l->bytes, err);
	free(path);
	l->at = 0;
	return rc;
}

/* Whoever wrote the file: texts are plain. Ours are (audit.c). */
static void json_clean(json_t *object)
{
	const char *key;
	json_t *value;
	struct str clean;

	json_object_foreach(object, key, value)
	{
		const char *text = json_string_value(value);
		const char *plain = text_make_plain(&clean, text, SIZE_MAX);

		if (plain != text)
			json_string_set(value, plain);
		str_release(&clean);
	}
}

/* The line as JSON; NULL when it is broken. */
static json_t *line_json(const char *line, size_t len)
{
	json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);

	if (json_integer_value(json_object_get(json, "n")) > 0 &&
		json_is_string(json_object_get(json, "phase"))) {
		json_clean(json);
		json_clean(json_object_get(json, "target"));
		json_clean(json_object_get(json, "who"));
		return json;
	}
	json_decref(json);
	return NULL;
}

static const char *field(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

/* ---- all lines, oldest first ---- */

/* As it stands there, where that is plain text: not even a terminal obeys it then. */
static void line_tell(
	const json_t *json, const char *line, void (*each)(void *arg, const char *line), void *arg)
{
	char *own;

	if (text_is_plain(line)) {
		each(arg, line);
		return;
	}
	own = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	if (own)
		each(arg, own);
	free(own);
}

static void file_lines(
	struct lines *l, void (*each)(void *arg, const char *line), void *arg, size_t *broken)
{
	while (l->at < l->bytes.len) {
		char *line = l->bytes.s + l->at;
		char *end = memchr(line, '\n', l->bytes.len - l->at);
		size_t len = end ? (size_t)(end - line) : l->bytes.len - l->at;
		json_t *json = end ? line_json(line, len) : NULL;

		if (json) {
			*end = '\0';
			line_tell(json, line, each, arg);
		} else if (len) {
			++*broken;
		}
		json_decref(json);
		l->at += len + 1;
	}
}

int audit_lines(const struct audit *audit, void (*each)(void *arg, const char *line), void *arg,
	size_t *ret_broken, struct err *err)
{
	size_t broken = 0;
	int i, rc = 0;

	for (i = audit->folder ? AUDIT_FILES - 1 : -1; i >= 0 && (!rc || rc == ERR_NOTFOUND); i--) {
		struct lines l;

		rc = lines_load(&l, audit, i, err);
		if (!rc)
			file_lines(&l, each, arg, &broken);
		str_release(&l.bytes);
	}
	if (ret_broken)
		*ret_broken = broken;
	return rc == ERR_NOTFOUND ? 0 : rc;
}

/* ---- acts, newest first ---- */

struct acts {
	void (*each)(void *arg, const struct audit_act *act);
	void *arg;
	size_t left, broken;
	json_t **outcomes; /* whose intent has not come yet */
	size_t n, cap;
};

/* Takes the outcome of that number out; NULL: there is none. */
static json_t *take_outcome(struct acts *a, json_int_t n)
{
	size_t i;

	for (i = a->n; i-- > 0;) {
		json_t *json = a->outcomes[i];

		if (json_integer_value(json_object_get(json, "n")) != n)
			continue;
		a->outcomes[i] = a->outcomes[--a->n];
		return json;
	}
	return NULL;
}

static void tell_act(struct acts *a, const json_t *intent)
{
	json_int_t n = json_integer_value(json_object_get(intent, "n"));
	json_t *outcome = take_outcome(a, n);
	const json_t *target = json_object_get(intent, "target");
	const json_t *who = json_object_get(intent, "who");
	struct audit_act act = {
		.n = (uint64_t)n,
		.at = field(intent, "at"),
		.outcome_at = field(outcome, "at"),
		.id = field(intent, "id"),
		.verb = field(intent, "verb"),
		.identity = field(target, "identity"),
		.key = field(target, "key"),
		.request = field(intent, "request"),
		.reason = field(intent, "reason"),
		.user = field(who, "user"),
		.host = field(who, "host"),
		.tty = field(who, "tty"),
		.outcome = field(outcome, "outcome"),
		.answer = field(outcome, "answer"),
		.overlap = field(outcome, "overlap"),
	};

	if (act.at && act.id && act.verb) {
		a->each(a->arg, &act);
		a->left--;
	} else {
		a->broken++;
	}
	json_decref(outcome);
}

static void file_line_back(struct acts *a, const char *line, size_t len)
{
	json_t *json = line_json(line, len);

	if (!json) {
		a->broken += len > 0;
	} else if (strcmp(field(json, "phase"), "outcome") == 0) {
		MEM_GROW(a->outcomes, a->n, a->cap);
		a->outcomes[a->n++] = json_incref(json);
	} else {
		tell_act(a, json);
	}
	json_decref(json);
}

static void lines_acts(struct acts *a, const char *s, size_t len)
{
	size_t end = len, start;

	/* What is behind the last line break is half a line. */
	while (end > 0 && s[end - 1] != '\n')
		end--;
	a->broken += end < len;
	while (end > 0 && a->left > 0) {
		for (start = end - 1; start > 0 && s[start - 1] != '\n';)
			start--;
		file_line_back(a, s + start, end - 1 - start);
		end = start;
	}
}

static void acts_release(struct acts *a)
{
	while (a->n > 0)
		json_decref(a->outcomes[--a->n]);
	free(a->outcomes);
}

void audit_acts_of(const char *lines, size_t len, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg)
{
	struct acts a = { .each = each, .arg = arg, .left = max };

	lines_acts(&a, lines, len);
	acts_release(&a);
}

int audit_acts(const struct audit *audit, size_t max,
	void (*each)(void *arg, const struct audit_act *act), void *arg, size_t *ret_broken,
	struct err *err)
{
	struct acts a = { .each = each, .arg = arg, .left = max };
	int i, rc = 0;

	for (i = 0; audit->folder && i < AUDIT_FILES && a.left > 0 && !rc; i++) {
		struct lines l;

		rc = lines_load(&l, audit, i, err);
		if (!rc)
			lines_acts(&a, l.bytes.s, l.bytes.len);
		str_release(&l.bytes);
	}
	acts_release(&a);
	if (ret_broken)
		*ret_broken = a.broken;
	return rc == ERR_NOTFOUND ? 0 : rc;
}
