#include "config.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "source/replay-inside.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* A recorded source, as an ordinary one: what it showed is put into the picture at its time. */

enum {
	REST_MS = 3600 * 1000, /* it waits for its next frame, however far that is */
};

struct replay_state {
	const struct replay *replay;
	const struct replay_track *track;
	struct replay_maker maker;
	struct json_tree tree; /* of the line that is read */
	size_t next;           /* the frame to apply next */
	int64_t at_ms;         /* up to which it was applied */
	struct snapshot head;
	struct hidden *hidden;
};

static void text_set(const char **to, char *text)
{
	free((char *)(uintptr_t)*to);
	*to = text;
}

static void head_clear(struct replay_state *st)
{
	size_t i;

	text_set(&st->head.error, NULL);
	text_set(&st->head.server, NULL);
	row_unref(st->head.self);
	for (i = 0; i < st->head.n_hidden; i++)
		hidden_release(&st->hidden[i]);
	free(st->hidden);
	st->hidden = NULL;
	st->head = (struct snapshot){
		.source = st->track->fact.name,
		.kind = st->track->fact.kind,
		.environment = st->track->fact.environment,
		.protect = st->track->fact.protect,
		.state = SOURCE_CONNECTING,
		.picture_ms = TIME_UNKNOWN,
		.error_since_us = TIME_UNKNOWN,
		.cost.round_trip_ms = TIME_UNKNOWN,
	};
}

static int replay_source_open(const struct source_config *config, void **ret_state, struct err *err)
{
	const struct replay_given *given = config->given;
	struct replay_state *st;

	if (!given)
		return err_set(err, ERR_CONFIG, "no record is open");
	st = xcalloc(1, sizeof(*st));
	st->replay = given->replay;
	st->track = &given->replay->tracks[given->source];
	st->at_ms = INT64_MIN;
	replay_maker_init(&st->maker);
	json_tree_init(&st->tree);
	head_clear(st);
	*ret_state = st;
	return 0;
}

static void replay_source_close(void *state)
{
	struct replay_state *st = state;

	head_clear(st);
	replay_maker_release(&st->maker);
	json_tree_release(&st->tree);
	free(st);
}

/* ---- what a frame says of the source ---- */

static enum source_state source_state_of(const char *word)
{
	int i;

	for (i = SOURCE_CONNECTING; i <= SOURCE_FAILING; i++)
		if (strcmp(source_state_word((enum source_state)i), word) == 0)
			return (enum source_state)i;
	return SOURCE_FAILING;
}

static uint64_t cost_of(const struct json_node *cost, const char *name)
{
	int64_t n = replay_number(json_node_get(cost, name));

	return n < 0 ? 0 : (uint64_t)n;
}

/* One path, or several. */
static const char *const *read_except(const struct json_node *value)
{
	bool several = json_node_is(value, JSON_KIND_LIST);
	const struct json_node *item = several ? json_node_first(value) : value;
	size_t n = several ? json_node_count(value) : json_node_text(value) != NULL, i;
	const char **list = n ? xcalloc(n + 1, sizeof(*list)) : NULL;

	for (i = 0; i < n; i++, item = json_node_next(item)) {
		list[i] = replay_text_copy(item);
		if (!list[i])
			list[i] = xstrdup("");
	}
	return list;
}

static void read_hidden(struct replay_state *st, const struct json_node *list)
{
	const struct json_node *item = json_node_first(list);
	size_t n = json_node_count(list), i;

	st->hidden = xcalloc(n, sizeof(*st->hidden));
	for (i = 0; i < n; i++, item = json_node_next(item)) {
		char *what = replay_text_copy(json_node_get(item, "what"));

		st->hidden[i].what = what ? what : xstrdup("");
		st->hidden[i].remedy = replay_text_copy(json_node_get(item, "remedy"));
		st->hidden[i].rows = replay_text_copy(json_node_get(item, "rows"));
		st->hidden[i].chosen = replay_true(item, "chosen");
		st->hidden[i].except = read_except(json_node_get(item, "except"));
	}
	st->head.hidden = st->hidden;
	st->head.n_hidden = n;
}

static void read_head(struct replay_state *st, const struct json_node *head)
{
	const struct json_node *cost = json_node_get(head, "cost");
	const struct json_node *self = json_node_get(head, "self");
	int64_t picture_ms = st->head.picture_ms;

	head_clear(st);
	st->head.picture_ms = picture_ms;
	st->head.state = source_state_of(replay_word(head, "state"));
	st->head.live = replay_true(head, "live");
	st->head.error = replay_text_copy(json_node_get(head, "error"));
	st->head.error_since_us = replay_time(json_node_get(head, "error_since"));
	st->head.server = replay_text_copy(json_node_get(head, "server"));
	st->head.cost.requests = cost_of(cost, "requests");
	st->head.cost.bytes_in = cost_of(cost, "bytes_in");
	st->head.cost.bytes_out = cost_of(cost, "bytes_out");
	st->head.cost.round_trip_ms = replay_number(json_node_get(cost, "round_trip_ms"));
	read_hidden(st, json_node_get(head, "hidden"));
	if (json_node_is(self, JSON_KIND_OBJECT))
		st->head.self = replay_make_row(&st->maker, st->track->fact.name, "", self, NULL);
}

