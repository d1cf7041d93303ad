#ifndef TUI_GATE_DIALOG_H
#define TUI_GATE_DIALOG_H

#include "control/gate.h"
#include "tui/canvas.h"
#include "tui/line.h"

/*
 * The window of one act: its forecast, what confirms it, and its steps as they happen. Pure: it
 * draws a gate's view, and says what a key asks for. What is typed is its own.
 */
enum gate_field {
	GATE_FIELD_REASON,
	GATE_FIELD_TYPED
};

struct gate_dialog {
	struct line reason, typed;
	enum gate_field field;
	int top, lines, page;  /* of the text above the fields */
	enum gate_phase phase; /* that was drawn last: another one begins at its top */
	bool seen;   /* the whole forecast was on the screen: nothing is confirmed before */
	bool small;  /* it does not fit on this terminal: nothing is confirmed */
	bool stands; /* the clock of what is shown stands still: nothing comes of an act meanwhile.
			The console sets it. */
	char hint[300];
};

void gate_dialog_init(struct gate_dialog *d);
void gate_dialog_release(struct gate_dialog *d);

/* keep_y: the row of the screen that it is about, which stays seen; -1: none. */
void gate_dialog_draw(struct gate_dialog *d, const struct gate_view *view, int64_t now_us,
	struct canvas *c, int keep_y);

/* What a key asks for. */
enum gate_request {
	GATE_STAY,
	GATE_LEAVE,  /* close the window; what was not sent is given up */
	GATE_CONFIRM /* typed and reason are there to be handed to the gate */
};
enum gate_request gate_dialog_key(
	struct gate_dialog *d, const struct gate_view *view, uint32_t key);
/* Pasted text: into the reason only. What confirms must be typed. */
void gate_dialog_paste(struct gate_dialog *d, const struct gate_view *view, uint32_t cp);
/* Shows a sentence in the lower edge until the next key. */
void gate_dialog_say(struct gate_dialog *d, const char *text);
/* The text that confirms, as typed ("y" where that is what is asked). */
const char *gate_dialog_typed(const struct gate_dialog *d, const struct gate_view *view);

#endif
