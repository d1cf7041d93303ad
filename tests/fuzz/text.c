#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What leaves the border is printable, on one line, and can be taken back byte for byte. */
static void check_escape(const char *bytes, size_t size)
{
	struct str once, twice, back;

	str_init(&once, 1 << 20);
	str_init(&twice, 1 << 20);
	str_init(&back, 1 << 20);
	text_escape(&once, bytes, size);
	for (size_t i = 0; i < once.len; i++)
		if ((unsigned char)once.s[i] < 0x20 || once.s[i] == 0x7f)
			abort();
	if (!once.full && size) {
		if (text_unescape(&back, once.s) != 0 || back.len != size ||
			memcmp(back.s, bytes, size) != 0)
			abort();
	}
	text_width(once.s);
	text_escape_cut(&twice, bytes, size, 16);
	str_release(&once);
	str_release(&twice);
	str_release(&back);
}

/* A stranger's text may hold any escape. */
static void check_unescape(const char *bytes, size_t size)
{
	char *copy = malloc(size + 1);
	struct str out;

	memcpy(copy, bytes, size);
	copy[size] = '\0';
	str_init(&out, 1 << 20);
	text_unescape(&out, copy);
	text_distance(copy, "elections/billing", 5);
	str_release(&out);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;

	if (!ready)
		text_init_locale();
	ready = true;
	check_escape((const char *)data, size);
	check_unescape((const char *)data, size);
	return 0;
}
