#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fake-round.h"
#include "pg-answers.h"
#include "io/pg-inside.h"
#include "io/yaml.h"
#include "source/postgres.h"
#include "tests/unit/unit.h"

extern const struct source_ops source_postgres;

/* 2026-01-02T03:04:05Z, from 2000 */
#define START_US INT64_C(820638245000000)
#define EPOCH_US INT64_C(946684800000000)

struct stage {
	struct source_config config;
	struct postgres p;
	struct round r;
	struct pg_moment moment;
};

static int stage_open(void **state)
{
	static char database[] = "app";
	struct stage *s = calloc(1, sizeof(*s));

	s->config = (struct source_config){ .ops = &source_postgres, .name = "orders" };
	s->p.config = &s->config;
	s->p.facts.database = database;
	fake_round_init(&s->r);
	*state = s;
	return 0;
}

static int stage_close(void **state)
{
	struct stage *s = *state;

	postgres_picture_forget(&s->p);
	fake_round_release(&s->r);
	free(s);
	return 0;
}

/* Tells an answer, and frees it. */
static void tell(struct stage *s, PGresult *result)
{
	struct pg_rows *rows = pg_rows_of(result);

	s->r.puts = 0;
	assert_true(postgres_moment_read(rows, &s->moment));
	postgres_picture_tell(&s->p, &s->r, rows, &s->moment);
	pg_result_free(rows);
}

static PGresult *begin_with(int64_t total)
{
	PGresult *result = answer_new();

	answer_server(result, total);
	answer_database(result, 5, "app");
	answer_database(result, 6, "other");
	return result;
}

static PGresult *begin(void)
{
	return begin_with(1);
}

static const struct claim *holder_of(struct stage *s, const char *path)
{
	const struct singleton *row = fake_round_row(&s->r, path);

	assert_non_null(row);
	return singleton_holder(row);
}

/* The identity and key of the one holder of key 7, whose session is described. */
static void identity_is(struct stage *s, const struct answer_session *session, const char *identity,
	const char *key)
{
	PGresult *result = begin();
	const struct answer_lock lock = { .pid = 11, .database = 5, .objid = 7, .objsubid = 1 };
	const struct claim *c;

	answer_lock(result, &lock);
	if (session)
		answer_session(result, session);
	tell(s, result);
	c = holder_of(s, "app:7");
	assert_string_equal(claim_identity(c), identity);
	assert_string_equal(claim_key(c), key);
}

static void identities(void **state)
{
	struct answer_session session = { .pid = 11,
		.start_us = START_US,
		.name = "worker-1",
		.user = "batch",
		.client = "10.0.0.5",
		.type = "client backend" };

	identity_is(*state, &session, "worker-1", "11@1767323045000000");
	session.name = "";
	identity_is(*state, &session, "batch@10.0.0.5", "11@1767323045000000");
	session.client = "local";
	identity_is(*state, &session, "batch@local", "11@1767323045000000");
	session.user = NULL;
	session.type = "logical replication worker";
	identity_is(*state, &session, "logical replication worker", "11@1767323045000000");
	session.type = NULL;
	identity_is(*state, &session, "pid 11", "11@1767323045000000");
}

static void an_identity_is_sanitised(void **state)
{
	const struct answer_session session = {
		.pid = 11, .start_us = START_US, .name = "x\342\200\256\033[2J\\"
	};

	identity_is(*state, &session, "x\\xe2\\x80\\xae\\x1b[2J\\\\", "11@1767323045000000");
}

static void a_hidden_session(void **state)
{
	struct stage *s = *state;
	const struct detail *detail;
	struct answer_session session = {
		.pid = 11, .name = "", .user = "batch", .query = "<insufficient privilege>"
	};

	identity_is(s, &session, "pid 11 (hidden)", "11@hidden");
	detail = claim_detail(holder_of(s, "app:7"), DETAIL_BACKEND_START);
	assert_non_null(detail);
	assert_true(detail->hidden);
	assert_true(claim_detail(holder_of(s, "app:7"), DETAIL_STATE)->hidden);
	assert_string_equal(claim_text(holder_of(s, "app:7"), DETAIL_USER, NULL), "batch");
	assert_int_equal(s->moment.n_hidden, 1);
	/* the name is shown even so */
	session.name = "worker-1";
	identity_is(s, &session, "worker-1", "11@hidden");
}

