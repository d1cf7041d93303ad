#include "config.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/json-read.h"
#include "model/record.h"
#include "source/replay-inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opening a record: one walk over its lines, of which each is looked at as far as it must be. */

enum {
	NAME_MAX_BYTES = 256,
	SHOWN_MAX = 300,
	MARKS_MOST = 16 * 1000 * 1000,
	LOOK_BYTES = 64 * 1024, /* of a line's beginning: what it is stands there */
};

static const int64_t most_ms = INT64_C(100) * 366 * 86400 * 1000;

/* What the walk must know of a line. */
struct seen_line {
	struct json_text kind, source, role, what;
	int64_t t, rows, gone;
	bool whole, has_t;
};

/* Where the walk stands. */
struct walk {
	struct replay *r;
	int64_t at_ms;
	struct replay_track *open; /* whose last frame waits for lines */
	int64_t missing;           /* so many */
	int64_t marks;
	bool ended;
};

/* ---- the head ---- */

static void read_source(struct replay_track *track, const struct json_node *object)
{
	char *name = replay_text_copy(json_node_get(object, "name"));
	char *kind = replay_text_copy(json_node_get(object, "kind"));

	track->fact = (struct replay_source){
		.name = name ? name : xstrdup(""),
		.kind = kind ? kind : xstrdup(""),
		.environment = replay_text_copy(json_node_get(object, "environment")),
		.protect = replay_true(object, "protect"),
	};
}

/* A name that is no source's would make ids that can't be told apart. */
static bool is_source_name(const char *s)
{
	static const char fit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(s);

	return len > 0 && len < NAME_MAX_BYTES && strspn(s, fit) == len;
}

static int read_sources(struct replay *r, const struct json_node *list, struct err *err)
{
	const struct json_node *item = json_node_first(list);
	size_t n = json_node_count(list), i;

	if (n > RECORD_SOURCES_MAX)
		return err_set(err, ERR_LIMIT, "the record has %zu sources; at most %d are read", n,
			RECORD_SOURCES_MAX);
	r->tracks = xcalloc(n, sizeof(*r->tracks));
	r->n_tracks = n;
	for (i = 0; i < n; i++, item = json_node_next(item))
		read_source(&r->tracks[i], item);
	for (i = 0; i < n; i++)
		if (!is_source_name(r->tracks[i].fact.name))
			return err_set(err, ERR_PROTO,
				"the record is damaged: source %zu has no usable name", i + 1);
	return 0;
}

static void read_role(struct replay *r, size_t i, const struct json_node *object)
{
	const struct json_node *list = json_node_get(object, "witnesses");
	const struct json_node *item = json_node_first(list);
	int harm = harm_from_word(replay_word(object, "harm"));
	size_t n = json_node_count(list), kept = 0, k;
	char *name = replay_text_copy(json_node_get(object, "name"));

	r->role_facts[i].witnesses = xcalloc(n, sizeof(*r->role_facts[i].witnesses));
	for (k = 0; k < n; k++, item = json_node_next(item)) {
		char *id = replay_text_copy(item);

		if (id && strchr(id, '/'))
			r->role_facts[i].witnesses[kept++] = id;
		else
			free(id);
	}
	r->roles[i] = (struct role){
		.name = name ? name : xstrdup(""),
		.harm = harm < 0 ? HARM_UNKNOWN : (enum harm)harm,
		.idempotent = replay_tristate(json_node_get(object, "idempotent")),
		.fenced = replay_tristate(json_node_get(object, "fenced")),
		.witnesses = r->role_facts[i].witnesses,
		.n_witnesses = kept,
	};
}

static void read_roles(struct replay *r, const struct json_node *list)
{
	const struct json_node *item = json_node_first(list);
	size_t n = json_node_count(list), i;

	n = n > RECORD_ROLES_MAX ? RECORD_ROLES_MAX : n;
	r->roles = xcalloc(n, sizeof(*r->roles));
	r->role_facts = xcalloc(n, sizeof(*r->role_facts));
	r->n_roles = n;
	for (i = 0; i < n; i++, item = json_node_next(item))
		read_role(r, i, item);
}

