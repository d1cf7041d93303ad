#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/*
 * What is read and watched, and what of it may not be: the ranges that the configuration names, or
 * that discovery found. etcd refuses a range as a whole where a part of it is not granted
 * (server/auth/range_perm_cache.go), so a part may well be readable within one that is refused.
 */

enum {
	EXCEPT_TOLD = 4, /* in words; for whoever asks about one row all of them are known */
};

void etcd_scope_add(struct etcd *e, const char *prefix, size_t len, bool exact)
{
	struct etcd_scope *s;

	MEM_GROW(e->scopes, e->n_scopes, e->cap_scopes);
	s = &e->scopes[e->n_scopes++];
	memset(s, 0, sizeof(*s));
	s->key = len ? xstrndup(prefix, len) : xstrndup("", 1);
	s->key_len = len ? len : 1; /* "\0" begins the whole key space */
	s->prefix_len = len;
	if (exact)
		return;
	s->end = xmalloc(len + 1);
	s->end_len = etcd_prefix_end(prefix, len, s->end);
}

void etcd_scopes_free(struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_scopes; i++) {
		free(e->scopes[i].key);
		free(e->scopes[i].end);
	}
	free(e->scopes);
}

bool etcd_scope_covers(const struct etcd_scope *outer, const struct etcd_scope *inner)
{
	if (outer == inner || !outer->end || outer->prefix_len > inner->prefix_len ||
		memcmp(outer->key, inner->key, outer->prefix_len) != 0)
		return false;
	/* Of two that are the same, the first one has the keys. */
	return outer->prefix_len < inner->prefix_len || !inner->end || outer < inner;
}

bool etcd_scope_is_due(struct etcd *e, size_t i)
{
	struct etcd_scope *s = &e->scopes[i];
	size_t j;

	if (s->revision || s->denied || s->spared)
		return false;
	for (j = 0; j < e->n_scopes; j++) {
		const struct etcd_scope *outer = &e->scopes[j];

		if (!etcd_scope_covers(outer, s))
			continue;
		s->spared = outer->revision != 0;
		if (s->spared || (!outer->denied && !outer->spared))
			return false;
	}
	return true;
}

bool etcd_is_partial(const struct etcd *e)
{
	size_t i;

	if (e->leases_denied || e->n_denied_leases || e->n_discover_left)
		return true;
	for (i = 0; i < e->n_scopes; i++)
		if (e->scopes[i].denied)
			return true;
	return false;
}

/* Whether a path's keys are among those of a scope. */
static bool scope_has(const struct etcd_scope *s, const char *path, size_t len)
{
	if (!s->end)
		return s->key_len == len && memcmp(s->key, path, len) == 0;
	return s->prefix_len <= len ? memcmp(path, s->key, s->prefix_len) == 0
				    : s->prefix_len == len + 1 && s->key[len] == '/' &&
					      memcmp(path, s->key, len) == 0;
}

/* A part of a scope that may be read, from index *pos on; NULL: no more. */
static const struct etcd_scope *scope_part(
	const struct etcd *e, const struct etcd_scope *denied, size_t *pos)
{
	while (*pos < e->n_scopes) {
		const struct etcd_scope *s = &e->scopes[(*pos)++];

		if (s->revision && etcd_scope_covers(denied, s))
			return s;
	}
	return NULL;
}

static bool scope_denies(
	const struct etcd *e, const struct etcd_scope *denied, const char *path, size_t len)
{
	const struct etcd_scope *part;
	size_t pos = 0;

	if (!denied->denied || !scope_has(denied, path, len))
		return false;
	while ((part = scope_part(e, denied, &pos)))
		if (scope_has(part, path, len))
			return false;
	return true;
}

bool etcd_path_is_denied(const struct etcd *e, const char *path, size_t len)
{
	size_t i;

	for (i = 0; i < e->n_scopes; i++)
		if (scope_denies(e, &e->scopes[i], path, len))
			return true;
	return false;
}

/* ---- told ---- */

void etcd_scope_grant(const struct etcd_scope *s, struct str *out)
{
	str_add(out, "etcdctl role grant-permission ROLE read ");
	if (s->end)
		str_add(out, s->prefix_len ? "--prefix=true " : "--prefix=true \"\"");
	text_escape_cut(out, s->key, s->prefix_len, 400);
}

