#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sim/etcd-client.h"
#include "tests/unit/sim/fixture.h"
#include "tests/unit/unit.h"

/* An etcd of three members, and processes that want one election. */
struct fixture {
	struct world *w; /* first */
	struct sim_etcd *e;
	struct duty *duty;
	struct process *p[4];
	struct sim_etcd_candidate *c[4];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct machine *machines[SIM_MEMBERS];

	f->w = world_new(7, SIM_EPOCH_US);
	sim_members(f->w, "etcd", machines);
	f->e = sim_etcd_new(f->w, "ctl", machines, SIM_MEMBERS, NULL);
	f->duty = duty_new(f->w, "settle", resource_new(f->w, "orders", RESOURCE_UNFENCED), 1000);
	*state = f;
	return 0;
}

static struct sim_etcd_campaign usual(struct fixture *f)
{
	return (struct sim_etcd_campaign){ .etcd = f->e,
		.claim = SIM_ETCD_ELECTION,
		.believes = SIM_ETCD_BELIEVES_SESSION,
		.name = "elections/job",
		.session = "",
		.duty = f->duty,
		.ttl_s = 10,
		.timeout_ms = 3000,
		.again_ms = 1000,
		.through = -1 };
}

static void add(struct fixture *f, int i, const struct sim_etcd_campaign *campaign)
{
	char name[32];

	snprintf(name, sizeof(name), "node-%c", 'a' + i);
	f->p[i] = process_new(f->w, name, machine_new(f->w, name), NULL);
	f->c[i] = sim_etcd_candidate_new(f->p[i], campaign);
	process_start(f->w, f->p[i]);
	world_run(f->w, world_now_ms(f->w) + 20);
}

static struct sim_etcd_key *head(struct fixture *f)
{
	return sim_etcd_dir(f->e, "elections/job/", 14)->first;
}

static void run(struct fixture *f, int64_t for_ms)
{
	world_run(f->w, world_now_ms(f->w) + for_ms);
}

/* ---- elections ---- */

static void test_the_first_leads_and_the_next_waits(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	char key[64];

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_LEADS);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	assert_int_equal(head(f)->create_revision, f->c[0]->token);
	assert_true(f->c[1]->token > f->c[0]->token);
	assert_int_equal(f->c[1]->awaited, f->c[0]->token);
	snprintf(key, sizeof(key), "elections/job/%llx", (unsigned long long)f->c[0]->lease);
	assert_string_equal(head(f)->name, key);
	assert_string_equal(head(f)->value, "node-a");
	/* Both are renewed for ever. */
	run(f, 600000);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_LEADS);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	assert_true(duty_works(f->duty, f->p[0]) && !duty_works(f->duty, f->p[1]));
}

static void test_who_is_killed_is_followed_after_its_lease(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	int64_t before, began;

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	add(f, 2, &campaign);
	run(f, 30000);
	before = f->c[0]->token;
	process_end(f->w, f->p[0], PROCESS_END_KILLED);
	began = world_now_ms(f->w);
	while (f->c[1]->stage != SIM_ETCD_LEADS && world_now_ms(f->w) < began + 60000)
		world_step(f->w);
	/* Renewed every 3.3 s, for 10 s, and looked at every half second. */
	assert_in_range(world_now_ms(f->w) - began, 6600, 10600);
	assert_true(f->c[1]->token > before);
	assert_int_equal(f->c[2]->stage, SIM_ETCD_WAITING);
	assert_int_equal(f->c[2]->awaited, f->c[1]->token);
}

static void test_who_is_asked_to_stop_gives_its_lease_back(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	run(f, 100);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
	assert_int_equal(f->e->n_keys, 1);
}

/* The watched key of one in the middle goes: it finds the one before that. */
static void test_a_waiter_that_goes_lets_nobody_pass(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	add(f, 2, &campaign);
	process_end(f->w, f->p[1], PROCESS_END_STOPPED);
	run(f, 100);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_LEADS);
	assert_int_equal(f->c[2]->stage, SIM_ETCD_WAITING);
	assert_int_equal(f->c[2]->awaited, f->c[0]->token);
}

