#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAMESPACE_MAX = 63,
	SLICE_MS = 50,
	KEY_MOST = 64 * 1024
};

static const struct option_def options[] = {
	{ .name = "kubeconfig",
		.type = OPTION_PATH,
		.help = "The kubeconfig file. Without it, as kubectl finds it: the files in "
			"KUBECONFIG, merged, else ~/.kube/config, else the service account of the "
			"pod that baton runs in." },
	{ .name = "context",
		.type = OPTION_TEXT,
		.help = "The context of the kubeconfig. Without it, the current one." },
	{ .name = "namespaces",
		.type = OPTION_LIST,
		.help = "Which namespaces are read. Without them all; where that is not allowed, "
			"the context's own. Each is a list and a watch of every kind." },
	{ .name = "in_cluster",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Use the service account of the pod that baton runs in, and no "
			"kubeconfig." },
	{ .name = NULL },
};

/* ---- opening ---- */

static bool is_namespace(const char *s)
{
	size_t i, n = strlen(s);

	for (i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9') &&
			!(s[i] == '-' && i && i + 1 < n))
			return false;
	return n && n <= NAMESPACE_MAX;
}

static int open_namespaces(struct kube *k, struct err *err)
{
	const char *namespaces[KUBE_NAMESPACES_MAX], *ns;
	size_t i, j, n = 0;

	for (i = 0; (ns = source_option_item(k->config, "namespaces", i)); i++) {
		if (!is_namespace(ns))
			return err_set(err, ERR_CONFIG,
				"namespaces: \"%s\" is no namespace: its name is of a-z, 0-9 and -",
				ns);
		for (j = 0; j < n && strcmp(namespaces[j], ns) != 0; j++)
			continue;
		if (j < n)
			continue;
		if (n == KUBE_NAMESPACES_MAX)
			return err_set(err, ERR_CONFIG,
				"namespaces: more than %d; leave them out to read all",
				KUBE_NAMESPACES_MAX);
		namespaces[n++] = ns;
	}
	kube_streams_open(k, namespaces, n);
	return 0;
}

void kube_close(void *state)
{
	struct kube *k = state;
	size_t i;

	if (!k)
		return;
	if (k->client) {
		kube_look_stop(k);
		kube_asks_stop(k);
		kube_streams_close(k);
		rest_client_free(k->client);
	}
	free(k->streams);
	kube_store_free(k->store);
	kube_reader_release(&k->reader);
	str_release(&k->key);
	kube_access_release(&k->access);
	kube_look_release(k);
	for (i = 0; i < KUBE_MADE; i++)
		free(k->made[i].uid);
	kube_ahead_clear(k);
	free(k->ahead);
	free(k->server_version);
	free(k->platform);
	free(k);
}

struct kube *kube_new(const struct source_config *config)
{
	struct kube *k = xcalloc(1, sizeof(*k));
	int ask;

	k->config = config;
	k->n_beats = k->n_beats_old = -1;
	k->told_ms = k->changed_ms = k->server_us = k->acted_ms = TIME_UNKNOWN;
	for (ask = 0; ask < ASKS; ask++)
		k->asks[ask].asked_ms = TIME_UNKNOWN;
	str_init(&k->key, KEY_MOST);
	map_init(&k->events);
	k->store = kube_store_new(zone_load);
	return k;
}

static int kube_open(const struct source_config *config, void **ret_state, struct err *err)
{
	struct kube *k = kube_new(config);
	int rc = kube_access_open(k, err);

	if (!rc)
		rc = open_namespaces(k, err);
	if (rc) {
		kube_close(k);
		return rc;
	}
	*ret_state = k;
	return 0;
}

/* ---- polling ---- */

static bool is_cancelled(void *arg)
{
	return round_cancelled(((const struct kube *)arg)->r);
}

struct rest_wait kube_wait(const struct kube *k, int64_t until_ms)
{
	struct rest_wait wait = {
		.until_ms = until_ms,
		.wake_fd = round_wake_fd(k->r),
		.cancelled = is_cancelled,
	};

