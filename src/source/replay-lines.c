#include "config.h"

#include "base/mem.h"
#include "model/record.h"
#include "source/replay-inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PIECE_FIRST = 8 * 1024, /* one line is mostly less */
	PIECE_MOST = 256 * 1024,
};

void replay_lines_init(struct replay_lines *l, int fd, int64_t offset)
{
	*l = (struct replay_lines){ .fd = fd, .at = offset, .piece = PIECE_FIRST };
	l->cap = PIECE_FIRST;
	l->buf = xmalloc(l->cap);
}

void replay_lines_release(struct replay_lines *l)
{
	free(l->buf);
	memset(l, 0, sizeof(*l));
}

/* Reads a piece more behind what is there. 1; 0 at the end. */
static int read_piece(struct replay_lines *l, struct err *err)
{
	ssize_t got;

	if (l->used) {
		memmove(l->buf, l->buf + l->used, l->n - l->used);
		l->n -= l->used;
		l->used = 0;
	}
	if (l->cap - l->n < l->piece) {
		l->cap = l->n + l->piece;
		l->cap += l->cap / 2;
		l->buf = xrealloc(l->buf, l->cap, 1);
	}
	do
		got = pread(l->fd, l->buf + l->n, l->piece, (off_t)(l->at + (int64_t)l->n));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set(err, ERR_IO, "the record can't be read: %s", strerror(errno));
	l->n += (size_t)got;
	if (l->piece < PIECE_MOST)
		l->piece *= 2;
	return got > 0;
}

/* A line of any length, of which nothing is kept. */
static int skip_line(struct replay_lines *l, struct err *err)
{
	char *end;
	int rc;

	l->broken++;
	do {
		l->at += (int64_t)(l->n - l->used);
		l->n = l->used = 0;
		rc = read_piece(l, err);
		if (rc <= 0)
			return rc;
		end = memchr(l->buf, '\n', l->n);
	} while (!end);
	l->used = (size_t)(end - l->buf) + 1;
	l->at += (int64_t)l->used;
	return 1;
}

int replay_lines_next(struct replay_lines *l, char **ret, size_t *ret_len, int64_t *ret_offset,
	bool *ret_torn, struct err *err)
{
	size_t looked = 0;
	int rc = 1;

	while (rc > 0) {
		char *start = l->buf + l->used;
		size_t there = l->n - l->used;
		char *end = there > looked ? memchr(start + looked, '\n', there - looked) : NULL;

		if (end) {
			*ret = start;
			*ret_len = (size_t)(end - start);
			*ret_offset = l->at;
			l->used += *ret_len + 1;
			l->at += (int64_t)*ret_len + 1;
			return 1;
		}
		looked = there;
		if (there > RECORD_LINE_MAX) {
			rc = skip_line(l, err);
			looked = 0;
			continue;
		}
		/* at is the place of buf[used]; what is read follows what is there. */
		rc = read_piece(l, err);
	}
	if (rc == 0 && ret_torn)
		*ret_torn = l->n > l->used;
	return rc;
}

void replay_line_read(struct replay_line *line, const struct replay *r, int64_t offset)
{
	char *text;
	size_t len;
	int64_t at;

	replay_lines_init(&line->lines, r->fd, offset);
	json_tree_init(&line->tree);
	line->json = NULL;
	if (replay_lines_next(&line->lines, &text, &len, &at, NULL, NULL) > 0)
		line->json = json_tree_read(&line->tree, text, len);
	if (!json_node_is(line->json, JSON_KIND_OBJECT))
		line->json = NULL;
}

void replay_line_release(struct replay_line *line)
{
	json_tree_release(&line->tree);
	replay_lines_release(&line->lines);
}
