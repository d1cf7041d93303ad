#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/zone.h"
#include "fake-round.h"
#include "source/kubernetes.h"

/* The store and what is told of it, fed with objects as lists and watches would. */

struct feed {
	struct kube_store *store;
	struct kube_reader reader;
	struct kube_now now;
	uint32_t generation;
};

static void feed_text(struct feed *f, enum kube_kind kind, bool live, const char *text)
{
	union {
		struct kube_cronjob cronjob;
		struct kube_job job;
		struct kube_pod pod;
		struct kube_lease lease;
		struct kube_node node;
	} o;
	size_t len = strlen(text);

	kube_store_at(f->store, &f->now);
	switch (kind) {
	case KUBE_CRONJOBS:
		assert_true(kube_read_cronjob(&f->reader, text, len, &o.cronjob));
		kube_store_cronjob(f->store, &o.cronjob, f->generation);
		break;
	case KUBE_JOBS:
		assert_true(kube_read_job(&f->reader, text, len, &o.job));
		kube_store_job(f->store, &o.job, f->generation);
		break;
	case KUBE_PODS:
		assert_true(kube_read_pod(&f->reader, text, len, &o.pod));
		kube_store_pod(f->store, &o.pod, f->generation);
		break;
	case KUBE_LEASES:
		assert_true(kube_read_lease(&f->reader, text, len, &o.lease));
		kube_store_lease(f->store, &o.lease, f->generation, &f->now, live);
		break;
	default:
		assert_true(kube_read_node(&f->reader, text, len, &o.node));
		kube_store_node(f->store, &o.node, f->generation);
	}
}

static void feed_cron(
	struct feed *f, const char *name, const char *uid, int version, const char *active)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\","
		"\"resourceVersion\":\"%d\"},"
		"\"spec\":{\"schedule\":\"* * * * "
		"*\",\"concurrencyPolicy\":\"Allow\"},\"status\":{\"active\":[%s]}}",
		name, uid, version, active);
	feed_text(f, KUBE_CRONJOBS, false, text);
}

static void feed_job(
	struct feed *f, const char *name, const char *uid, const char *owner, const char *status)
{
	char text[1024], ref[200] = "";

	if (owner)
		snprintf(ref, sizeof(ref), "{\"kind\":\"CronJob\",\"name\":\"cj\",\"uid\":\"%s\"}",
			owner);
	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\","
		"\"resourceVersion\":\"1\","
		"\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"ownerReferences\":[%s]},"
		"\"status\":%s}",
		name, uid, ref, status);
	feed_text(f, KUBE_JOBS, false, text);
}

static void feed_pod(struct feed *f, const char *uid, const char *job, const char *status)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\","
		"\"resourceVersion\":\"1\","
		"\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\"}]},\"spec\":{"
		"\"nodeName\":\"n1\"},"
		"\"status\":%s}",
		uid, uid, job, status);
	feed_text(f, KUBE_PODS, false, text);
}

static void feed_lease(struct feed *f, bool live, int version, const char *holder, int transitions,
	const char *renew)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"lead\",\"namespace\":\"n\",\"uid\":\"l-1\","
		"\"resourceVersion\":\"%d\"},"
		"\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,"
		"\"leaseTransitions\":%d,"
		"\"renewTime\":\"%s\"}}",
		version, holder, transitions, renew);
	feed_text(f, KUBE_LEASES, live, text);
}

static const char alive[] =
	"{\"phase\":\"Running\",\"containerStatuses\":[{\"restartCount\":1,\"state\":{"
	"\"running\":{\"startedAt\":\"2026-01-02T03:04:06Z\"}}}]}";
static const char at_work[] =
	"{\"phase\":\"Running\",\"containerStatuses\":[{\"restartCount\":0,\"state\":{"
	"\"running\":{\"startedAt\":\"2026-01-02T03:04:06Z\"}}}]}";
static const char ended[] =
	"{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"restartCount\":0,\"state\":{"
	"\"terminated\":{\"exitCode\":0}}}]}";

/* A source around the store, of which everything may be seen. */
struct fixture {
	struct source_config config;
	struct kube k;
	struct feed feed;
	struct round round;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	size_t i;

