#include "config.h"

#include "tui/input.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	SEQUENCE_MAX = 256,
	INCOMPLETE = 0,
	PARAMS_MAX = 8
};

void input_init(struct input *in)
{
	memset(in, 0, sizeof(*in));
}

size_t input_room(const struct input *in)
{
	return INPUT_BUFFER - in->n;
}

void input_feed(struct input *in, const char *bytes, size_t n, int64_t now_ms)
{
	if (n > input_room(in))
		n = input_room(in);
	memcpy(in->buf + in->n, bytes, n);
	in->n += n;
	in->since_ms = now_ms;
}

static void input_drop(struct input *in, size_t n)
{
	memmove(in->buf, in->buf + n, in->n - n);
	in->n -= n;
}

static uint32_t key_of_final(char final)
{
	switch (final) {
	case 'A':
		return INPUT_UP;
	case 'B':
		return INPUT_DOWN;
	case 'C':
		return INPUT_RIGHT;
	case 'D':
		return INPUT_LEFT;
	case 'H':
		return INPUT_HOME;
	case 'F':
		return INPUT_END;
	case 'Z':
		return INPUT_BACK_TAB;
	case 'P':
	case 'Q':
	case 'R':
	case 'S':
		return INPUT_F1 + (uint32_t)(final - 'P');
	case 'M':
		return INPUT_ENTER; /* SS3 M: the keypad's */
	default:
		return 0;
	}
}

/* The keys of the VT220 and its heirs: CSI number ~. */
static uint32_t key_of_number(int number)
{
	static const struct {
		int number;
		uint32_t key;
	} keys[] = { { 1, INPUT_HOME }, { 2, INPUT_INSERT }, { 3, INPUT_DELETE }, { 4, INPUT_END },
		{ 5, INPUT_PAGE_UP }, { 6, INPUT_PAGE_DOWN }, { 7, INPUT_HOME }, { 8, INPUT_END },
		{ 11, INPUT_F1 }, { 12, INPUT_F1 + 1 }, { 13, INPUT_F1 + 2 }, { 14, INPUT_F1 + 3 },
		{ 15, INPUT_F1 + 4 }, { 17, INPUT_F1 + 5 }, { 18, INPUT_F1 + 6 },
		{ 19, INPUT_F1 + 7 }, { 20, INPUT_F1 + 8 }, { 21, INPUT_F1 + 9 },
		{ 23, INPUT_F1 + 10 }, { 24, INPUT_F12 } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].number == number)
			return keys[i].key;
	return 0;
}

static int csi_params(const char *s, size_t n, int params[PARAMS_MAX])
{
	int count = 1;
	size_t i;

	memset(params, 0, PARAMS_MAX * sizeof(*params));
	for (i = 0; i < n; i++) {
		if (s[i] == ';' || s[i] == ':') {
			if (++count > PARAMS_MAX)
				return PARAMS_MAX;
		} else if (s[i] >= '0' && s[i] <= '9' && params[count - 1] < 100000) {
			params[count - 1] = params[count - 1] * 10 + (s[i] - '0');
		}
	}
	return count;
}

/* SGR mouse: CSI < button ; column ; line M (pressed) or m (released). */
static bool csi_mouse(const char *s, size_t n, bool release, struct input_event *ret)
{
	int p[PARAMS_MAX];

	if (csi_params(s, n, p) < 3 || p[1] < 1 || p[2] < 1)
		return false;
	ret->type = INPUT_MOUSE;
	ret->x = p[1] - 1;
	ret->y = p[2] - 1;
	if (p[0] & 64)
		ret->button = (p[0] & 3) == 0   ? BUTTON_WHEEL_UP
			      : (p[0] & 3) == 1 ? BUTTON_WHEEL_DOWN
						: BUTTON_OTHER;
	else if (release)
		ret->button = BUTTON_RELEASE;
	else if ((p[0] & 3) == 3 || p[0] & 32)
		ret->button = BUTTON_OTHER; /* only moved */
	else
		ret->button = (enum input_button)(p[0] & 3);
	return true;
}

/* A whole control sequence, s behind "ESC [", its final byte included. */
static bool csi_event(struct input *in, const char *s, size_t n, struct input_event *ret)
{
	char final = s[n - 1];
	int p[PARAMS_MAX];

	if (*s == '<')
		return (final == 'M' || final == 'm') && csi_mouse(s + 1, n - 2, final == 'm', ret);
	if (*s == '?' || *s == '>' || *s == '=') {
		ret->type = INPUT_ANSWERED;
		return final == 'c';
	}
	csi_params(s, n - 1, p);
	if (final == '~' && (p[0] == 200 || p[0] == 201)) {
		in->pasting = p[0] == 200;
		return false;
	}
	ret->type = INPUT_KEY;
	ret->key = final == '~' ? key_of_number(p[0]) : final == 'M' ? 0 : key_of_final(final);
	return ret->key != 0;
}

