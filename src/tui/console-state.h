#ifndef TUI_CONSOLE_STATE_H
#define TUI_CONSOLE_STATE_H

#include "model/journal.h"
#include "model/past.h"
#include "tui/actions.h"
#include "tui/console-act.h"
#include "tui/command.h"
#include "tui/console.h"
#include "tui/input.h"
#include "tui/line.h"
#include "tui/recording.h"
#include "tui/screen.h"
#include "tui/theme.h"
#include "tui/view.h"

/*
 * The console's own state, shared by its parts: console.c (the loop), console-go.c (views and
 * what is shown), console-keys.c (keys, paste, mouse), console-type.c and console-command.c (what
 * is typed), console-time.c (a clock of its own), console-past.c (going back in time),
 * console-draw.c. Nobody else includes this.
 */
enum {
	HISTORY_MAX = 50,
	VIEWS_MAX = 16,
	JOURNAL_CAP = 5000,
	EVENTS_AT_ONCE = 256,
	WANTED_MAX = 300,
	BOARD_EVERY_MS = 50, /* a board is taken at most so often, so that keys come first */
	PASS_ROWS = 20000,   /* rows of a filter's pass between two looks at the keys */
	MESSAGE_MS = 8000,
	AGAIN_MS = 400,  /* a double click */
	ANSWER_MS = 200, /* how long the way out waits for a terminal that was asked something */
	LEAST_H = 8,
	LEAST_W = 40,
};

enum mode {
	MODE_VIEW,
	MODE_FILTER,
	MODE_COMMAND,
	MODE_HELP,
	MODE_PICK, /* a list to choose from; console-act.h */
	MODE_GATE  /* the window of an act */
};

enum console_tell {
	TELL_NOTHING,
	TELL_EVENT,
	TELL_FINDING
};

struct place {
	int view;
	char *id; /* owned; NULL where the view needs none */
};

struct console {
	struct fleet *fleet;
	const struct clock_source *clock; /* the fleet's: of all that is shown */
	const struct settings *settings;
	const struct console_options *options;
	struct screen *screen;
	struct canvas canvas;
	struct theme theme;
	bool theme_fitted; /* nobody chose it: it may follow the terminal's background */
	bool asked;        /* the terminal was asked for its background and did not answer yet */
	int64_t asked_ms;

	struct input input;
	struct listing *listing;
	struct journal journal;
	uint64_t events_seq;
	struct board *board;
	int64_t board_ms; /* when it was taken */
	bool missed;      /* one came under a window, and was not shown */
	struct recording recording;
	bool paused; /* the picture and its ages stand still, at these clocks */
	int64_t paused_ms, paused_us;

	struct past past;            /* what was shown before */
	struct board *then;          /* what is shown of it, marked as past; NULL: now is shown */
	uint64_t then_seq;           /* of the newest event that was known then */
	struct journal then_journal; /* the events until then: a part of journal, nothing of its own
				      */
	char *then_row;              /* the row under the cursor when it was gone back; NULL */
	char *then_landed;           /* and the one under it since; NULL */
	int then_place;              /* history[] where it was gone back */
	int64_t still_next_ms;       /* the fleet's clock when "41m ago" is no longer true */

	void *states[VIEWS_MAX];
	struct place history[HISTORY_MAX];
	int n_history, now; /* history[now] is shown */

	enum mode mode;
	struct line filter, command, search;
	char *filter_before;
	int help_top, help_lines;
	char hint[700]; /* beside what is typed: an error, or what may follow */
	bool hint_error;

	struct console_act act;
	struct actions actions;
	struct lesson_look lesson;
	struct debrief *debrief; /* of the lesson that is over */
	int64_t wait_until_ms;   /* :wait lets time run up to there; 0: it does not */
	int32_t wait_speed;      /* what time ran at before */

	enum console_tell tell; /* time was set to where something happens: it is told when it is
				   seen, until the next key */
	int64_t tell_from_us;

	char message[700];
	bool message_error;
	int64_t message_until_ms;

	int click_y, click_x;
	int64_t click_ms;
	bool mouse;
	struct str wanted; /* the ids that the fleet was told last, one a line */

	struct zone *local; /* the operator's; NULL: UTC */
	struct model model;
	bool dirty;
	bool quit;
	int code;
};