	x->config.name = "kube";
	x->k.config = &x->config;
	x->k.store = x->feed.store = kube_store_new(zone_load);
	str_init(&x->k.key, 64 * 1024);
	x->k.n_beats = -1;
	x->k.server_us = x->k.told_ms = TIME_UNKNOWN;
	kube_streams_open(&x->k, NULL, 0);
	for (i = 0; i < x->k.n_streams; i++)
		x->k.streams[i].told = true;
	fake_round_init(&x->round);
	x->k.r = &x->round;
	x->feed.generation = 1;
	x->feed.now = (struct kube_now){ .mono_ms = 1000, .wall_us = 1767323045000000 };
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	kube_streams_close(&x->k);
	kube_store_free(x->k.store);
	str_release(&x->k.key);
	kube_reader_release(&x->feed.reader);
	fake_round_release(&x->round);
	free(x);
	return 0;
}

static const struct singleton *row(struct fixture *x, const char *path)
{
	const struct singleton *s;

	kube_tell(&x->k);
	s = fake_round_row(&x->round, path);
	return s;
}

/* Pods, Jobs and CronJobs come in any order. */
static void test_joined_in_any_order(void **state)
{
	struct fixture *x = *state;
	static const char orders[6][4] = { "cjp", "cpj", "jcp", "jpc", "pcj", "pjc" };
	size_t i, at;

	for (i = 0; i < 6; i++) {
		const struct singleton *s;

		for (at = 0; at < 3; at++) {
			if (orders[i][at] == 'c')
				feed_cron(&x->feed, "cj", "c-1", 1, "");
			else if (orders[i][at] == 'j')
				feed_job(&x->feed, "cj-29455624", "j-1", "c-1", "{\"active\":1}");
			else
				feed_pod(&x->feed, "p-1", "j-1", alive);
		}
		s = row(x, "cronjob/n/cj");
		assert_non_null(s);
		assert_int_equal(s->more->n_runs, 1);
		assert_int_equal(s->more->runs[0].n_pods, 1);
		assert_int_equal(s->more->runs[0].alive, TRI_YES);
		assert_int_equal(s->more->runs[0].listed, TRI_NO);
		assert_int_equal(s->more->runs[0].attempts, 2);
		assert_string_equal(s->more->runs[0].key, "uid:j-1");
		assert_int_equal(s->n_claims, 1);
		assert_string_equal(claim_identity(&s->claims[0]), "cj-29455624");
		kube_store_delete(x->k.store, KUBE_PODS, "p-1", 3);
		kube_store_delete(x->k.store, KUBE_JOBS, "j-1", 3);
		kube_store_delete(x->k.store, KUBE_CRONJOBS, "c-1", 3);
		assert_null(row(x, "cronjob/n/cj"));
		assert_int_equal(kube_store_count(x->k.store, KUBE_PODS), 0);
		assert_false(kube_store_has_lost(x->k.store));
	}
}

/* What no CronJob owns is not kept, whether its pods come before or after. */
static void test_other_jobs_are_not_kept(void **state)
{
	struct fixture *x = *state;

	feed_pod(&x->feed, "p-1", "j-9", alive);
	assert_int_equal(kube_store_count(x->k.store, KUBE_PODS), 1);
	feed_job(&x->feed, "other", "j-9", NULL, "{}");
	feed_pod(&x->feed, "p-2", "j-9", alive);
	assert_int_equal(kube_store_count(x->k.store, KUBE_PODS), 0);
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 0);
	kube_store_delete(x->k.store, KUBE_JOBS, "j-9", 3);
}

static void test_active_is_compared_with_what_is_there(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_cron(&x->feed, "cj", "c-1", 1,
		"{\"name\":\"cj-1\",\"uid\":\"j-1\"},{\"name\":\"cj-2\",\"uid\":\"j-2\"}");
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{}");
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[0].listed, TRI_YES);
	assert_int_equal(singleton_int(s, DETAIL_ACTIVE_LISTED, -1), 2);
	assert_string_equal(singleton_text(s, DETAIL_ACTIVE_DANGLING, ""), "cj-2");
	feed_job(&x->feed, "cj-2", "j-2", "c-1", "{}");
	s = row(x, "cronjob/n/cj");
	assert_null(singleton_detail(s, DETAIL_ACTIVE_DANGLING));
	assert_int_equal(s->more->n_runs, 2);
}

