#include "config.h"

#include "tui/keymap.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/filter.h"
#include "model/listing.h"
#include "tui/command.h"
#include "tui/input.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *keys, *section, *hint, *help;
} keymap[ACTION_COUNT] = {
#define KEY(id, k, s, t, h) [ACTION_##id] = { k, s, t, h },
#include "tui/keys.def"
#undef KEY
};

static const struct {
	const char *name;
	uint32_t key;
} key_names[] = {
	{ "Up", INPUT_UP },
	{ "Down", INPUT_DOWN },
	{ "Left", INPUT_LEFT },
	{ "Right", INPUT_RIGHT },
	{ "Home", INPUT_HOME },
	{ "End", INPUT_END },
	{ "PgUp", INPUT_PAGE_UP },
	{ "PgDn", INPUT_PAGE_DOWN },
	{ "Ins", INPUT_INSERT },
	{ "Del", INPUT_DELETE },
	{ "BackTab", INPUT_BACK_TAB },
	{ "Space", ' ' },
	{ "Enter", INPUT_ENTER },
	{ "Esc", INPUT_ESC },
	{ "Tab", INPUT_TAB },
	{ "Backspace", INPUT_BACKSPACE },
};

uint32_t keymap_key(const char *name, int len)
{
	size_t i, n = (size_t)len;
	uint32_t cp;

	for (i = 0; i < ARRAY_LEN(key_names); i++)
		if (strlen(key_names[i].name) == n && memcmp(key_names[i].name, name, n) == 0)
			return key_names[i].key;
	if (n == 3 && name[0] == 'C' && name[1] == '-' && name[2] >= 'a' && name[2] <= 'z')
		return (uint32_t)(name[2] - 'a' + 1);
	if ((n == 2 || n == 3) && name[0] == 'F' && name[1] >= '1' && name[1] <= '9') {
		int number = name[1] - '0';

		if (n == 3)
			number = number * 10 + (name[2] - '0');
		return number >= 1 && number <= 12 ? INPUT_F1 + (uint32_t)(number - 1) : 0;
	}
	return text_decode(name, n, &cp) == n ? cp : 0;
}

void keymap_key_name(uint32_t key, char *buf, int size)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(key_names); i++) {
		if (key_names[i].key != key)
			continue;
		snprintf(buf, (size_t)size, "%s", key_names[i].name);
		return;
	}
	if (key >= INPUT_F1 && key <= INPUT_F12)
		snprintf(buf, (size_t)size, "F%u", (unsigned)(key - INPUT_F1 + 1));
	else if (key < 32)
		snprintf(buf, (size_t)size, "C-%c", (int)('a' + key - 1));
	else if (key < 127)
		snprintf(buf, (size_t)size, "%c", (int)key);
	else
		snprintf(buf, (size_t)size, "U+%04X", (unsigned)key);
}

static bool keys_have(const char *keys, uint32_t key)
{
	while (*keys) {
		size_t n = strcspn(keys, " ");

		if (keymap_key(keys, (int)n) == key)
			return true;
		keys += n;
		keys += *keys == ' ';
	}
	return false;
}

enum action keymap_action(uint32_t key)
{
	int i;

	for (i = ACTION_NONE + 1; i < ACTION_COUNT; i++)
		if (keys_have(keymap[i].keys, key))
			return (enum action)i;
	return ACTION_NONE;
}

const char *keymap_keys(enum action action)
{
	return keymap[action].keys;
}

const char *keymap_section(enum action action)
{
	return keymap[action].section;
}

const char *keymap_help(enum action action)
{
	return keymap[action].help;
}

const char *keymap_hint(enum action action)
{
	return keymap[action].hint;
}

void keymap_first(enum action action, char *buf, int size)
{
	snprintf(buf, (size_t)size, "%.*s", (int)strcspn(keymap[action].keys, " "),
		keymap[action].keys);
}

/* Text for mdoc: a backslash and a leading dot or quote would be commands, a plain minus a hyphen.
 */
static void roff(struct str *out, const char *s)
{
	if (*s == '.' || *s == '\'')
		str_add(out, "\\&");
	for (; *s; s++) {
		if (*s == '\\')
			str_add(out, "\\e");
		else if (*s == '-')
			str_add(out, "\\-");
		else
			str_add_char(out, *s);
	}
}

/* A single sign that mdoc would take for punctuation stands behind an empty character. */
static void roff_term(struct str *out, const char *s)
{
	size_t n;

	for (; *s; s += n, s += *s == ' ') {
		char word[64];

		n = strcspn(s, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, s);
		str_add(out, n == 1 && ispunct((unsigned char)*s) ? " \\&" : " ");
		roff(out, word);
	}
}

static void roff_item(struct str *out, const char *term, const char *argument, const char *help)
{
	str_add(out, ".It Ic");
	roff_term(out, term);
	if (*argument)
		str_addf(out, " Ar %s", argument);
	str_add_char(out, '\n');
	roff(out, help);
	str_add(out, ".\n");
}

static void roff_list(struct str *out, const char *title)
{
	str_addf(out, ".Ss %s\n.Bl -tag -width Ds\n", title);
}

static void manual_keys(struct str *out)
{
	const char *section = "";
	int k;

	for (k = ACTION_NONE + 1; k < ACTION_COUNT; k++) {
		char title[64];

		if (strcmp(section, keymap[k].section) != 0) {
			if (*section)
				str_add(out, ".El\n");
			section = keymap[k].section;
			snprintf(title, sizeof(title), "Keys: %s", section);
			roff_list(out, title);
		}
		roff_item(out, keymap[k].keys, "", keymap[k].help);
	}
	str_add(out, ".El\n");
}

void keymap_manual(struct str *out)
{
	const char *name, *help;
	size_t i;
	int k;

	manual_keys(out);
	roff_list(out, "Commands of the console");
	for (k = 0; k < COMMAND_COUNT; k++) {
		char word[32];

		snprintf(word, sizeof(word), ":%s", command_word((enum command)k));
		roff_item(out, word, command_argument((enum command)k),
			command_describe((enum command)k));
	}
	str_add(out,
		".El\n.Ss The filter\n"
		"Words that must all hold, separated by blanks.\n"
		"An exclamation mark before a word turns it round.\n"
		"A word that is no field is looked for in ids, names, roles, holders and waiters.\n"
		".Bl -tag -width Ds\n");
	for (i = 0; filter_field_help(i, &name, &help); i++)
		roff_item(out, name, "", help);
	str_add(out, ".El\n");
	roff_list(out, "Orders");
	for (k = 0; k < SORT_COUNT; k++)
		roff_item(out, sort_name((enum sort)k), "", sort_help((enum sort)k));
	str_add(out, ".El\n");
}