static void a_session_that_says_it_is_hidden_and_is_not(void **state)
{
	const struct answer_session session = { .pid = 11,
		.start_us = START_US,
		.name = "joker",
		.query = "<insufficient privilege>" };

	identity_is(*state, &session, "joker", "11@1767323045000000");
	assert_int_equal(((struct stage *)*state)->moment.n_hidden, 0);
}

static void a_session_that_is_gone(void **state)
{
	identity_is(*state, NULL, "pid 11", "11@unknown");
}

static void a_prepared_transaction(void **state)
{
	struct stage *s = *state;
	PGresult *result = begin();
	const struct answer_lock lock = {
		.database = 5, .classid = 7, .objid = 4294967287u, .objsubid = 2, .gid = "tx\n9"
	};
	int row = answer_lock(result, &lock);
	const struct claim *c;

	answer_number(result, row, C_XACT_START, START_US, 8);
	tell(s, result);
	c = holder_of(s, "app:(7,-9)");
	assert_string_equal(claim_identity(c), "prepared:tx\\x0a9");
	assert_string_equal(claim_key(c), "prepared:tx\\x0a9@1767323045000000");
	assert_int_equal(claim_int(c, DETAIL_PREPARED_AT, 0), START_US + EPOCH_US);
	assert_null(claim_detail(c, DETAIL_PID));
}

static void one_session_in_two_modes_is_one_holder(void **state)
{
	struct stage *s = *state;
	PGresult *result = begin();
	struct answer_lock lock = {
		.pid = 11, .database = 5, .objid = 7, .objsubid = 1, .share = 1
	};

	answer_lock(result, &lock);
	lock.share = 0;
	answer_lock(result, &lock);
	tell(s, result);
	assert_int_equal(singleton_count(fake_round_row(&s->r, "app:7"), CLAIM_HOLDER), 1);
	assert_string_equal(claim_text(holder_of(s, "app:7"), DETAIL_MODE, ""), "exclusive");
}

static void waiters_by_the_time_since_which_they_wait(void **state)
{
	struct stage *s = *state;
	PGresult *result = begin();
	static const struct {
		int pid;
		int64_t since;
	} waiters[] = { { 21, START_US + 3 }, { 22, 0 }, { 23, START_US + 1 },
		{ 24, START_US + 2 } };
	static const struct {
		const char *key;
		uint32_t position;
	} order[] = { { "23@unknown", 1 }, { "24@unknown", 2 }, { "21@unknown", 3 },
		{ "22@unknown", 0 } };
	const struct singleton *row;
	uint32_t pos = 0;
	size_t i;

	for (i = 0; i < 4; i++) {
		const struct answer_lock lock = { .pid = waiters[i].pid,
			.database = 5,
			.objid = 7,
			.objsubid = 1,
			.waits = 1,
			.since_us = waiters[i].since };

		answer_lock(result, &lock);
	}
	tell(s, result);
	row = fake_round_row(&s->r, "app:7");
	assert_null(singleton_holder(row));
	for (i = 0; i < 4; i++) {
		const struct claim *c = singleton_claim(row, CLAIM_WAITER, &pos);

		assert_string_equal(claim_key(c), order[i].key);
		assert_int_equal(c->position, order[i].position);
	}
}

static void spaces_and_databases_are_apart(void **state)
{
	struct stage *s = *state;
	PGresult *result = begin();
	struct answer_lock lock = { .pid = 11, .database = 5, .objid = 7, .objsubid = 1 };

	answer_lock(result, &lock);
	lock.objsubid = 2;
	answer_lock(result, &lock);
	lock.database = 6;
	answer_lock(result, &lock);
	lock.database = 99;
	answer_lock(result, &lock);
	tell(s, result);
	assert_int_equal(s->r.n_rows, 4);
	assert_non_null(fake_round_row(&s->r, "app:7"));
	assert_non_null(fake_round_row(&s->r, "app:(0,7)"));
	assert_non_null(fake_round_row(&s->r, "other:(0,7)"));
	assert_non_null(fake_round_row(&s->r, "#99:(0,7)"));
}

static size_t count_details(const struct claim *c, enum detail_id id)
{
	size_t i, n = 0;

	for (i = 0; i < c->n_details; i++)
		n += claim_details(c)[i].id == id;
	return n;
}