/* Only the first entries of a long status.active are kept: what is not among them may be listed. */
static void test_active_that_is_too_long_to_be_kept(void **state)
{
	struct fixture *x = *state;

	feed_cron(&x->feed, "cj", "c-1", 1, "{\"name\":\"cj-1\",\"uid\":\"j-1\"}");
	feed_job(&x->feed, "cj-2", "j-2", "c-1", "{}");
	kube_store_cron_at(x->k.store, "cronjob/n/cj")->facts->n_active = KUBE_LIST_MAX;
	assert_int_equal(row(x, "cronjob/n/cj")->more->runs[0].listed, TRI_NO);
	kube_store_cron_at(x->k.store, "cronjob/n/cj")->facts->n_active = KUBE_LIST_MAX + 1;
	kube_store_redo(x->k.store);
	assert_int_equal(row(x, "cronjob/n/cj")->more->runs[0].listed, TRI_UNKNOWN);
}

/* Replace deletes the Job; its pod works on for as long as it likes. */
static void test_a_deleted_job_stays_while_its_pods_do(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{}");
	feed_pod(&x->feed, "p-1", "j-1", alive);
	kube_store_delete(x->k.store, KUBE_JOBS, "j-1", 3);
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->n_runs, 1);
	assert_int_equal(s->more->runs[0].alive, TRI_YES);
	assert_int_equal(s->more->runs[0].deleted_us, x->feed.now.wall_us);
	kube_store_delete(x->k.store, KUBE_PODS, "p-1", 3);
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->n_runs, 0);
}

/* Jobs that were refused for a while are there again, though they did not change. */
static void test_a_job_that_was_out_of_sight(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{\"active\":1}");
	feed_pod(&x->feed, "p-1", "j-1", alive);
	kube_store_sweep(x->k.store, KUBE_JOBS, NULL, 99);
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 0);
	assert_int_not_equal(row(x, "cronjob/n/cj")->more->runs[0].deleted_us, TIME_UNKNOWN);
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{\"active\":1}");
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 1);
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[0].deleted_us, TIME_UNKNOWN);
	assert_int_equal(s->more->runs[0].state, RUN_RUNNING);
}

/* Jobs that may not be read any more were not deleted: their pods tell that they work on. */
static void test_a_job_that_is_hidden(void **state)
{
	struct fixture *x = *state;
	const struct run *run;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_job(&x->feed, "cj-0", "j-0", "c-1", "{\"active\":1}");
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{\"active\":1}");
	feed_pod(&x->feed, "p-1", "j-1", alive);
	kube_store_hide(x->k.store, KUBE_JOBS, NULL);
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 0);
	assert_int_equal(row(x, "cronjob/n/cj")->more->n_runs, 1);
	run = &row(x, "cronjob/n/cj")->more->runs[0];
	assert_string_equal(run->name, "cj-1");
	assert_int_equal(run->deleted_us, TIME_UNKNOWN);
	assert_int_equal(run->state, RUN_UNKNOWN);
	assert_int_equal(run->alive, TRI_YES);
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{\"active\":1}");
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 1);
	assert_int_equal(row(x, "cronjob/n/cj")->more->runs[0].state, RUN_RUNNING);
	/* A list without it, in which it would be seen: now it is gone. */
	kube_store_hide(x->k.store, KUBE_JOBS, NULL);
	kube_store_sweep(x->k.store, KUBE_JOBS, NULL, 99);
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 0);
	run = &row(x, "cronjob/n/cj")->more->runs[0];
	assert_int_equal(run->deleted_us, x->feed.now.wall_us);
	kube_store_delete(x->k.store, KUBE_PODS, "p-1", 3);
	assert_int_equal(row(x, "cronjob/n/cj")->more->n_runs, 0);
}

/* Another CronJob of the same name does not inherit runs: it is told of them. */
static void test_runs_of_a_cronjob_that_is_gone(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_job(&x->feed, "cj-1", "j-1", "c-old", "{}");
	feed_job(&x->feed, "cj-0", "j-0", "c-old",
		"{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}");
	kube_tell(&x->k);
	kube_tell_self(&x->k);
	assert_string_equal(singleton_text(x->round.self, DETAIL_ORPHAN_RUN, ""), "n/cj-1");
	feed_cron(&x->feed, "cj", "c-new", 1, "");
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->n_runs, 0);
	assert_string_equal(singleton_text(s, DETAIL_ORPHAN_RUN, ""), "cj-1");
	kube_tell_self(&x->k);
	assert_null(singleton_detail(x->round.self, DETAIL_ORPHAN_RUN));
}

