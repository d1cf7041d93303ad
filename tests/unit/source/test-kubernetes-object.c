#include "config.h"

#include "base/mem.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "source/kubernetes-object.h"

/* Objects as the API reference has them, shortened. */

static const int64_t second_us = 1000000;

static void assert_text(const struct kube_text *text, const char *expected)
{
	assert_non_null(text->s);
	assert_string_equal(text->s, expected);
	assert_int_equal(text->len, strlen(expected));
}

static void test_times(void **state)
{
	static const char *const none[] = { "", "2026-01-02", "2026-01-02T03:04:05", "now",
		"2026-13-02T03:04:05Z", "2026-01-02T03:04:05Zx", "2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05+0100", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z",
		"2026-01-02T24:00:00Z", "2026-01-02T03:04:60Z" };
	size_t i;

	(void)state;
	assert_int_equal(kube_time("2026-01-02T03:04:05Z", 20), INT64_C(1767323045) * second_us);
	assert_int_equal(kube_time("2026-01-02T03:04:05.123456Z", 27),
		INT64_C(1767323045) * second_us + 123456);
	assert_int_equal(
		kube_time("2026-01-02T03:04:05.5Z", 22), INT64_C(1767323045) * second_us + 500000);
	assert_int_equal(
		kube_time("2026-01-02T03:04:05+01:00", 25), INT64_C(1767319445) * second_us);
	assert_int_equal(
		kube_time("2026-01-02T03:04:05.123456789-02:30", 35) / second_us, 1767332045);
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(kube_time(none[i], strlen(none[i])), TIME_UNKNOWN);
}

static const char cronjob[] =
	"{\"kind\":\"CronJob\",\"metadata\":{\"name\":\"close\",\"namespace\":\"billing\",\"uid\":"
	"\"u-1\","
	"\"resourceVersion\":\"77\",\"generation\":3,\"creationTimestamp\":\"2026-01-02T03:04:"
	"05Z\","
	"\"managedFields\":[{\"fieldsV1\":{\"f:spec\":{}}}],\"finalizers\":[\"a/b\",\"c\"]},"
	"\"spec\":{\"schedule\":\"*/5 * * * "
	"*\",\"timeZone\":\"Europe/Berlin\",\"startingDeadlineSeconds\":0,"
	"\"concurrencyPolicy\":\"Forbid\",\"suspend\":true,\"jobTemplate\":{\"spec\":{\"schedule\":"
	"\"no\"}}},"
	"\"status\":{\"active\":[{\"kind\":\"Job\",\"namespace\":\"billing\",\"name\":\"close-1\","
	"\"uid\":\"j-1\"},"
	"{\"uid\":\"j-2\",\"name\":\"close-2\"}],\"lastScheduleTime\":\"2026-01-02T03:05:00Z\"}}";

static void test_a_cronjob(void **state)
{
	struct kube_reader reader = { 0 };
	struct kube_cronjob c;

	(void)state;
	assert_true(kube_read_cronjob(&reader, cronjob, sizeof(cronjob) - 1, &c));
	assert_text(&c.head.name, "close");
	assert_text(&c.head.ns, "billing");
	assert_text(&c.head.version, "77");
	assert_int_equal(c.head.generation, 3);
	assert_int_equal(c.head.deleted_us, TIME_UNKNOWN);
	assert_int_equal(c.head.finalizers.len, 6);
	assert_memory_equal(c.head.finalizers.s, "a/b\0c", 6);
	assert_text(&c.schedule, "*/5 * * * *");
	assert_text(&c.zone, "Europe/Berlin");
	assert_text(&c.policy, "Forbid");
	assert_true(c.suspended);
	/* 0 is a deadline, and none is not 0. */
	assert_int_equal(c.deadline_s, 0);
	assert_int_equal(c.last_success_us, TIME_UNKNOWN);
	assert_int_equal(c.n_active, 2);
	assert_int_equal(c.active.len, 24);
	assert_memory_equal(c.active.s, "j-1\0close-1\0j-2\0close-2", 24);
	kube_reader_release(&reader);
}