/* Whether a wider one tells all that this one would. */
static bool scope_is_told(const struct etcd *e, const struct etcd_scope *s)
{
	size_t i, pos;

	for (i = 0; i < e->n_scopes; i++) {
		pos = 0;
		if (e->scopes[i].denied && etcd_scope_covers(&e->scopes[i], s) &&
			!scope_part(e, &e->scopes[i], &pos))
			return true;
	}
	return false;
}

/* "keys under locks/, except locks/a/ and locks/b/" */
static void scope_words(const struct etcd *e, const struct etcd_scope *s, struct str *what)
{
	const struct etcd_scope *part;
	size_t pos = 0, n = 0;

	str_add(what, !s->end ? "the key " : s->prefix_len ? "keys under " : "all keys");
	text_escape_cut(what, s->key, s->prefix_len, 400);
	while ((part = scope_part(e, s, &pos))) {
		if (n++ >= EXCEPT_TOLD)
			continue;
		str_add(what, n == 1 ? ", except " : ", ");
		text_escape_cut(what, part->key, part->prefix_len, 200);
	}
	if (n > EXCEPT_TOLD)
		str_addf(what, " and %zu more", n - EXCEPT_TOLD);
}

/* How the paths of its rows begin; of one key alone: the path as a whole. */
static void scope_rows(const struct etcd_scope *s, struct str *rows)
{
	str_clear(rows);
	text_escape(rows, s->key, s->prefix_len);
	if (!s->end)
		str_add_char(rows, '/');
}

static char *rows_copy(const struct etcd_scope *s)
{
	struct str rows;

	str_init(&rows, SIZE_MAX / 4);
	scope_rows(s, &rows);
	return str_take(&rows);
}

/*
 * The parts of it that are seen. A single key is none: what is configured by its name is a row
 * also when nobody holds it, and candidates below that name would not be seen.
 */
static const char **scope_parts(const struct etcd *e, const struct etcd_scope *s)
{
	const char **list = xcalloc(e->n_scopes + 1, sizeof(*list));
	const struct etcd_scope *part;
	size_t pos = 0, n = 0;

	while ((part = scope_part(e, s, &pos)))
		if (part->end)
			list[n++] = rows_copy(part);
	return list;
}

static void parts_free(const char **list)
{
	size_t i;

	for (i = 0; list[i]; i++)
		free((char *)(uintptr_t)list[i]);
	free(list);
}

static void scope_tell(struct etcd *e, const struct etcd_scope *s)
{
	const char **parts = scope_parts(e, s);
	struct str what, remedy, rows;

	str_init(&what, 8192);
	str_init(&remedy, 8192);
	str_init(&rows, SIZE_MAX / 4);
	scope_words(e, s, &what);
	etcd_scope_grant(s, &remedy);
	scope_rows(s, &rows);
	round_hidden_rows(e->r, what.s, remedy.s, rows.s, parts);
	str_release(&what);
	str_release(&remedy);
	str_release(&rows);
	parts_free(parts);
}

void etcd_scopes_tell(struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_scopes; i++)
		if (e->scopes[i].denied && !scope_is_told(e, &e->scopes[i]))
			scope_tell(e, &e->scopes[i]);
}

void etcd_scopes_tell_rest(struct etcd *e)
{
	static const char remedy[] = "prefixes or keys in the config of this source";
	const char **paths;
	size_t i, n = 0;

	/* A built-in etcd has no scopes: it is looked at as a whole. */
	if (!e->discover && !e->n_scopes)
		return;
	paths = xcalloc(e->n_scopes + 1, sizeof(*paths));
	/* A single key is none of these, as in scope_parts. */
	for (i = 0; i < e->n_scopes; i++)
		if (e->scopes[i].end)
			paths[n++] = rows_copy(&e->scopes[i]);
	/* Discovery finds the elections and locks that somebody is a candidate of, by its lease:
	 * one that is remembered has no candidate. Of a name alone it can't be told what it is. */
	if (e->discover)
		round_unlooked(e->r,
			"without prefixes only elections and locks are found, by the leases that "
			"their keys are on",
			remedy, paths, 1u << MECH_ETCD_ELECTION | 1u << MECH_ETCD_LOCK);
	else
		round_unlooked(e->r, "other keys than the config names", remedy, paths, 0);
	parts_free(paths);
}
