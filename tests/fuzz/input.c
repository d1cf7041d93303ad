#include "config.h"

#include "tui/input.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes from a terminal, in pieces: events come out, and at the end nothing stays behind. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input_event event;
	struct input in;
	int64_t now = 1;
	size_t i = 0;

	input_init(&in);
	while (i < size) {
		size_t n = 1 + data[i] % 7;

		if (n > size - i)
			n = size - i;
		input_feed(&in, (const char *)data + i, n, now);
		i += n;
		while (input_next(&in, now, &event))
			if (event.type == INPUT_KEY && !event.key)
				abort();
		now += data[i - 1] % 60;
	}
	while (input_next(&in, now + INPUT_WAIT_MS, &event))
		;
	if (in.n)
		abort();
	return 0;
}