	memcpy(&wait.arg, &k, sizeof(k));
	return wait;
}

struct kube_now kube_now(const struct kube *k)
{
	return (struct kube_now){
		.mono_ms = round_now_ms(k->r),
		.wall_us = clock_wall_us(round_clock(k->r)),
	};
}

/* Takes what came and asks what is due, once. */
static int poll_step(struct kube *k, struct err *err)
{
	/* Watches keep their connections, of which there may be few: questions go first. */
	int rc = kube_asks_step(k, err);

	if (!rc)
		rc = kube_streams_step(k, err);
	return rc ? rc : kube_asks_step(k, err);
}

static bool poll_settled(const struct kube *k)
{
	return kube_streams_settled(k) && kube_asks_settled(k);
}

/* Whoever was woken for something else looks at it when the poll is done. */
static int poll_wait(struct kube *k, int64_t until_ms, struct err *err)
{
	struct rest_wait wait = kube_wait(k, until_ms);
	int step = rest_step(k->client, &wait, err);

	if (step != REST_STEP_WOKEN)
		return step < 0 ? step : 0;
	wait.wake_fd = -1;
	step = rest_step(k->client, &wait, err);
	return step < 0 ? step : 0;
}

/*
 * A large cluster's first picture may take longer than one poll: as long as something comes, the
 * next one goes on where this one ended.
 */
static int poll_late(struct kube *k, struct err *err)
{
	if (k->unread || !kube_streams_sending(k))
		return rest_late(k->client, err);
	if (k->told_all)
		return err_set(err, ERR_TIMEOUT,
			"%s is still sending its objects again; a longer timeout waits for all of "
			"them",
			rest_server(k->client));
	return err_set(err, ERR_TIMEOUT,
		"%s is still sending its objects: %zu so far; a longer timeout waits for all of "
		"them",
		rest_server(k->client), k->n_objects);
}

static int poll_all(struct kube *k, struct err *err)
{
	int64_t deadline_ms = round_deadline_ms(k->r), due_ms;
	int rc;

	k->unread = true;
	for (;;) {
		rc = poll_step(k, err);
		if (rc || poll_settled(k))
			return rc;
		if (round_now_ms(k->r) >= deadline_ms)
			return kube_streams_starve(k) && kube_asks_settled(k) ? 0
									      : poll_late(k, err);
		/* One that ended may have made another due that stood before it. */
		due_ms = round_now_ms(k->r) + SLICE_MS;
		rc = poll_wait(k, due_ms < deadline_ms ? due_ms : deadline_ms, err);
		if (rc)
			return rc;
	}
}

/* What belongs to the rows rather than to the picture. A command that ends waits for it, as long as
 * there is time. */
static int poll_looks(struct kube *k, struct err *err)
{
	int64_t deadline_ms = round_deadline_ms(k->r);
	int rc = 0;

	kube_look_step(k);
	while (!rc && round_one_shot(k->r) && kube_look_busy(k) &&
		round_now_ms(k->r) < deadline_ms) {
		rc = poll_wait(k, deadline_ms, err);
		kube_look_step(k);
	}
	return rc;
}

static void poll_costs(struct kube *k)
{
	struct rest_cost cost = rest_take_cost(k->client);

	round_cost(k->r, cost.requests, cost.bytes_in, cost.bytes_out,
		k->server_us == TIME_UNKNOWN ? TIME_UNKNOWN : k->server_trip_ms);
}

static void poll_tell(struct kube *k)
{
	size_t i, n_bad = 0;

	for (i = 0; i < k->n_streams; i++) {
		const struct kube_stream *s = &k->streams[i];

		n_bad += s->n_bad;
		if (s->refused &&
			(s->resource->kind == KUBE_CRONJOBS || s->resource->kind == KUBE_LEASES))
			round_partial(k->r);
	}
	if (k->unready)
		round_degraded(k->r, "%s answers, and says that it is not ready (/readyz)",
			rest_server(k->client));
	else if (n_bad)
		round_degraded(k->r, "%zu objects of %s could not be read: they are no %s", n_bad,
			rest_server(k->client), "objects of the API that baton knows");
	if (k->hidden || !k->told_all)
		kube_tell_hidden(k);
	/* Which cluster it is comes before what it has. */
	if (!k->told_all) {
		kube_tell_self(k);
		k->self_changed = true;
	}
	kube_tell(k);
	k->told_ms = round_now_ms(k->r);
	k->changed_ms = TIME_UNKNOWN;
	if (k->self_changed)
		kube_tell_self(k);
}

