#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/zone.h"
#include "source/kubernetes-store.h"
#include "io/json-read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * What a hostile API server may send: a list in pieces, whose items are taken as every kind of
 * object and go into a store; and the same text as a line of a watch. The first byte says how large
 * the pieces are.
 */
struct target {
	struct kube_store *store;
	struct kube_reader reader;
	struct kube_now now;
	uint32_t generation;
};

static void check_text(const struct kube_text *text)
{
	if (text->s && text->s[text->len] != '\0')
		abort();
}

static void as_objects(struct target *t, const char *text, size_t len)
{
	struct kube_cronjob cronjob;
	struct kube_job job;
	struct kube_pod pod;
	struct kube_lease lease;
	struct kube_node node;
	const char *from;

	if (kube_read_cronjob(&t->reader, text, len, &cronjob)) {
		check_text(&cronjob.schedule);
		kube_store_cronjob(t->store, &cronjob, t->generation);
	}
	if (kube_read_job(&t->reader, text, len, &job)) {
		kube_job_slot(&job, &from);
		kube_store_job(t->store, &job, t->generation);
	}
	if (kube_read_pod(&t->reader, text, len, &pod)) {
		check_text(&pod.reason);
		kube_store_pod(t->store, &pod, t->generation);
	}
	if (kube_read_lease(&t->reader, text, len, &lease)) {
		check_text(&lease.holder);
		kube_store_lease(t->store, &lease, t->generation, &t->now, true);
	}
	if (kube_read_node(&t->reader, text, len, &node))
		kube_store_node(t->store, &node, t->generation);
	t->now.mono_ms++;
}

static void as_answers(struct target *t, const char *text, size_t len)
{
	struct kube_event event;
	struct kube_candidate candidate;
	struct kube_status status;
	struct kube_text version, next;
	enum kube_event_type type;
	const char *object;
	size_t object_len;

	kube_read_event(&t->reader, text, len, &event);
	kube_read_candidate(&t->reader, text, len, &candidate);
	kube_read_status(&t->reader, text, len, &status);
	kube_read_list_meta(&t->reader, text, len, &version, &next);
	check_text(&version);
	if (kube_read_watch(text, len, &type, &object, &object_len))
		as_objects(t, object, object_len);
}

static int on_member(
	void *arg, const struct json_text *name, const char *text, size_t len, struct err *err)
{
	(void)name;
	(void)err;
	as_answers(arg, text, len);
	return 0;
}

static int on_item(void *arg, const char *text, size_t len, struct err *err)
{
	(void)err;
	as_objects(arg, text, len);
	return 0;
}

static void no_drop(void *arg, const char *path, bool hidden)
{
	(void)arg;
	(void)path;
	(void)hidden;
}

static void no_cron(void *arg, struct kube_cron *cron)
{
	(void)arg;
	kube_cron_sort(cron);
	if (cron->n_runs)
		kube_cron_lists(cron, cron->runs[0]);
}

static void no_lease(void *arg, struct kube_lease_seen *lease)
{
	(void)arg;
	if (!lease->facts)
		abort();
}

static void no_lost(void *arg)
{
	(void)arg;
}

static void in_pieces(struct target *t, const char *text, size_t len, size_t piece)
{
	static const struct json_list_ops ops = { .member = on_member, .item = on_item };
	struct json_list list;
	struct err err = { 0 };
	size_t at;
	int rc = 0;

	json_list_init(&list, "items", 4096, &ops, t);
	for (at = 0; at < len && !rc; at += piece)
		rc = json_list_take(&list, text + at, len - at < piece ? len - at : piece, &err);
	if (!rc)
		rc = json_list_end(&list, &err);
	if (rc && !err.text[0])
		abort();
	json_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kube_teller teller = {
		.drop = no_drop, .cron = no_cron, .lease = no_lease, .lost = no_lost
	};
	struct target t = { .generation = 1 };
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	t.store = kube_store_new(zone_load);
	in_pieces(&t, text, size - 1, 1 + data[0] % 64);
	as_answers(&t, text, size - 1);
	kube_store_tell(t.store, &teller, NULL);
	/* Again, as after a loss, and then all of it is gone. */
	t.generation = 2;
	in_pieces(&t, text, size - 1, size);
	kube_store_sweep(t.store, KUBE_JOBS, NULL, 3);
	kube_store_tell(t.store, &teller, NULL);
	kube_store_free(t.store);
	kube_reader_release(&t.reader);
	return 0;
}
