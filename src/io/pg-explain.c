#include "config.h"

#include "io/pg-explain.h"
#include "io/pg.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* Whose words stand behind the sentence, where they add something. */
enum quote {
	QUOTE_NONE,
	QUOTE_SERVER,
	QUOTE_LIBRARY
};

/*
 * What a message means: the first row that fits. sqlstate "" fits a message without one; needle
 * NULL fits any. SQLSTATEs are those of PostgreSQL's manual, appendix A; the needles are libpq's
 * own words, and those of a server that no translation changes (names of files and settings) or
 * that PgBouncer sends.
 */
struct meaning {
	const char *sqlstate, *needle;
	enum err_code code;
	enum quote quote;
	const char *text; /* {place} and {user} are put in */
};

#define NO_GSSAPI                                                                             \
	"gssencmode demands GSSAPI encryption, and {place} or this machine can't do it: log " \
	"in by kinit, or leave gssencmode out"
#define NO_SUCH_LOGIN \
	"{place} asks role \"{user}\" to log in by a method that the libpq here doesn't know"

static const struct meaning meanings[] = {
	/* the server answered */
	{ "28P01", NULL, ERR_AUTH, QUOTE_SERVER,
		"{place} refused the password of role \"{user}\": give the right one by "
		"password_env, "
		"password_file or a line of the pgpass file" },
	{ "28000", "pg_hba.conf", ERR_AUTH, QUOTE_SERVER,
		"{place} lets role \"{user}\" not in from here: its pg_hba.conf needs a line for "
		"this "
		"role, database, address and encryption" },
	{ "28000", NULL, ERR_AUTH, QUOTE_SERVER,
		"{place} refused role \"{user}\": the role must exist, may log in, and use the "
		"method "
		"that pg_hba.conf asks for" },
	{ "3D000", NULL, ERR_NOTFOUND, QUOTE_SERVER,
		"{place} has no such database: name an existing one (dbname=postgres is nearly "
		"always "
		"there)" },
	{ "42501", NULL, ERR_DENIED, QUOTE_SERVER,
		"{place} lets role \"{user}\" in, and not into this database: it needs GRANT "
		"CONNECT" },
	{ "55000", NULL, ERR_DENIED, QUOTE_SERVER,
		"{place} takes no connections to this database" },
	{ "53300", NULL, ERR_BUSY, QUOTE_SERVER,
		"{place} takes no more connections: its connection table is full, or the role's or "
		"the "
		"database's limit is reached" },
	{ "57P03", NULL, ERR_BUSY, QUOTE_SERVER,
		"{place} is up and doesn't accept connections now: it starts, stops or recovers" },
	{ "57P01", NULL, ERR_IO, QUOTE_SERVER,
		"{place} ended the session: it shuts down, or an "
		"administrator ended it" },
	{ "57P02", NULL, ERR_IO, QUOTE_SERVER,
		"{place} ended the session: another server process "
		"crashed, and all sessions were ended" },
	{ "57P05", NULL, ERR_IO, QUOTE_SERVER, "{place} ended the session: idle_session_timeout" },
	{ "08P01", "no such database", ERR_NOTFOUND, QUOTE_SERVER,
		"the pooler at {place} knows no such database" },
	{ "08P01", "no such user", ERR_AUTH, QUOTE_SERVER,
		"the pooler at {place} knows no role \"{user}\"" },
	{ "08P01", "no more connections", ERR_BUSY, QUOTE_SERVER,
		"the pooler at {place} takes no more clients" },
	{ "08P01", "query_wait_timeout", ERR_BUSY, QUOTE_SERVER,
		"the pooler at {place} had no free server connection in time" },
	{ "08P01", NULL, ERR_PROTO, QUOTE_SERVER,
		"{place} refused the connection: a pooler whose server can't be reached, or which "
		"doesn't take what was asked" },
	{ NULL, NULL, ERR_PROTO, QUOTE_SERVER, "{place} refused the connection" },
	/* it did not */
	{ "", "no password supplied", ERR_AUTH, QUOTE_NONE,
		"{place} asks for a password of role \"{user}\", and none is known: give it by "
		"password_env, password_file or a line of the pgpass file" },
	{ "", "server does not support SSL", ERR_TLS, QUOTE_NONE,
		"{place} doesn't speak TLS, and sslmode demands it: switch ssl on in the server, "
		"or use "
		"sslmode=prefer where the network can be trusted" },
	{ "", "does not match host name", ERR_TLS, QUOTE_LIBRARY,
		"the certificate of {place} is for another name: connect by the name that it "
		"holds, or "
		"suspect who answers there" },
	{ "", "root certificate file", ERR_TLS, QUOTE_LIBRARY,
		"the certificate of {place} can't be checked: sslrootcert must name a file with "
		"the "
		"authority that signed it" },
	{ "", "certificate verify failed", ERR_TLS, QUOTE_LIBRARY,
		"the certificate of {place} is not signed by an authority of sslrootcert, or is "
		"out of "
		"date" },
	{ "", "certificate file", ERR_TLS, QUOTE_LIBRARY,
		"the client certificate for {place} can't be read: check sslcert" },
	{ "", "private key file", ERR_TLS, QUOTE_LIBRARY,
		"the client certificate's key for {place} can't be used" },
	{ "", "certificate", ERR_TLS, QUOTE_LIBRARY, "the TLS check of {place} failed" },
	{ "", "invalid response to SSL negotiation", ERR_PROTO, QUOTE_LIBRARY,
		"what answers at {place} is no PostgreSQL server: is the port right?" },
	{ "", "expected authentication request", ERR_PROTO, QUOTE_LIBRARY,
		"what answers at {place} is no PostgreSQL server: is the port right?" },
	{ "", "invalid response to GSSAPI", ERR_PROTO, QUOTE_LIBRARY,
		"what answers at {place} is no PostgreSQL server: is the port right?" },
	{ "", "GSSAPI encryption required", ERR_TLS, QUOTE_LIBRARY, NO_GSSAPI },
	{ "", "GSSAPI encryption, but", ERR_TLS, QUOTE_LIBRARY, NO_GSSAPI },
	{ "", "GSSAPI continuation error", ERR_AUTH, QUOTE_LIBRARY,
		"{place} asks for a Kerberos log-in of role \"{user}\": log in by kinit, as the "
		"user "
		"that baton runs as" },
	{ "", "channel binding", ERR_AUTH, QUOTE_LIBRARY,
		"channel_binding demands what {place} does not do: it takes TLS, and a password "
		"that is kept as scram-sha-256" },
	{ "", "authentication method requirement", ERR_AUTH, QUOTE_LIBRARY,
		"{place} asks role \"{user}\" to log in by a method that require_auth excludes" },
	{ "", "authentication not supported", ERR_UNSUPPORTED, QUOTE_LIBRARY, NO_SUCH_LOGIN },
	{ "", "authentication method", ERR_UNSUPPORTED, QUOTE_LIBRARY, NO_SUCH_LOGIN },
	{ "", "SSL error", ERR_TLS, QUOTE_LIBRARY, "the TLS handshake with {place} failed" },
	{ "", "SSL SYSCALL", ERR_TLS, QUOTE_LIBRARY, "the TLS handshake with {place} broke off" },
	{ "", "Connection refused", ERR_CONNECT, QUOTE_NONE,
		"nobody listens at {place}: is the server up, and is the port right?" },
	{ "", "No such file or directory", ERR_CONNECT, QUOTE_NONE,
		"nobody listens at {place}, there is no such socket: is the server up, and is that "
		"its "
		"socket folder and port?" },
	{ "", "could not translate host name", ERR_CONNECT, QUOTE_LIBRARY,
		"the name of {place} can't be looked up: is it right, and does the name server "
		"answer?" },
	{ "", "Permission denied", ERR_DENIED, QUOTE_NONE,
		"the socket of {place} may not be used by this user of the machine" },
	{ "", "No route to host", ERR_CONNECT, QUOTE_NONE,
		"no route to {place}: the host or the network is down, or a firewall refuses" },
	{ "", "Network is unreachable", ERR_CONNECT, QUOTE_NONE,
		"no route to {place}: the network is unreachable from here" },
	{ "", "timed out", ERR_TIMEOUT, QUOTE_NONE,
		"no answer from {place}: the host is down, or something between drops the "
		"packets" },
	{ "", "session is read-only", ERR_NOTFOUND, QUOTE_NONE,
		"{place} is read only, and target_session_attrs asks for another" },
	{ "", "session is not read-only", ERR_NOTFOUND, QUOTE_NONE,
		"{place} is writable, and target_session_attrs asks for a read-only one" },
	{ "", "server is in hot standby mode", ERR_NOTFOUND, QUOTE_NONE,
		"{place} is a standby, and target_session_attrs asks for a primary" },
	{ "", "server is not in hot standby mode", ERR_NOTFOUND, QUOTE_NONE,
		"{place} is a primary, and target_session_attrs asks for a standby" },
	{ "", "server closed the connection", ERR_IO, QUOTE_NONE,
		"{place} closed the connection without a word: a server that stops, one that is no "
		"PostgreSQL, or something between that cuts it" },
	{ "", "Connection reset", ERR_IO, QUOTE_NONE,
		"the connection to {place} was cut: a server that went down, or something between "
		"that "
		"cuts it" },
	{ "", "Broken pipe", ERR_IO, QUOTE_NONE,
		"the connection to {place} was cut: a server that went down, or something between "
		"that "
		"cuts it" },
	{ "", "lost synchronization", ERR_PROTO, QUOTE_LIBRARY,
		"{place} sends what PostgreSQL's protocol doesn't know" },
	{ "", NULL, ERR_CONNECT, QUOTE_LIBRARY, "{place} can't be used" },
};

