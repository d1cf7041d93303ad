#include "config.h"

#include "tui/screen.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/base64.h"
#include "base/str.h"
#include "tui/input.h"

#include <curses.h>
#include <term.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
	PAIRS_MAX = 250,
	RESET_MAX = 512,
	ERRORS_MAX = 4096,
	COPY_MAX = 64 * 1024,
	COLORS_DIRECT = 1 << 24
};

/* The terminal's own name for a look. */
struct screen_look {
	attr_t attrs;
	int pair;
	bool known;
};

struct screen {
	SCREEN *term;
	int colors;
	bool mouse;
	bool bracketed;
	struct cell *shown; /* what the terminal shows; NULL: nothing known */
	int h, w;
	int cursor_y, cursor_x;
	struct screen_look looks[STYLE_COUNT][2]; /* without and with the cursor over it */
	struct {
		int32_t fg, bg;
	} pairs[PAIRS_MAX];
	int n_pairs;
	char theme[64];
};

/*
 * What signal handlers need: they have no argument to carry it in. Written before the handlers are
 * installed, but for the flags, and read by them only.
 */
static volatile sig_atomic_t screen_pending;
static volatile sig_atomic_t screen_taken;
static int screen_wake = -1;
static struct termios screen_saved;
static char screen_reset[RESET_MAX];
static size_t screen_reset_len;
/* While the terminal is ours: where standard error leads, and what was said to it meanwhile. */
static int screen_stderr = -1;
static int screen_said = -1;

static const struct {
	int signal;
	unsigned event;
} screen_soft[] = { { SIGWINCH, SCREEN_RESIZED }, { SIGTSTP, SCREEN_STOP },
	{ SIGCONT, SCREEN_CONTINUED }, { SIGINT, SCREEN_INTERRUPT }, { SIGTERM, SCREEN_TERMINATE },
	{ SIGHUP, SCREEN_HANGUP } };

static const int screen_crash[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGSYS,
	SIGTRAP };

static void on_soft(int signal)
{
	uint64_t one = 1;
	int keep = errno;
	size_t i;

	for (i = 0; i < ARRAY_LEN(screen_soft); i++)
		if (screen_soft[i].signal == signal)
			__atomic_or_fetch(
				&screen_pending, (int)screen_soft[i].event, __ATOMIC_SEQ_CST);
	if (write(screen_wake, &one, sizeof(one)) < 0)
		errno = keep; /* full: it is readable anyway */
	errno = keep;
}

/*
 * A library that warns on standard error (libpq of a password file that others may read) would
 * write across the screen. A pipe takes it until the terminal is given back; what no longer fits in
 * it is dropped.
 */
static void errors_hold(void)
{
	int fds[2];

	if (!isatty(STDERR_FILENO) || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	screen_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	screen_said = fds[0];
	if (screen_stderr >= 0)
		dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
}

/* Safe in a signal handler. Tells the beginning of what was said: the rest mostly repeats it. */
static void errors_release(void)
{
	char said[ERRORS_MAX];
	ssize_t n;

	if (screen_stderr < 0)
		return;
	n = read(screen_said, said, sizeof(said));
	dup2(screen_stderr, STDERR_FILENO);
	while (n > 0 && write(STDERR_FILENO, said, (size_t)n) < 0 && errno == EINTR)
		continue;
	close(screen_stderr);
	close(screen_said);
	screen_stderr = screen_said = -1;
}

/* Only what POSIX calls safe in a handler: write, tcsetattr, sigaction, raise, read, dup2. */
static void on_crash(int signal)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	if (screen_taken) {
		screen_taken = 0;
		if (write(STDOUT_FILENO, screen_reset, screen_reset_len) < 0)
			screen_taken = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &screen_saved);
	}
	errors_release();
	sigaction(signal, &fatal, NULL);
	raise(signal);
}

static void signals_install(void)
{
	struct sigaction soft = { .sa_handler = on_soft, .sa_flags = SA_RESTART };
	struct sigaction crash = { .sa_handler = on_crash,
		.sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK };
	size_t i;

	for (i = 0; i < ARRAY_LEN(screen_soft); i++)
		sigaction(screen_soft[i].signal, &soft, NULL);
	for (i = 0; i < ARRAY_LEN(screen_crash); i++)
		sigaction(screen_crash[i], &crash, NULL);
}

