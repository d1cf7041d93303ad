#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include "base/str.h"
#include "control/lesson-run.h"
#include "model/board.h"
#include "model/journal.h"
#include "model/listing.h"
#include "tui/canvas.h"
#include "tui/keymap.h"

struct actions;
struct input_event;
struct zone;

/* A lesson as the trainee may see it. */
struct lesson_look {
	const struct lesson_run *run;
	struct lesson_state state;
	const struct debrief *debrief; /* NULL: it is not over */
};

/* All that a view may know. Const: a view can't change anything but its own state, and can't reach
 * the terminal. */
struct model {
	const struct board *board;     /* NULL before the first picture */
	const struct listing *listing; /* of that board; never NULL */
	const struct journal *journal; /* what happened, oldest first; NULL: nothing yet */
	const struct actions *actions; /* what was done, the newest first (actions.h); NULL: not
					  read yet */
	const char *looked_for;        /* without sources: what discovery looked for; else NULL */
	const struct lesson_look *lesson; /* NULL: it is none */
	const char *id;                   /* what the view "one" shows; NULL elsewhere */
	const struct zone *local;         /* the operator's zone; NULL: UTC */
	int64_t now_ms, now_us;
	int64_t ago_ms; /* what is shown was so long ago, as the clocks above say, which stand still
			   then; 0: it is now */
	bool paused;
	int64_t paused_ms; /* so long the clocks above have stood still; 0: they go, or what drives
			      them stands */
	const char *mark;  /* "SIM", "REPLAY": what is shown runs on a clock of its own; NULL: live
			    */
	int32_t speed;     /* of that clock, in thousandths of real time */
	bool recording;    /* it is kept in a file */
	bool past;         /* it was, and can't be acted on */
	int64_t armed_ms;  /* what is left of the time in which acts may be begun; 0: read only;
			      INT64_MAX: until the end */
};

/* What a view asks the console to do after a key. */
enum reply_kind {
	REPLY_NONE,
	REPLY_OPEN,    /* open the singleton whose id is the text */
	REPLY_WITNESS, /* open one of the witnesses of the role whose id is the text */
	REPLY_VIEW,    /* go to the view whose name is the text */
	REPLY_BACK,
	REPLY_COPY, /* copy the text */
	REPLY_ACT,  /* offer the verbs for the ids in the text, one a line; behind a tab the key of
		       a claim or run */
	REPLY_SAY,  /* show the text */
	REPLY_DIAGNOSE, /* pick the cause with that number, as they are offered, or take it back */
};

struct view_reply {
	enum reply_kind kind;
	struct str text;
};

struct view_ops {
	const char *name;
	const char *title;
	int least_h, least_w;
	const enum action
		*hints; /* for the last line, the most useful first; ACTION_NONE ends it */
	bool lists;     /* shows the listing: filter, order and marks are its own */
	void *(*open)(void);
	void (*close)(void *state);
	/* After the model changed: finds its rows again. */
	void (*sync)(void *state, const struct model *model);
	void (*draw)(void *state, const struct model *model, struct canvas *c, struct area a);
	/* Returns whether the action means something here. */
	bool (*act)(void *state, const struct model *model, enum action action,
		struct view_reply *reply);
	/* A click or the wheel at y, x of the area that it was drawn into; again: the second click
	 * of a double one. */
	void (*mouse)(void *state, const struct model *model, const struct input_event *event,
		bool again, struct view_reply *reply);
	/* A filter of its own, for views that do not show the listing: takes a text, "" for none;
	 * and tells the one that holds. */
	void (*filter)(void *state, const struct model *model, const char *text);
	const char *(*filtered)(const void *state);
	/* The row under the cursor, for views that list; NULL when there is none. */
	const struct listing_row *(*cursor)(const void *state, const struct model *model);
	/* The row of the screen where that one stands; -1: on none. */
	int (*cursor_y)(const void *state);
	/* The ids that are on the screen: at most max, borrowed from the board. */
	size_t (*wanted)(
		const void *state, const struct model *model, const char **ids, size_t max);
	/* Whether it shows one thing out of its list, so that Esc leads back to the list first. */
	bool (*inside)(const void *state);
	/* Marks end. */
	void (*unmark)(void *state);
	/* One line about what is shown, for the right end of the last line: "4/41 need". */
	void (*status)(const void *state, const struct model *model, struct str *out);
};

struct view_entry {
	const char *name;
	char key;                   /* '1' to '9'; 0: none */
	const struct view_ops *ops; /* NULL: not in this build, and `later` says why */
	const char *later;
};

/* The views of views.def. */
size_t view_count(void);
const struct view_entry *view_at(size_t i);
/* -1 when there is none of that name (which may be cut short as far as it is unique). */
int view_find(const char *name);

extern const struct view_ops view_board_ops, view_runs_ops, view_events_ops, view_sources_ops,
	view_one_ops, view_actions_ops, view_lesson_ops;

/* The ids that a row stands for: its own, or a role's witnesses'. Returns how many, at most max. */
size_t view_ids(const struct model *m, const struct listing_row *row, const char **ids, size_t max);

void view_reply_set(struct view_reply *reply, enum reply_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