/* The five characters of the first ":  28P01: " in a message, or NULL. */
static const char *find_sqlstate(const char *raw)
{
	const char *p;

	for (p = strstr(raw, ":  "); p; p = strstr(p + 1, ":  ")) {
		size_t i = 0;

		while (i < 5 &&
			(isdigit((unsigned char)p[3 + i]) || (p[3 + i] >= 'A' && p[3 + i] <= 'Z')))
			i++;
		if (i == 5 && p[8] == ':' && p[9] == ' ')
			return p + 3;
	}
	return NULL;
}

/* What is the same of a session that stood, and means something else there. */
#define SESSION_CUT                                                                                \
	"the session at {place} was cut off without a word: the server was killed or crashed, or " \
	"something between cut it"

static const struct meaning lost_meanings[] = {
	{ "", "timed out", ERR_TIMEOUT, QUOTE_NONE,
		"the session at {place} gets no answer any more: the host is down, or something "
		"between drops the packets" },
	{ "", "server closed the connection", ERR_IO, QUOTE_NONE, SESSION_CUT },
	{ "", "Connection reset", ERR_IO, QUOTE_NONE, SESSION_CUT },
	{ "", "Broken pipe", ERR_IO, QUOTE_NONE, SESSION_CUT },
	{ "", "SSL connection has been closed", ERR_IO, QUOTE_NONE, SESSION_CUT },
	{ "", "SSL SYSCALL error: EOF", ERR_IO, QUOTE_NONE, SESSION_CUT },
	{ "", "SSL SYSCALL", ERR_IO, QUOTE_LIBRARY, "the session at {place} broke off" },
	{ "", "SSL error", ERR_IO, QUOTE_LIBRARY, "the session at {place} broke within TLS" },
};