static void signals_default(void)
{
	struct sigaction def = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };
	size_t i;

	/*
	 * Those that end the program stay with their meaning; the polite ones are ignored from here
	 * on, since the way out must not be cut short by a second one.
	 */
	for (i = 0; i < ARRAY_LEN(screen_soft); i++)
		sigaction(screen_soft[i].signal,
			screen_soft[i].signal == SIGHUP || screen_soft[i].signal == SIGTERM
				? &ignore
				: &def,
			NULL);
	for (i = 0; i < ARRAY_LEN(screen_crash); i++)
		sigaction(screen_crash[i], &def, NULL);
}

/* Adds a capability without its padding ("$<5>"), which a handler can't wait for. */
static void reset_add(struct str *out, const char *s)
{
	if (!s || s == (const char *)-1)
		return;
	while (*s) {
		if (s[0] == '$' && s[1] == '<' && strchr(s, '>')) {
			s = strchr(s, '>') + 1;
			continue;
		}
		str_add_char(out, *s++);
	}
}

static const char modes_off[] = "\033[?1006l\033[?1000l\033[?2004l";

static const char *capability(const char *name)
{
	return tigetstr((char *)(uintptr_t)name);
}

static void reset_prepare(bool bracketed)
{
	struct str out;

	str_init(&out, RESET_MAX);
	if (bracketed)
		str_add(&out, modes_off);
	reset_add(&out, capability("sgr0"));
	reset_add(&out, capability("op"));
	reset_add(&out, capability("rmkx"));
	reset_add(&out, capability("cnorm"));
	reset_add(&out, capability("rmcup"));
	screen_reset_len = out.len < RESET_MAX ? out.len : 0;
	memcpy(screen_reset, out.s, screen_reset_len);
	str_release(&out);
}

static int check_terminal(struct err *err)
{
	const char *term = getenv("TERM");
	int status;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, ERR_UNSUPPORTED,
			"the console needs a terminal, and standard %s is none: use \"baton list\" "
			"for a picture, or "
			"\"baton watch\" for a line per change",
			isatty(STDIN_FILENO) ? "output" : "input");
	if (!term || !*term)
		return err_set(err, ERR_UNSUPPORTED,
			"TERM is not set, so it is not known what this terminal can do: set it "
			"(TERM=xterm-256color), or "
			"use \"baton list\"");
	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return err_set(err, ERR_UNSUPPORTED,
			"this machine doesn't know the terminal TERM=%s: try TERM=xterm-256color, "
			"or use \"baton list\"",
			term);
	if (!capability("cup") || capability("cup") == (const char *)-1) {
		del_curterm(cur_term);
		return err_set(err, ERR_UNSUPPORTED,
			"the terminal TERM=%s can't move its cursor, so there is no screen to draw "
			"on: use \"baton list\"",
			term);
	}
	return 0;
}

