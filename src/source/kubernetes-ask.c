#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Single questions to the API server: its version; which cluster it is (the uid of the namespace
 * kube-system, which lives as long as the cluster); a sign of life when everything is quiet, since
 * a server that stands still looks like one that has nothing to tell; and a census of heartbeats.
 */

enum {
	WORD_MAX = 100, /* of the version and the platform, as they are shown */
	BUSY_AGAIN_MS = 60000
};

static const char beats_path[] =
	"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=500";
static const char servers_path[] =
	"/apis/coordination.k8s.io/v1/leases?labelSelector=apiserver.kubernetes.io%2Fidentity";

/* Date counts in whole seconds: the middle of it is the best guess, and half of it is added to what
 * the answer took, which is how far it is trusted. */
void kube_server_time(struct kube *k, const struct rest_answer *answer)
{
	if (answer->date_us == REST_UNKNOWN_TIME || answer->round_trip_ms == REST_UNKNOWN_TIME)
		return;
	k->server_us = answer->date_us + 500000;
	k->server_read_us = clock_wall_us(round_clock(k->r));
	k->server_trip_ms = answer->round_trip_ms;
	k->self_changed = true;
}

/* ---- the answers ---- */

/* Sanitised: these are shown as they are. */
static void set_json(char **to, const struct json_text *text)
{
	char *s = xmalloc(text->len + 1);
	struct str shown;

	str_init(&shown, (size_t)WORD_MAX * 5);
	text_escape_cut(&shown, s, json_decode(s, text), WORD_MAX);
	free(s);
	free(*to);
	*to = str_take(&shown);
}

static void take_version(struct kube *k, const struct rest_answer *answer)
{
	struct json_text name, text;
	struct json_read r;

	json_read_init(&r, answer->body.s, answer->body.len);
	if (!json_read_object(&r))
		return;
	while (json_read_member(&r, &name)) {
		if (!json_read_string(&r, &text))
			continue;
		if (json_is(&name, "gitVersion"))
			set_json(&k->server_version, &text);
		else if (json_is(&name, "platform"))
			set_json(&k->platform, &text);
	}
	k->self_changed = true;
}

/* The first 64 bits of a uid, which is a UUID. */
static uint64_t uid_bits(const struct kube_text *uid)
{
	uint64_t bits = 0;
	uint32_t i, n = 0;

	for (i = 0; i < uid->len && n < 16; i++) {
		char c = uid->s[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0)
			continue;
		bits = bits << 4 | (uint64_t)digit;
		n++;
	}
	return n == 16 ? bits : 0;
}

/* Another cluster under the same name: nothing of what is known holds there. */
static void other_cluster(struct kube *k)
{
	size_t i;

	for (i = 0; i < k->n_streams; i++) {
		struct kube_stream *s = &k->streams[i];

		rest_end(s->call);
		s->call = NULL;
		if (s->listing)
			json_list_release(&s->list);
		s->listing = s->told = s->refused = s->unwatched = false;
		s->state = STREAM_IDLE;
	}
	kube_look_stop(k);
	kube_store_clear(k->store);
	k->told_all = false;
}

static void take_identity(struct kube *k, const struct rest_answer *answer)
{
	struct json_text name;
	struct json_read r;
	struct kube_text uid = { 0 };
	uint64_t bits;

	json_read_init(&r, answer->body.s, answer->body.len);
	if (!json_read_object(&r))
		return;
	while (json_read_member(&r, &name)) {
		struct json_text meta;

		if (!json_is(&name, "metadata")) {
			json_skip(&r);
			continue;
		}
		meta = json_raw(&r);
		kube_read_uid(&k->reader, meta.s, meta.len, &uid);
	}
	bits = uid.s ? uid_bits(&uid) : 0;
	if (bits && k->identity && bits != k->identity)
		other_cluster(k);
	if (bits)
		k->identity = bits;
	k->self_changed = true;
}

/* ---- the census ---- */

/*
 * Old by the server's clock and the node's, which are taken to agree within the hour: a node that
 * is gone for good leaves a Lease that is days old, and nobody is judged by it.
 */