/* ---- frames ---- */

/* The path behind the source's name; NULL: the id is of another. */
static const char *path_of(const struct replay_state *st, const struct json_node *line)
{
	const char *id = replay_word(line, "id"), *name = st->track->fact.name;
	size_t len = strlen(name);

	return strncmp(id, name, len) == 0 && id[len] == '/' ? id + len + 1 : NULL;
}

static void apply_line(struct replay_state *st, struct round *r, const struct json_node *line)
{
	const char *path = path_of(st, line);
	const char *id = replay_word(line, "id");
	struct row *row;

	if (!path)
		return;
	if (strcmp(replay_word(line, "line"), "gone") == 0) {
		round_drop(r, id);
		return;
	}
	row = replay_make_row(&st->maker, st->track->fact.name, path, line, round_row(r, id));
	if (row)
		round_put_judged(r, row);
}

static void apply_rows(
	struct replay_state *st, struct round *r, struct replay_lines *lines, uint32_t n)
{
	const struct json_node *line;
	int64_t offset;
	char *text;
	size_t len;

	for (; n > 0; n--) {
		if (replay_lines_next(lines, &text, &len, &offset, NULL, NULL) <= 0)
			return;
		line = json_tree_read(&st->tree, text, len);
		if (json_node_is(line, JSON_KIND_OBJECT))
			apply_line(st, r, line);
	}
}

static void apply_frame(struct replay_state *st, struct round *r, const struct replay_frame *f)
{
	const struct json_node *line = NULL, *head;
	struct replay_lines lines;
	int64_t offset;
	char *text;
	size_t len;

	replay_lines_init(&lines, st->replay->fd, f->offset);
	if (replay_lines_next(&lines, &text, &len, &offset, NULL, NULL) > 0)
		line = json_tree_read(&st->tree, text, len);
	if (f->whole)
		round_begin(r);
	head = json_node_get(line, "head");
	if (json_node_is(head, JSON_KIND_OBJECT))
		read_head(st, head);
	st->head.picture_ms = replay_moment(json_node_get(line, "seen"));
	apply_rows(st, r, &lines, f->lines);
	replay_lines_release(&lines);
	if (f->whole)
		round_end(r);
}

/* How many frames stand at or before a moment. */
static size_t frames_until(const struct replay_track *t, int64_t now_ms)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->frames[middle].at_ms <= now_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Before its first frame a source is as if it had never been read. */
static void forget(struct replay_state *st, struct round *r)
{
	head_clear(st);
	round_begin(r);
	round_end(r);
	st->next = 0;
}

static int replay_source_poll(void *state, struct round *r, struct err *err)
{
	struct replay_state *st = state;
	int64_t now_ms = round_now_ms(r);
	size_t end = frames_until(st->track, now_ms), whole = end;

	(void)err;
	/* The last whole picture up to now is where to begin, unless we are behind it already. */
	while (whole > 0 && !st->track->frames[whole - 1].whole)
		whole--;
	if (now_ms < st->at_ms && !whole)
		forget(st, r);
	else if (whole && (now_ms < st->at_ms || st->next < whole))
		st->next = whole - 1;
	for (; st->next < end; st->next++) {
		if (round_cancelled(r))
			return ERR_CANCELLED;
		apply_frame(st, r, &st->track->frames[st->next]);
	}
	st->at_ms = now_ms;
	round_head(r, &st->head);
	return 0;
}

/* When the next frame is due; INT64_MAX: none is. */
static int64_t next_due(const struct replay_state *st)
{
	return st->next < st->track->n ? st->track->frames[st->next].at_ms : INT64_MAX;
}

static int replay_source_wait(void *state, struct round *r, struct err *err)
{
	struct replay_state *st = state;
	struct pollfd fd = { .fd = round_wake_fd(r), .events = POLLIN };
	int64_t due = next_due(st), deadline = round_deadline_ms(r);

	(void)err;
	poll(&fd, 1, clock_wait_ms(round_clock(r), due < deadline ? due : deadline));
	return round_now_ms(r) >= due || round_now_ms(r) < st->at_ms;
}

const struct source_ops source_replay = {
	.kind = "replay",
	.summary = "a record that is replayed",
	.options = NULL,
	.interval_ms = REST_MS,
	.open = replay_source_open,
	.poll = replay_source_poll,
	.wait = replay_source_wait,
	.close = replay_source_close,
};