/* ---- what it believes ---- */

static void pause_first(struct fixture *f, enum sim_etcd_believes believes, int64_t checks_ms)
{
	struct sim_etcd_campaign campaign = usual(f);

	campaign.believes = believes;
	campaign.checks_every_ms = checks_ms;
	add(f, 0, &campaign);
	add(f, 1, &campaign);
	process_pause(f->w, f->p[0], 25000);
	run(f, 24500);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
	run(f, 1000);
}

static void test_after_a_pause_the_careful_one_is_quiet(void **state)
{
	struct fixture *f = *state;

	pause_first(f, SIM_ETCD_BELIEVES_SESSION, 0);
	assert_false(duty_works(f->duty, f->p[0]));
	/* What it was about to write when it was stopped: no check is between that and the write.
	 */
	assert_in_range(f->duty->resource->doubles, 0, 1);
	/* It comes back behind the other. */
	run(f, 5000);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_WAITING);
}

static void test_after_a_pause_the_busy_one_works_on(void **state)
{
	struct fixture *f = *state;

	pause_first(f, SIM_ETCD_BELIEVES_SESSION, 4000);
	assert_true(duty_works(f->duty, f->p[0]) && duty_works(f->duty, f->p[1]));
	run(f, 8000);
	assert_false(duty_works(f->duty, f->p[0]));
	assert_true(f->duty->resource->stale_let > 0);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_WAITING);
}

static void test_one_that_never_looks_works_for_ever(void **state)
{
	struct fixture *f = *state;

	pause_first(f, SIM_ETCD_BELIEVES_FOREVER, 0);
	run(f, 600000);
	assert_true(duty_works(f->duty, f->p[0]) && duty_works(f->duty, f->p[1]));
}

/* Issue 19597 of etcd: a candidate whose lease died leads once those before it are gone. */
static void test_a_candidate_without_a_key_leads_all_the_same(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	int64_t lease;

	add(f, 0, &campaign);
	campaign.believes = SIM_ETCD_BELIEVES_FOREVER;
	add(f, 1, &campaign);
	lease = f->c[1]->lease;
	sim_etcd_revoke(f->w, f->e, sim_etcd_lease(f->e, lease), "it was lost");
	run(f, 60000);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	assert_ptr_equal(head(f), sim_etcd_dir(f->e, "elections/job/", 14)->last);
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	run(f, 100);
	assert_null(head(f));
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
	assert_true(duty_works(f->duty, f->p[1]));
}

/* A mutex looks at its own key at last. */
static void test_a_lock_without_a_key_is_not_taken(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	campaign.claim = SIM_ETCD_LOCK;
	add(f, 0, &campaign);
	campaign.believes = SIM_ETCD_BELIEVES_FOREVER;
	add(f, 1, &campaign);
	sim_etcd_revoke(f->w, f->e, sim_etcd_lease(f->e, f->c[1]->lease), "it was lost");
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	run(f, 10000);
	assert_false(duty_works(f->duty, f->p[1]));
}

/* Nobody tells who leads that its key was deleted. */
static void test_a_deleted_key_is_noticed_by_who_watches_it(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	add(f, 0, &campaign);
	campaign.watches = true;
	add(f, 1, &campaign);
	sim_etcd_delete(f->w, f->e, head(f), "an operator deleted it");
	run(f, 30000);
	assert_true(duty_works(f->duty, f->p[0]) && duty_works(f->duty, f->p[1]));
	sim_etcd_delete(f->w, f->e, head(f), "an operator deleted it");
	run(f, 500);
	assert_false(duty_works(f->duty, f->p[1]));
	/* It comes back by itself. */
	run(f, 2000);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
}

/* ---- leases ---- */

static void test_a_lease_is_as_long_as_etcd_makes_it(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_lease *l;
	int64_t id;

	assert_int_equal(sim_etcd_grant(f->w, f->e, 0, 1, NULL, &l), SIM_ETCD_OK);
	assert_int_equal(l->granted_s, 2);
	id = l->id;
	assert_true(id > 0);
	run(f, 1900);
	assert_int_equal(sim_etcd_keepalive(f->w, f->e, id), 2);
	run(f, 1999);
	assert_non_null(sim_etcd_lease(f->e, id));
	run(f, 501);
	assert_null(sim_etcd_lease(f->e, id));
	assert_int_equal(sim_etcd_keepalive(f->w, f->e, id), 0);
}

