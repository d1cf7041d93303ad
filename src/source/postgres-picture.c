#include "config.h"

#include "source/postgres-answer.h"
#include "base/mem.h"
#include "base/mix.h"
#include "base/str.h"
#include "base/text.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/postgres-tools.h"
#include "source/postgres.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One key as it was told last: its rows in the answer of that time, and the hash of what it was
 * made of. */
struct pg_told {
	struct pg_lock lock; /* the first of them, for database and key */
	size_t first, n;
	uint64_t hash;
};

struct teller {
	struct postgres *p;
	struct round *r;
	struct draft *d;
	const struct pg_answer *a;
	struct str path;
	struct pg_who who;
	bool *named_seen; /* names whose key is held or waited for */
	bool cut;         /* there are more rows than were read */
};

static void write_path(struct teller *t, const char *database, size_t len, struct pg_key key)
{
	str_clear(&t->path);
	str_add_mem(&t->path, database, len);
	str_add_char(&t->path, ':');
	pg_key_write(&t->path, key);
}

/* The name of a database that was dropped or made a moment ago may be missing: its number stands
 * for it. */
static const char *database_name(
	const struct pg_answer *a, uint32_t oid, char buf[16], size_t *ret_len)
{
	const struct pg_numbered *row = pg_answer_find(&a->databases, oid);
	const char *name = row ? pg_text(a->result, row->row, C_NAME, ret_len) : NULL;

	if (name)
		return name;
	*ret_len = (size_t)snprintf(buf, 16, "#%" PRIu32, oid);
	return buf;
}

static bool named_fits(
	const struct pg_named *named, const char *database, size_t len, struct pg_key key)
{
	return named->known && pg_key_equal(named->key, key) &&
	       (!named->database || (strlen(named->database) == len &&
					    memcmp(named->database, database, len) == 0));
}

/* The name for a key; of several, one that says the database wins. Marks all of them as seen. */
static const struct pg_named *find_name(
	struct teller *t, const char *database, size_t len, struct pg_key key)
{
	const struct pg_named *found = NULL;
	size_t i;

	for (i = 0; i < t->p->n_named; i++) {
		const struct pg_named *named = &t->p->named[i];

		if (!named_fits(named, database, len, key))
			continue;
		t->named_seen[i] = true;
		if (!found || (!found->database && named->database))
			found = named;
	}
	return found;
}

static void add_lock_details(struct teller *t, const char *database, size_t len, uint32_t oid,
	struct pg_key key, const struct pg_named *named)
{
	const char *tool = postgres_tool(database, len, key);

	draft_text_mem(t->d, DETAIL_DATABASE, database, len);
	if (oid)
		draft_int(t->d, DETAIL_DATABASE_OID, oid);
	draft_int(t->d, DETAIL_CLASSID, key.classid);
	draft_int(t->d, DETAIL_OBJID, key.objid);
	draft_int(t->d, DETAIL_OBJSUBID, key.objsubid);
	if (tool)
		draft_text(t->d, DETAIL_TOOL, tool);
	if (named) {
		draft_int(t->d, DETAIL_CONFIGURED, 1);
		draft_name(t->d, named->name->name);
	}
}

/* A session that holds a key in both modes has two rows, and is one holder; compare_locks put the
 * stronger first. */
static bool same_claim(const struct pg_lock *a, const struct pg_lock *b)
{
	return a->pid && a->pid == b->pid && a->granted == b->granted;
}

/* locks[0..n) are all rows of one key. */
static void tell_key(struct teller *t, const struct pg_lock *locks, size_t n)
{
	char buf[16];
	size_t len, i;
	const char *database = database_name(t->a, locks->database, buf, &len);
	uint32_t position = 0;

	write_path(t, database, len, locks->key);
	draft_begin(t->d, MECH_PG_ADVISORY, t->p->config->name, t->path.s, t->path.len);
	add_lock_details(t, database, len, locks->database, locks->key,
		find_name(t, database, len, locks->key));
	for (i = 0; i < n; i++) {
		if (i && same_claim(&locks[i - 1], &locks[i]))
			continue;
		pg_claim_tell(t->p, t->d, t->a, &locks[i], &t->who);
		if (!locks[i].granted && locks[i].since != INT64_MAX)
			draft_position(t->d, ++position);
	}
	round_put(t->r, draft_finish(t->d));
}

/* Whether its locks are among those that the config has us look at. */
static bool is_looked_at(const struct postgres *p, const char *database)
{
	const char *item = source_option_item(p->config, "databases", 0);
	size_t i;

	for (i = 1; item && strcmp(item, database) != 0; i++)
		item = source_option_item(p->config, "databases", i);
	return item || i == 1;
}

/* Where a key is shown that nobody holds. One that is named without a database: in the one we are
 * in, or else in the first that is looked at. */
static const char *free_database(const struct postgres *p, const struct pg_named *named)
{
	if (named->database)
		return named->database;
	return is_looked_at(p, p->facts.database) ? p->facts.database
						  : source_option_item(p->config, "databases", 0);
}

/* Keys that the config names and nobody holds are rows too. Of more rows than were read, one that
 * is not among them is no sign of that; nor is it where nothing is looked at. */
static void tell_free_names(struct teller *t)
{
	size_t i, len;

	if (t->cut)
		return;
	for (i = 0; i < t->p->n_named; i++) {
		const struct pg_named *named = &t->p->named[i];
		const char *database = free_database(t->p, named);

		if (!named->known || t->named_seen[i] || !is_looked_at(t->p, database))
			continue;
		len = strlen(database);
		write_path(t, database, len, named->key);
		draft_begin(t->d, MECH_PG_ADVISORY, t->p->config->name, t->path.s, t->path.len);
		add_lock_details(
			t, database, len, 0, named->key, find_name(t, database, len, named->key));
		round_put(t->r, draft_finish(t->d));
	}
}

