#ifndef TUI_KEYMAP_H
#define TUI_KEYMAP_H

#include <stdbool.h>
#include <stdint.h>

struct str;

/* What a key does, independent of which key it is. */
enum action {
	ACTION_NONE,
#define KEY(id, keys, section, hint, help) ACTION_##id,
#include "tui/keys.def"
#undef KEY
	ACTION_COUNT
};

/* The action of a key (input.h), or ACTION_NONE. */
enum action keymap_action(uint32_t key);

/* The facts of an action: its keys as written in the table, its section and help. */
const char *keymap_keys(enum action action);
const char *keymap_section(enum action action);
const char *keymap_help(enum action action);
/* One word for the last line; empty when there is no room for it there. */
const char *keymap_hint(enum action action);
/* The first of its keys. */
void keymap_first(enum action action, char *buf, int size);

/* Reads one key's name; 0 when it is none. */
uint32_t keymap_key(const char *name, int len);
/* The name of a key, for messages: "C-x", "F5", "ß". */
void keymap_key_name(uint32_t key, char *buf, int size);

/* The part of the manual page about keys and commands, in mdoc. doc/keys.inc holds it.
 */
void keymap_manual(struct str *out);

#endif