static void read_thresholds(struct replay *r, const struct json_node *object)
{
	int64_t n;

	r->thresholds = thresholds_default();
#define THRESHOLD(field, name, value, help)             \
	n = replay_number(json_node_get(object, name)); \
	if (n >= 0)                                     \
		r->thresholds.field = n;
#define THRESHOLD_COUNT(field, name, value, help) THRESHOLD(field, name, value, help)
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
}

static int read_head(struct replay *r, const struct json_node *head, struct err *err)
{
	int64_t version = replay_number(json_node_get(head, "version"));
	int64_t at_us = replay_time(json_node_get(head, "at"));

	if (strcmp(replay_word(head, "format"), "baton-record") != 0 || version < 1)
		return err_set(err, ERR_PROTO, "this is no record that baton record wrote");
	if (version > RECORD_VERSION)
		return err_set(err, ERR_UNSUPPORTED,
			"the record has format version %" PRId64 ", and this baton reads up to %d: "
			"a newer one is needed",
			version, RECORD_VERSION);
	if (at_us == TIME_UNKNOWN)
		return err_set(err, ERR_PROTO,
			"the record is damaged: its first line does not say when it began");
	r->epoch_us = clock_minus(at_us, (int64_t)REPLAY_START_MS * 1000);
	r->sim = replay_true(head, "sim");
	r->redacted = replay_true(head, "redacted");
	read_roles(r, json_node_get(head, "roles"));
	read_thresholds(r, json_node_get(head, "thresholds"));
	return read_sources(r, json_node_get(head, "sources"), err);
}

/* ---- the other lines ---- */

static void look_member(struct json_read *in, const struct json_text *name, struct seen_line *ret)
{
	if (json_is(name, "t"))
		ret->has_t = json_read_int(in, &ret->t);
	else if (json_is(name, "line"))
		json_read_string(in, &ret->kind);
	else if (json_is(name, "source"))
		json_read_string(in, &ret->source);
	else if (json_is(name, "role"))
		json_read_string(in, &ret->role);
	else if (json_is(name, "what"))
		json_read_string(in, &ret->what);
	else if (json_is(name, "rows"))
		json_read_int(in, &ret->rows);
	else if (json_is(name, "gone"))
		json_read_int(in, &ret->gone);
	else if (json_is(name, "whole"))
		json_read_bool(in, &ret->whole);
	else
		json_skip(in);
}

/* Of rows nothing more is looked at than that they are rows, and whose. */
static bool is_enough(const struct seen_line *l)
{
	return l->has_t && l->source.len && (json_is(&l->kind, "row") || json_is(&l->kind, "gone"));
}

static bool look_line(const char *text, size_t len, struct seen_line *ret)
{
	struct json_text name;
	struct json_read in;

	*ret = (struct seen_line){ .t = 0 };
	json_read_init(&in, text, len);
	if (!json_read_object(&in))
		return false;
	while (!is_enough(ret) && json_read_member(&in, &name))
		look_member(&in, &name, ret);
	return !in.bad && ret->has_t && ret->kind.len;
}

static struct replay_track *track_of(struct replay *r, const struct json_text *name)
{
	size_t i;

	for (i = 0; i < r->n_tracks; i++)
		if (json_is(name, r->tracks[i].fact.name))
			return &r->tracks[i];
	return NULL;
}

static void mark_add(struct walk *w, struct replay_marks *m, int64_t offset)
{
	if (w->marks++ >= MARKS_MOST)
		return;
	MEM_GROW(m->at, m->n, m->cap);
	m->at[m->n++] = (struct replay_mark){ w->at_ms, offset };
}

/* Something is to be seen now that was not before. */
static void note_moment(struct walk *w)
{
	struct replay *r = w->r;

	if (r->n_moments && r->moments[r->n_moments - 1].at_ms == w->at_ms)
		return;
	if (w->marks++ >= MARKS_MOST)
		return;
	MEM_GROW(r->moments, r->n_moments, r->cap_moments);
	r->moments[r->n_moments++] = (struct replay_mark){ w->at_ms, 0 };
}