static const struct meaning *find_in(
	const struct meaning *table, size_t n, const char *sqlstate, const char *raw)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct meaning *m = &table[i];

		if (m->needle && !strstr(raw, m->needle))
			continue;
		if (!sqlstate ? str_eq(m->sqlstate, "")
			      : !m->sqlstate || strncmp(m->sqlstate, sqlstate, 5) == 0)
			return m;
	}
	return NULL;
}

static const struct meaning *find_meaning(const char *sqlstate, const char *raw, bool stood)
{
	const struct meaning *m = NULL;

	if (stood)
		m = find_in(lost_meanings, ARRAY_LEN(lost_meanings), sqlstate, raw);
	if (!m)
		m = find_in(meanings, ARRAY_LEN(meanings), sqlstate, raw);
	return m ? m : &meanings[ARRAY_LEN(meanings) - 1];
}

static void fill_in(struct str *out, const char *text, const char *place, const char *user)
{
	while (*text) {
		if (str_starts(text, "{place}")) {
			text_escape_cut(out, place, strlen(place), 120);
			text += strlen("{place}");
		} else if (str_starts(text, "{user}")) {
			text_escape_cut(out, user, strlen(user), 64);
			text += strlen("{user}");
		} else {
			str_add_char(out, *text++);
		}
	}
}