static void test_a_node_that_does_not_answer(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{}");
	feed_pod(&x->feed, "p-1", "j-1", alive);
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[0].pods[0].node_ready, TRI_UNKNOWN);
	feed_text(&x->feed, KUBE_NODES, false, "{\"cells\":[\"n1\",\"Ready\"]}");
	kube_store_nodes_known(x->k.store, true);
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[0].pods[0].node_ready, TRI_YES);
	feed_text(&x->feed, KUBE_NODES, false, "{\"cells\":[\"n1\",\"NotReady\"]}");
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[0].pods[0].node_ready, TRI_NO);
	assert_int_equal(s->more->runs[0].alive, TRI_UNKNOWN);
	kube_store_delete(x->k.store, KUBE_NODES, "n1", 2);
	s = row(x, "cronjob/n/cj");
	assert_true(s->more->runs[0].pods[0].node_gone);
}

static void test_hidden_runs_are_said_to_be(void **state)
{
	struct fixture *x = *state;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	assert_null(singleton_detail(row(x, "cronjob/n/cj"), DETAIL_RUNS_HIDDEN));
	x->k.streams[KUBE_PODS].told = false;
	x->k.streams[KUBE_PODS].state = STREAM_DENIED;
	kube_store_redo(x->k.store);
	assert_non_null(singleton_detail(row(x, "cronjob/n/cj"), DETAIL_RUNS_HIDDEN));
	kube_tell_hidden(&x->k);
	assert_int_equal(x->round.n_hidden, 1);
	assert_string_equal(x->round.hidden[0].what, "Pods");
	assert_string_equal(
		x->round.hidden[0].remedy, "a ClusterRole that allows list and watch on pods");
}

/* What a whole list did not tell is gone; what it told again has not changed. */
static void test_listed_again(void **state)
{
	struct fixture *x = *state;
	size_t puts;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_cron(&x->feed, "other", "c-2", 1, "");
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{}");
	kube_tell(&x->k);
	puts = x->round.puts;
	x->feed.generation = 2;
	feed_cron(&x->feed, "cj", "c-1", 1, "");
	kube_store_sweep(x->k.store, KUBE_CRONJOBS, "elsewhere", 2);
	assert_int_equal(kube_store_count(x->k.store, KUBE_CRONJOBS), 2);
	kube_store_sweep(x->k.store, KUBE_CRONJOBS, NULL, 2);
	assert_int_equal(kube_store_count(x->k.store, KUBE_CRONJOBS), 1);
	kube_tell(&x->k);
	assert_int_equal(x->round.puts, puts);
	assert_null(fake_round_row(&x->round, "cronjob/n/other"));
	assert_non_null(fake_round_row(&x->round, "cronjob/n/cj"));
	assert_int_equal(x->round.hides, 0);
}

/* What may not be listed any more is out of sight, and not gone. */
static void test_out_of_sight(void **state)
{
	struct fixture *x = *state;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	kube_tell(&x->k);
	kube_store_hide(x->k.store, KUBE_CRONJOBS, "elsewhere");
	assert_false(kube_store_changed(x->k.store));
	kube_store_hide(x->k.store, KUBE_CRONJOBS, NULL);
	assert_true(kube_store_changed(x->k.store));
	kube_tell(&x->k);
	assert_null(fake_round_row(&x->round, "cronjob/n/cj"));
	assert_int_equal(x->round.hides, 1);
	x->feed.generation = 2;
	feed_cron(&x->feed, "cj", "c-1", 1, "");
	kube_tell(&x->k);
	assert_non_null(fake_round_row(&x->round, "cronjob/n/cj"));
}

/* Deleted and made again under the same name, before it was told: the row stays. */
static void test_made_again_under_the_same_name(void **state)
{
	struct fixture *x = *state;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	kube_tell(&x->k);
	feed_cron(&x->feed, "cj", "c-2", 2, "");
	kube_store_delete(x->k.store, KUBE_CRONJOBS, "c-1", 3);
	assert_string_equal(singleton_text(row(x, "cronjob/n/cj"), DETAIL_UID, ""), "c-2");
}

static void test_the_newest_slot_first(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_job(&x->feed, "cj-29455625", "j-2", "c-1", "{}");
	feed_job(&x->feed, "cj-29455627", "j-4", "c-1", "{}");
	feed_job(&x->feed, "cj-29455624", "j-1", "c-1", "{}");
	s = row(x, "cronjob/n/cj");
	assert_string_equal(s->more->runs[0].name, "cj-29455627");
	assert_string_equal(s->more->runs[1].name, "cj-29455625");
	assert_string_equal(s->more->runs[2].name, "cj-29455624");
}