/* A frame whose lines did not all come is as if it was never there. */
static void drop_open(struct walk *w)
{
	if (!w->open)
		return;
	w->open->n--;
	w->open = NULL;
	w->r->broken++;
}

static void add_frame(struct walk *w, struct replay_track *track, const struct seen_line *l,
	int64_t offset, int64_t lines)
{
	if (w->marks++ >= MARKS_MOST || lines < 0 || lines > UINT32_MAX)
		return;
	MEM_GROW(track->frames, track->n, track->cap);
	track->frames[track->n++] = (struct replay_frame){
		.at_ms = w->at_ms, .offset = offset, .lines = (uint32_t)lines, .whole = l->whole
	};
	if (lines) {
		w->open = track;
		w->missing = lines;
	} else {
		note_moment(w);
	}
}

static bool is_count(int64_t n)
{
	return n >= 0 && n < UINT32_MAX / 2;
}

/* A line that has a source. */
static void walk_source_line(struct walk *w, const struct seen_line *l, int64_t offset)
{
	struct replay_track *track = track_of(w->r, &l->source);

	if (!track)
		return;
	if (json_is(&l->kind, "frame") && is_count(l->rows) && is_count(l->gone))
		add_frame(w, track, l, offset, l->rows + l->gone);
	else if (json_is(&l->kind, "seen") && track->n)
		add_frame(w, track, l, offset, 0);
	else if (json_is(&l->kind, "cross"))
		mark_add(w, &track->cross, offset);
}

static void walk_event(struct walk *w, const struct seen_line *l, int64_t offset)
{
	mark_add(w, &w->r->events, offset);
	if (json_is(&l->what, "finding"))
		mark_add(w, &w->r->findings, offset);
	note_moment(w);
}

/* An act is to be seen where acts are, and among the events. */
static void walk_act(struct walk *w, int64_t offset)
{
	mark_add(w, &w->r->acts, offset);
	mark_add(w, &w->r->events, offset);
	note_moment(w);
}

static void walk_role(struct walk *w, const struct seen_line *l, int64_t offset)
{
	size_t i;

	for (i = 0; l->role.len && i < w->r->n_roles; i++) {
		char *name;
		bool is;

		name = xmalloc(l->role.len + 1);
		name[json_decode(name, &l->role)] = '\0';
		is = strcmp(name, w->r->roles[i].name) == 0;
		free(name);
		if (!is)
			continue;
		mark_add(w, &w->r->role_facts[i].marks, offset);
		return;
	}
}

static void walk_time(struct walk *w, int64_t t)
{
	int64_t at_ms = REPLAY_START_MS + (t < 0 ? 0 : t > most_ms ? most_ms : t);

	/* Time never goes back in a record. */
	if (at_ms > w->at_ms)
		w->at_ms = at_ms;
	w->r->last_ms = w->at_ms;
}

static void walk_line(struct walk *w, const char *text, size_t len, int64_t offset)
{
	struct seen_line l;
	bool part;

	if (!len)
		return;
	if (!look_line(text, len, &l)) {
		drop_open(w);
		w->r->broken++;
		return;
	}
	walk_time(w, l.t);
	part = json_is(&l.kind, "row") || json_is(&l.kind, "gone");
	if (part && w->open && track_of(w->r, &l.source) == w->open) {
		if (--w->missing == 0) {
			w->open = NULL;
			note_moment(w);
		}
		return;
	}
	/* A record that reached its bound ends within a frame, and says so. */
	if (json_is(&l.kind, "end") && w->open) {
		w->open->n--;
		w->open = NULL;
	}
	drop_open(w);
	if (part)
		w->r->broken++;
	else if (json_is(&l.kind, "event"))
		walk_event(w, &l, offset);
	else if (json_is(&l.kind, "act"))
		walk_act(w, offset);
	else if (json_is(&l.kind, "role"))
		walk_role(w, &l, offset);
	else if (json_is(&l.kind, "end"))
		w->ended = true;
	else
		walk_source_line(w, &l, offset);
}

