#include "config.h"

#include "source/postgres-answer.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "io/pg.h"
#include "source/postgres-sql.h"
#include "source/postgres.h"
#include "source/source.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static void add_text(struct draft *d, enum detail_id id, const struct pg_rows *result, size_t row,
	enum pg_column column)
{
	size_t len;
	const char *text = pg_text(result, row, column, &len);

	if (text && len)
		draft_text_mem(d, id, text, len);
}

static void add_time(struct draft *d, enum detail_id id, const struct pg_rows *result, size_t row,
	enum pg_column column)
{
	int64_t us;

	if (pg_time(result, row, column, &us))
		draft_int(d, id, us);
}

/* The pids that a session waits for: digits and commas; others are passed over. A prepared
 * transaction shows as 0. */
static void add_blocked_by(struct draft *d, const char *list, size_t len)
{
	size_t i;
	int64_t pid = -1;

	for (i = 0; i <= len; i++) {
		if (i < len && list[i] >= '0' && list[i] <= '9') {
			pid = (pid < 0 ? 0 : pid) * 10 + (list[i] - '0');
			if (pid > INT32_MAX)
				return;
		} else {
			if (pid >= 0)
				draft_int(d, DETAIL_BLOCKED_BY, pid);
			pid = -1;
		}
	}
}

static void add_hidden_details(struct draft *d)
{
	static const enum detail_id hidden[] = { DETAIL_BACKEND_START, DETAIL_CLIENT, DETAIL_STATE,
		DETAIL_STATE_CHANGE, DETAIL_QUERY_START, DETAIL_XACT_START, DETAIL_WAIT_EVENT,
		DETAIL_QUERY, DETAIL_BACKEND_TYPE };
	size_t i;

	for (i = 0; i < ARRAY_LEN(hidden); i++)
		draft_hidden(d, hidden[i]);
}

/*
 * The query without what may be a secret: of one that speaks of a password (ALTER ROLE ... PASSWORD
 * '...', dblink('... password=...')), nothing behind that word is shown.
 */
static void add_query(struct draft *d, const struct pg_rows *result, size_t row)
{
	static const char word[] = "password";
	size_t len, i;
	const char *query = pg_text(result, row, C_QUERY, &len);
	struct str cut;

	if (!query || !len)
		return;
	for (i = 0; i + strlen(word) <= len; i++)
		if ((query[i] | 32) == word[0] && strncasecmp(query + i, word, strlen(word)) == 0)
			break;
	if (i + strlen(word) > len) {
		draft_text_mem(d, DETAIL_QUERY, query, len);
		return;
	}
	str_init(&cut, 4096);
	str_add_mem(&cut, query, i + strlen(word));
	str_add(&cut, " ...");
	draft_text_mem(d, DETAIL_QUERY, cut.s, cut.len);
	str_release(&cut);
}

static void add_shown_details(
	const struct postgres *p, struct draft *d, const struct pg_rows *result, size_t row)
{
	add_time(d, DETAIL_BACKEND_START, result, row, C_AT);
	add_text(d, DETAIL_CLIENT, result, row, C_CLIENT);
	add_text(d, DETAIL_STATE, result, row, C_STATE);
	add_time(d, DETAIL_STATE_CHANGE, result, row, C_STATE_CHANGE);
	add_time(d, DETAIL_QUERY_START, result, row, C_QUERY_START);
	add_time(d, DETAIL_XACT_START, result, row, C_XACT_START);
	add_text(d, DETAIL_WAIT_EVENT, result, row, C_WAIT_EVENT);
	if (source_option_int(p->config, "query_text"))
		add_query(d, result, row);
	add_text(d, DETAIL_BACKEND_TYPE, result, row, C_BACKEND_TYPE);
}

/*
 * Signs in a session's own words that it is a pooler's: what PgBouncer's application_name_add_host
 * appends to the name
 * (" - 10.0.0.5:40312"; pgbouncer.ini's manual), and names that poolers give themselves.
 */
static const char *pooler_name(const char *name)
{
	static const char *const poolers[] = { "pgbouncer", "pgcat", "odyssey", "pgdog",
		"supavisor", "pgpool" };
	const char *dash = strstr(name, " - "), *colon = strrchr(name, ':');
	size_t i;

	for (i = 0; i < ARRAY_LEN(poolers); i++)
		if (strncasecmp(name, poolers[i], strlen(poolers[i])) == 0)
			return "it is named after a pooler";
	if (dash && colon && colon > dash + 3 && colon[1] &&
		strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
		strspn(dash + 3, "0123456789abcdef.:") == strlen(dash + 3))
		return "its name ends in the client's address and port, as PgBouncer writes it";
	return NULL;
}

static const char *pooler_client(const struct postgres *p, const char *client)
{
	const char *item;
	size_t i;

	for (i = 0; (item = source_option_item(p->config, "poolers", i)); i++)
		if (strcmp(item, client) == 0)
			return "its client is a pooler, as the configuration says";
	if (p->pooling != POOLING_NONE && p->facts.client && *p->facts.client &&
		!str_starts(p->facts.client, "127.") && strcmp(p->facts.client, "::1") != 0 &&
		strcmp(p->facts.client, client) == 0)
		return "it comes from the pooler through which this console connects";
	return NULL;
}

static void add_pooled(
	const struct postgres *p, struct draft *d, const struct pg_rows *result, size_t row)
{
	const char *client = pg_text(result, row, C_CLIENT, NULL);
	const char *name = pg_text(result, row, C_NAME, NULL);
	const char *why = client ? pooler_client(p, client) : NULL;

	if (!why && name)
		why = pooler_name(name);
	if (why)
		draft_text(d, DETAIL_POOLED, why);
}

