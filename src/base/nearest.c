#include "config.h"

#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"

#include <string.h>

enum {
	WORD_SHOWN = 256 /* bytes of a word */
};

/* In a long word more is mistyped, and in a very long one not more than that. */
static size_t nearest_limit(size_t len)
{
	size_t limit = len < 4 ? len / 2 : 1 + len / 4;

	return limit < 3 ? limit : 3;
}

void nearest_init(struct nearest *nearest, const char *wanted)
{
	*nearest = (struct nearest){ .wanted = wanted, .limit = nearest_limit(strlen(wanted)) };
}

static size_t nearest_measure(const struct nearest *nearest, const char *word)
{
	size_t distance = text_distance(nearest->wanted, word, nearest->limit);

	if (distance > 1 && strlen(nearest->wanted) >= 3 && strstr(word, nearest->wanted))
		return 1;
	return distance;
}

void nearest_put(struct nearest *nearest, const char *word, size_t distance)
{
	size_t i;

	for (i = nearest->n; i > 0 && nearest->distance[i - 1] > distance; i--) {
		if (i == NEAREST_MAX)
			continue;
		nearest->words[i] = nearest->words[i - 1];
		nearest->distance[i] = nearest->distance[i - 1];
	}
	if (i == NEAREST_MAX)
		return;
	nearest->words[i] = word;
	nearest->distance[i] = distance;
	if (nearest->n < NEAREST_MAX)
		nearest->n++;
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t distance = nearest_measure(nearest, word);

	if (distance <= nearest->limit)
		nearest_put(nearest, word, distance);
}

void nearest_tell(const struct nearest *nearest, size_t max, struct str *out)
{
	size_t i, n = nearest->n < max ? nearest->n : max;

	for (i = 0; i < n; i++) {
		str_add(out, i == 0 ? "; did you mean " : i + 1 < n ? ", " : " or ");
		str_add_char(out, '\'');
		text_escape_again(out, nearest->words[i], WORD_SHOWN);
		str_add_char(out, '\'');
	}
	if (n)
		str_add_char(out, '?');
}