static const char job[] =
	"{\"metadata\":{\"name\":\"close-29455624\",\"namespace\":\"billing\",\"uid\":\"j-1\","
	"\"annotations\":{"
	"\"batch.kubernetes.io/"
	"cronjob-scheduled-timestamp\":\"2026-01-02T04:04:00+01:00\",\"other\":\"x\"},"
	"\"ownerReferences\":[{\"kind\":\"Other\",\"name\":\"o\",\"uid\":\"o-1\"},"
	"{\"kind\":\"CronJob\",\"name\":\"close\",\"uid\":\"u-1\",\"controller\":true}]},"
	"\"spec\":{\"parallelism\":1,\"backoffLimit\":6,\"activeDeadlineSeconds\":60,"
	"\"podReplacementPolicy\":\"Failed\","
	"\"template\":{\"metadata\":{\"name\":\"no\"},\"spec\":{\"restartPolicy\":\"OnFailure\","
	"\"terminationGracePeriodSeconds\":90}}},"
	"\"status\":{\"startTime\":\"2026-01-02T03:04:01Z\",\"failed\":2,\"terminating\":1,"
	"\"conditions\":["
	"{\"type\":\"FailureTarget\",\"status\":\"True\",\"reason\":\"x\"},"
	"{\"type\":\"Complete\",\"status\":\"False\"},"
	"{\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"BackoffLimitExceeded\","
	"\"lastTransitionTime\":\"2026-01-02T03:09:00Z\"}]}}";

static void test_a_job(void **state)
{
	struct kube_reader reader = { 0 };
	struct kube_job j;
	const char *from;

	(void)state;
	assert_true(kube_read_job(&reader, job, sizeof(job) - 1, &j));
	assert_text(&j.head.owner_uid, "u-1");
	assert_text(&j.head.owner_name, "close");
	assert_int_equal(j.state, RUN_FAILED);
	assert_text(&j.reason, "BackoffLimitExceeded");
	assert_int_equal(j.end_us, kube_time("2026-01-02T03:09:00Z", 20));
	assert_int_equal(j.failed, 2);
	assert_int_equal(j.succeeded, -1);
	assert_int_equal(j.terminating, 1);
	assert_int_equal(j.deadline_s, 60);
	assert_int_equal(j.grace_s, 90);
	assert_text(&j.restart_policy, "OnFailure");
	assert_text(&j.replacement_policy, "Failed");
	assert_int_equal(kube_job_slot(&j, &from), kube_time("2026-01-02T03:04:00Z", 20));
	assert_string_equal(from, "annotation");
	kube_reader_release(&reader);
}

/* FailureTarget and SuccessCriteriaMet come before the end. */
static void test_a_job_that_is_about_to_end_runs(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"j\"},\"status\":{"
		"\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"True\"},"
		"{\"type\":\"SuccessCriteriaMet\",\"status\":\"True\"}]}}";
	struct kube_reader reader = { 0 };
	struct kube_job j;

	(void)state;
	assert_true(kube_read_job(&reader, text, sizeof(text) - 1, &j));
	assert_int_equal(j.state, RUN_RUNNING);
	assert_int_equal(j.grace_s, KUBE_GRACE_S);
	assert_int_equal(j.end_us, TIME_UNKNOWN);
	assert_null(j.head.owner_uid.s);
	kube_reader_release(&reader);
}

static int64_t slot_of(const char *name, const char *owner, bool manual, const char **from)
{
	struct kube_job j = { .manual = manual };

	j.head.name = (struct kube_text){ name, (uint32_t)strlen(name) };
	j.head.owner_name = (struct kube_text){ owner, (uint32_t)strlen(owner) };
	return kube_job_slot(&j, from);
}

static void test_the_slot_of_a_name(void **state)
{
	const char *from;

	(void)state;
	/* The two that stand in bug reports: 2022-04-01 18:50 and 2020-10-16 20:30, UTC. */
	assert_int_equal(slot_of("a-27480650", "a", false, &from), INT64_C(1648839000) * second_us);
	assert_string_equal(from, "name (minutes)");
	assert_int_equal(
		slot_of("a-1602880200", "a", false, &from), INT64_C(1602880200) * second_us);
	assert_string_equal(from, "name (seconds)");
	/* By hand, of another name, and what is no time. */
	assert_int_equal(slot_of("a-27480650", "a", true, &from), TIME_UNKNOWN);
	assert_null(from);
	assert_int_equal(slot_of("b-27480650", "a", false, &from), TIME_UNKNOWN);
	assert_int_equal(slot_of("a-b-27480650", "a", false, &from), TIME_UNKNOWN);
	assert_int_equal(slot_of("a-2748065x", "a", false, &from), TIME_UNKNOWN);
	assert_int_equal(slot_of("a-00000001", "a", false, &from), TIME_UNKNOWN);
	assert_int_equal(slot_of("a-", "a", false, &from), TIME_UNKNOWN);
	assert_int_equal(slot_of("a", "a", false, &from), TIME_UNKNOWN);
}