static void add_session_details(
	const struct postgres *p, struct draft *d, const struct pg_rows *result, size_t row)
{
	int64_t value;
	size_t len;
	const char *blocked;

	add_text(d, DETAIL_APPLICATION, result, row, C_NAME);
	add_text(d, DETAIL_USER, result, row, C_USER);
	if (pg_row_is_hidden(result, row))
		add_hidden_details(d);
	else
		add_shown_details(p, d, result, row);
	if (pg_int(result, row, C_SUPERUSER, &value))
		draft_int(d, DETAIL_SUPERUSER, value);
	if (pg_int(result, row, C_HELD, &value))
		draft_int(d, DETAIL_LOCKS_HELD, value);
	add_pooled(p, d, result, row);
	blocked = pg_text(result, row, C_BLOCKED_BY, &len);
	if (blocked)
		add_blocked_by(d, blocked, len);
}

/*
 * Who a session says it is: application_name, else ROLE@CLIENT, ROLE@local on a socket; what has no
 * role (a worker of the server) by its type; one that is hidden and has no name by its pid.
 */
static void session_identity(
	struct str *out, const struct pg_rows *result, int64_t row, int32_t pid)
{
	size_t name_len = 0, user_len = 0, len = 0;
	const char *name = row < 0 ? NULL : pg_text(result, (size_t)row, C_NAME, &name_len);
	const char *user = row < 0 ? NULL : pg_text(result, (size_t)row, C_USER, &user_len);
	const char *other;

	if (name && name_len) {
		str_add_mem(out, name, name_len);
	} else if (row < 0) {
		str_addf(out, "pid %" PRId32, pid);
	} else if (pg_row_is_hidden(result, (size_t)row)) {
		str_addf(out, "pid %" PRId32 " (hidden)", pid);
	} else if (user && user_len) {
		other = pg_text(result, (size_t)row, C_CLIENT, &len);
		str_add_mem(out, user, user_len);
		str_add_char(out, '@');
		str_add_mem(out, other ? other : "local", other ? len : strlen("local"));
	} else if ((other = pg_text(result, (size_t)row, C_BACKEND_TYPE, &len)) && len) {
		str_add_mem(out, other, len);
	} else {
		str_addf(out, "pid %" PRId32, pid);
	}
}

static void session_key(struct str *out, const struct pg_rows *result, int64_t row, int32_t pid)
{
	int64_t start;

	if (row >= 0 && pg_time(result, (size_t)row, C_AT, &start))
		str_addf(out, "%" PRId32 "@%" PRId64, pid, start);
	else
		str_addf(out, "%" PRId32 "@%s", pid,
			row >= 0 && pg_row_is_hidden(result, (size_t)row) ? "hidden" : "unknown");
}

static const char *mode_word(const struct pg_lock *lock)
{
	return lock->share ? "share" : "exclusive";
}

static void tell_session(const struct postgres *p, struct draft *d, const struct pg_answer *a,
	const struct pg_lock *lock, struct pg_who *who)
{
	const struct pg_numbered *session = pg_answer_find(&a->sessions, lock->pid);
	int64_t row = session ? (int64_t)session->row : -1;

	/* Many keys of one session follow each other often. */
	if (!session || who->session != session) {
		str_clear(&who->identity);
		str_clear(&who->key);
		session_identity(&who->identity, a->result, row, lock->pid);
		session_key(&who->key, a->result, row, lock->pid);
		who->session = session;
	}
	draft_claim(d, lock->granted ? CLAIM_HOLDER : CLAIM_WAITER, who->identity.s,
		who->identity.len, who->key.s);
	draft_int(d, DETAIL_PID, lock->pid);
	draft_text(d, DETAIL_MODE, mode_word(lock));
	if (session)
		add_session_details(p, d, a->result, session->row);
	if (lock->since != INT64_MAX)
		draft_int(d, DETAIL_WAIT_START, lock->since);
}

static void tell_prepared(
	struct draft *d, const struct pg_answer *a, const struct pg_lock *lock, struct pg_who *who)
{
	struct str *identity = &who->identity, *key = &who->key;
	size_t len = 1;
	const char *gid = pg_text(a->result, lock->row, C_NAME, &len);
	int64_t at;

	who->session = NULL;
	str_clear(identity);
	str_clear(key);
	if (!gid)
		gid = "?";
	str_add(identity, "prepared:");
	str_add(key, "prepared:");
	str_add_mem(identity, gid, len);
	text_escape(key, gid, len);
	if (pg_time(a->result, lock->row, C_XACT_START, &at))
		str_addf(key, "@%" PRId64, at);
	draft_claim(d, CLAIM_HOLDER, identity->s, identity->len, key->s);
	draft_text(d, DETAIL_MODE, mode_word(lock));
	draft_text_mem(d, DETAIL_PREPARED, gid, len);
	add_time(d, DETAIL_PREPARED_AT, a->result, lock->row, C_XACT_START);
	add_text(d, DETAIL_USER, a->result, lock->row, C_USER);
}

void pg_claim_tell(const struct postgres *p, struct draft *d, const struct pg_answer *a,
	const struct pg_lock *lock, struct pg_who *who)
{
	if (lock->pid)
		tell_session(p, d, a, lock, who);
	else
		tell_prepared(d, a, lock, who);
}

void pg_who_init(struct pg_who *who)
{
	str_init(&who->identity, 4096);
	str_init(&who->key, 4096);
	who->session = NULL;
}

void pg_who_release(struct pg_who *who)
{
	str_release(&who->identity);
	str_release(&who->key);
}