static void test_a_new_leader_begins_every_lease_anew(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_lease *l;
	int64_t term = f->e->term;

	sim_etcd_grant(f->w, f->e, 0, 60, NULL, &l);
	run(f, 50000);
	assert_int_equal(sim_etcd_lease_left_ms(f->w, l), 10000);
	assert_true(sim_etcd_lead(f->w, f->e, -1));
	assert_int_not_equal(f->e->leader, 0);
	assert_int_equal(f->e->term, term + 1);
	/* Its whole time, and an election timeout. */
	assert_int_equal(sim_etcd_lease_left_ms(f->w, l), 61000);
}

static void test_a_revoke_takes_all_keys_at_one_revision(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_lease *l;
	struct sim_etcd_key *key;
	int64_t revision;

	sim_etcd_grant(f->w, f->e, 0, 60, NULL, &l);
	sim_etcd_put(f->w, f->e, "services/a", "here", l->id, NULL, false, &key);
	sim_etcd_put(f->w, f->e, "services/b", "there", l->id, NULL, false, &key);
	sim_etcd_put(f->w, f->e, "config/c", "stays", 0, NULL, false, &key);
	revision = f->e->revision;
	sim_etcd_revoke(f->w, f->e, l, "by a test");
	assert_int_equal(f->e->revision, revision + 1);
	assert_null(sim_etcd_key(f->e, "services/a", 10));
	assert_null(sim_etcd_key(f->e, "services/b", 10));
	assert_non_null(sim_etcd_key(f->e, "config/c", 8));
}

static void test_a_key_keeps_its_create_revision_while_it_lives(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_key *key;
	int64_t made;

	sim_etcd_put(f->w, f->e, "a", "1", 0, NULL, false, &key);
	made = key->create_revision;
	assert_int_equal(made, f->e->revision);
	sim_etcd_put(f->w, f->e, "a", "2", 0, NULL, false, &key);
	assert_int_equal(key->create_revision, made);
	assert_int_equal(key->mod_revision, made + 1);
	sim_etcd_put(f->w, f->e, "a", "3", 0, NULL, true, &key);
	assert_string_equal(key->value, "2");
	sim_etcd_delete(f->w, f->e, key, "by a test");
	sim_etcd_put(f->w, f->e, "a", "4", 0, NULL, true, &key);
	assert_true(key->create_revision > made + 1);
	assert_int_equal(
		sim_etcd_put(f->w, f->e, "b", "", 4711, NULL, false, &key), SIM_ETCD_NO_LEASE);
}

static void test_without_space_nothing_new_is_taken(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	struct sim_etcd_lease *l = NULL;
	struct sim_etcd_key *key;

	add(f, 0, &campaign);
	sim_etcd_alarm(f->w, f->e, SIM_ETCD_ALARM_NO_SPACE, true);
	add(f, 1, &campaign);
	assert_int_equal(sim_etcd_grant(f->w, f->e, 0, 60, NULL, &l), SIM_ETCD_NO_SPACE);
	assert_int_equal(
		sim_etcd_put(f->w, f->e, "a", "", 0, NULL, false, &key), SIM_ETCD_NO_SPACE);
	/* Renewals go on. */
	run(f, 60000);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_LEADS);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_IDLE);
	sim_etcd_alarm(f->w, f->e, SIM_ETCD_ALARM_NO_SPACE, false);
	run(f, 5000);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
}

