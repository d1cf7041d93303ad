#include "config.h"

#include "model/draft.h"
#include "model/filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any text: it is taken or refused, and what is taken can be asked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct draft *d = draft_new();
	struct verdict_draft v;
	struct filter *f;

	memcpy(text, data, size);
	text[size] = '\0';
	verdict_draft_init(&v);
	draft_begin(d, MECH_ETCD_LOCK, "ctl", "locks/x", 7);
	draft_claim(d, CLAIM_HOLDER, text, strlen(text), "rev:1");
	if (filter_parse(text, &f, NULL) == 0) {
		struct row *row = row_new(draft_finish(d), &v);
		struct filter_row in = {
			.row = row, .state = STATE_HELD, .now_us = 1, .now_ms = 1
		};

		filter_match(f, &in);
		row_unref(row);
		filter_free(f);
	}
	verdict_draft_release(&v);
	draft_free(d);
	free(text);
	return 0;
}
