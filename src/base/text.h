#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

/*
 * Sets the character type locale: the environment's where it is UTF-8, else C.UTF-8, so that
 * iswprint and wcwidth know Unicode. Call once, before threads. Returns whether the terminal (the
 * environment's locale) takes UTF-8.
 */
bool text_init_locale(void);

/*
 * The border that every remote byte passes once. Printable UTF-8 stays; a backslash is doubled;
 * every byte of anything else (control, escape, invalid or overlong UTF-8, surrogates,
 * bidirectional controls, zero-width and other format characters, line and paragraph separators)
 * becomes \xNN. The result is reversible by text_unescape, and is plain text on one line.
 */
void text_escape(struct str *out, const void *bytes, size_t len);

/* As text_escape, and with "..." at the end when the source is longer than max_bytes bytes. Not
 * reversible then. */
void text_escape_cut(struct str *out, const void *bytes, size_t len, size_t max_bytes);

/* The same into a buffer of size bytes, at least 16, cut so that it fits: for messages. Returns
 * buf.
 */
const char *text_shown(char *buf, size_t size, const char *text);

/*
 * For text that was escaped before, by us, and comes back from a file: printable UTF-8 stays, also
 * a backslash; everything else is escaped, as nobody knows who wrote the file. With "..." at the
 * end when it is longer than max_bytes bytes.
 */
void text_escape_again(struct str *out, const char *s, size_t max_bytes);

/* Whether it is plain text on one line already: that would leave it as it is. */
bool text_is_plain(const char *s);

/*
 * A text of anybody's made plain: text itself where it is plain already and has at most max_bytes
 * bytes (or is NULL), else as text_escape_again writes it, in own, which is begun here and which
 * the caller releases in any case.
 */
const char *text_make_plain(struct str *own, const char *text, size_t max_bytes);

/* The same of a whole text into a buffer of size bytes, cut at the end of a character so that it
 * fits. */
void text_fit(char *buf, size_t size, const char *text);

/* The bytes of s to show of at most max, up to the end of a character: for "%.*s". */
int text_most(const char *s, int max);
/* Takes off what is left of a character at the end of buf, which snprintf may have cut anywhere. */
void text_trim(char *buf);

/*
 * Takes back what text_escape wrote. Returns 0, or ERR_USAGE for an escape that it never writes
 * (out holds garbage).
 */
int text_unescape(struct str *out, const char *s);

/*
 * Reads one UTF-8 sequence: returns its length in bytes (1 to 4) and the code point, or 0 when the
 * bytes at s are not valid UTF-8 (RFC 3629: no overlongs, no surrogates, at most U+10FFFF) or len
 * is 0.
 */
size_t text_decode(const char *s, size_t len, uint32_t *ret_cp);
/* Writes a code point (at most U+10FFFF) as UTF-8, without an end: 1 to 4 bytes. Returns how many.
 */
size_t text_encode(char *to, uint32_t cp);

enum {
	TEXT_JSON_MAX = 13
};
/*
 * How a code point stands in a string of JSON where it is not printable, and would be obeyed or
 * hidden by a terminal that the JSON is shown on: "\u202e", in two parts above U+FFFF. Returns
 * its length; 0 where it may stand for itself.
 */
size_t text_json_escape(char to[TEXT_JSON_MAX], uint32_t cp);

/* Columns that a code point takes on a terminal: 0 (combining), 1 or 2; -1 when it is not
 * printable. */
int text_cp_width(uint32_t cp);

/* Columns that a sanitised string takes. */
size_t text_width(const char *s);
size_t text_width_mem(const char *s, size_t len);

/* Damerau-free edit distance (insert, delete, replace), capped at max + 1; for "did you mean". */
size_t text_distance(const char *a, const char *b, size_t max);

#endif
