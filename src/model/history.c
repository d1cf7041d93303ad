#include "config.h"

#include "model/history.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/singleton.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_SAME_US INT64_C(60000000)

enum {
	HISTORY_VERSION = 1,
	FIELDS = 8
};

static const char head[] = "baton-history ";
static const int64_t day_us = INT64_C(86400) * 1000000;

void history_init(struct history *h)
{
	memset(h, 0, sizeof(*h));
}

void history_release(struct history *h)
{
	while (h->n)
		free(h->at[--h->n]);
	free(h->at);
	memset(h, 0, sizeof(*h));
}

static bool is_worth(const struct event *e)
{
	return e->id && e->at_us != TIME_UNKNOWN &&
	       (e->hold != EVENT_NO_HOLD || strcmp(e->what, "finding") == 0 ||
		       strcmp(e->what, "cleared") == 0 || strcmp(e->what, "state") == 0);
}

/* The place of the first event that is later. */
static size_t place_of(const struct history *h, int64_t at_us)
{
	size_t i = h->n;

	while (i && h->at[i - 1]->at_us > at_us)
		i--;
	return i;
}

static bool same_event(const struct event *a, const struct event *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->what, b->what) == 0 &&
	       strcmp(a->text, b->text) == 0;
}

/* Whether another telling of it stands nearby. */
static bool stands_there(const struct history *h, size_t place, const struct event *e)
{
	size_t i;

	for (i = place; i > 0 && clock_minus(e->at_us, h->at[i - 1]->at_us) <= HISTORY_SAME_US; i--)
		if (same_event(h->at[i - 1], e))
			return true;
	for (i = place; i < h->n && clock_minus(h->at[i]->at_us, e->at_us) <= HISTORY_SAME_US; i++)
		if (same_event(h->at[i], e))
			return true;
	return false;
}

/* Not in the middle of a character. */
static const char *cut(char buf[HISTORY_TEXT_MOST + 1], const char *text)
{
	size_t len;

	if (!text || strlen(text) <= HISTORY_TEXT_MOST)
		return text;
	for (len = HISTORY_TEXT_MOST; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
		;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return buf;
}

/* read: from the file, where another may have told it, too. */
static void add_event(struct history *h, const struct event *e, bool read)
{
	char text[HISTORY_TEXT_MOST + 1], holder[HISTORY_TEXT_MOST + 1], key[HISTORY_TEXT_MOST + 1];
	struct event *own;
	size_t place;

	/* An id is never cut: it would be another's. */
	if (!is_worth(e) || strlen(e->id) > 4 * HISTORY_TEXT_MOST)
		return;
	own = event_held(e->at_us, e->token, e->source, e->id, e->what, cut(text, e->text), e->hold,
		cut(holder, e->holder), cut(key, e->key));
	own->remembered = true;
	place = place_of(h, own->at_us);
	if (read && stands_there(h, place, own)) {
		free(own);
		return;
	}
	MEM_GROW(h->at, h->n, h->cap);
	memmove(h->at + place + 1, h->at + place, (h->n - place) * sizeof(*h->at));
	h->at[place] = own;
	h->n++;
	h->dirty = true;
	if (h->n > HISTORY_MOST * 2)
		history_trim(h, own->at_us);
}

void history_add(struct history *h, const struct event *e)
{
	add_event(h, e, false);
}

/* Marks what stays, the newest first; how many of a singleton stay is counted. */
static void mark_kept(const struct history *h, int64_t now_us, bool *keep)
{
	struct map counts;
	size_t i, kept = 0;

	map_init(&counts);
	for (i = h->n; i-- > 0;) {
		const struct event *e = h->at[i];
		uintptr_t count = (uintptr_t)map_get(&counts, e->id, strlen(e->id));

		keep[i] = kept < HISTORY_MOST && count < HISTORY_EACH &&
			  clock_minus(now_us, e->at_us) <= HISTORY_DAYS * day_us;
		if (!keep[i])
			continue;
		map_put(&counts, e->id, strlen(e->id), (void *)(count + 1));
		kept++;
	}
	map_release(&counts);
}

void history_trim(struct history *h, int64_t now_us)
{
	bool *keep = xcalloc(h->n, sizeof(*keep));
	size_t i, kept = 0;

	mark_kept(h, now_us, keep);
	for (i = 0; i < h->n; i++) {
		if (keep[i])
			h->at[kept++] = h->at[i];
		else
			free(h->at[i]);
	}
	h->dirty = h->dirty || kept < h->n;
	h->n = kept;
	free(keep);
}

bool history_code(const struct event *e, char *buf)
{
	size_t len;

	if (strcmp(e->what, "finding") != 0 && strcmp(e->what, "cleared") != 0)
		return false;
	len = strcspn(e->text, ": ");
	if (!len || len >= HISTORY_CODE_MAX)
		return false;
	memcpy(buf, e->text, len);
	buf[len] = '\0';
	return true;
}

/* ---- the file ---- */

void history_write(const struct history *h, struct str *out)
{
	size_t i;

	str_addf(out, "%s%d\n", head, HISTORY_VERSION);
	for (i = 0; i < h->n; i++) {
		const struct event *e = h->at[i];

		str_addf(out, "%" PRId64 "\t%" PRId64 "\t%s\t%d\t%s\t%s\t%s\t%s\n", e->at_us,
			e->token, e->what, (int)e->hold, e->id, e->holder ? e->holder : "",
			e->key ? e->key : "", e->text);
	}
}

static bool take_int(const char *text, int64_t *ret)
{
	char *end;

	*ret = strtoll(text, &end, 10);
	return *text && !*end;
}

/* The words that we write: what an event's is compared with is constant data. */
static const char *known_what(const char *what)
{
	static const char *const words[] = { "took", "seen", "released", "hand-over", "state",
		"finding", "cleared" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i], what) == 0)
			return words[i];
	return NULL;
}

