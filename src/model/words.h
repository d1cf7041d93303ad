#ifndef MODEL_WORDS_H
#define MODEL_WORDS_H

#include <stdbool.h>

/*
 * The words of the product, each list from one table (*.def): the enum, the word on the screen and
 * in JSON, the help.
 */
enum mechanism {
#define MECHANISM(id, word, stays, token, help) MECH_##id,
#include "model/mechanisms.def"
#undef MECHANISM
	MECH_COUNT
};

enum state {
#define STATE(id, word, letter, help) STATE_##id,
#include "model/states.def"
#undef STATE
	STATE_COUNT
};

enum severity {
	SEVERITY_INFO,
	SEVERITY_WARN,
	SEVERITY_CRIT
};

enum finding_code {
#define FINDING(id, code, severity, help) FINDING_##id,
#include "model/findings.def"
#undef FINDING
	FINDING_COUNT
};

enum detail_id {
#define DETAIL(id, name, type, help) DETAIL_##id,
#include "model/details.def"
#undef DETAIL
	DETAIL_COUNT
};

enum detail_type {
	DETAIL_TYPE_INT,
	DETAIL_TYPE_BIG,
	DETAIL_TYPE_HEX,
	DETAIL_TYPE_TIME,
	DETAIL_TYPE_MS,
	DETAIL_TYPE_TEXT,
	DETAIL_TYPE_BOOL
};

/* What the token is: a fencing token's kind. */
enum token_kind {
	TOKEN_NONE,
	TOKEN_CREATE_REVISION,
	TOKEN_LEASE_TRANSITIONS,
	TOKEN_CZXID,
	TOKEN_ROW,
	TOKEN_KINDS
};

/* Whether a mechanism fits the harm that a role's work would do. */
enum fitness {
	FITNESS_UNKNOWN,
	FITNESS_OK,
	FITNESS_WEAK,
	FITNESS_OVERKILL
};

/* Unknown is a value. */
enum tristate {
	TRI_UNKNOWN,
	TRI_NO,
	TRI_YES
};

struct word {
	const char *word;
	const char *help;
	char letter;            /* states only */
	enum severity severity; /* findings only: the usual one */
	enum detail_type type;  /* details only */
	bool stays;             /* mechanisms only: a free one remains a row */
	enum token_kind token;  /* mechanisms only */
};

/* One row of the tables; never NULL for a valid id. */
const struct word *mechanism_word(enum mechanism m);
const struct word *state_word(enum state s);
const struct word *severity_word(enum severity s);
const struct word *finding_word(enum finding_code c);
const struct word *detail_word(enum detail_id d);
const struct word *token_kind_word(enum token_kind k);
/* The same for people: "create revision". */
const char *token_kind_plain(enum token_kind k);
/* "ok", "weak", "overkill"; NULL: not known. */
const char *fitness_word(enum fitness fit);
/* FITNESS_UNKNOWN for what it does not know. */
enum fitness fitness_from_word(const char *word);
enum {
	DETAIL_PLAIN_MAX = 48
};
/* A detail's name for people: "create revision", "lease granted"; the value tells its unit. */
/* The unit of a detail that is a number, to stand behind it: "s"; "" when it has none. */
const char *detail_unit(enum detail_id id);
void detail_plain(enum detail_id id, char buf[DETAIL_PLAIN_MAX]);

/* The id of a word, without regard to case; -1 when there is none. A state may be cut short as far
 * as it is unique. */
int state_from_word(const char *word);
int mechanism_from_word(const char *word);
int finding_from_word(const char *word);
int detail_from_word(const char *word);
int severity_from_word(const char *word);
int token_kind_from_word(const char *word);

#endif