static int beat_item(void *arg, const char *text, size_t len, struct err *err)
{
	struct kube *k = arg;
	struct kube_lease lease;

	(void)err;
	if (!kube_read_lease(&k->reader, text, len, &lease))
		return 0;
	k->n_counted++;
	if (k->server_us != TIME_UNKNOWN && lease.renew_us != TIME_UNKNOWN &&
		clock_minus(k->server_us, lease.renew_us) > (int64_t)KUBE_BEAT_OLD_S * 1000000)
		k->n_counted_old++;
	return 0;
}

static const struct json_list_ops beat_ops = { .item = beat_item };

static int beat_piece(void *arg, const char *bytes, size_t len, struct err *err)
{
	return json_list_take(&((struct kube *)arg)->beats, bytes, len, err);
}

static void census_begin(struct kube *k)
{
	if (k->counting)
		json_list_release(&k->beats);
	json_list_init(&k->beats, "items", KUBE_OBJECT_MAX, &beat_ops, k);
	k->counting = true;
}

static void census_end(struct kube *k)
{
	k->n_beats = k->n_counted;
	k->n_beats_old = k->n_counted_old;
	k->self_changed = true;
}

/* ---- asking ---- */

static const char *ask_path(enum kube_ask ask)
{
	switch (ask) {
	case ASK_VERSION:
		return "/version";
	case ASK_IDENTITY:
		return "/api/v1/namespaces/kube-system";
	case ASK_READY:
		return "/readyz";
	case ASK_BEATS:
		return beats_path;
	default:
		return servers_path;
	}
}

static int ask_begin(struct kube *k, enum kube_ask ask, struct err *err)
{
	struct kube_question *q = &k->asks[ask];
	struct rest_request request = {
		.method = REST_GET,
		.path = ask_path(ask),
		.max = KUBE_ANSWER_MAX,
		.arg = k,
	};

	q->asked_ms = round_now_ms(k->r);
	/* The others have the poll's own: they may stand behind long lists. */
	if (ask == ASK_READY)
		request.deadline_ms = q->asked_ms + KUBE_PATIENCE_MS;
	if (ask == ASK_IDENTITY)
		request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
				 "application/json";
	if (ask == ASK_BEATS || ask == ASK_SERVERS) {
		census_begin(k);
		request.piece = beat_piece;
	}
	q->call = rest_start(k->client, &request, err);
	return q->call ? 0 : err->code ? (int)err->code : ERR_NOMEM;
}

static int ready_failed(
	struct kube *k, int rc, bool sent, const struct rest_answer *answer, struct err *err)
{
	/* Any answer is a sign of life, a refusal too. */
	if (answer->status) {
		bool unready = answer->status >= 500;

		k->self_changed = k->self_changed || unready != k->unready;
		k->unready = unready;
		return 0;
	}
	/* What was not even sent found no connection, and says why. */
	if (rc != ERR_TIMEOUT || !sent)
		return rc;
	return err_set(err, ERR_TIMEOUT,
		"%s keeps the connection open and has not answered for %d s: it may hang, or the "
		"network between is cut. Check the process there, and the way to it",
		rest_server(k->client), (KUBE_QUIET_MS + KUBE_PATIENCE_MS) / 1000);
}

/* What is a nicety must not take the source down with it. */
static int ask_failed(struct kube *k, enum kube_ask ask, int rc, const struct rest_answer *answer,
	struct err *err)
{
	struct kube_question *q = &k->asks[ask];

	if (ask == ASK_READY)
		return ready_failed(k, rc, q->sent, answer, err);
	/* Too busy is no refusal: it is asked again after a while. */
	q->answered = true;
	q->denied = rc != ERR_BUSY;
	q->busy = rc == ERR_BUSY;
	if (ask == ASK_BEATS || ask == ASK_SERVERS)
		k->n_beats = k->n_beats_old = -1;
	if (answer->status && rc != ERR_AUTH)
		return 0;
	q->answered = q->denied = q->busy = false;
	return rc;
}

static void ask_answered(struct kube *k, enum kube_ask ask, const struct rest_answer *answer)
{
	k->asks[ask].answered = true;
	k->asks[ask].busy = false;
	switch (ask) {
	case ASK_VERSION:
		take_version(k, answer);
		break;
	case ASK_IDENTITY:
		take_identity(k, answer);
		break;
	case ASK_READY:
		k->self_changed = k->self_changed || k->unready;
		k->unready = false;
		break;
	case ASK_SERVERS:
		census_end(k);
		break;
	default:
		break;
	}
}

