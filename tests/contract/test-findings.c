#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "model/words.h"
#include "tests/unit/unit.h"

/* doc/findings.md against the tables: no code without its section, and no section without its code.
 */

static struct str doc;

static int read_doc(void **state)
{
	struct err err = { 0 };

	(void)state;
	str_init(&doc, 1 << 20);
	if (fs_read(FINDINGS_DOC, &doc, &err))
		fail_msg("%s", err.text);
	return 0;
}

static int drop_doc(void **state)
{
	(void)state;
	str_release(&doc);
	return 0;
}

static void every_state_has_a_row(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < STATE_COUNT; i++) {
		const struct word *w = state_word((enum state)i);
		char row[300];

		snprintf(row, sizeof(row), "\n| %s | %c | %s |", w->word, w->letter, w->help);
		if (!strstr(doc.s, row))
			fail_msg("doc/findings.md lacks:%s", row);
	}
}

static void every_finding_has_a_section(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < FINDING_COUNT; i++) {
		const struct word *w = finding_word((enum finding_code)i);
		char heading[100];

		snprintf(heading, sizeof(heading), "\n### `%s` (%s)\n", w->word,
			severity_word(w->severity)->word);
		if (!strstr(doc.s, heading))
			fail_msg("doc/findings.md lacks:%s", heading);
	}
}

static void every_section_is_a_finding(void **state)
{
	const char *at = doc.s;

	(void)state;
	while ((at = strstr(at, "\n### `")) != NULL) {
		char code[64] = "";

		at += 6;
		snprintf(code, sizeof(code), "%.*s", (int)strcspn(at, "`"), at);
		if (finding_from_word(code) < 0)
			fail_msg("doc/findings.md tells of \"%s\", which is no finding", code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_has_a_row),
		cmocka_unit_test(every_finding_has_a_section),
		cmocka_unit_test(every_section_is_a_finding),
	};

	return cmocka_run_group_tests(tests, read_doc, drop_doc);
}
