#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

struct str;

enum {
	NEAREST_MAX = 3
};

/* The few words that are nearest to one that is not known, for "did you mean". Borrows all texts.
 */
struct nearest {
	const char *wanted;
	size_t limit; /* of the distance: beyond it a word is no help */
	size_t n;
	const char *words[NEAREST_MAX]; /* the nearest first */
	size_t distance[NEAREST_MAX];
};

void nearest_init(struct nearest *nearest, const char *wanted);
/* Offers a word; it must live as long as the nearest. A word that holds the wanted one counts as
 * near. */
void nearest_offer(struct nearest *nearest, const char *word);
/* Takes a word of which the caller knows how near it is; 0 is the nearest. */
void nearest_put(struct nearest *nearest, const char *word, size_t distance);

/*
 * Adds "; did you mean 'a'?" or "; did you mean 'a' or 'b'?" to out, at most max words, or nothing
 * when nothing is near. They may come from a file: what is not printable is escaped, and long ones
 * are cut.
 */
void nearest_tell(const struct nearest *nearest, size_t max, struct str *out);

#endif