/* The first line from `from` on, cut and sanitised. */
static void add_line(struct str *out, const char *from)
{
	text_escape_cut(out, from, strcspn(from, "\n"), 200);
}

/* libpq's line says first whom it spoke to, which the sentence says already. */
static const char *skip_lead(const char *raw)
{
	const char *failed = strstr(raw, " failed: ");
	const char *line = strchr(raw, '\n');

	if (str_starts(raw, "connection to server") && failed && (!line || failed < line))
		return failed + strlen(" failed: ");
	return raw;
}

static int explain(
	const char *raw, bool stood, const char *place, const char *user, struct err *err)
{
	const char *sqlstate = find_sqlstate(raw);
	const struct meaning *m = find_meaning(sqlstate, raw, stood);
	struct str text;
	int rc;

	str_init(&text, ERR_TEXT_MAX);
	fill_in(&text, m->text, place, user);
	if (m->quote == QUOTE_SERVER && sqlstate) {
		str_add(&text, " (it said: ");
		add_line(&text, sqlstate + 7);
		str_add(&text, ")");
	} else if (m->quote != QUOTE_NONE) {
		str_add(&text, " (libpq: ");
		add_line(&text, skip_lead(raw));
		str_add(&text, ")");
	}
	rc = err_set(err, m->code, "%s", text.s);
	str_release(&text);
	return rc;
}

int pg_explain(const char *raw, const char *place, const char *user, struct err *err)
{
	return explain(raw, false, place, user, err);
}

int pg_explain_lost(const char *raw, const char *place, const char *user, struct err *err)
{
	return explain(raw, true, place, user, err);
}

int pg_explain_slow(enum pg_stage stage, const char *place, double seconds, struct err *err)
{
	static const struct {
		const char *what, *why;
	} slow[] = {
		[PG_STAGE_REACH] = { "no answer from {place}",
			"the host is down, or something between drops the packets" },
		[PG_STAGE_SILENT] = { "{place} took the connection and then said nothing",
			"the server hangs, is stopped or overloaded, it is a pooler whose server "
			"does not answer, or it is no PostgreSQL" },
		[PG_STAGE_TLS] = { "{place} began TLS, and the handshake did not end",
			"the server hangs, is stopped or overloaded, or it is no PostgreSQL" },
		[PG_STAGE_LOGIN] = { "{place} spoke, and did not let us in",
			"the server hangs or is overloaded, it waits for whom it asks about the "
			"role (LDAP, RADIUS, PAM), or it is a pooler whose server does not "
			"answer" },
		[PG_STAGE_SESSION] = { "{place} let us in, and did not begin the session",
			"the server hangs or is overloaded, or it is a pooler whose server does "
			"not answer" },
		[PG_STAGE_QUERY] = { "{place} did not answer the query",
			"the server hangs, is stopped or overloaded, the network is cut, or it is "
			"a pooler whose server does not answer" },
	};
	struct str what;
	int rc;

	str_init(&what, ERR_TEXT_MAX);
	fill_in(&what, slow[stage].what, place, "");
	rc = err_set(err, ERR_TIMEOUT, "%s within %.1f s: %s", what.s, seconds, slow[stage].why);
	str_release(&what);
	return rc;
}