static void test_attempts(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	/* Two pods failed, and are gone; the third went well. */
	feed_job(&x->feed, "cj-1", "j-1", "c-1", "{\"failed\":2,\"succeeded\":1}");
	feed_pod(&x->feed, "p-1", "j-1", ended);
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[0].attempts, 3);
	/* Where pods are hidden and the Job counts none, nothing is known. */
	feed_job(&x->feed, "cj-2", "j-2", "c-1", "{}");
	x->k.streams[KUBE_PODS].told = false;
	s = row(x, "cronjob/n/cj");
	assert_int_equal(s->more->runs[1].attempts + s->more->runs[0].attempts, 3 - 1);
}

static int32_t attempts_of(
	struct fixture *x, const char *spec, const char *status, const char *pods)
{
	int32_t attempts;
	char job[300];

	snprintf(job, sizeof(job), "%s,\"spec\":%s", status, spec);
	feed_job(&x->feed, "cj-1", "j-1", "c-1", job);
	feed_pod(&x->feed, "p-1", "j-1", pods);
	feed_pod(&x->feed, "p-2", "j-1", pods);
	attempts = row(x, "cronjob/n/cj")->more->runs[0].attempts;
	kube_store_delete(x->k.store, KUBE_PODS, "p-1", 3);
	kube_store_delete(x->k.store, KUBE_PODS, "p-2", 3);
	kube_store_delete(x->k.store, KUBE_JOBS, "j-1", 3);
	kube_tell(&x->k);
	return attempts;
}

/* A Job that means to have several pods has them: only what failed is tried again. */
static void test_attempts_of_parallel_pods(void **state)
{
	static const char *const specs[] = { "{\"parallelism\":3,\"completions\":3}",
		"{\"parallelism\":2,\"completions\":5}", "{\"parallelism\":3}" };
	struct fixture *x = *state;
	size_t i;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	for (i = 0; i < ARRAY_LEN(specs); i++) {
		assert_int_equal(attempts_of(x, specs[i], "{\"active\":2}", at_work), 1);
		assert_int_equal(attempts_of(x, specs[i], "{\"failed\":1}", at_work), 2);
		assert_int_equal(attempts_of(x, specs[i], "{\"active\":2}", alive), 3);
		assert_int_equal(attempts_of(x, specs[i], "{\"succeeded\":3}", ended), 1);
	}
	/* Of a Job that means to have one, each is an attempt. */
	assert_int_equal(attempts_of(x, "{\"completions\":1}", "{\"failed\":1}", at_work), 3);
}

static void test_no_more_pods_at_once_than_in_all(void **state)
{
	struct fixture *x = *state;

	feed_cron(&x->feed, "cj", "c-1", 1, "");
	feed_job(&x->feed, "cj-1", "j-1", "c-1",
		"{},\"spec\":{\"parallelism\":3,\"completions\":1}");
	assert_int_equal(row(x, "cronjob/n/cj")->more->runs[0].parallelism, 1);
}

/* Leases that are listed now and then are known up to the last list, changed or not. */
static void test_leases_are_known_up_to_the_last_list(void **state)
{
	struct fixture *x = *state;

	feed_lease(&x->feed, false, 1, "a", 0, "2026-01-02T03:04:05.000000Z");
	assert_int_equal(row(x, "lease/n/lead")->more->lease_known_ms, TIME_UNKNOWN);
	kube_store_leases_known(x->k.store, "other", 900);
	assert_int_equal(row(x, "lease/n/lead")->more->lease_known_ms, TIME_UNKNOWN);
	kube_store_leases_known(x->k.store, NULL, 900);
	assert_int_equal(row(x, "lease/n/lead")->more->lease_known_ms, 900);
	kube_store_leases_known(x->k.store, "n", 30900);
	assert_int_equal(row(x, "lease/n/lead")->more->lease_known_ms, 30900);
	kube_store_leases_known(x->k.store, NULL, TIME_UNKNOWN);
	assert_int_equal(row(x, "lease/n/lead")->more->lease_known_ms, TIME_UNKNOWN);
}