static int hex_16(const char **s, const char *end)
{
	int digits = 0;
	unsigned value = 0;

	for (; *s < end && digits < 4; (*s)++, digits++) {
		char c = **s;

		if (c >= '0' && c <= '9')
			value = value << 4 | (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			value = value << 4 | (unsigned)((c | 32) - 'a' + 10);
		else
			break;
	}
	if (!digits)
		return -1;
	/* Scaled to eight bits, whatever the number of digits is. */
	return (int)(value * 255 / ((1U << (4 * digits)) - 1));
}

/* The answer to OSC 11: "11;rgb:RRRR/GGGG/BBBB" (xterm's control sequences). */
static bool osc_event(const char *s, size_t n, struct input_event *ret)
{
	static const char head[] = "11;rgb:";
	const char *end = s + n;
	uint32_t rgb = 0;
	int i;

	if (n < sizeof(head) - 1 || memcmp(s, head, sizeof(head) - 1) != 0)
		return false;
	s += sizeof(head) - 1;
	for (i = 0; i < 3; i++) {
		int part = hex_16(&s, end);

		if (part < 0)
			return false;
		rgb = rgb << 8 | (uint32_t)part;
		if (s < end && *s == '/')
			s++;
	}
	ret->type = INPUT_BACKGROUND;
	ret->rgb = rgb;
	return true;
}

/*
 * The length of the escape sequence at the start of s, INCOMPLETE when its end has not come;
 * *ret_body is where what it says begins.
 */
static size_t sequence_length(const char *s, size_t n)
{
	size_t i;

	if (n < 2)
		return INCOMPLETE;
	if (s[1] == 'O')
		return n < 3 ? INCOMPLETE : 3;
	if (s[1] == '[') {
		if (n >= 3 && s[2] == '[') /* the Linux console's function keys: CSI [ A */
			return n < 4 ? INCOMPLETE : 4;
		for (i = 2; i < n && i < SEQUENCE_MAX; i++)
			if (s[i] >= 0x40 && s[i] <= 0x7e)
				return i + 1;
			else if (s[i] < 0x20)
				return i; /* broken off: what follows is something else */
		return i == SEQUENCE_MAX ? i : INCOMPLETE;
	}
	if (s[1] == ']' || s[1] == 'P' || s[1] == '_' || s[1] == '^') {
		for (i = 2; i < n && i < SEQUENCE_MAX; i++) {
			if (s[i] == '\a')
				return i + 1;
			if (s[i] == '\033' && i + 1 < n)
				return s[i + 1] == '\\' ? i + 2 : i;
		}
		return i == SEQUENCE_MAX ? i : INCOMPLETE;
	}
	return 1;
}

static bool sequence_event(struct input *in, const char *s, size_t n, struct input_event *ret)
{
	if (n == 1) {
		*ret = (struct input_event){ .type = INPUT_KEY, .key = INPUT_ESC };
		return true;
	}
	if (s[1] == 'O' && n == 3) {
		*ret = (struct input_event){ .type = INPUT_KEY, .key = key_of_final(s[2]) };
		return ret->key != 0;
	}
	if (s[1] == '[' && n == 4 && s[2] == '[') {
		*ret = (struct input_event){ .type = INPUT_KEY,
			.key = INPUT_F1 + (uint32_t)(s[3] - 'A') };
		return s[3] >= 'A' && s[3] <= 'E';
	}
	if (s[1] == '[' && n > 2)
		return csi_event(in, s + 2, n - 2, ret);
	if (s[1] == ']' && n > 3)
		return osc_event(s + 2, n - 2, ret);
	return false;
}

/* One plain character: a control code, ASCII, or UTF-8. Returns the bytes that it took; ret->key 0
 * when it is none. */
static size_t plain_event(const struct input *in, bool late, struct input_event *ret)
{
	unsigned char first = (unsigned char)in->buf[0];
	size_t need = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1, n;
	uint32_t cp;

	*ret = (struct input_event){ .type = in->pasting ? INPUT_PASTE : INPUT_KEY };
	n = text_decode(in->buf, in->n, &cp);
	if (!n)
		return need > in->n && !late ? INCOMPLETE : 1;
	if (in->pasting)
		ret->key = cp == '\r' ? '\n' : cp;
	else
		ret->key = cp == '\n' ? INPUT_ENTER : cp == 8 ? INPUT_BACKSPACE : cp;
	return n;
}

bool input_next(struct input *in, int64_t now_ms, struct input_event *ret)
{
	bool late = now_ms - in->since_ms >= INPUT_WAIT_MS;

	while (in->n) {
		struct input_event event = { 0 };
		bool known;
		size_t n;

		if (in->buf[0] == '\033') {
			n = sequence_length(in->buf, in->n);
			if (n == INCOMPLETE && !late)
				return false;
			if (n == INCOMPLETE) /* a lone escape, or a sequence that broke off */
				n = in->n;
			known = sequence_event(in, in->buf, n, &event);
			known = known && !(in->pasting && event.type == INPUT_KEY);
		} else {
			n = plain_event(in, late, &event);
			if (n == INCOMPLETE)
				return false;
			known = event.key != 0;
		}
		input_drop(in, n);
		if (known) {
			*ret = event;
			return true;
		}
	}
	return false;
}

int64_t input_deadline_ms(const struct input *in)
{
	return in->n ? in->since_ms + INPUT_WAIT_MS : INT64_MAX;
}
