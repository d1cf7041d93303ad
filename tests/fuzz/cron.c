#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cron.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Northern summer time as a rule, so that no file is needed. */
static const char berlin[] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
			     "\0\0\0\0\0\0LMT\0"
			     "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
			     "\0\0\0\0\0\0LMT\0"
			     "\nCET-1CEST,M3.5.0,M10.5.0/3\n";

/* What is said about a stranger's text is one line of plain characters. */
static void check_refusal(const struct err *err)
{
	if (err->code != ERR_USAGE || !err->text[0])
		abort();
	for (const char *p = err->text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			abort();
}

static void check_slots(const struct cron *cron, const struct zone *zone, int64_t after)
{
	struct cron_missed missed;
	int64_t next, back, slots[8];
	size_t n, i;

	if (cron_next(cron, zone, after, &next)) {
		if (next <= after || cron_count(cron, zone, after, next, 10) != 1)
			abort();
		if (!cron_latest(cron, zone, after, next, &back) || back != next)
			abort();
	}
	n = cron_before(cron, zone, after, INT64_MIN, slots, ARRAY_LEN(slots));
	for (i = 0; i < n; i++)
		if (slots[i] >= (i ? slots[i - 1] : after))
			abort();
	cron_missed(cron, zone, after, -1, after + INT64_C(86400000000), &missed);
	if (missed.has_latest && missed.latest_us <= after)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zone *zone;
	struct err err = { 0 };
	struct cron cron;
	int64_t after = 0;
	char *text;

	if (!zone && zone_parse("rule", berlin, sizeof(berlin) - 1, &zone, &err) != 0)
		abort();
	/* The first six bytes are the time, up to the year 2112, the rest is the text. */
	for (size_t i = 0; i < 6 && size; i++, data++, size--)
		after = after << 8 | *data;
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	if (cron_parse(text, &cron, &err) != 0)
		check_refusal(&err);
	else
		check_slots(&cron, zone, after << 4);
	free(text);
	return 0;
}