static void read_pod(struct kube_reader *reader, const char *status, struct kube_pod *ret)
{
	char text[2048];

	snprintf(text, sizeof(text),
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"p-1\","
		"\"creationTimestamp\":"
		"\"2026-01-02T03:04:05Z\",\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"a\","
		"\"uid\":\"j-1\"}]},"
		"\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]},\"status\":%s}",
		status);
	assert_true(kube_read_pod(reader, text, strlen(text), ret));
}

static void test_a_pod_that_runs(void **state)
{
	struct kube_reader reader = { 0 };
	struct kube_pod p;

	(void)state;
	read_pod(&reader,
		"{\"phase\":\"Running\",\"startTime\":\"2026-01-02T03:04:06Z\","
		"\"containerStatuses\":["
		"{\"restartCount\":2,\"state\":{\"running\":{\"startedAt\":\"2026-01-02T03:10:"
		"00Z\"}},"
		"\"lastState\":{\"terminated\":{\"exitCode\":1,\"reason\":\"Error\"}}},"
		"{\"state\":{\"running\":{\"startedAt\":\"2026-01-02T03:05:00Z\"}}},"
		"{\"restartCount\":1,\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":"
		"\"Completed\","
		"\"finishedAt\":\"2026-01-02T03:05:00Z\"}}}]}",
		&p);
	assert_int_equal(p.phase, POD_RUNNING);
	assert_text(&p.node, "n1");
	assert_text(&p.head.owner_uid, "j-1");
	assert_int_equal(p.containers_running, 2);
	assert_int_equal(p.restarts, 3);
	assert_null(p.reason.s);
	assert_int_equal(p.end_us, TIME_UNKNOWN);
	assert_int_equal(p.containers_started_us, kube_time("2026-01-02T03:10:00Z", 20));
	assert_int_equal(p.running_since_us, kube_time("2026-01-02T03:05:00Z", 20));
	kube_reader_release(&reader);
}

static void test_why_a_pod_waits_or_ended(void **state)
{
	static const struct {
		const char *status, *reason;
	} cases[] = {
		{ "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
		  "\"False\","
		  "\"reason\":\"Unschedulable\"}]}",
			"Unschedulable" },
		{ "{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
		  "\"reason\":"
		  "\"ContainerCreating\"}}},{\"state\":{\"waiting\":{\"reason\":"
		  "\"ImagePullBackOff\"}}}]}",
			"ImagePullBackOff" },
		{ "{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
		  "\"reason\":"
		  "\"ContainerCreating\"}}}]}",
			"ContainerCreating" },
		{ "{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"containerStatuses\":[{\"state\":{"
		  "\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}",
			"Evicted" },
		{ "{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
		  "\"exitCode\":137,"
		  "\"reason\":\"OOMKilled\",\"finishedAt\":\"2026-01-02T03:05:00Z\"}}}]}",
			"OOMKilled" },
		{ "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"state\":{\"terminated\":{"
		  "\"exitCode\":0,"
		  "\"reason\":\"Completed\"}}}]}",
			NULL },
	};
	struct kube_reader reader = { 0 };
	struct kube_pod p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		read_pod(&reader, cases[i].status, &p);
		if (cases[i].reason)
			assert_text(&p.reason, cases[i].reason);
		else
			assert_null(p.reason.s);
	}
	/* Without any word of its containers their number is not known. */
	read_pod(&reader, "{\"phase\":\"Running\"}", &p);
	assert_int_equal(p.containers_running, -1);
	assert_int_equal(p.restarts, -1);
	assert_int_equal(p.start_us, p.head.created_us);
	kube_reader_release(&reader);
}

static bool read_lease(
	struct kube_reader *reader, const char *meta, const char *spec, struct kube_lease *ret)
{
	char text[2048];

	snprintf(text, sizeof(text), "{\"metadata\":{%s,\"uid\":\"l-1\"},\"spec\":%s}", meta, spec);
	return kube_read_lease(reader, text, strlen(text), ret);
}

