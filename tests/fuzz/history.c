#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "model/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was taken is text of one line, within its bounds, and reads back as the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history h, again;
	struct str in, out;
	size_t i;

	text_init_locale();
	history_init(&h);
	history_init(&again);
	str_init(&in, 1 << 24);
	str_init(&out, 1 << 24);
	str_add(&in, "baton-history 1\n");
	str_add_mem(&in, (const char *)data, size);
	history_read(&h, "s", in.s, in.len, NULL);
	history_trim(&h, INT64_C(1767362570000000));
	if (h.n > HISTORY_MOST)
		abort();
	history_write(&h, &out);
	if (history_read(&again, "s", out.s, out.len, NULL) != 0 || again.n > h.n)
		abort();
	for (i = 0; i < h.n; i++)
		if (strncmp(h.at[i]->id, "s/", 2) != 0 || strpbrk(h.at[i]->text, "\n\t\x1b"))
			abort();
	history_release(&h);
	history_release(&again);
	str_release(&in);
	str_release(&out);
	return 0;
}
