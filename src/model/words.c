#include "config.h"

#include "model/words.h"

#include <string.h>
#include <strings.h>

static const struct word mechanism_words[] = {
#define MECHANISM(id, w, keep, h) [MECH_##id] = { .word = (w), .help = (h), .stays = (keep) },
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
WORD_LIST(token_kind, enum token_kind, TOKEN_LEASE_TRANSITIONS + 1)

const struct word *state_word(enum state id)
{
	return &state_words[id];
}

int state_from_word(const char *word)
{
	return word_find(state_words, STATE_COUNT, word, true);
}