static void test_a_lease(void **state)
{
	struct kube_reader reader = { 0 };
	struct kube_lease l;

	(void)state;
	assert_true(read_lease(&reader, "\"name\":\"lead\",\"namespace\":\"n\"",
		"{\"holderIdentity\":\"pod-1\\u0000\\u001b[31m_x\",\"leaseDurationSeconds\":15,"
		"\"leaseTransitions\":4,"
		"\"renewTime\":\"2026-01-02T03:04:05.000001Z\",\"strategy\":"
		"\"OldestEmulationVersion\","
		"\"preferredHolder\":\"c-9\"}",
		&l));
	/* A NUL in an identity is part of it. */
	assert_int_equal(l.holder.len, 13);
	assert_memory_equal(l.holder.s, "pod-1\0\x1b[31m_x", 13);
	assert_int_equal(l.duration_s, 15);
	assert_int_equal(l.transitions, 4);
	assert_int_equal(l.acquire_us, TIME_UNKNOWN);
	assert_text(&l.preferred, "c-9");
	assert_false(l.heartbeat);
	assert_true(read_lease(&reader, "\"name\":\"lead\",\"namespace\":\"n\"", "null", &l));
	assert_null(l.holder.s);
	assert_int_equal(l.duration_s, TIME_UNKNOWN);
	kube_reader_release(&reader);
}

/* The API's durations are of 32 bits; a server may send anything. */
static void test_lease_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t duration_s;
	} cases[] = {
		{ "0", 0 },
		{ "-1", 0 },
		{ "2147483647", INT32_MAX },
		{ "2147483648", INT32_MAX },
		{ "9223372036854775", INT32_MAX },
	};
	struct kube_reader reader = { 0 };
	struct kube_lease l;
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof(text),
			"{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"u\"},"
			"\"spec\":{\"leaseDurationSeconds\":%s}}",
			cases[i].text);
		assert_true(kube_read_lease(&reader, text, strlen(text), &l));
		assert_int_equal(l.duration_s, cases[i].duration_s);
	}
	kube_reader_release(&reader);
}

static void test_heartbeats(void **state)
{
	static const struct {
		const char *meta;
		bool heartbeat;
	} cases[] = {
		{ "\"name\":\"n1\",\"namespace\":\"kube-node-lease\"", true },
		{ "\"name\":\"kube-apiserver-abc\",\"namespace\":\"kube-system\"", true },
		{ "\"name\":\"kube-apiserver-abc\",\"namespace\":\"billing\"", false },
		{ "\"name\":\"apiserver-abc\",\"namespace\":\"kube-system\"", false },
		{ "\"name\":\"x\",\"namespace\":\"kube-system\",\"labels\":{\"apiserver.kubernetes."
		  "io/"
		  "identity\":\"kube-apiserver\"}",
			true },
		{ "\"name\":\"x\",\"namespace\":\"kube-system\",\"labels\":{\"k8s.io/component\":"
		  "\"kube-apiserver\"}",
			true },
		{ "\"name\":\"x\",\"namespace\":\"kube-system\",\"labels\":{\"k8s.io/component\":"
		  "\"scheduler\"}",
			false },
	};
	struct kube_reader reader = { 0 };
	struct kube_lease l;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(read_lease(&reader, cases[i].meta, "{}", &l));
		assert_int_equal(l.heartbeat, cases[i].heartbeat);
	}
	kube_reader_release(&reader);
}

static void test_nodes(void **state)
{
	static const struct {
		const char *row;
		bool good;
		enum tristate ready;
	} cases[] = {
		{ "{\"cells\":[\"n1\",\"Ready\",\"<none>\",\"3d\"]}", true, TRI_YES },
		{ "{\"cells\":[\"n1\",\"Ready,SchedulingDisabled\"]}", true, TRI_YES },
		{ "{\"cells\":[\"n1\",\"NotReady\"]}", true, TRI_NO },
		{ "{\"cells\":[\"n1\",\"Unknown\"]}", true, TRI_UNKNOWN },
		{ "{\"cells\":[\"n1\"]}", true, TRI_UNKNOWN },
		{ "{\"cells\":[]}", false, TRI_UNKNOWN },
		{ "{\"cells\":[7,\"Ready\"]}", false, TRI_YES },
	};
	struct kube_reader reader = { 0 };
	struct kube_node node;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(kube_read_node(&reader, cases[i].row, strlen(cases[i].row), &node),
			cases[i].good);
		assert_int_equal(node.ready, cases[i].ready);
	}
	kube_reader_release(&reader);
}

