#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include "tui/canvas.h"
#include "tui/theme.h"

struct err;
struct input;

/*
 * The terminal: the only file that calls curses. Cells go out, bytes come in, and whatever ends the
 * program gives the terminal back as it was: leaving, SIGTERM, SIGHUP, a crash. There is one at a
 * time.
 */
struct screen;

/* What happened since the last screen_events: bits. */
enum screen_event {
	SCREEN_RESIZED = 1,
	SCREEN_STOP = 2,      /* SIGTSTP: call screen_suspend */
	SCREEN_CONTINUED = 4, /* SIGCONT: the screen was taken again, draw all */
	SCREEN_INTERRUPT = 8, /* SIGINT */
	SCREEN_TERMINATE = 16,
	SCREEN_HANGUP = 32,
};

/*
 * Takes the terminal. ERR_UNSUPPORTED with a sentence when standard input or output is no terminal,
 * or TERM names none that can move a cursor. no_color: attributes only.
 */
int screen_open(struct screen **ret, bool no_color, struct err *err);
/* Gives it back. lost: nothing is written any more. */
void screen_close(struct screen *s, bool lost);

/* 0 mono, 8, 16, 256 or 1 << 24. */
int screen_colors(const struct screen *s);
void screen_size(const struct screen *s, int *ret_h, int *ret_w);
/* Readable when a signal came. */
int screen_signal_fd(const struct screen *s);
int screen_input_fd(const struct screen *s);
unsigned screen_events(struct screen *s);

/* Reads what is there; ERR_IO: the terminal is lost. */
int screen_read(struct screen *s, struct input *in, int64_t now_ms);
/* Shows the canvas: only what differs from the last one is sent. */
void screen_show(struct screen *s, const struct canvas *c, const struct theme *theme);
/* The theme or its colours changed, or all must be sent again. */
void screen_redraw(struct screen *s);
/* Stops this program as the terminal's suspend key asks, and takes the screen again when it goes
 * on. */
void screen_suspend(struct screen *s);

void screen_mouse(struct screen *s, bool on);
/* Copies text to the clipboard of whoever sits at the terminal (OSC 52); returns whether it was
 * short enough to be sent. */
bool screen_copy(struct screen *s, const char *text, size_t len);
/* Asks for the terminal's background (OSC 11) and for anything at all (device attributes), so that
 * the end is seen. */
void screen_ask_background(struct screen *s);

#endif