static bool is_of(const char *id, const char *source)
{
	size_t len = strlen(source);

	return strncmp(id, source, len) == 0 && id[len] == '/';
}

/* Takes one line apart, in place; one that is not well formed is left out. */
static void read_line(struct history *h, const char *source, char *line)
{
	char *field[FIELDS];
	struct event e = { 0 };
	int64_t hold;
	int i;

	for (i = 0; i < FIELDS; i++) {
		field[i] = line;
		if (i == FIELDS - 1)
			break;
		line = strchr(line, '\t');
		if (!line)
			return;
		*line++ = '\0';
	}
	for (i = 0; i < FIELDS; i++)
		if (!text_is_plain(field[i]))
			return;
	e.what = known_what(field[2]);
	if (!e.what || !take_int(field[0], &e.at_us) || !take_int(field[1], &e.token) ||
		!take_int(field[3], &hold) || hold < EVENT_NO_HOLD || hold > EVENT_LET_GO ||
		e.at_us < 0 || e.at_us >= INT64_C(1) << 59 || !is_of(field[4], source))
		return;
	e.hold = (enum event_hold)hold;
	/* Whoever reads a hold reads its holder. */
	if (e.hold != EVENT_NO_HOLD && !*field[5])
		return;
	e.source = source;
	e.id = field[4];
	e.holder = *field[5] ? field[5] : NULL;
	e.key = *field[6] ? field[6] : NULL;
	e.text = field[7];
	add_event(h, &e, true);
}

int history_read(
	struct history *h, const char *source, const char *bytes, size_t len, struct err *err)
{
	char *copy = xstrndup(bytes, len), *line = copy, *end = strchr(line, '\n');
	bool was_dirty = h->dirty;

	if (!end || strncmp(copy, head, sizeof(head) - 1) != 0 ||
		strtol(copy + sizeof(head) - 1, NULL, 10) != HISTORY_VERSION) {
		free(copy);
		return err_set(err, ERR_PROTO,
			"it is no history of version %d, which this program reads",
			HISTORY_VERSION);
	}
	for (line = end + 1; *line; line = end + 1) {
		end = strchr(line, '\n');
		/* A line without an end was cut. */
		if (!end)
			break;
		*end = '\0';
		read_line(h, source, line);
	}
	free(copy);
	h->dirty = was_dirty;
	return 0;
}
