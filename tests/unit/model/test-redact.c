#include "config.h"

#include <stdio.h>
#include <string.h>

#include "model/redact.h"
#include "tests/unit/unit.h"

static const char *nth(struct redact *r, unsigned i)
{
	char name[40];

	snprintf(name, sizeof(name), "worker-%u", i);
	return redact_name(r, name);
}

static void the_same_name_is_always_the_same(void **state)
{
	struct redact *r = redact_new();

	(void)state;
	assert_string_equal(redact_name(r, "a"), "name-1");
	assert_string_equal(redact_name(r, "b"), "name-2");
	assert_string_equal(redact_name(r, "a"), "name-1");
	assert_string_equal(redact_name(r, "-17"), "-17");
	assert_string_equal(redact_name(r, ""), "");
	assert_string_equal(redact_path(r, "lease/a/c"), "lease/name-1/name-3");
	assert_string_equal(redact_id(r, "a/cronjob/b"), "name-1/cronjob/name-2");
	redact_free(r);
}

static void is_made_of_the_name(const char *text)
{
	if (strncmp(text, "name-x", 6) != 0 || strlen(text) != 22 ||
		strspn(text + 6, "0123456789abcdef") != 16)
		fail_msg("%s", text);
}

/* A record that goes on for weeks sees names without end: pods, connections. */
static void names_without_end_are_not_kept(void **state)
{
	struct redact *r = redact_new(), *other = redact_new();
	char first[40], path[80];
	unsigned i;

	(void)state;
	for (i = 1; i <= REDACT_NAMES_MOST; i++)
		snprintf(first, sizeof(first), "%s", nth(r, i));
	snprintf(path, sizeof(path), "name-%d", REDACT_NAMES_MOST);
	assert_string_equal(first, path);
	snprintf(first, sizeof(first), "%s", nth(r, i));
	is_made_of_the_name(first);
	is_made_of_the_name(nth(r, i + 1));
	assert_string_not_equal(nth(r, i + 1), first);
	assert_string_equal(nth(r, i), first);
	/* What was kept before stays. */
	assert_string_equal(nth(r, 1), "name-1");
	snprintf(path, sizeof(path), "lease/name-1/%s", first);
	assert_string_equal(redact_path(r, "lease/worker-1/worker-100001"), path);
	/* Nobody who guesses a name can look whether it is the one. */
	for (i = 1; i <= REDACT_NAMES_MOST; i++)
		nth(other, i);
	assert_string_not_equal(nth(other, i), first);
	redact_free(r);
	redact_free(other);
}

/* A few names may be as large as many. */
static void long_names_are_not_kept_without_end(void **state)
{
	static char name[1024 * 1024];
	struct redact *r = redact_new();
	char text[40];
	int i;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	for (i = 0; i * (int)sizeof(name) < REDACT_BYTES_MOST; i++) {
		name[0] = (char)('a' + i);
		snprintf(text, sizeof(text), "name-%d", i + 1);
		assert_string_equal(redact_name(r, name), text);
	}
	name[0] = 'Z';
	is_made_of_the_name(redact_name(r, name));
	name[0] = 'a';
	assert_string_equal(redact_name(r, name), "name-1");
	redact_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_name_is_always_the_same),
		cmocka_unit_test(names_without_end_are_not_kept),
		cmocka_unit_test(long_names_are_not_kept_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
