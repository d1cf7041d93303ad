#ifndef MODEL_ROLE_H
#define MODEL_ROLE_H

#include "model/verdict.h"

struct hidden;
struct remembered;
struct snapshot;

enum harm {
	HARM_UNKNOWN,
	HARM_HARMLESS,
	HARM_ANNOYING,
	HARM_HARMFUL
};

/* A singleton as the operator's config declares it; all texts are the settings'. */
struct role {
	const char *name;
	enum harm harm;
	enum tristate idempotent;
	enum tristate fenced;
	const char *const *witnesses; /* ids */
	size_t n_witnesses;
};

/* A role as the board sees it: its witnesses, and the verdict on the role itself. */
struct role_view {
	const struct role *role;
	const struct row **witnesses;    /* n_witnesses entries; NULL where there is no such row.
					    Borrowed from the board */
	const struct snapshot **sources; /* of each witness; NULL where there is no such source.
					    Borrowed from the board */
	struct row *self; /* mechanism SOURCE, id "role/NAME": the worst state of the witnesses, and
			     the role's findings */
};

struct thresholds;

/*
 * Judges a role from its witnesses (see struct role_view): the state is the worst of those that can
 * be read, DUPLICATE when different processes hold it in two sources at once, and FREE or SUSPENDED
 * only where none can be held unseen; findings dup-holder, no-mechanism, hidden, on-standby,
 * unfenced-harmful, overkill; fit. past tells of a duplicate that is over, which stays a finding
 * for a while; NULL: nothing is remembered.
 */
void role_judge(const struct role_view *view, const struct remembered *past,
	const struct thresholds *thresholds, int64_t now_us, struct verdict_draft *out);

enum {
	ROLE_ID_MAX = 80,
	ROLE_TEXT_MAX = 1024,
};

/* "role/NAME" in buf, of ROLE_ID_MAX. */
const char *role_id(char *buf, const struct role *role);

/* What can be told of a row that is looked for by its id, as a role's witness is: "there",
 * "absent", ... as in JSON. */
enum witness_sight {
	SIGHT_THERE,   /* its row is there */
	SIGHT_ABSENT,  /* there is no such row; it would be seen */
	SIGHT_HIDDEN,  /* there is none, and its source may hide one (role_witness_hidden); or it is
			  a CronJob that nobody is seen to work for, whose runs are hidden */
	SIGHT_OUTSIDE, /* there is none, and its source does not look there, by its config */
	SIGHT_STANDBY, /* nobody holds it where its source reads: a standby, which does not tell
			  what is held on the primary */
	SIGHT_UNREAD,  /* its source can't be read now, or was not yet */
	SIGHT_UNKNOWN_SOURCE, /* no source of that name is looked at */
};
/* snap: of the source that the id names, NULL where there is none; row: NULL where there is none.
 */
enum witness_sight role_sight_of(
	const struct snapshot *snap, const struct row *row, const char *id);
enum witness_sight role_witness_sight(const struct role_view *view, size_t i);
const char *role_sight_word(enum witness_sight sight);
/* What hides witness i, which is not there in a source that can be read; NULL: it would be seen.
 * Borrowed. */
const struct hidden *role_witness_hidden(const struct role_view *view, size_t i);
/* Whether it is held twice at once now; text (ROLE_TEXT_MAX) then says what by whom. */
bool role_two_at_once(const struct role_view *view, char *text);

/*
 * Whether a mechanism fits what the role says of its work: WEAK is harmful work that neither fences
 * nor repeats safely, OVERKILL harmless work under consensus; UNKNOWN when the role says too little
 * to tell.
 */
enum fitness role_fit(const struct role *role, enum mechanism mechanism);
/* Adds the finding that goes with it: unfenced-harmful, overkill, or none. */
void role_fit_findings(
	const struct role *role, enum mechanism mechanism, struct verdict_draft *out);

/* "harmless", "annoying", "harmful"; NULL for unknown. The other way: -1 for no such word. */
const char *harm_word(enum harm harm);
int harm_from_word(const char *word);

/* The role that has this id among its witnesses, or NULL. */
const struct role *role_of(const struct role *roles, size_t n, const char *id);

#endif