/* As many steps as there are Leases come by each of them, from wherever it is begun. */
static void test_leases_come_in_turn(void **state)
{
	static const char *const names[] = { "one", "two", "three" };
	struct fixture *x = *state;
	struct kube_lease_seen *seen[ARRAY_LEN(names)], *lease;
	size_t pos = 0, begun, i, k;
	char text[200];

	assert_null(kube_store_lease_in_turn(x->k.store, &pos));
	for (i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(text, sizeof(text),
			"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"u-%s\","
			"\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"a\"}}",
			names[i], names[i]);
		feed_text(&x->feed, KUBE_LEASES, false, text);
	}
	for (begun = 0; begun < 5; begun++) {
		for (i = 0; i < ARRAY_LEN(seen); i++) {
			lease = kube_store_lease_in_turn(x->k.store, &pos);
			assert_non_null(lease);
			for (k = 0; k < i; k++)
				assert_ptr_not_equal(lease, seen[k]);
			seen[i] = lease;
		}
		assert_non_null(kube_store_lease_in_turn(x->k.store, &pos));
	}
}

static void test_a_lease_ends_by_our_clock(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	/* Its own clock is an hour behind: that proves nothing. */
	feed_lease(&x->feed, false, 1, "pod-1_u", 3, "2026-01-02T02:04:05.000000Z");
	s = row(x, "lease/n/lead");
	assert_int_equal(s->lease_granted_ms, 15000);
	assert_int_equal(s->lease_deadline_ms, TIME_UNKNOWN);
	assert_int_equal(s->token, 3);
	assert_int_equal(s->token_kind, TOKEN_LEASE_TRANSITIONS);
	assert_string_equal(claim_identity(&s->claims[0]), "pod-1_u");
	assert_string_equal(claim_key(&s->claims[0]), "uid:l-1/pod-1_u/3");
	assert_null(singleton_detail(s, DETAIL_LAST_CHANGE_SEEN));
	assert_null(singleton_detail(s, DETAIL_SKEW));
	x->feed.now = (struct kube_now){ 3000, 1767323047000000 };
	feed_lease(&x->feed, true, 2, "pod-1_u", 3, "2026-01-02T02:04:07.000000Z");
	s = row(x, "lease/n/lead");
	assert_int_equal(s->lease_deadline_ms, 18000);
	assert_int_equal(singleton_int(s, DETAIL_LAST_CHANGE_SEEN, 0), 1767323047000000);
	assert_int_equal(singleton_int(s, DETAIL_SKEW, 0), -3600000);
}

/* What a watch tells in short says the same as the whole object. */
static void test_a_renewal_in_short(void **state)
{
	static const struct kube_text uid = { "l-1", 3 }, same = { "2", 1 }, longer = { "10", 2 };
	struct fixture *x = *state;
	const struct singleton *s;
	uint64_t changes;

	assert_false(
		kube_store_lease_renewed(x->k.store, &uid, &same, 1767323047000000, &x->feed.now));
	feed_lease(&x->feed, false, 1, "pod-1_u", 3, "2026-01-02T03:04:05.000000Z");
	row(x, "lease/n/lead");
	changes = kube_store_lease_changes(x->k.store);
	x->feed.now = (struct kube_now){ 3000, 1767323047000000 };
	assert_true(
		kube_store_lease_renewed(x->k.store, &uid, &same, 1767323047000000, &x->feed.now));
	assert_true(kube_store_renewed(x->k.store));
	assert_false(kube_store_changed(x->k.store));
	s = row(x, "lease/n/lead");
	assert_int_equal(s->lease_deadline_ms, 18000);
	assert_string_equal(singleton_text(s, DETAIL_RESOURCE_VERSION, ""), "2");
	assert_int_equal(singleton_int(s, DETAIL_RENEW_TIME, 0), 1767323047000000);
	assert_int_equal(singleton_int(s, DETAIL_LAST_CHANGE_SEEN, 0), 1767323047000000);
	assert_int_equal(singleton_int(s, DETAIL_SKEW, 1), 0);
	/* Once more the same version is no change; a longer one has no place. */
	x->feed.now = (struct kube_now){ 9000, 1767323053000000 };
	assert_true(
		kube_store_lease_renewed(x->k.store, &uid, &same, 1767323053000000, &x->feed.now));
	assert_false(kube_store_renewed(x->k.store));
	assert_false(kube_store_lease_renewed(
		x->k.store, &uid, &longer, 1767323053000000, &x->feed.now));
	assert_int_equal(kube_store_lease_changes(x->k.store), changes);
	feed_lease(&x->feed, true, 10, "pod-2_u", 4, "2026-01-02T03:04:13.000000Z");
	assert_true(kube_store_lease_changes(x->k.store) > changes);
	assert_string_equal(
		singleton_text(row(x, "lease/n/lead"), DETAIL_RESOURCE_VERSION, ""), "10");
}

