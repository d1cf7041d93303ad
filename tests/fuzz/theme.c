#include "config.h"

#include "tui/theme.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes as a theme file; what is taken gives every style a look in every number of colours. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int depths[] = { 0, 8, 16, 256, 1 << 24 };
	struct theme theme;
	size_t d;
	int s;

	if (theme_parse(&theme, "fuzz", (const char *)data, size, NULL) < 0)
		return 0;
	for (d = 0; d < sizeof(depths) / sizeof(depths[0]); d++)
		for (s = 0; s < STYLE_COUNT; s++) {
			struct look look =
				theme_look(&theme, (enum style)s, STYLE_CURSOR, depths[d]);

			if (look.fg < -1 || look.bg < -1)
				abort();
			if (depths[d] && depths[d] <= 256 &&
				(look.fg >= depths[d] || look.bg >= depths[d]))
				abort();
		}
	return 0;
}
