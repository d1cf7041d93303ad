#include "config.h"

#include "control/lesson-results.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
	FILE_MOST = 1024 * 1024,
	LOCK_TRIES = 20,
	LOCK_WAIT_US = 50 * 1000
};

/* STATE_DIR/lessons.jsonl and its lock's path; the caller frees both. */
static int paths(const char *folder, char **ret_path, char **ret_lock, struct err *err)
{
	char *own = NULL;
	struct str path;
	int rc = folder ? 0 : fs_state_dir(&own, err);

	if (rc)
		return rc;
	folder = folder ? folder : own;
	rc = fs_make_dirs(folder, err);
	if (!rc) {
		str_init(&path, 8192);
		str_addf(&path, "%s/lessons.jsonl", folder);
		*ret_path = xstrdup(path.s);
		str_add(&path, ".lock");
		*ret_lock = str_take(&path);
	}
	free(own);
	return rc;
}

/* Another trainee may end at the same moment. */
static int lock_file(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), tries;

	if (fd < 0)
		return err_set(err, ERR_IO, "can't open %s: %s", path, strerror(errno));
	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		usleep(LOCK_WAIT_US);
	}
	close(fd);
	return err_set(err, ERR_BUSY, "another program keeps %s locked", path);
}

static char *line_of(const struct debrief *d, int64_t now_us)
{
	const struct score *s = &d->score;
	json_t *json = json_object();
	char at[CLOCK_TEXT_MAX];
	char *line;

	clock_format_utc(at, now_us, 0);
	json_object_set_new(json, "schema", json_string("baton-lesson-result/1"));
	json_object_set_new(json, "at", json_string(at));
	json_object_set_new(json, "lesson", json_string(d->lesson->number));
	json_object_set_new(json, "title", json_string(d->lesson->title));
	json_object_set_new(json, "seed", json_integer((json_int_t)d->seed));
	json_object_set_new(json, "inject", d->inject ? json_string(d->inject) : json_null());
	json_object_set_new(json, "score", json_integer(s->total));
	json_object_set_new(json, "diagnosis", json_integer(s->diagnosis));
	json_object_set_new(json, "safety", json_integer(s->safety));
	json_object_set_new(json, "time", json_integer(s->time));
	json_object_set_new(json, "communication", json_integer(s->communication));
	json_object_set_new(json, "hints", json_integer(s->hints));
	json_object_set_new(json, "end", json_string(account_end_word(d->end)));
	json_object_set_new(json, "after_ms", json_integer((json_int_t)debrief_after_ms(d)));
	line = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return line;
}

/* Leaves out the oldest lines, so that one more keeps the cap. */
static const char *newest(const char *text)
{
	size_t lines = 0;
	const char *s;

	for (s = text; *s; s++)
		lines += *s == '\n';
	for (; lines >= LESSON_RESULTS_MOST && (s = strchr(text, '\n')) != NULL; lines--)
		text = s + 1;
	return text;
}

static int append(const char *path, const char *line, struct err *err)
{
	struct str old, text;
	int rc;

	str_init(&old, FILE_MOST);
	str_init(&text, 2 * FILE_MOST);
	rc = fs_read(path, &old, err);
	/* A file that grew beyond its cap is none of ours: it begins anew. */
	if (rc == ERR_NOTFOUND || rc == ERR_LIMIT) {
		str_clear(&old);
		rc = 0;
	}
	if (!rc) {
		str_add(&text, newest(old.s));
		if (text.len && text.s[text.len - 1] != '\n')
			str_add_char(&text, '\n');
		str_addf(&text, "%s\n", line);
		rc = fs_write_atomic(path, text.s, text.len, err);
	}
	str_release(&old);
	str_release(&text);
	return rc;
}

