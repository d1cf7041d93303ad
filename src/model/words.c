#include "config.h"

#include "base/mem.h"
#include "model/words.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct word mechanism_words[] = {
#define MECHANISM(id, w, keep, t, h) \
	[MECH_##id] = { .word = (w), .help = (h), .stays = (keep), .token = TOKEN_##t },
#include "model/mechanisms.def"
#undef MECHANISM
};

static const struct word state_words[] = {
#define STATE(id, w, l, h) [STATE_##id] = { .word = (w), .help = (h), .letter = (l) },
#include "model/states.def"
#undef STATE
};

static const struct word severity_words[] = {
	[SEVERITY_INFO] = { .word = "info", .help = "worth knowing" },
	[SEVERITY_WARN] = { .word = "warn", .help = "somebody should look" },
	[SEVERITY_CRIT] = { .word = "crit", .help = "somebody must look now" },
};

static const struct word finding_words[] = {
#define FINDING(id, w, s, h) \
	[FINDING_##id] = { .word = (w), .help = (h), .severity = SEVERITY_##s },
#include "model/findings.def"
#undef FINDING
};

static const struct word detail_words[] = {
#define DETAIL(id, w, t, h) [DETAIL_##id] = { .word = (w), .help = (h), .type = DETAIL_TYPE_##t },
#include "model/details.def"
#undef DETAIL
};

static const struct word token_kind_words[] = {
	[TOKEN_NONE] = { .word = "none", .help = "no fencing token" },
	[TOKEN_CREATE_REVISION] = { .word = "create_revision",
		.help = "the etcd revision at which the leader's key was made" },
	[TOKEN_LEASE_TRANSITIONS] = { .word = "lease_transitions",
		.help = "how often the Lease changed hands" },
	[TOKEN_ROW] = { .word = "row_token",
		.help = "a number in the row that rises with each new owner" },
	[TOKEN_CZXID] = { .word = "czxid",
		.help = "the ZooKeeper transaction that made the leader's znode" },
};

#define WORD_LIST(name, type, count)                                  \
	const struct word *name##_word(type id)                       \
	{                                                             \
		return &name##_words[id];                             \
	}                                                             \
	int name##_from_word(const char *word)                        \
	{                                                             \
		return word_find(name##_words, (count), word, false); \
	}

static int word_find(const struct word *words, int count, const char *word, bool cut)
{
	size_t len = strlen(word);
	int i, found = -1;

	for (i = 0; i < count; i++) {
		/* Most differ in their first letter, whatever its case. */
		if ((words[i].word[0] ^ word[0]) & ~0x20)
			continue;
		if (strcasecmp(words[i].word, word) == 0)
			return i;
		if (!cut || !len || strncasecmp(words[i].word, word, len) != 0)
			continue;
		found = found == -1 ? i : -2;
	}
	return found < 0 ? -1 : found;
}

WORD_LIST(mechanism, enum mechanism, MECH_COUNT)
WORD_LIST(severity, enum severity, SEVERITY_CRIT + 1)
WORD_LIST(finding, enum finding_code, FINDING_COUNT)
WORD_LIST(detail, enum detail_id, DETAIL_COUNT)
WORD_LIST(token_kind, enum token_kind, TOKEN_KINDS)

/* Names that say little without their underscores. */
static const struct {
	enum detail_id id;
	const char *plain;
} plain_words[] = {
	{ DETAIL_BACKEND_START, "session began" },
	{ DETAIL_STATE_CHANGE, "in that state since" },
	{ DETAIL_QUERY_START, "query began" },
	{ DETAIL_XACT_START, "transaction began" },
	{ DETAIL_WAIT_EVENT, "waits for" },
	{ DETAIL_WAIT_START, "waits since" },
	{ DETAIL_PREPARED, "prepared transaction" },
	{ DETAIL_BACKEND_TYPE, "kind of session" },
	{ DETAIL_TTL_READ, "lease read" },
	{ DETAIL_LEASE_GONE, "lease unknown to etcd" },
	{ DETAIL_RENEWED, "seen to renew" },
	{ DETAIL_TERM_CHANGED, "term seen to rise" },
	{ DETAIL_LEASES_LOST_AT, "leases lost" },
	{ DETAIL_DURATION, "lease duration" },
	{ DETAIL_LAST_CHANGE_SEEN, "last seen to change" },
	{ DETAIL_SKEW, "holder's clock is ahead by" },
	{ DETAIL_RENEW_TIME, "renewed, by its own clock" },
	{ DETAIL_ACQUIRE_TIME, "taken, by its own clock" },
	{ DETAIL_STARTING_DEADLINE, "starting deadline" },
	{ DETAIL_LAST_SCHEDULE, "last slot started" },
	{ DETAIL_LAST_SUCCESS, "last ended well" },
	{ DETAIL_ACTIVE_LISTED, "runs listed as active" },
	{ DETAIL_ACTIVE_DANGLING, "listed, and not there" },
	{ DETAIL_SLOT_FROM, "slot known from" },
};

const char *token_kind_plain(enum token_kind k)
{
	return k == TOKEN_CREATE_REVISION     ? "create revision"
	       : k == TOKEN_LEASE_TRANSITIONS ? "lease transitions"
	       : k == TOKEN_CZXID             ? "czxid"
	       : k == TOKEN_ROW               ? "token of the row"
					      : "no fencing token";
}

static const char *const fitness_words[] = {
	[FITNESS_OK] = "ok",
	[FITNESS_WEAK] = "weak",
	[FITNESS_OVERKILL] = "overkill",
};

const char *fitness_word(enum fitness fit)
{
	return fitness_words[fit];
}

enum fitness fitness_from_word(const char *word)
{
	int i;

	for (i = FITNESS_OK; i <= FITNESS_OVERKILL; i++)
		if (strcmp(fitness_words[i], word) == 0)
			return (enum fitness)i;
	return FITNESS_UNKNOWN;
}

const char *detail_unit(enum detail_id id)
{
	const char *word = detail_words[id].word;
	size_t len = strlen(word);

	return len > 2 && strcmp(word + len - 2, "_s") == 0 ? "s" : "";
}

void detail_plain(enum detail_id id, char buf[DETAIL_PLAIN_MAX])
{
	static const char *const units[] = { "_age_ms", "_ms", "_s" };
	const char *word = detail_words[id].word;
	size_t len = strlen(word), i;

	for (i = 0; i < ARRAY_LEN(plain_words); i++)
		if (plain_words[i].id == id) {
			snprintf(buf, DETAIL_PLAIN_MAX, "%s", plain_words[i].plain);
			return;
		}
	for (i = 0; i < ARRAY_LEN(units); i++) {
		size_t unit = strlen(units[i]);

		if (len > unit && strcmp(word + len - unit, units[i]) == 0) {
			len -= unit;
			break;
		}
	}
	snprintf(buf, DETAIL_PLAIN_MAX, "%.*s", (int)len, word);
	for (i = 0; buf[i]; i++)
		if (buf[i] == '_')
			buf[i] = ' ';
}

const struct word *state_word(enum state id)
{
	return &state_words[id];
}

int state_from_word(const char *word)
{
	return word_find(state_words, STATE_COUNT, word, true);
}