/* What one key's singleton is made of, apart from what all share (frame_hash). */
static uint64_t key_hash(const struct teller *t, const struct pg_lock *locks, size_t n)
{
	uint64_t hash = n;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct pg_lock *l = &locks[i];
		const struct pg_numbered *session =
			l->pid ? pg_answer_find(&t->a->sessions, l->pid) : NULL;
		const uint64_t facts[] = { (uint64_t)l->pid << 2 | (uint64_t)l->share << 1 |
						   l->granted,
			(uint64_t)l->since, session ? session->hash : 0 };

		hash = mix_bytes(hash, facts, sizeof(facts));
		if (!l->pid)
			hash = pg_answer_hash_row(t->a->result, l->row, hash);
	}
	return hash;
}

/* The runs of rows that are of one key, with their hashes. The caller frees. */
static struct pg_told *list_keys(const struct teller *t, size_t *ret_n)
{
	struct pg_told *told = NULL;
	size_t i, n = 0, cap = 0;

	for (i = 0; i < t->a->n_locks;) {
		struct pg_told one = { .lock = t->a->locks[i], .first = i, .n = 1 };

		while (i + one.n < t->a->n_locks &&
			pg_lock_compare_keys(&one.lock, &t->a->locks[i + one.n]) == 0)
			one.n++;
		one.hash = key_hash(t, &t->a->locks[i], one.n);
		i += one.n;
		MEM_GROW(told, n, cap);
		told[n++] = one;
	}
	*ret_n = n;
	return told;
}

/* What the paths and names of all rows follow from: databases, which of the configured names are in
 * use, and whether it is known that the others are not. */
static uint64_t frame_hash(struct teller *t, const struct pg_told *told, size_t n)
{
	uint64_t hash = 1;
	char buf[16];
	size_t i, len;

	for (i = 0; i < t->a->databases.n; i++)
		hash = mix_bytes(hash, &t->a->databases.items[i].hash,
			sizeof(t->a->databases.items[i].hash));
	for (i = 0; i < n && t->p->n_named; i++) {
		const char *database = database_name(t->a, told[i].lock.database, buf, &len);

		find_name(t, database, len, told[i].lock.key);
	}
	hash = mix_bytes(hash, t->named_seen, t->p->n_named * sizeof(*t->named_seen));
	if (t->p->n_named)
		hash = mix_bytes(hash, &t->cut, sizeof(t->cut));
	return hash ? hash : 1;
}

static void drop_key(struct teller *t, const struct pg_lock *lock)
{
	struct str id;
	char buf[16];
	size_t len;
	const char *database = database_name(t->a, lock->database, buf, &len);

	write_path(t, database, len, lock->key);
	str_init(&id, 1024 * 1024);
	str_addf(&id, "%s/", t->p->config->name);
	text_escape(&id, t->path.s, t->path.len);
	/* Beyond the cap it may be held as before. */
	(t->cut ? round_hide : round_drop)(t->r, id.s);
	str_release(&id);
}

static void tell_all(struct teller *t, const struct pg_told *told, size_t n)
{
	size_t i;

	round_begin(t->r);
	for (i = 0; i < n; i++)
		tell_key(t, &t->a->locks[told[i].first], told[i].n);
	tell_free_names(t);
	round_end(t->r);
}

/* Both lists are in the order of keys: what is only in the old one is gone, what is new or differs
 * is told. */
static void tell_changes(struct teller *t, const struct pg_told *told, size_t n)
{
	const struct pg_told *old = t->p->told;
	size_t i = 0, j = 0;

	while (i < n || j < t->p->n_told) {
		int order = i == n              ? 1
			    : j == t->p->n_told ? -1
						: pg_lock_compare_keys(&told[i].lock, &old[j].lock);

		if (order > 0) {
			drop_key(t, &old[j++].lock);
			continue;
		}
		if (order < 0 || told[i].hash != old[j].hash)
			tell_key(t, &t->a->locks[told[i].first], told[i].n);
		i++;
		j += order == 0;
	}
}

static void count(const struct pg_answer *a, struct pg_moment *moment)
{
	size_t i;

	moment->n_rows = a->n_locks;
	moment->n_sessions = a->sessions.n;
	moment->n_hidden = 0;
	for (i = 0; i < a->sessions.n; i++)
		moment->n_hidden += pg_row_is_hidden(a->result, a->sessions.items[i].row);
}

void postgres_picture_forget(struct postgres *p)
{
	free(p->told);
	p->told = NULL;
	p->n_told = 0;
	p->told_frame = 0;
}

static void teller_tell(struct teller *t)
{
	size_t n;
	struct pg_told *told = list_keys(t, &n);
	uint64_t frame = frame_hash(t, told, n);

	if (frame == t->p->told_frame)
		tell_changes(t, told, n);
	else
		tell_all(t, told, n);
	postgres_picture_forget(t->p);
	t->p->told = told;
	t->p->n_told = n;
	t->p->told_frame = frame;
}

void postgres_picture_tell(
	struct postgres *p, struct round *r, const struct pg_rows *result, struct pg_moment *moment)
{
	struct pg_answer a;
	struct teller t = { .p = p, .r = r, .d = round_draft(r), .a = &a };

	str_init(&t.path, 4096);
	pg_who_init(&t.who);
	t.named_seen = xcalloc(p->n_named + 1, sizeof(*t.named_seen));
	pg_answer_read(&a, result);
	count(&a, moment);
	t.cut = moment->total > (int64_t)moment->n_rows;
	if (t.cut)
		round_partial(r);
	teller_tell(&t);
	pg_answer_release(&a);
	free(t.named_seen);
	str_release(&t.path);
	pg_who_release(&t.who);
}