static void blocked_by_takes_numbers_only(void **state)
{
	static const struct {
		const char *list;
		size_t n;
		int64_t first;
	} cases[] = { { "12,13", 2, 12 }, { "0", 1, 0 }, { "", 0, -1 }, { "x,7,", 1, 7 },
		{ "99999999999", 0, -1 }, { ",,", 0, -1 } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct answer_session session = {
			.pid = 11, .start_us = START_US, .name = "x", .blocked_by = cases[i].list
		};
		const struct claim *c;

		identity_is(*state, &session, "x", "11@1767323045000000");
		c = holder_of(*state, "app:7");
		assert_int_equal(count_details(c, DETAIL_BLOCKED_BY), cases[i].n);
		assert_int_equal(claim_int(c, DETAIL_BLOCKED_BY, -1), cases[i].first);
	}
}

static void a_query_that_speaks_of_a_password_is_cut(void **state)
{
	static const struct {
		const char *query, *shown;
	} cases[] = { { "select 1", "select 1" },
		{ "ALTER ROLE app PASSWORD 'open sesame'", "ALTER ROLE app PASSWORD ..." },
		{ "select dblink('host=h Password=sesame')", "select dblink('host=h Password ..." },
		{ "password", "password ..." }, { "passwor", "passwor" } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct answer_session session = {
			.pid = 11, .start_us = START_US, .name = "x", .query = cases[i].query
		};

		identity_is(*state, &session, "x", "11@1767323045000000");
		assert_string_equal(
			claim_text(holder_of(*state, "app:7"), DETAIL_QUERY, ""), cases[i].shown);
	}
}

static void poolers_by_their_words(void **state)
{
	static const struct {
		const char *name;
		bool pooled;
	} cases[] = { { "web - 10.0.0.5:40312", true }, { "web - fe80::1:40312", true },
		{ "PgBouncer", true }, { "pgcat", true }, { "web", false }, { "a - b", false },
		{ "billing - 2026:1x", false }, { "import - 10:30", true } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct answer_session session = {
			.pid = 11, .start_us = START_US, .name = cases[i].name, .client = "10.0.0.9"
		};

		identity_is(*state, &session, cases[i].name, "11@1767323045000000");
		if ((claim_text(holder_of(*state, "app:7"), DETAIL_POOLED, NULL) != NULL) !=
			cases[i].pooled)
			fail_msg("%s", cases[i].name);
	}
}

/* Two sessions, each with a lock of its own; what changes between polls is said by the arguments.
 */
static PGresult *two_locks(bool first, bool second, const char *second_name)
{
	PGresult *result = begin_with(first + second);
	struct answer_session session = { .pid = 11, .start_us = START_US, .name = "one" };
	struct answer_lock lock = { .pid = 11, .database = 5, .objid = 1, .objsubid = 1 };

	answer_session(result, &session);
	session.pid = lock.pid = 12;
	session.name = second_name;
	answer_session(result, &session);
	if (second) {
		lock.objid = 2;
		answer_lock(result, &lock);
	}
	if (first) {
		lock.pid = 11;
		lock.objid = 1;
		answer_lock(result, &lock);
	}
	return result;
}

static void only_what_changed_is_told_again(void **state)
{
	struct stage *s = *state;

	tell(s, two_locks(true, true, "two"));
	assert_int_equal(s->r.puts, 2);
	tell(s, two_locks(true, true, "two"));
	assert_int_equal(s->r.puts, 0);
	assert_int_equal(s->r.n_rows, 2);
	tell(s, two_locks(true, true, "renamed"));
	assert_int_equal(s->r.puts, 1);
	assert_string_equal(claim_identity(holder_of(s, "app:2")), "renamed");
	tell(s, two_locks(false, true, "renamed"));
	assert_int_equal(s->r.puts, 0);
	assert_null(fake_round_row(&s->r, "app:1"));
	assert_int_equal(s->r.n_rows, 1);
	tell(s, two_locks(true, false, "renamed"));
	assert_int_equal(s->r.puts, 1);
	assert_null(fake_round_row(&s->r, "app:2"));
	assert_non_null(fake_round_row(&s->r, "app:1"));
	tell(s, two_locks(false, false, "renamed"));
	assert_int_equal(s->r.n_rows, 0);
}