/* The least delayed of the last renewals is nearest to the truth. */
static void test_skew_is_not_the_delay(void **state)
{
	static const int late_ms[] = { 40, 900, 5, 2500, 80, 30, 3000 };
	struct fixture *x = *state;
	char renew[64];
	size_t i;

	feed_lease(&x->feed, false, 1, "a", 0, "2026-01-02T03:04:05.000000Z");
	for (i = 0; i < 7; i++) {
		x->feed.now.wall_us = (1767323046 + (int64_t)i) * 1000000 + late_ms[i] * 1000;
		snprintf(renew, sizeof(renew), "2026-01-02T03:04:%02zu.000000Z", 6 + i);
		feed_lease(&x->feed, true, (int)i + 2, "a", 0, renew);
	}
	assert_int_equal(singleton_int(row(x, "lease/n/lead"), DETAIL_SKEW, 1), -5);
}

static void test_a_hand_over(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;
	struct kube_lease_seen *lease;

	feed_lease(&x->feed, false, 1, "a", 0, "2026-01-02T03:04:05.000000Z");
	feed_lease(&x->feed, true, 2, "b", 1, "2026-01-02T03:04:06.000000Z");
	lease = kube_store_lease_at(x->k.store, "lease/n/lead");
	assert_int_equal(lease->n_former, 1);
	assert_string_equal(lease->former[0].holder, "a");
	/* It is told once its pod is known to be there. */
	s = row(x, "lease/n/lead");
	assert_int_equal(s->n_claims, 1);
	lease->former[0].looked.look = KUBE_LOOK_THERE;
	kube_store_touch_lease(x->k.store, lease);
	s = row(x, "lease/n/lead");
	assert_int_equal(s->n_claims, 2);
	assert_int_equal(s->claims[1].kind, CLAIM_FORMER);
	assert_string_equal(claim_key(&s->claims[1]), "uid:l-1/a/0");
	feed_lease(&x->feed, true, 3, "a", 2, "2026-01-02T03:04:07.000000Z");
	assert_int_equal(lease->n_former, 1);
	assert_string_equal(lease->former[0].holder, "b");
	/* Given back: nobody holds it, and no lease runs. */
	feed_lease(&x->feed, true, 4, "", 2, "2026-01-02T03:04:08.000000Z");
	s = row(x, "lease/n/lead");
	assert_null(singleton_holder(s));
	assert_int_equal(s->lease_deadline_ms, TIME_UNKNOWN);
	assert_string_equal(lease->former[0].holder, "a");
	assert_string_equal(lease->former[1].holder, "b");
}

static void test_a_renewal_alone_is_no_news(void **state)
{
	struct fixture *x = *state;

	feed_lease(&x->feed, false, 1, "a", 0, "2026-01-02T03:04:05.000000Z");
	kube_tell(&x->k);
	feed_lease(&x->feed, true, 2, "a", 0, "2026-01-02T03:04:06.000000Z");
	assert_false(kube_store_changed(x->k.store));
	assert_true(kube_store_renewed(x->k.store));
	feed_lease(&x->feed, true, 3, "b", 1, "2026-01-02T03:04:07.000000Z");
	assert_true(kube_store_changed(x->k.store));
	assert_false(kube_store_renewed(x->k.store));
	kube_tell(&x->k);
	assert_false(kube_store_changed(x->k.store));
}

static void test_hostile_texts(void **state)
{
	struct fixture *x = *state;
	const struct singleton *s;

	feed_lease(&x->feed, false, 1, "\\u001b[2J/\\u202ex\\u0000/7", 1, "never");
	s = row(x, "lease/n/lead");
	assert_string_equal(claim_identity(&s->claims[0]), "\\x1b[2J/\\xe2\\x80\\xaex\\x00/7");
	assert_string_equal(claim_key(&s->claims[0]), "uid:l-1/\\x1b[2J/\\xe2\\x80\\xaex\\x00/7/1");
	assert_null(singleton_detail(s, DETAIL_RENEW_TIME));
}