/* After a failure: what is in flight is given up, and the next poll goes on from what is known,
 * over a new connection, and with what the kubeconfig says by then. */
static void poll_failed(struct kube *k, int failure)
{
	/* A long list goes on in the next poll; also one that follows another. */
	if (!k->unread && (!k->told_all || (failure == ERR_TIMEOUT && kube_streams_listing(k))))
		return;
	kube_look_stop(k);
	kube_asks_stop(k);
	kube_streams_stop(k);
	rest_drop(k->client);
	kube_access_renew(k, failure);
}

static int kube_poll(void *state, struct round *r, struct err *err)
{
	struct kube *k = state;
	size_t i;
	int rc;

	k->r = r;
	for (i = 0; i < k->n_streams; i++)
		k->streams[i].fresh = false;
	rc = poll_all(k, err);
	if (!rc)
		rc = kube_streams_blind(k, err);
	if (!rc)
		rc = poll_looks(k, err);
	poll_costs(k);
	if (rc)
		poll_failed(k, rc);
	if (rc && k->hidden)
		kube_tell_hidden(k);
	if (!rc)
		poll_tell(k);
	else if (k->self_changed && k->told_all)
		kube_tell_self(k);
	k->r = NULL;
	return rc;
}

/* ---- waiting ---- */

/* When what changed may be told: what belongs together is gathered first, and a storm of changes is
 * told in steps. INT64_MAX: nothing changed. */
static int64_t news_at_ms(struct kube *k)
{
	int64_t at_ms;

	if (!kube_store_changed(k->store))
		return INT64_MAX;
	if (k->changed_ms == TIME_UNKNOWN)
		k->changed_ms = round_now_ms(k->r);
	at_ms = k->changed_ms + KUBE_GATHER_MS;
	if (k->told_ms != TIME_UNKNOWN && k->told_ms + KUBE_TOLD_EVERY_MS > at_ms)
		at_ms = k->told_ms + KUBE_TOLD_EVERY_MS;
	return at_ms;
}

static bool asks_ended(const struct kube *k)
{
	int ask;

	for (ask = 0; ask < ASKS; ask++)
		if (k->asks[ask].call && rest_done(k->asks[ask].call))
			return true;
	return false;
}

static int kube_wait_news(void *state, struct round *r, struct err *err)
{
	struct kube *k = state;
	int64_t deadline_ms = round_deadline_ms(r);
	int rc = 0;

	k->r = r;
	while (!rc) {
		int64_t now_ms = round_now_ms(r), at_ms = news_at_ms(k);
		struct rest_wait wait = kube_wait(k, at_ms < deadline_ms ? at_ms : deadline_ms);
		int step;

		rc = kube_streams_ended(k) || asks_ended(k) || kube_look_ended(k) ||
		     now_ms >= at_ms;
		if (rc || now_ms >= deadline_ms)
			break;
		step = rest_step(k->client, &wait, err);
		if (step < 0 || step == REST_STEP_WOKEN) {
			rc = step < 0 ? step : 0;
			break;
		}
	}
	k->r = NULL;
	return rc;
}

const struct source_ops source_kubernetes = {
	.kind = "kubernetes",
	.summary = "Leases and CronJobs with their runs in Kubernetes (1.20 and newer), by its API",
	.options = options,
	.interval_ms = 1000,
	.open = kube_open,
	.poll = kube_poll,
	.wait = kube_wait_news,
	.examine = kube_examine,
	.close = kube_close,
	.acts = kube_acts,
	.n_acts = KUBE_ACTS,
};