/* What failed statements mean, by SQLSTATE; needle as above. */
static const struct meaning statement_meanings[] = {
	{ "57014", NULL, ERR_TIMEOUT, QUOTE_NONE,
		"{place} gave up the query at its statement_timeout: the server is overloaded, or "
		"the "
		"source's timeout is too short" },
	{ "55P03", NULL, ERR_TIMEOUT, QUOTE_NONE, "{place} gave up the query at its lock_timeout" },
	{ "25P03", NULL, ERR_IO, QUOTE_NONE,
		"{place} ended the session: idle_in_transaction_session_timeout" },
	{ "42501", NULL, ERR_DENIED, QUOTE_SERVER,
		"role \"{user}\" lacks a privilege that is needed at {place}" },
	{ "53200", NULL, ERR_BUSY, QUOTE_SERVER,
		"{place} is out of memory or of room in its lock table" },
	{ "42883", NULL, ERR_UNSUPPORTED, QUOTE_SERVER,
		"{place} lacks a function that PostgreSQL has" },
	{ "42P01", NULL, ERR_UNSUPPORTED, QUOTE_SERVER,
		"{place} lacks a view that PostgreSQL has" },
	{ "42703", NULL, ERR_UNSUPPORTED, QUOTE_SERVER,
		"{place} lacks a column that PostgreSQL has" },
	{ "0A000", NULL, ERR_UNSUPPORTED, QUOTE_SERVER, "{place} doesn't do what was asked" },
};

int pg_explain_statement(const char *sqlstate, const char *message, const char *place,
	const char *user, struct err *err)
{
	const struct meaning *m = NULL;
	struct str text;
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_LEN(statement_meanings) && !m; i++)
		if (strcmp(statement_meanings[i].sqlstate, sqlstate) == 0)
			m = &statement_meanings[i];
	for (i = 0; i < ARRAY_LEN(meanings) && !m; i++)
		if (str_eq(meanings[i].sqlstate, sqlstate) && sqlstate[0] &&
			(!meanings[i].needle || strstr(message, meanings[i].needle)))
			m = &meanings[i];
	str_init(&text, ERR_TEXT_MAX);
	fill_in(&text, m ? m->text : "{place} refused the query", place, user);
	if (!m || m->quote == QUOTE_SERVER) {
		str_addf(&text, " (%s: ", sqlstate);
		add_line(&text, message);
		str_add(&text, ")");
	}
	rc = err_set(err, m ? m->code : ERR_PROTO, "%s", text.s);
	str_release(&text);
	return rc;
}

/*
 * Settings that can't be read. Only texts whose quoted parts are never a piece of a password are
 * repeated: a password with a space or an unescaped sign makes libpq take the rest of it for the
 * name of an option, a host or a port.
 */
int pg_explain_settings(const char *raw, struct err *err)
{
	if (strstr(raw, "definition of service") || strstr(raw, "service file")) {
		struct str text;
		int rc;

		str_init(&text, ERR_TEXT_MAX);
		add_line(&text, raw);
		rc = err_set(err, ERR_CONFIG, "the connection's service can't be read: %s", text.s);
		str_release(&text);
		return rc;
	}
	if (strstr(raw, "missing \"=\"") || strstr(raw, "missing key/value separator"))
		return err_set(err, ERR_CONFIG,
			"the connection string has a word without \"=\": a value with spaces "
			"stands in "
			"single quotes, in a URI they are written %%20");
	if (strstr(raw, "unterminated quoted string"))
		return err_set(
			err, ERR_CONFIG, "the connection string has a quote that never ends");
	if (strstr(raw, "invalid connection option") || strstr(raw, "invalid URI query parameter"))
		return err_set(err, ERR_CONFIG,
			"the connection string has an option that libpq doesn't know (or a value "
			"with "
			"spaces that isn't in single quotes)");
	if (strstr(raw, "percent-encoded"))
		return err_set(err, ERR_CONFIG,
			"the connection URI has a \"%%\" that isn't followed by two hexadecimal "
			"digits: "
			"a real \"%%\" is written %%25");
	if (strstr(raw, "port number"))
		return err_set(err, ERR_CONFIG,
			"the connection string has a port that is no number from 1 to 65535, or "
			"not as "
			"many ports as hosts");
	return err_set(err, ERR_CONFIG,
		"the connection string can't be read: see \"Connection Strings\" in PostgreSQL's "
		"manual; "
		"what libpq says isn't repeated here, since it may hold a part of a password");
}
