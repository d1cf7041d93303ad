#ifndef SOURCE_REPLAY_INSIDE_H
#define SOURCE_REPLAY_INSIDE_H

#include "base/str.h"
#include "io/json-tree.h"
#include "model/draft.h"
#include "model/verdict.h"
#include "source/replay.h"

/* Private to the reader of records. */

/* The lines of a file, one after another. */
struct replay_lines {
	int fd;
	int64_t at; /* of what is read next */
	char *buf;
	size_t n, used, cap;
	size_t piece;  /* how much is read at once */
	size_t broken; /* lines that were too long */
};

void replay_lines_init(struct replay_lines *l, int fd, int64_t offset);
void replay_lines_release(struct replay_lines *l);
/*
 * The next whole line, without its end: 1; the text is borrowed until the next call, and may be
 * changed, with the byte behind it. 0: there is none; *ret_torn (may be NULL): something stands
 * behind the last line break. Negative: it can't be read.
 */
int replay_lines_next(struct replay_lines *l, char **ret, size_t *ret_len, int64_t *ret_offset,
	bool *ret_torn, struct err *err);

/* One line at a place, read as JSON. */
struct replay_line {
	struct replay_lines lines;
	struct json_tree tree;
	const struct json_node *json; /* an object; NULL: there is none */
};

void replay_line_read(struct replay_line *line, const struct replay *r, int64_t offset);
void replay_line_release(struct replay_line *line);

/* A line that may be of interest: its moment, and where it stands. */
struct replay_mark {
	int64_t at_ms;
	int64_t offset;
};

struct replay_marks {
	struct replay_mark *at;
	size_t n, cap;
};

/* How many stand at or before a moment. */
size_t replay_marks_until(const struct replay_marks *m, int64_t now_ms);

/* What a source published at one moment: a line, with as many rows behind it. */
struct replay_frame {
	int64_t at_ms;
	int64_t offset;
	uint32_t lines; /* behind the first */
	bool whole;
};

struct replay_track {
	struct replay_source fact;
	struct replay_frame *frames;
	size_t n, cap;
	struct replay_marks cross;
};

struct replay_role_facts {
	struct replay_marks marks;
	const char **witnesses;
};

struct replay {
	int fd;
	bool sim; /* of a built-in fleet */
	int64_t epoch_us;
	int64_t last_ms;
	bool redacted;
	struct replay_track *tracks;
	size_t n_tracks;
	struct role *roles;
	struct replay_role_facts *role_facts;
	size_t n_roles;
	struct thresholds thresholds;
	struct replay_marks events, acts, findings;
	struct replay_mark *moments; /* of every frame and event, for steps */
	size_t n_moments, cap_moments;
	size_t broken; /* lines that were passed over */
	char *trouble;
};

/* replay-json.c: values of any type become what is asked for. */

/* A moment of the record's clock; TIME_UNKNOWN where it is no number. */
int64_t replay_moment(const struct json_node *value);
/* A number; TIME_UNKNOWN where it is none. */
int64_t replay_number(const struct json_node *value);
/* A number that may stand in a string. False: it is neither. */
bool replay_big(const struct json_node *value, int base, int64_t *ret);
/* RFC 3339, or microseconds; TIME_UNKNOWN. */
int64_t replay_time(const struct json_node *value);
enum tristate replay_tristate(const struct json_node *value);
/* Whether the member is true. */
bool replay_true(const struct json_node *object, const char *name);
/* Sanitised into s (which is cleared first); NULL where it is no text. */
const char *replay_text(struct str *s, const struct json_node *value);
/* Its own copy; NULL where it is no text. */
char *replay_text_copy(const struct json_node *value);
/* The member as text, raw; "" where it is none. */
const char *replay_word(const struct json_node *object, const char *name);

/* replay-row.c: rows from lines. */
struct replay_maker {
	struct draft *draft;
	struct verdict_draft verdict;
	struct str text, other;
	struct schedule *schedule; /* the last one that was made: many rows have the same */
};

void replay_maker_init(struct replay_maker *m);
void replay_maker_release(struct replay_maker *m);
/*
 * The row of that id (which begins with the source's name), from an object's members; what it does
 * not have is as it was before (which may be NULL). NULL: it can't be read, or is of a mechanism
 * that is not known here. One reference.
 */
struct row *replay_make_row(struct replay_maker *m, const char *source, const char *path,
	const struct json_node *object, const struct row *before);
/* The same for what was only judged: a row of MECH_SOURCE. */
struct row *replay_make_judged(struct replay_maker *m, const char *source, const char *path,
	const struct json_node *object);

#endif