static void test_events_of_a_watch(void **state)
{
	static const char gone[] =
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":"
		"\"Expired\",\"message\":\"too old\",\"details\":{\"retryAfterSeconds\":2}}}";
	static const char bookmark[] =
		"{\"object\":{\"metadata\":{\"resourceVersion\":\"99\"}},\"type\":\"BOOKMARK\"}";
	static const char *const none[] = { "", "null", "{\"type\":\"ADDED\"}",
		"{\"type\":\"ADDED\",\"object\":{\"a\":", "[]" };
	struct kube_reader reader = { 0 };
	enum kube_event_type type;
	struct kube_status status;
	struct kube_text version;
	const char *object;
	size_t i, len;

	(void)state;
	assert_true(kube_read_watch(gone, sizeof(gone) - 1, &type, &object, &len));
	assert_int_equal(type, KUBE_ERROR);
	assert_true(kube_read_status(&reader, object, len, &status));
	assert_int_equal(status.code, 410);
	assert_int_equal(status.retry_after_s, 2);
	assert_text(&status.reason, "Expired");
	assert_true(kube_read_watch(bookmark, sizeof(bookmark) - 1, &type, &object, &len));
	assert_int_equal(type, KUBE_BOOKMARK);
	assert_true(kube_read_version(&reader, object, len, &version));
	assert_text(&version, "99");
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(kube_read_watch(none[i], strlen(none[i]), &type, &object, &len));
	kube_reader_release(&reader);
}

static void test_an_event_of_an_object(void **state)
{
	static const char text[] = "{\"metadata\":{\"name\":\"e\",\"namespace\":\"n\",\"uid\":\"e-"
				   "1\"},\"reason\":\"MissedJob\",\"message\":"
				   "\"late\",\"type\":\"Warning\",\"firstTimestamp\":\"2026-01-"
				   "02T03:04:05Z\",\"lastTimestamp\":"
				   "\"2026-01-02T03:05:05Z\",\"eventTime\":null,\"count\":3}";
	struct kube_reader reader = { 0 };
	struct kube_event event;

	(void)state;
	assert_true(kube_read_event(&reader, text, sizeof(text) - 1, &event));
	assert_int_equal(event.at_us, kube_time("2026-01-02T03:05:05Z", 20));
	assert_int_equal(event.count, 3);
	assert_text(&event.message, "late");
	kube_reader_release(&reader);
}

/* Cut at every byte: never whole, never out of bounds. */
static void test_cut_anywhere(void **state)
{
	struct kube_reader reader = { 0 };
	struct kube_cronjob c;
	struct kube_job j;
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(cronjob) - 1; n++)
		assert_false(kube_read_cronjob(&reader, cronjob, n, &c));
	for (n = 0; n < sizeof(job) - 1; n++)
		assert_false(kube_read_job(&reader, job, n, &j));
	kube_reader_release(&reader);
}

static void test_an_object_of_the_wrong_shape(void **state)
{
	static const char *const texts[] = { "{}", "[]", "null", "\"x\"", "7",
		"{\"metadata\":{\"name\":\"a\"}}",
		"{\"metadata\":{\"name\":\"\",\"namespace\":\"n\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":7,\"namespace\":\"n\",\"uid\":\"u\"}}",
		"{\"metadata\":[{\"name\":\"a\"}],\"spec\":[],\"status\":7}" };
	struct kube_reader reader = { 0 };
	struct kube_cronjob c;
	struct kube_lease l;
	struct kube_job j;
	struct kube_pod p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i]);

		assert_false(kube_read_cronjob(&reader, texts[i], len, &c));
		assert_false(kube_read_job(&reader, texts[i], len, &j));
		assert_false(kube_read_pod(&reader, texts[i], len, &p));
		assert_false(kube_read_lease(&reader, texts[i], len, &l));
	}
	kube_reader_release(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_a_cronjob),
		cmocka_unit_test(test_a_job),
		cmocka_unit_test(test_a_job_that_is_about_to_end_runs),
		cmocka_unit_test(test_the_slot_of_a_name),
		cmocka_unit_test(test_a_pod_that_runs),
		cmocka_unit_test(test_why_a_pod_waits_or_ended),
		cmocka_unit_test(test_a_lease),
		cmocka_unit_test(test_lease_durations),
		cmocka_unit_test(test_heartbeats),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_events_of_a_watch),
		cmocka_unit_test(test_an_event_of_an_object),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_an_object_of_the_wrong_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