/* What is not as it should be, for who looks at it. */
static void tell_trouble(struct walk *w, bool torn)
{
	struct replay *r = w->r;
	struct str text;

	str_init(&text, 1024);
	if (torn || !w->ended)
		str_add(&text, "the record was cut short: it is shown up to its last whole moment");
	if (r->broken)
		str_addf(&text, "%s%zu %s passed over", text.len ? "; " : "", r->broken,
			r->broken == 1 ? "line was" : "lines were");
	if (w->marks > MARKS_MOST)
		str_addf(&text, "%sit has more moments than are read", text.len ? "; " : "");
	if (text.len)
		r->trouble = str_take(&text);
	str_release(&text);
}

static int walk_head(struct replay *r, struct replay_lines *lines, struct err *err)
{
	const struct json_node *head = NULL;
	struct json_tree tree;
	int64_t offset;
	char *text;
	size_t len;
	int rc = replay_lines_next(lines, &text, &len, &offset, NULL, err);

	if (rc < 0)
		return rc;
	json_tree_init(&tree);
	if (rc && !lines->broken)
		head = json_tree_read(&tree, text, len);
	if (json_node_is(head, JSON_KIND_OBJECT))
		rc = read_head(r, head, err);
	else
		rc = err_set(err, ERR_PROTO, "this is no record that baton record wrote");
	json_tree_release(&tree);
	return rc;
}

static int walk_file(struct replay *r, struct err *err)
{
	struct walk w = { .r = r, .at_ms = REPLAY_START_MS };
	struct replay_lines lines;
	int64_t offset;
	char *text;
	bool torn = false;
	size_t len;
	int rc;

	replay_lines_init(&lines, r->fd, 0);
	rc = walk_head(r, &lines, err);
	r->last_ms = REPLAY_START_MS;
	while (rc >= 0) {
		rc = replay_lines_next(&lines, &text, &len, &offset, &torn, err);
		if (rc <= 0)
			break;
		walk_line(&w, text, len, offset);
	}
	torn = torn || w.open;
	if (w.open) {
		/* What was being written when it ended. */
		w.open->n--;
		w.open = NULL;
	}
	r->broken += lines.broken;
	replay_lines_release(&lines);
	if (rc == 0)
		tell_trouble(&w, torn);
	return rc;
}

static int open_file(const char *path, int *ret, struct err *err)
{
	struct stat st;
	/* A pipe must not be waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_set(err, ERR_IO, "%s", strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_IO,
			S_ISDIR(st.st_mode) ? "it is a folder"
					    : "it is no file: a record is read several times");
	}
	*ret = fd;
	return 0;
}

int replay_open(const char *path, struct replay **ret, struct err *err)
{
	struct replay *r = xcalloc(1, sizeof(*r));
	char shown[SHOWN_MAX];
	struct str name;
	int rc = open_file(path, &r->fd, err);

	if (rc) {
		r->fd = -1;
	} else {
		rc = walk_file(r, err);
	}
	if (!rc) {
		*ret = r;
		return 0;
	}
	str_init(&name, sizeof(shown) * 4);
	text_escape_cut(&name, path, strlen(path), sizeof(shown));
	err_prefix(err, "%s", name.s);
	str_release(&name);
	replay_close(r);
	return rc;
}

static void free_text(const char *s)
{
	free((char *)(uintptr_t)s);
}

static void track_release(struct replay_track *t)
{
	free_text(t->fact.name);
	free_text(t->fact.kind);
	free_text(t->fact.environment);
	free(t->frames);
	free(t->cross.at);
}

static void role_release(struct role *role, struct replay_role_facts *facts)
{
	size_t i;

	for (i = 0; i < role->n_witnesses; i++)
		free_text(facts->witnesses[i]);
	free(facts->witnesses);
	free(facts->marks.at);
	free_text(role->name);
}

void replay_close(struct replay *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->n_tracks; i++)
		track_release(&r->tracks[i]);
	for (i = 0; i < r->n_roles; i++)
		role_release(&r->roles[i], &r->role_facts[i]);
	free(r->tracks);
	free(r->roles);
	free(r->role_facts);
	free(r->events.at);
	free(r->acts.at);
	free(r->findings.at);
	free(r->moments);
	free(r->trouble);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}
