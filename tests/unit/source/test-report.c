/* What a server says of itself reaches doctor's lines sanitised. */
#include "config.h"

#include "../unit.h"
#include "base/str.h"
#include "base/text.h"
#include "source/etcd-source.h"
#include "source/report.h"

#include <string.h>

static void nothing_of_a_members_moves_the_terminal(void **state)
{
	struct etcd e = { .n_members = 1 };
	struct etcd_member m = {
		.answered = true,
		.leader_id = 1,
		.member_id = 1,
		.version = (char[]){ "3.5\x1b]52;c;eA==\x07" },
		.errors = (char[]){ "NOSPACE\r\x9b"
				    "31m\xe2\x80\xae" },
	};
	struct report report;
	size_t i;
	const char *c;

	(void)state;
	report_init(&report);
	etcd_examine_member(&e, &m, &report);
	assert_int_equal(report.n, 2);
	for (i = 0; i < report.n; i++)
		for (c = report.lines[i].text; *c; c++)
			assert_true(*c >= ' ' && *c != 0x7f);
	assert_non_null(strstr(report.lines[0].text, "3.5\\x1b]52"));
	assert_non_null(strstr(report.lines[1].text, "NOSPACE\\x0d"));
	report_release(&report);
}

static void shown_text_is_cut(void **state)
{
	char raw[2000];
	struct str shown;

	(void)state;
	memset(raw, 'x', sizeof(raw) - 1);
	raw[sizeof(raw) - 1] = '\0';
	assert_true(strlen(report_shown(&shown, raw)) < 400);
	str_release(&shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_a_members_moves_the_terminal),
		cmocka_unit_test(shown_text_is_cut),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