static void a_new_connection_tells_everything(void **state)
{
	struct stage *s = *state;

	tell(s, two_locks(true, true, "two"));
	postgres_picture_forget(&s->p);
	tell(s, two_locks(true, true, "two"));
	assert_int_equal(s->r.puts, 2);
}

static void equal_facts_have_equal_hashes(void **state)
{
	struct stage *s = *state;
	uint64_t hash;

	tell(s, two_locks(true, true, "two"));
	hash = fake_round_row(&s->r, "app:2")->hash;
	postgres_picture_forget(&s->p);
	tell(s, two_locks(true, true, "two"));
	assert_int_equal(fake_round_row(&s->r, "app:2")->hash, hash);
	tell(s, two_locks(true, true, "2"));
	assert_int_not_equal(fake_round_row(&s->r, "app:2")->hash, hash);
}

static void a_database_that_is_renamed_moves_its_rows(void **state)
{
	struct stage *s = *state;
	PGresult *result = answer_new();
	const struct answer_lock lock = { .pid = 11, .database = 5, .objid = 1, .objsubid = 1 };

	tell(s, two_locks(true, false, "two"));
	answer_server(result, 1);
	answer_database(result, 5, "new-app");
	answer_lock(result, &lock);
	tell(s, result);
	assert_int_equal(s->r.n_rows, 1);
	assert_non_null(fake_round_row(&s->r, "new-app:1"));
}

static void names_are_rows_whether_held_or_not(void **state)
{
	struct stage *s = *state;
	const struct key_name names[] = { { NULL, "bigint", "1", "any" },
		{ "app", "bigint", "1", "exact" }, { "other", "bigint", "1", "elsewhere" } };
	struct pg_named named[3];
	struct err err;
	size_t i;

	for (i = 0; i < 3; i++)
		assert_int_equal(pg_named_make(&names[i], &named[i], &err), 0);
	s->p.named = named;
	s->p.n_named = 3;
	tell(s, two_locks(true, false, "two"));
	assert_int_equal(s->r.n_rows, 2);
	assert_string_equal(fake_round_row(&s->r, "app:1")->more->name, "exact");
	assert_non_null(holder_of(s, "app:1"));
	assert_string_equal(fake_round_row(&s->r, "other:1")->more->name, "elsewhere");
	assert_null(holder_of(s, "other:1"));
	assert_int_equal(singleton_int(fake_round_row(&s->r, "other:1"), DETAIL_CONFIGURED, 0), 1);
	/* let go: the row stays */
	tell(s, two_locks(false, false, "two"));
	assert_int_equal(s->r.n_rows, 2);
	assert_null(holder_of(s, "app:1"));
	assert_string_equal(fake_round_row(&s->r, "app:1")->more->name, "exact");
	for (i = 0; i < 3; i++)
		free(named[i].database);
	s->p.n_named = 0;
}

static void short_and_long_fields_are_passed_over(void **state)
{
	struct stage *s = *state;
	PGresult *result = begin();
	const struct answer_lock lock = { .pid = 11, .database = 5, .objid = 1, .objsubid = 1 };
	int row;

	row = answer_lock(result, &lock);
	answer_bytes(result, row, C_OBJID, "xx", 2);
	row = answer_lock(result, &lock);
	answer_bytes(result, row, C_KIND, "12345", 5);
	row = answer_lock(result, &lock);
	answer_bytes(result, row, C_FLAG, "", 0);
	tell(s, result);
	assert_int_equal(s->moment.n_rows, 1);
	assert_null(holder_of(s, "app:1"));
}

static void the_server_must_say_its_row(void **state)
{
	PGresult *result = answer_new();
	struct pg_moment moment;
	struct pg_rows *rows;

	(void)state;
	answer_database(result, 5, "app");
	rows = pg_rows_of(result);
	assert_false(postgres_moment_read(rows, &moment));
	pg_result_free(rows);
}

/* Tells the locks of session 11 on the keys from one to another, of so many that there are. */
static void tell_keys(struct stage *s, int64_t total, uint32_t from, uint32_t to)
{
	PGresult *result = begin_with(total);
	struct answer_lock lock = { .pid = 11, .database = 5, .objsubid = 1 };

	for (lock.objid = from; lock.objid <= to; lock.objid++)
		answer_lock(result, &lock);
	s->r.partial = false;
	tell(s, result);
}