static void test_what_is_corrupt_keeps_leases_that_ran_out(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	struct sim_etcd_lease *l;

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	l = head(f)->lease;
	sim_etcd_alarm(f->w, f->e, SIM_ETCD_ALARM_CORRUPT, true);
	process_end(f->w, f->p[0], PROCESS_END_KILLED);
	run(f, 60000);
	assert_ptr_equal(head(f)->lease, l);
	assert_true(sim_etcd_lease_left_ms(f->w, l) < -40000);
	assert_int_equal(sim_etcd_keepalive(f->w, f->e, l->id), -1);
	assert_int_equal(sim_etcd_delete(f->w, f->e, head(f), "by a test"), SIM_ETCD_CORRUPT);
	/* Renewals go on. */
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	sim_etcd_alarm(f->w, f->e, SIM_ETCD_ALARM_CORRUPT, false);
	run(f, 1000);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
}

/* ---- members ---- */

static void test_a_stalled_leader_is_followed(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	int64_t term = f->e->term, applied;

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	sim_etcd_stall(f->w, f->e, 0, true);
	applied = f->e->members[0].applied;
	run(f, 4000);
	assert_int_not_equal(f->e->leader, 0);
	assert_int_equal(f->e->term, term + 1);
	/* It tells what it last knew; the clients have found the others. */
	assert_int_equal(f->e->members[0].term, term);
	assert_int_equal(f->e->members[0].leader_id, f->e->members[0].id);
	assert_int_equal(f->e->members[0].applied, applied);
	run(f, 60000);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_LEADS);
	assert_int_not_equal(f->c[0]->session->member, 0);
	sim_etcd_stall(f->w, f->e, 0, false);
	assert_int_equal(f->e->members[0].term, term + 1);
}

static void test_without_a_quorum_no_lease_runs_out(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	add(f, 0, &campaign);
	sim_etcd_out(f->w, f->e, 1, true);
	sim_etcd_out(f->w, f->e, 2, true);
	run(f, 60000);
	assert_int_equal(f->e->leader, -1);
	assert_int_equal(f->e->members[0].leader_id, 0);
	/* Its time passed without an answer: it has stopped, and its key is still there. */
	assert_int_equal(f->c[0]->stage, SIM_ETCD_IDLE);
	assert_non_null(head(f));
	assert_false(duty_works(f->duty, f->p[0]));
	sim_etcd_out(f->w, f->e, 1, false);
	run(f, 3000);
	assert_int_not_equal(f->e->leader, -1);
}

/* What a stalled disk kept is done when its client has long given it up. */
static void test_a_stalled_disk_does_its_writes_late(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);
	struct sim_etcd_lease *l;
	struct net_call call = { .op = SIM_ETCD_OP_PUT_NEW, .timeout_ms = 1000 };

	add(f, 0, &campaign);
	sim_etcd_grant(f->w, f->e, 0, 3600, NULL, &l);
	sim_etcd_stall(f->w, f->e, 2, true);
	call.from = f->p[0];
	call.a = l->id;
	snprintf(call.text, sizeof(call.text), "late\nvalue");
	sim_etcd_ask(f->w, f->e, 2, &call);
	run(f, 60000);
	assert_null(sim_etcd_key(f->e, "late", 4));
	sim_etcd_stall(f->w, f->e, 2, false);
	assert_non_null(sim_etcd_key(f->e, "late", 4));
}

static void test_a_watch_is_told_after_a_cut(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	campaign.member = 1;
	campaign.ttl_s = 60;
	add(f, 0, &campaign);
	add(f, 1, &campaign);
	net_cut(f->w, f->p[1]->machine, f->e->members[1].machine);
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	run(f, 3000);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	net_join(f->w, f->p[1]->machine, f->e->members[1].machine);
	run(f, 1000);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
}

static void test_a_slow_watch_is_late(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	add(f, 0, &campaign);
	add(f, 1, &campaign);
	f->e->watch_delay_ms = 4000;
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	run(f, 3900);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	run(f, 200);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
}

/* ---- a leader key, and several keys on one lease ---- */

static void test_a_leader_key_is_taken_when_it_is_missing(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	campaign.claim = SIM_ETCD_LEADER_KEY;
	campaign.name = "/service/batman/leader";
	campaign.looks_every_ms = 10000;
	add(f, 0, &campaign);
	add(f, 1, &campaign);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_LEADS);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_WAITING);
	sim_etcd_delete(f->w, f->e, sim_etcd_key(f->e, campaign.name, strlen(campaign.name)),
		"an operator deleted it");
	run(f, 100);
	assert_int_equal(f->c[1]->stage, SIM_ETCD_LEADS);
	/* The old one finds out when it looks. */
	run(f, 12000);
	assert_int_equal(f->c[0]->stage, SIM_ETCD_WAITING);
	assert_false(duty_works(f->duty, f->p[0]));
}

