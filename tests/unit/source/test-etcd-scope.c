#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "model/snapshot.h"
#include "source/etcd-source.h"
#include "tests/unit/source/fake-round.h"

/* What is read where some of it may not be, and what is told of that. */

struct fixture {
	struct etcd e;
	struct round r;
};

static int setup(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	fake_round_init(&f.r);
	map_init(&f.e.discovered);
	f.e.r = &f.r;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	etcd_scopes_free(&f->e);
	free(f->e.denied_leases);
	map_release(&f->e.discovered);
	fake_round_release(&f->r);
	return 0;
}

/* Reads everything that is due, where only what begins so may be read; the keys that were asked
 * for, each with a comma behind it. */
static const char *read_all(struct fixture *f, const char *granted)
{
	static char asked[400];
	bool more = true;
	size_t i;

	asked[0] = '\0';
	while (more) {
		more = false;
		for (i = 0; i < f->e.n_scopes; i++) {
			struct etcd_scope *s = &f->e.scopes[i];

			if (!etcd_scope_is_due(&f->e, i))
				continue;
			snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "%.*s%s,",
				(int)s->prefix_len, s->key, s->end ? "*" : "");
			if (s->prefix_len >= strlen(granted) && str_starts(s->key, granted))
				s->revision = 7;
			else
				s->denied = true;
			more = true;
		}
	}
	return asked;
}

static void add(struct fixture *f, const char *key)
{
	size_t len = strcspn(key, "*");

	etcd_scope_add(&f->e, key, len, key[len] != '*');
}

/* What is told as hidden; behind it stands what the config leaves out. */
static size_t hidden(const struct fixture *f)
{
	size_t n = 0;

	while (n < f->r.n_hidden && !f->r.hidden[n].chosen)
		n++;
	return n;
}

static bool is_hidden(const struct fixture *f, const char *id)
{
	const struct snapshot snap = { .hidden = f->r.hidden, .n_hidden = f->r.n_hidden };

	return snapshot_hides(&snap, id) != NULL;
}

static void nothing_is_read_twice(void **state)
{
	struct fixture *f = *state;

	/* In any order; and twice the same. */
	add(f, "a/b/*");
	add(f, "a/b/one");
	add(f, "a/*");
	add(f, "c");
	add(f, "a/*");
	add(f, "c*");
	assert_string_equal(read_all(f, ""), "a/*,c*,");
	assert_false(etcd_is_partial(&f->e));
	etcd_tell_hidden(&f->e);
	assert_int_equal(hidden(f), 0);
	assert_true(is_hidden(f, "ctl/d/x"));
	assert_false(is_hidden(f, "ctl/a/x"));
	assert_false(is_hidden(f, "ctl/c"));
}

static void what_is_within_a_refused_range_is_read(void **state)
{
	struct fixture *f = *state;

	add(f, "a/b/*");
	add(f, "*");
	add(f, "a/*");
	add(f, "a/b/c/*");
	assert_string_equal(read_all(f, "a/b/"), "*,a/*,a/b/*,");
	assert_true(etcd_is_partial(&f->e));
	assert_false(etcd_path_is_denied(&f->e, "a/b/x", 5));
	assert_false(etcd_path_is_denied(&f->e, "a/b", 3));
	assert_true(etcd_path_is_denied(&f->e, "a/c", 3));
	etcd_tell_hidden(&f->e);
	assert_string_equal(f->r.hidden[0].what, "all keys, except a/b/");
	assert_string_equal(f->r.hidden[0].remedy,
		"etcdctl role grant-permission ROLE read --prefix=true \"\"");
	assert_false(is_hidden(f, "ctl/a/b/x"));
	assert_true(is_hidden(f, "ctl/a/c"));
	assert_true(is_hidden(f, "ctl/x"));
}

/* A name of the config is watched as a key, and as an election. */
static void a_key_tells_nothing_of_candidates_below_it(void **state)
{
	struct fixture *f = *state;

	add(f, "a/*");
	add(f, "a/one");
	add(f, "a/one/*");
	f->e.scopes[0].denied = f->e.scopes[2].denied = true;
	f->e.scopes[1].revision = 7;
	assert_true(etcd_path_is_denied(&f->e, "a/one", 5));
	etcd_tell_hidden(&f->e);
	assert_true(is_hidden(f, "ctl/a/one"));
	f->e.scopes[1].denied = true;
	f->e.scopes[1].revision = 0;
	f->e.scopes[2].denied = false;
	f->e.scopes[2].revision = 7;
	assert_true(etcd_path_is_denied(&f->e, "a/one", 5));
}

