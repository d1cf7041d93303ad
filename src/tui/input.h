#ifndef TUI_INPUT_H
#define TUI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys out of a terminal's bytes. Pure: bytes and the time go in, events come out, so that it is
 * tested and fuzzed without a terminal. Knows what all terminals of today send (ECMA-48 control
 * sequences, SS3 for the application mode of the cursor keys, bracketed paste, SGR mouse reports,
 * answers to OSC 11 and to device attributes); a sequence that is not known, or that stops half
 * way, is dropped whole, so that no part of it runs as a command.
 */
enum {
	INPUT_ESC = 27,
	INPUT_ENTER = 13,
	INPUT_TAB = 9,
	INPUT_BACKSPACE = 127,
	INPUT_SPECIAL = 0x110000, /* beyond Unicode */
	INPUT_UP = INPUT_SPECIAL,
	INPUT_DOWN,
	INPUT_LEFT,
	INPUT_RIGHT,
	INPUT_HOME,
	INPUT_END,
	INPUT_PAGE_UP,
	INPUT_PAGE_DOWN,
	INPUT_INSERT,
	INPUT_DELETE,
	INPUT_BACK_TAB,
	INPUT_F1,
	INPUT_F12 = INPUT_F1 + 11,
};

enum input_type {
	INPUT_KEY,        /* key: a code point, a control code (1 to 31), or one of the above */
	INPUT_PASTE,      /* key: a code point of pasted text, or '\n' */
	INPUT_MOUSE,      /* y, x, button */
	INPUT_BACKGROUND, /* the terminal's background: rgb */
	INPUT_ANSWERED,   /* the terminal answered what was asked last: it said all that it will say
			   */
};

enum input_button {
	BUTTON_LEFT,
	BUTTON_MIDDLE,
	BUTTON_RIGHT,
	BUTTON_RELEASE,
	BUTTON_WHEEL_UP,
	BUTTON_WHEEL_DOWN,
	BUTTON_OTHER
};

struct input_event {
	enum input_type type;
	uint32_t key;
	int y, x;
	enum input_button button;
	uint32_t rgb;
};

enum {
	INPUT_BUFFER = 4096,
	INPUT_WAIT_MS = 40
};

struct input {
	char buf[INPUT_BUFFER];
	size_t n;
	bool pasting;
	int64_t since_ms; /* when the last bytes came */
};

void input_init(struct input *in);
/* How many bytes there is room for; 0 until input_next took some. */
size_t input_room(const struct input *in);
void input_feed(struct input *in, const char *bytes, size_t n, int64_t now_ms);

/* The next event, or false. A lone escape is a key when nothing followed it for INPUT_WAIT_MS. */
bool input_next(struct input *in, int64_t now_ms, struct input_event *ret);
/* When input_next must be asked again though no bytes came; INT64_MAX: never. */
int64_t input_deadline_ms(const struct input *in);

#endif