static void test_pod_names(void **state)
{
	static const struct {
		const char *holder, *pod;
	} cases[] = {
		{ "pod-1", "pod-1" },
		{ "pod-1_6f1f", "pod-1" },
		{ "a.b_c_d", "a.b" },
		{ "Pod", NULL },
		{ "_x", NULL },
		{ "", NULL },
		{ "-a", NULL },
		{ "a/../b", NULL },
		{ "10.0.0.1:8080", NULL },
	};
	struct str name;
	size_t i;

	(void)state;
	str_init(&name, 300);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(kube_pod_name(cases[i].holder, strlen(cases[i].holder), &name),
			cases[i].pod != NULL);
		if (cases[i].pod)
			assert_string_equal(name.s, cases[i].pod);
	}
	str_release(&name);
}

/* Anything in any order, against what must be so at the end: nothing left, nothing lost. */
static void test_any_order_at_all(void **state)
{
	struct fixture *x = *state;
	uint64_t seed = 20260102;
	char name[16], uid[16], owner[16];
	size_t i;

	for (i = 0; i < 20000; i++) {
		size_t what = unit_pick(&seed, 9), c = unit_pick(&seed, 3), j = unit_pick(&seed, 6),
		       p = unit_pick(&seed, 9);

		snprintf(uid, sizeof(uid), "%c-%zu",
			what % 3 == 0   ? 'c'
			: what % 3 == 1 ? 'j'
					: 'p',
			what % 3 == 0   ? c
			: what % 3 == 1 ? j
					: p);
		snprintf(name, sizeof(name), "cj-%zu", c);
		snprintf(owner, sizeof(owner), what % 3 == 1 ? "c-%zu" : "j-%zu",
			what % 3 == 1 ? c : j);
		if (what == 0)
			feed_cron(&x->feed, name, uid, (int)i, "");
		else if (what == 1)
			feed_job(&x->feed, name, uid, unit_pick(&seed, 5) ? owner : NULL, "{}");
		else if (what == 2)
			feed_pod(&x->feed, uid, owner, alive);
		else if (what < 6)
			kube_store_delete(x->k.store, (enum kube_kind)(what % 3), uid, strlen(uid));
		else if (what == 6)
			kube_tell(&x->k);
		else if (what == 7 && !unit_pick(&seed, 20))
			kube_store_sweep(
				x->k.store, (enum kube_kind)(j % 3), NULL, x->feed.generation);
		else if (what == 8 && !unit_pick(&seed, 20))
			x->feed.generation++;
	}
	for (i = 0; i < 3; i++)
		kube_store_sweep(x->k.store, (enum kube_kind)i, NULL, UINT32_MAX);
	kube_tell(&x->k);
	assert_int_equal(x->round.n_rows, 0);
	assert_int_equal(kube_store_count(x->k.store, KUBE_JOBS), 0);
	assert_int_equal(kube_store_count(x->k.store, KUBE_PODS), 0);
	assert_false(kube_store_has_lost(x->k.store));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_joined_in_any_order),
		TEST(test_other_jobs_are_not_kept),
		TEST(test_active_is_compared_with_what_is_there),
		TEST(test_active_that_is_too_long_to_be_kept),
		TEST(test_a_deleted_job_stays_while_its_pods_do),
		TEST(test_a_job_that_was_out_of_sight),
		TEST(test_a_job_that_is_hidden),
		TEST(test_runs_of_a_cronjob_that_is_gone),
		TEST(test_a_node_that_does_not_answer),
		TEST(test_hidden_runs_are_said_to_be),
		TEST(test_listed_again),
		TEST(test_out_of_sight),
		TEST(test_made_again_under_the_same_name),
		TEST(test_the_newest_slot_first),
		TEST(test_attempts),
		TEST(test_attempts_of_parallel_pods),
		TEST(test_no_more_pods_at_once_than_in_all),
		TEST(test_a_lease_ends_by_our_clock),
		TEST(test_leases_are_known_up_to_the_last_list),
		TEST(test_leases_come_in_turn),
		TEST(test_a_renewal_in_short),
		TEST(test_skew_is_not_the_delay),
		TEST(test_a_hand_over),
		TEST(test_a_renewal_alone_is_no_news),
		TEST(test_hostile_texts),
		TEST(test_pod_names),
		TEST(test_any_order_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