static void many_parts_are_counted(void **state)
{
	struct fixture *f = *state;

	add(f, "a/*");
	add(f, "a/1/*");
	add(f, "a/2/*");
	add(f, "a/3/*");
	add(f, "a/4/*");
	add(f, "a/5/*");
	add(f, "a/6");
	f->e.scopes[0].denied = true;
	for (size_t i = 1; i < 7; i++)
		f->e.scopes[i].revision = 7;
	etcd_tell_hidden(&f->e);
	assert_int_equal(hidden(f), 1);
	assert_string_equal(
		f->r.hidden[0].what, "keys under a/, except a/1/, a/2/, a/3/, a/4/ and 2 more");
	assert_false(is_hidden(f, "ctl/a/5/x"));
	assert_true(is_hidden(f, "ctl/a/7"));
}

/* A key alone is looked at as it is: of what stands below its name nothing is known. */
static void below_a_key_nothing_is_looked_at(void **state)
{
	struct fixture *f = *state;

	add(f, "c");
	add(f, "d/*");
	read_all(f, "");
	etcd_tell_hidden(&f->e);
	assert_int_equal(hidden(f), 0);
	assert_true(is_hidden(f, "ctl/c/x"));
	assert_false(is_hidden(f, "ctl/d/x"));
}

/* A built-in etcd. */
static void without_scopes_nothing_is_left_out(void **state)
{
	struct fixture *f = *state;

	etcd_tell_hidden(&f->e);
	assert_int_equal(f->r.n_hidden, 0);
}

/* What discovery did not find may be a plain key, which it never finds; an election or lock that is
 * remembered as one it would have found. */
static void what_discovery_does_not_find_is_not_known(void **state)
{
	struct fixture *f = *state;
	struct snapshot snap;

	f->e.discover = true;
	etcd_tell_hidden(&f->e);
	assert_int_equal(hidden(f), 0);
	assert_true(is_hidden(f, "ctl/elections/job"));
	add(f, "elections/job/*");
	read_all(f, "");
	etcd_tell_hidden(&f->e);
	assert_false(is_hidden(f, "ctl/elections/job"));
	assert_true(is_hidden(f, "ctl/elections/none"));
	snap = (struct snapshot){ .hidden = f->r.hidden, .n_hidden = f->r.n_hidden };
	assert_null(snapshot_hides_of(&snap, "ctl/elections/none", MECH_ETCD_ELECTION));
	assert_null(snapshot_hides_of(&snap, "ctl/elections/none", MECH_ETCD_LOCK));
	assert_non_null(snapshot_hides_of(&snap, "ctl/elections/none", MECH_ETCD_KEY));
	/* Nor is that told where leases are left that were not looked at. */
	f->e.n_discover_left = 1;
	etcd_tell_hidden(&f->e);
	snap = (struct snapshot){ .hidden = f->r.hidden, .n_hidden = f->r.n_hidden };
	assert_non_null(snapshot_hides_of(&snap, "ctl/elections/none", MECH_ETCD_ELECTION));
}

/* Servers from 3.4.26 and 3.5.9 on refuse to tell the keys on a lease. */
static void leases_that_may_not_be_looked_at_are_told_once(void **state)
{
	struct fixture *f = *state;
	const struct etcd_want one = { .lease = 0x1a, .keys = true },
			       two = { .lease = 0x1b, .keys = true };
	const struct etcd_unary refused = { .done = true, .code = GRPC_PERMISSION_DENIED };

	f->e.discover = true;
	assert_true(etcd_discover_take(&f->e, &one, &refused));
	assert_true(etcd_discover_take(&f->e, &two, &refused));
	assert_true(etcd_is_partial(&f->e));
	etcd_tell_hidden(&f->e);
	assert_int_equal(hidden(f), 1);
	assert_string_equal(f->r.hidden[0].what,
		"2 leases with keys that may not be read: elections and locks on them are not "
		"found");
	assert_non_null(strstr(f->r.hidden[0].remedy, "etcdctl role grant-permission ROLE read"));
	assert_true(is_hidden(f, "ctl/any/name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_read_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_is_within_a_refused_range_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_key_tells_nothing_of_candidates_below_it, setup, teardown),
		cmocka_unit_test_setup_teardown(many_parts_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(below_a_key_nothing_is_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(
			without_scopes_nothing_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_discovery_does_not_find_is_not_known, setup, teardown),
		cmocka_unit_test_setup_teardown(
			leases_that_may_not_be_looked_at_are_told_once, setup, teardown),
	};

	text_init_locale();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