static int ask_ended(struct kube *k, enum kube_ask ask, struct err *err)
{
	struct kube_question *q = &k->asks[ask];
	struct rest_answer answer = { .date_us = REST_UNKNOWN_TIME };
	int rc = rest_result(q->call, &answer, err);

	q->sent = rest_sent(q->call);
	rest_end(q->call);
	q->call = NULL;
	kube_server_time(k, &answer);
	if (!rc && (ask == ASK_BEATS || ask == ASK_SERVERS))
		rc = json_list_end(&k->beats, err);
	if (rc)
		rc = ask_failed(k, ask, rc, &answer, err);
	else
		ask_answered(k, ask, &answer);
	rest_answer_release(&answer);
	return rc;
}

/* Our monotonic clock when anything was last heard. */
static int64_t heard_ms(const struct kube *k)
{
	int64_t last = INT64_MIN;
	size_t i;

	for (i = 0; i < k->n_streams; i++) {
		int64_t at_ms =
			k->streams[i].call ? rest_heard_ms(k->streams[i].call) : REST_UNKNOWN_TIME;

		if (at_ms != REST_UNKNOWN_TIME && at_ms > last)
			last = at_ms;
	}
	for (i = 0; i < ASKS; i++)
		if (k->asks[i].asked_ms > last)
			last = k->asks[i].asked_ms;
	return last == INT64_MIN ? round_now_ms(k->r) : last;
}

static bool beats_due(const struct kube *k, enum kube_ask after)
{
	const struct kube_question *q = &k->asks[ASK_BEATS];

	if (k->asks[ASK_SERVERS].call || q->call || !kube_sees(k, KUBE_LEASES, NULL))
		return false;
	if (after == ASK_BEATS)
		return q->asked_ms == TIME_UNKNOWN ||
		       round_now_ms(k->r) - q->asked_ms >= KUBE_CENSUS_EVERY_MS;
	/* The API servers' follow the nodes'. */
	return q->answered && k->asks[ASK_SERVERS].asked_ms < q->asked_ms;
}

static bool ask_due(const struct kube *k, enum kube_ask ask)
{
	const struct kube_question *q = &k->asks[ask];

	if (q->call || (q->denied && ask != ASK_READY && ask != ASK_BEATS))
		return false;
	switch (ask) {
	case ASK_VERSION:
	case ASK_IDENTITY:
		return !q->answered ||
		       (q->busy && round_now_ms(k->r) - q->asked_ms >= BUSY_AGAIN_MS);
	case ASK_READY:
		return !round_one_shot(k->r) && round_now_ms(k->r) - heard_ms(k) >= KUBE_QUIET_MS;
	default:
		return beats_due(k, ask);
	}
}

int kube_asks_step(struct kube *k, struct err *err)
{
	int ask, rc = 0;

	for (ask = 0; ask < ASKS && !rc; ask++) {
		struct kube_question *q = &k->asks[ask];

		if (q->call && rest_done(q->call))
			rc = ask_ended(k, (enum kube_ask)ask, err);
		if (rc || !ask_due(k, (enum kube_ask)ask))
			continue;
		if (ask == ASK_BEATS) {
			k->n_counted = k->n_counted_old = 0;
			q->answered = q->denied = false;
		}
		rc = ask_begin(k, (enum kube_ask)ask, err);
	}
	return rc;
}

/* A command that ends after one picture waits for the census too. */
bool kube_asks_settled(const struct kube *k)
{
	int ask;

	for (ask = 0; ask < ASKS; ask++) {
		if (ask == ASK_READY || (ask > ASK_READY && !round_one_shot(k->r)))
			continue;
		if (k->asks[ask].call || ask_due(k, (enum kube_ask)ask))
			return false;
	}
	return true;
}

void kube_asks_stop(struct kube *k)
{
	int ask;

	for (ask = 0; ask < ASKS; ask++) {
		rest_end(k->asks[ask].call);
		k->asks[ask].call = NULL;
		/* After a new connection it may be another cluster. */
		if (ask == ASK_IDENTITY && !k->asks[ask].denied)
			k->asks[ask].answered = false;
	}
	if (k->counting)
		json_list_release(&k->beats);
	k->counting = false;
}