int lesson_results_add(const char *folder, const struct debrief *d, int64_t now_us, struct err *err)
{
	char *path, *lock, *line;
	int rc = paths(folder, &path, &lock, err), fd;

	if (rc)
		return rc;
	fd = lock_file(lock, err);
	if (fd >= 0) {
		line = line_of(d, now_us);
		rc = append(path, line, err);
		free(line);
		close(fd);
	}
	free(path);
	free(lock);
	return fd < 0 ? fd : rc;
}

/* ---- reading ---- */

static void text_field(const json_t *json, const char *key, char *buf, size_t size)
{
	const char *value = json_string_value(json_object_get(json, key));
	struct str shown;

	str_init(&shown, size - 1);
	if (value)
		text_escape(&shown, value, strlen(value));
	snprintf(buf, size, "%s", shown.s);
	str_release(&shown);
}

static int int_field(const json_t *json, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(json, key));

	return value < -1000 ? -1000 : value > 1000 ? 1000 : (int)value;
}

static const char *end_field(const json_t *json)
{
	const char *word = json_string_value(json_object_get(json, "end"));
	int i;

	for (i = ACCOUNT_RESTORED; word && i <= ACCOUNT_FINISHED; i++)
		if (strcmp(word, account_end_word((enum account_end)i)) == 0)
			return account_end_word((enum account_end)i);
	return account_end_word(ACCOUNT_OPEN);
}

static bool parse_line(const char *line, size_t len, struct lesson_result *r)
{
	json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *number = json_string_value(json_object_get(json, "lesson"));
	bool fits = number && strlen(number) < LESSON_NUMBER_MAX &&
		    json_is_integer(json_object_get(json, "score"));

	if (fits) {
		*r = (struct lesson_result){
			.seed = (uint64_t)json_integer_value(json_object_get(json, "seed")),
			.score = int_field(json, "score"),
			.diagnosis = int_field(json, "diagnosis"),
			.safety = int_field(json, "safety"),
			.time = int_field(json, "time"),
			.communication = int_field(json, "communication"),
			.hints = int_field(json, "hints"),
			.after_ms = json_integer_value(json_object_get(json, "after_ms")),
			.end = end_field(json),
		};
		text_field(json, "at", r->at, sizeof(r->at));
		text_field(json, "lesson", r->number, sizeof(r->number));
		text_field(json, "title", r->title, sizeof(r->title));
		text_field(json, "inject", r->inject, sizeof(r->inject));
	}
	json_decref(json);
	return fits;
}

static void parse_lines(
	const struct str *text, struct lesson_result **ret, size_t *ret_n, size_t *ret_broken)
{
	struct lesson_result *results = NULL, one;
	size_t n = 0, cap = 0, at = 0;

	while (at < text->len) {
		const char *line = text->s + at, *end = memchr(line, '\n', text->len - at);
		size_t len = end ? (size_t)(end - line) : text->len - at;

		if (len && parse_line(line, len, &one)) {
			MEM_GROW(results, n, cap);
			results[n++] = one;
		} else if (len) {
			++*ret_broken;
		}
		at += len + 1;
	}
	*ret = results;
	*ret_n = n;
}

int lesson_results_read(const char *folder, struct lesson_result **ret, size_t *ret_n,
	size_t *ret_broken, struct err *err)
{
	char *path, *lock;
	struct str text;
	int rc = paths(folder, &path, &lock, err);

	*ret = NULL;
	*ret_n = *ret_broken = 0;
	if (rc)
		return rc;
	str_init(&text, FILE_MOST);
	rc = fs_read(path, &text, err);
	if (rc == ERR_NOTFOUND)
		rc = 0;
	else if (!rc)
		parse_lines(&text, ret, ret_n, ret_broken);
	str_release(&text);
	free(path);
	free(lock);
	return rc;
}

int lesson_results_best(const struct lesson_result *results, size_t n, const char *number)
{
	int best = -1;
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(results[i].number, number) == 0 && !results[i].inject[0] &&
			results[i].score > best)
			best = results[i].score;
	return best;
}
