#ifndef TUI_CONSOLE_ACT_H
#define TUI_CONSOLE_ACT_H

#include "tui/gate-dialog.h"
#include "tui/pick.h"

#include "model/plan.h"

struct board;
struct console;
struct gate;
struct gate_view;

/*
 * Acting from the console: which row, which verb, which of its holders or runs, and then the gate's
 * window. All of it is bound to the picture that was on the screen when `a` was pressed, which is
 * held still until the window is closed.
 */
enum act_stage {
	ACT_OPEN,    /* which of a role's witnesses is looked at */
	ACT_WITNESS, /* which of them it is about */
	ACT_VERB,
	ACT_TARGET /* which holder, waiter or run */
};

enum {
	ACT_SET_MAX = 50 /* rows of one set */
};

struct act_want {
	char *id;  /* owned */
	char *key; /* of the run or claim under the cursor; owned; NULL: not chosen yet */
};

struct console_act {
	struct board *board; /* our reference; NULL while nothing is going on */
	struct act_want wants[ACT_SET_MAX];
	size_t n_wants;
	enum act_stage stage;
	struct pick pick;
	enum verb verb;
	bool forecast_only;
	struct gate *gate;
	struct gate_view *view;
	struct gate_dialog dialog;
	bool leave_again; /* it was said that it goes on without the window */
};

/* Opens the menu of verbs for ids, one a line, each perhaps with a tab and the key of a claim or
 * run behind it. */
void console_act_menu(struct console *k, const char *ids);
/* Lets one of a role's witnesses be chosen and opens it; at once where there is one only. */
void console_act_open(struct console *k, const char *role_id);
/* Keys and pasted text while a window is open. */
void console_act_key(struct console *k, uint32_t key);
void console_act_paste(struct console *k, uint32_t cp);
/* The fleet has news: the gate may be further. */
void console_act_news(struct console *k);
void console_act_draw(struct console *k);
/* Closes whatever is open. An act that waits for its confirmation ends, and nothing is sent; one
 * that was sent goes on. why: what is said about it; NULL. */
void console_act_end(struct console *k, const char *why);
/* The commands :arm and :disarm. */
void console_arm(struct console *k, const char *argument);
void console_disarm(struct console *k, const char *argument);

#endif