/* console-go.c */
int64_t console_now_ms(void);
/* Whether the sentence in the last line was shown for long enough. */
bool console_message_over(const struct console *k);
/* The time of what is shown, which the built-in fleet and a record have of their own, and which
 * stands still in the past; and the fleet's time, which goes on. */
int64_t console_time_ms(const struct console *k);
int64_t console_time_us(const struct console *k);
int64_t console_live_ms(const struct console *k);
/* The board that is shown; NULL before the first. */
const struct board *console_board(const struct console *k);
/* Shows a sentence in the last line, until the next key or for some seconds. */
void console_say(struct console *k, bool error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const struct view_entry *console_view(const struct console *k);
void *console_view_state(const struct console *k);
/* Brings the model that views are given up to the moment. */
void console_model(struct console *k);
/* Says what happened at the moment to which time was set, if this is it. */
void console_time_tell(struct console *k, const struct event *event);
/* Begins the events anew, before any was taken. */
void console_journal_init(struct console *k);
/* Lets the view that is shown, or all that were opened, find their rows again. */
void console_sync(struct console *k);
void console_sync_all(struct console *k);
void console_follow(struct console *k);
void console_go(struct console *k, int view, const char *id);
void console_go_history(struct console *k, int at);
void console_go_view(struct console *k, int view);
void console_go_key(struct console *k, char key);
/* The filter of what is shown; "" for none. */
const char *console_filter_text(const struct console *k);
/* Sets the filter; false, with a hint, when it can't be read: the one that was stays. */
bool console_filter(struct console *k, const char *text);
void console_sort(struct console *k, enum sort sort, bool reverse);
void console_need(struct console *k);
void console_pause(struct console *k);
void console_mouse(struct console *k, bool on);
void console_witnesses(struct console *k, bool join);
void console_copy(struct console *k, const char *text);
void console_escape(struct console *k);
void console_answer(struct console *k, const struct view_reply *reply);

/* console-time.c: the clock of the built-in fleet, or of a record */
void console_time_pause(struct console *k, bool paused);
void console_time_speed(struct console *k, const char *text);
void console_time_step(struct console *k);
void console_time_seek(struct console *k, const char *text);
/* Whether it is an action of that clock's: it was done, or why not was said. */
bool console_time_act(struct console *k, enum action action);

/* console-past.c: going back and forward in time */
/* A board was taken, and its events: it may be kept. */
void console_past_keep(struct console *k);
void console_past_step(struct console *k, bool on, bool finding);
/* The arguments of :at and :back. */
void console_past_at(struct console *k, const char *argument);
void console_past_back(struct console *k, const char *argument);
/* Returns to now, or says that it is shown already, or that there is none. */
void console_past_now(struct console *k);
/* Returns to now; false when now was shown already. */
bool console_past_leave(struct console *k);
/* How long ago what is shown was; 0: it is now. */
int64_t console_past_ago_ms(const struct console *k);
/* Says why nothing can be done in the past, or in a record; false when now is shown. */
bool console_past_refuses(struct console *k);

/* console-lesson.c: none of these does anything without a lesson */
void console_lesson_look(struct console *k);
void console_lesson_begin(struct console *k);
/* After each turn: whether it is over. */
void console_lesson_turn(struct console *k);
void console_lesson_pick(struct console *k, const char *index);
void console_lesson_command(struct console *k, enum command command, const char *arg);

/* console-record.c: keeping what is shown in a file */
/* Begins, or ends; path "": a name of its own in the state folder. */
void console_record(struct console *k, const char *path);
/* Says so when it ended by itself. */
void console_record_look(struct console *k);

/* console-command.c */
void console_run_command(struct console *k, struct line *typed);

/* console-type.c: keys while something is typed */
void console_type(struct console *k, enum mode mode);
void console_type_filter(struct console *k, uint32_t key);
void console_type_command(struct console *k, uint32_t key);
void console_type_help(struct console *k, uint32_t key);

/* console-keys.c: everything that came from the terminal */
void console_take_input(struct console *k);
void console_key(struct console *k, uint32_t key);

/* console-draw.c */
void console_draw(struct console *k);
/* Tells the fleet what is on the screen, when that is not what it was told last. */
void console_tell_wanted(struct console *k);

#endif