static void send(const char *s)
{
	size_t len = strlen(s);

	while (len) {
		ssize_t n = write(STDOUT_FILENO, s, len);

		if (n < 0 && errno != EINTR)
			return;
		s += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

static void start_colors(struct screen *s, bool no_color)
{
	s->colors = 0;
	if (no_color || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	s->colors = COLORS >= COLORS_DIRECT ? COLORS_DIRECT
		    : COLORS >= 256         ? 256
		    : COLORS >= 16          ? 16
		    : COLORS >= 8           ? 8
					    : 0;
}

/*
 * A read waits for no key. That there is one was seen before, and a key that sends a signal makes
 * the kernel forget what was typed and not read yet (termios(3), NOFLSH): ^Z behind a word would
 * leave us asleep in the read until somebody types again.
 */
static void read_at_once(void)
{
	struct termios now;

	if (tcgetattr(STDIN_FILENO, &now) < 0)
		return;
	now.c_cc[VMIN] = now.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &now);
	def_prog_mode(); /* what curses comes back to */
}

static void take(struct screen *s)
{
	cbreak();
	noecho();
	nonl();
	read_at_once();
	typeahead(-1);
	keypad(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
	s->cursor_y = s->cursor_x = -1;
	if (s->bracketed)
		send("\033[?2004h");
	if (s->mouse)
		send("\033[?1000h\033[?1006h");
}

int screen_open(struct screen **ret, bool no_color, struct err *err)
{
	struct screen *s;
	int rc = check_terminal(err);

	if (rc < 0)
		return rc;
	if (tcgetattr(STDIN_FILENO, &screen_saved) < 0)
		return err_set(
			err, ERR_IO, "the terminal's settings can't be read: %s", strerror(errno));
	s = xcalloc(1, sizeof(*s));
	screen_wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	screen_pending = 0;
	/* Sequences of xterm's kind are sent to terminals that take colours and cursor keys of that
	 * kind only. */
	s->bracketed = capability("kcuu1") && capability("kcuu1") != (const char *)-1 &&
		       strstr(capability("kcuu1"), "\033") != NULL;
	reset_prepare(s->bracketed);
	/* What was asked until here; newterm reads its own. */
	del_curterm(cur_term);
	/* Before curses, which would install its own where there are none. */
	screen_taken = 1;
	signals_install();
	errors_hold();
	s->term = newterm(NULL, stdout, stdin);
	if (!s->term) {
		screen_close(s, true);
		return err_set(err, ERR_UNSUPPORTED, "the terminal can't be set up for a screen");
	}
	start_colors(s, no_color);
	take(s);
	*ret = s;
	return 0;
}

void screen_close(struct screen *s, bool lost)
{
	if (!lost) {
		if (s->mouse || s->bracketed)
			send(modes_off);
		curs_set(1);
		endwin();
		tcsetattr(STDIN_FILENO, TCSADRAIN, &screen_saved);
	}
	screen_taken = 0;
	errors_release();
	signals_default();
	if (screen_wake >= 0)
		close(screen_wake);
	screen_wake = -1;
	if (s->term)
		delscreen(s->term);
	free(s->shown);
	free(s);
}

int screen_colors(const struct screen *s)
{
	return s->colors;
}

void screen_size(const struct screen *s, int *ret_h, int *ret_w)
{
	struct winsize size;

	(void)s;
	*ret_h = LINES;
	*ret_w = COLS;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
		*ret_h = size.ws_row;
		*ret_w = size.ws_col;
	}
}

int screen_signal_fd(const struct screen *s)
{
	(void)s;
	return screen_wake;
}

int screen_input_fd(const struct screen *s)
{
	(void)s;
	return STDIN_FILENO;
}

unsigned screen_events(struct screen *s)
{
	uint64_t count;
	unsigned events;

	if (read(screen_wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		count = 0;
	events = (unsigned)__atomic_exchange_n(&screen_pending, 0, __ATOMIC_SEQ_CST);
	if (events & SCREEN_CONTINUED) {
		/* Whoever had the terminal meanwhile left it in a state that we don't know. */
		endwin();
		take(s);
		screen_redraw(s);
	}
	return events;
}

int screen_read(struct screen *s, struct input *in, int64_t now_ms)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	char bytes[1024];
	size_t room = input_room(in);
	ssize_t n;

	(void)s;
	n = room ? read(STDIN_FILENO, bytes, room < sizeof(bytes) ? room : sizeof(bytes)) : 0;
	if (n > 0) {
		input_feed(in, bytes, (size_t)n, now_ms);
		return 0;
	}
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : ERR_IO;
	/* Nothing to read is no end, unless there is no terminal any more. */
	return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL) ? ERR_IO : 0;
}

static int pair_of(struct screen *s, int32_t fg, int32_t bg)
{
	int i;

	if (fg == -1 && bg == -1)
		return 0;
	for (i = 0; i < s->n_pairs; i++)
		if (s->pairs[i].fg == fg && s->pairs[i].bg == bg)
			return i + 1;
	if (s->n_pairs >= PAIRS_MAX || s->n_pairs + 2 > COLOR_PAIRS)
		return 0;
	if (init_extended_pair(s->n_pairs + 1, fg, bg) == ERR)
		return 0;
	s->pairs[s->n_pairs].fg = fg;
	s->pairs[s->n_pairs++].bg = bg;
	return s->n_pairs;
}

static const struct screen_look *look_of(
	struct screen *s, const struct theme *theme, const struct cell *cell)
{
	bool over = cell->over != STYLE_TEXT;
	struct screen_look *look = &s->looks[cell->style][over];
	struct look l;

	if (look->known)
		return look;
	l = theme_look(theme, (enum style)cell->style, (enum style)cell->over, s->colors);
	look->attrs = A_NORMAL;
	look->attrs |= l.attrs & LOOK_BOLD ? A_BOLD : 0;
	look->attrs |= l.attrs & LOOK_DIM ? A_DIM : 0;
	look->attrs |= l.attrs & LOOK_REVERSE ? A_REVERSE : 0;
	look->attrs |= l.attrs & LOOK_UNDERLINE ? A_UNDERLINE : 0;
	look->attrs |= l.attrs & LOOK_ITALIC ? A_ITALIC : 0;
	look->pair = s->colors ? pair_of(s, l.fg, l.bg) : 0;
	look->known = true;
	return look;
}

static void put_cell(
	struct screen *s, const struct theme *theme, int y, int x, const struct cell *cell)
{
	const struct screen_look *look = look_of(s, theme, cell);
	wchar_t text[CELL_MARKS + 2] = { (wchar_t)cell->cp };
	int pair = look->pair, i;
	cchar_t cc;

	for (i = 0; i < CELL_MARKS; i++)
		text[i + 1] = (wchar_t)cell->mark[i];
	if (setcchar(&cc, text, look->attrs, (short)pair, &pair) != ERR)
		mvadd_wch(y, x, &cc);
}

/* Sends the part of a row that differs from what is shown. */
static void show_row(struct screen *s, const struct canvas *c, const struct theme *theme, int y)
{
	const struct cell *row = &c->cells[(size_t)y * (size_t)c->w];
	struct cell *was = &s->shown[(size_t)y * (size_t)c->w];
	int first = 0, end = c->w;

	while (first < end && memcmp(&row[first], &was[first], sizeof(*row)) == 0)
		first++;
	if (first == end)
		return;
	while (end > first && memcmp(&row[end - 1], &was[end - 1], sizeof(*row)) == 0)
		end--;
	while (first > 0 && !row[first].cp)
		first--;
	for (; first < end; first++)
		if (row[first].cp)
			put_cell(s, theme, y, first, &row[first]);
	memcpy(was, row, (size_t)c->w * sizeof(*row));
}

static void fit_size(struct screen *s, const struct canvas *c)
{
	if (s->shown && s->h == c->h && s->w == c->w)
		return;
	if (LINES != c->h || COLS != c->w)
		resizeterm(c->h, c->w);
	s->shown = xrealloc(s->shown, (size_t)c->h * (size_t)c->w, sizeof(*s->shown));
	memset(s->shown, 0, (size_t)c->h * (size_t)c->w * sizeof(*s->shown));
	s->h = c->h;
	s->w = c->w;
	erase();
}

void screen_show(struct screen *s, const struct canvas *c, const struct theme *theme)
{
	int y;

	if (strcmp(s->theme, theme->name) != 0) {
		memset(s->looks, 0, sizeof(s->looks));
		snprintf(s->theme, sizeof(s->theme), "%s", theme->name);
		free(s->shown);
		s->shown = NULL;
	}
	fit_size(s, c);
	for (y = 0; y < c->h; y++)
		show_row(s, c, theme, y);
	if ((c->cursor_y >= 0) != (s->cursor_y >= 0))
		curs_set(c->cursor_y >= 0);
	s->cursor_y = c->cursor_y;
	s->cursor_x = c->cursor_x;
	if (c->cursor_y >= 0)
		move(c->cursor_y, c->cursor_x);
	refresh();
}

void screen_redraw(struct screen *s)
{
	free(s->shown);
	s->shown = NULL;
	memset(s->looks, 0, sizeof(s->looks));
	clearok(curscr, TRUE);
}

void screen_suspend(struct screen *s)
{
	struct sigaction def = { .sa_handler = SIG_DFL },
			 soft = { .sa_handler = on_soft, .sa_flags = SA_RESTART };

	if (s->mouse || s->bracketed)
		send(modes_off);
	curs_set(1);
	endwin();
	tcsetattr(STDIN_FILENO, TCSADRAIN, &screen_saved);
	screen_taken = 0;
	sigaction(SIGTSTP, &def, NULL);
	raise(SIGTSTP);
	/* Here it goes on, in the foreground again. */
	sigaction(SIGTSTP, &soft, NULL);
	screen_taken = 1;
	take(s);
	screen_redraw(s);
}

void screen_mouse(struct screen *s, bool on)
{
	s->mouse = on;
	send(on ? "\033[?1000h\033[?1006h" : "\033[?1006l\033[?1000l");
}

bool screen_copy(struct screen *s, const char *text, size_t len)
{
	struct str out;

	(void)s;
	if (len > COPY_MAX)
		return false;
	str_init(&out, COPY_MAX * 2);
	str_add(&out, "\033]52;c;");
	base64_encode(&out, text, len);
	str_add(&out, "\a");
	send(out.s);
	str_release(&out);
	return true;
}

void screen_ask_background(struct screen *s)
{
	if (s->bracketed)
		send("\033]11;?\033\\\033[c");
}