/* Of more rows than are read, one that is not in the answer may be held as before. */
static void what_is_beyond_the_cap_was_not_let_go(void **state)
{
	struct stage *s = *state;

	tell_keys(s, 2, 1, 2);
	assert_false(s->r.partial);
	tell_keys(s, 3, 2, 3);
	assert_true(s->r.partial);
	assert_null(fake_round_row(&s->r, "app:1"));
	assert_int_equal(s->r.hides, 1);
	tell_keys(s, 1, 3, 3);
	assert_false(s->r.partial);
	assert_null(fake_round_row(&s->r, "app:2"));
	assert_int_equal(s->r.hides, 1);
}

/* A key with a name is a row when nobody holds it: not when its holder may be beyond the cap. */
static void what_is_beyond_the_cap_is_not_free(void **state)
{
	struct stage *s = *state;
	const struct key_name name = { "app", "bigint", "1", "close" };
	struct pg_named named;
	struct err err;

	assert_int_equal(pg_named_make(&name, &named, &err), 0);
	s->p.named = &named;
	s->p.n_named = 1;
	tell_keys(s, 1, 2, 2);
	assert_non_null(fake_round_row(&s->r, "app:1"));
	tell_keys(s, 2, 2, 2);
	assert_null(fake_round_row(&s->r, "app:1"));
	assert_non_null(fake_round_row(&s->r, "app:2"));
	tell_keys(s, 1, 2, 2);
	assert_non_null(fake_round_row(&s->r, "app:1"));
	free(named.database);
	s->p.n_named = 0;
}

/* Where nothing is looked at nothing is known to be free. */
static void a_name_in_a_database_that_is_left_out_is_not_free(void **state)
{
	struct stage *s = *state;
	const struct key_name names[] = { { NULL, "bigint", "1", "any" },
		{ "app", "bigint", "2", "ours" }, { "other", "bigint", "3", "elsewhere" } };
	struct yaml_node *options = yaml_new(YAML_MAP, NULL), *list = yaml_new(YAML_LIST, NULL);
	struct pg_named named[3];
	struct err err;
	size_t i;

	for (i = 0; i < 3; i++)
		assert_int_equal(pg_named_make(&names[i], &named[i], &err), 0);
	yaml_list_add(list, yaml_new(YAML_SCALAR, "other"));
	yaml_map_add(options, "databases", list);
	s->config.options = options;
	s->p.named = named;
	s->p.n_named = 3;
	tell(s, begin_with(0));
	assert_int_equal(s->r.n_rows, 2);
	assert_non_null(fake_round_row(&s->r, "other:3"));
	/* One that names none is shown where it would be seen. */
	assert_non_null(fake_round_row(&s->r, "other:1"));
	for (i = 0; i < 3; i++)
		free(named[i].database);
	s->p.n_named = 0;
	yaml_node_free(options);
}

#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, stage_open, stage_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_STAGE(identities),
		ON_STAGE(an_identity_is_sanitised),
		ON_STAGE(a_hidden_session),
		ON_STAGE(a_session_that_says_it_is_hidden_and_is_not),
		ON_STAGE(a_session_that_is_gone),
		ON_STAGE(a_prepared_transaction),
		ON_STAGE(one_session_in_two_modes_is_one_holder),
		ON_STAGE(waiters_by_the_time_since_which_they_wait),
		ON_STAGE(spaces_and_databases_are_apart),
		ON_STAGE(blocked_by_takes_numbers_only),
		ON_STAGE(a_query_that_speaks_of_a_password_is_cut),
		ON_STAGE(poolers_by_their_words),
		ON_STAGE(only_what_changed_is_told_again),
		ON_STAGE(what_is_beyond_the_cap_was_not_let_go),
		ON_STAGE(what_is_beyond_the_cap_is_not_free),
		ON_STAGE(a_name_in_a_database_that_is_left_out_is_not_free),
		ON_STAGE(a_new_connection_tells_everything),
		ON_STAGE(equal_facts_have_equal_hashes),
		ON_STAGE(a_database_that_is_renamed_moves_its_rows),
		ON_STAGE(names_are_rows_whether_held_or_not),
		ON_STAGE(short_and_long_fields_are_passed_over),
		cmocka_unit_test(the_server_must_say_its_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