static void test_one_session_carries_several_keys(void **state)
{
	struct fixture *f = *state;
	struct sim_etcd_campaign campaign = usual(f);

	campaign.session = "main";
	add(f, 0, &campaign);
	campaign.claim = SIM_ETCD_NOTE;
	campaign.name = "services/batch";
	campaign.value = "10.0.0.4:8080";
	process_end(f->w, f->p[0], PROCESS_END_STOPPED);
	sim_etcd_candidate_new(f->p[0], &campaign);
	process_start(f->w, f->p[0]);
	run(f, 100);
	assert_ptr_equal(head(f)->lease, sim_etcd_key(f->e, "services/batch", 14)->lease);
	assert_int_equal(head(f)->lease->n_keys, 2);
}

/* ---- the same again ---- */

static void tell_all(struct fixture *f, struct str *out)
{
	size_t i;

	for (i = 0; i < world_told(f->w); i++) {
		const struct happening *h = world_happening(f->w, i);

		str_addf(
			out, "%lld %s %s\n", (long long)h->at_ms, happening_word(h->kind), h->text);
	}
	str_addf(out, "%llu events, revision %lld\n", (unsigned long long)world_events(f->w),
		(long long)f->e->revision);
}

static void story(struct str *out)
{
	struct sim_etcd_campaign campaign;
	struct fixture *f;
	void *state;

	setup(&state);
	f = state;
	campaign = usual(f);
	campaign.holds_ms = 20000;
	campaign.rests_ms = 3000;
	add(f, 0, &campaign);
	add(f, 1, &campaign);
	add(f, 2, &campaign);
	run(f, 100000);
	sim_etcd_stall(f->w, f->e, f->e->leader, true);
	process_pause(f->w, f->p[1], 40000);
	run(f, 100000);
	tell_all(f, out);
	sim_teardown(&state);
}

static void test_the_same_seed_gives_the_same_story(void **state)
{
	struct str a, b;

	(void)state;
	str_init(&a, 10000000);
	str_init(&b, 10000000);
	story(&a);
	story(&b);
	assert_true(a.len > 1000);
	assert_string_equal(a.s, b.s);
	str_release(&a);
	str_release(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_first_leads_and_the_next_waits),
		TEST(test_who_is_killed_is_followed_after_its_lease),
		TEST(test_who_is_asked_to_stop_gives_its_lease_back),
		TEST(test_a_waiter_that_goes_lets_nobody_pass),
		TEST(test_after_a_pause_the_careful_one_is_quiet),
		TEST(test_after_a_pause_the_busy_one_works_on),
		TEST(test_one_that_never_looks_works_for_ever),
		TEST(test_a_candidate_without_a_key_leads_all_the_same),
		TEST(test_a_lock_without_a_key_is_not_taken),
		TEST(test_a_deleted_key_is_noticed_by_who_watches_it),
		TEST(test_a_lease_is_as_long_as_etcd_makes_it),
		TEST(test_a_new_leader_begins_every_lease_anew),
		TEST(test_a_revoke_takes_all_keys_at_one_revision),
		TEST(test_a_key_keeps_its_create_revision_while_it_lives),
		TEST(test_without_space_nothing_new_is_taken),
		TEST(test_what_is_corrupt_keeps_leases_that_ran_out),
		TEST(test_a_stalled_leader_is_followed),
		TEST(test_without_a_quorum_no_lease_runs_out),
		TEST(test_a_stalled_disk_does_its_writes_late),
		TEST(test_a_watch_is_told_after_a_cut),
		TEST(test_a_slow_watch_is_late),
		TEST(test_a_leader_key_is_taken_when_it_is_missing),
		TEST(test_one_session_carries_several_keys),
		cmocka_unit_test(test_the_same_seed_gives_the_same_story),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
