#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include "model/board.h"
#include "model/journal.h"
#include "show/out.h"

struct zone;

/* How text is dressed. */
struct show_style {
	bool color;
	bool utf8;                /* the terminal takes more than ASCII */
	size_t columns;           /* of the terminal; 0: no terminal, nothing is ever cut */
	const struct zone *local; /* the operator's zone; NULL: UTC */
};

enum show_section {
	SHOW_SOURCES,
	SHOW_SINGLETONS,
	SHOW_ROLES,
	SHOW_HISTORY
};

/* What is being written, and with which filling. */
struct show {
	const struct show_ops *ops;
	struct out *out;
	struct show_style style;
	bool sim, record; /* as the board's */
	bool whole;       /* everything is told of each thing: show, not list */
	int64_t now_ms;   /* our clocks at the board that is shown */
	int64_t now_us;
	int64_t patience_ms; /* one-shot: a source that is still connecting was waited for so long;
				0 */
	struct event *const *events; /* what happened to the one that is shown, oldest first */
	size_t n_events;
	void *state; /* the filling's */
};

/*
 * What shows a board: one table for text, one for JSON. The walks below call them in this order:
 * begin, then per section section / its items / section_end, then end. Within an item come its
 * claims and findings. A filling leaves out what it has no use for (NULL).
 */
struct show_ops {
	const char *name;
	bool roles_among; /* roles stand among the singletons, not in a section of their own */
	/* A list's rows are walked twice, and this is called in between: columns are measured, then
	 * printed. Of a row's claims and findings nothing is told one by one then. NULL: once. */
	void (*again)(struct show *show);
	/*
	 * A long list is told by two threads, each a part of the rows. part makes of `copy`, which
	 * is a plain copy with an `out` of its own, one that can tell rows on its own behind
	 * another row; joined takes in what it has measured, and frees what part made.
	 */
	void (*part)(const struct show *show, struct show *copy);
	void (*joined)(struct show *show, struct show *copy);
	void (*begin)(struct show *show, const char *page);
	void (*end)(struct show *show);
	void (*section)(struct show *show, enum show_section section);
	void (*section_end)(struct show *show, enum show_section section);
	/* cross: the findings that another source was needed for; NULL. */
	void (*source)(struct show *show, const struct snapshot *snap, const struct row *cross);
	void (*source_end)(struct show *show);
	void (*singleton)(struct show *show, const struct snapshot *snap, const struct row *row);
	void (*singleton_end)(
		struct show *show, const struct snapshot *snap, const struct row *row);
	/* A run of claims of one kind, in their order; n may be 0. */
	void (*claims)(struct show *show, enum claim_kind kind, size_t n);
	void (*claim)(struct show *show, const struct singleton *s, const struct claim *claim);
	void (*claims_end)(struct show *show, enum claim_kind kind);
	/* The runs of a job, the newest slot first, each with its pods; n may be 0. */
	void (*runs)(struct show *show, const struct row *row, size_t n);
	void (*run)(struct show *show, const struct run *run);
	void (*pod)(struct show *show, const struct pod *pod);
	void (*run_end)(struct show *show);
	void (*runs_end)(struct show *show);
	void (*findings)(struct show *show, size_t n);
	void (*finding)(struct show *show, const struct finding *finding);
	void (*findings_end)(struct show *show);
	void (*role)(struct show *show, const struct role_view *role);
	void (*role_end)(struct show *show, const struct role_view *role);
	void (*event)(struct show *show, const struct event *event);
	/* A line of watch: what is "appeared", "changed", "gone" or "source"; row NULL for a
	 * source. */
	void (*change)(struct show *show, const char *what, const struct snapshot *snap,
		const struct row *row, const struct role_view *role);
	void (*change_end)(struct show *show);
};

extern const struct show_ops show_text;
extern const struct show_ops show_json;

/* Fills a show for a board; out stays the caller's. */
void show_init(struct show *show, const struct show_ops *ops, struct out *out,
	const struct show_style *style, const struct board *board);

/*
 * What is said before all else of a board that does not show real systems as they are now: a word
 * ("SIM", "REPLAY", "REPLAY SIM") and what it means. NULL and "" of one that does.
 */
const char *show_mark(bool sim, bool record);
const char *show_mark_text(bool sim, bool record);
/* A line of both, or none. */
void show_mark_line(struct out *out, const struct board *board);

/* All sources, singletons (the worst state first, then by id) and roles. */
void show_list(struct show *show, const struct board *board, uint32_t states);
/* One singleton, its source, and its history. */
void show_one(struct show *show, const struct board *board, const struct snapshot *snap,
	const struct row *row, struct event *const *events, size_t n_events);
/* One singleton into JSON that is being written, where a value may stand. */
struct json_writer;
void show_json_singleton(struct json_writer *j, const struct board *board,
	const struct snapshot *snap, const struct row *row);
/* A singleton with all that is known of it, for fillings. */
void show_singleton(struct show *show, const struct snapshot *snap, const struct row *row);
/* One role with its witnesses. */
void show_role(struct show *show, const struct role_view *role);
/* The same of a role: what is "appeared" or "changed". */
void show_role_change(struct show *show, const char *what, const struct role_view *role);
/* One change, on a line of its own. */
void show_change(struct show *show, const struct board *board, const char *what,
	const struct snapshot *snap, const struct row *row);

/*
 * Why a source did not answer: its error, or that it was waited for in vain (buf is for that text,
 * and holds SHOW_VAIN_MAX bytes). NULL when it did.
 */
enum {
	SHOW_VAIN_MAX = 128
};
const char *show_source_error(
	const struct show *show, const struct snapshot *snap, char *buf, size_t size);

/* Says that a source was waited for in vain. */
void show_vain(char *buf, size_t size, int64_t waited_ms);

/* A detail's value as one shows it now: clocks of ours become what remains or an age. */
int64_t show_detail_now(const struct detail *detail, int64_t now_ms);
/* The same as text, into out. "hidden" for one that is. */
void show_detail_text(const struct detail *detail, int64_t now_ms, struct str *out);

#endif
