#include "config.h"

#include "source/etcd-act.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/etcd.pb-c.h"
#include "source/act.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may be done about a candidate of an election or lock, or a key that names its holder. */

/* ---- what an order is about ---- */

/* "rev:CREATE_REVISION" */
static bool read_revision(const char *key, int64_t *ret)
{
	char *end;

	if (!str_starts(key, "rev:"))
		return false;
	errno = 0;
	*ret = strtoll(key + 4, &end, 10);
	return !errno && end != key + 4 && !*end && *ret > 0;
}

/* The name is the key up to its last slash, that included. */
static bool read_name(struct etcd_target *t)
{
	size_t len = t->key.len;

	while (len && t->key.s[len - 1] != '/')
		len--;
	str_add_mem(&t->name, t->key.s, t->single ? t->key.len : len);
	return t->single || len;
}

/* A key that was too long to be told whole names no key. */
static bool read_key(const struct order *order, struct etcd_target *t)
{
	const struct detail *key;
	struct details details;
	bool good;

	if (!t->claim)
		return false;
	details_init(&details);
	details_of_claim(&details, order->s, t->claim);
	key = details_find(&details, DETAIL_KEY);
	good = key && !key->hidden && !text_unescape(&t->key, key->s) && t->key.len &&
	       t->key.len < ETCD_VALUE_MAX;
	details_release(&details);
	return good;
}

bool etcd_target_read(const struct order *order, struct etcd_target *ret)
{
	struct etcd_target *t = ret;

	*t = (struct etcd_target){ .single = order->s->mechanism == MECH_ETCD_KEY };
	str_init(&t->key, ETCD_FIELD_MAX);
	str_init(&t->name, ETCD_FIELD_MAX);
	t->claim = singleton_claim_at(order->s, order->key);
	if (!read_key(order, t))
		return false;
	t->lease = claim_int(t->claim, DETAIL_LEASE, 0);
	return read_revision(order->key, &t->create_revision) && read_name(t);
}

void etcd_target_release(struct etcd_target *t)
{
	str_release(&t->key);
	str_release(&t->name);
}

/* ---- what is there now ---- */

struct reading {
	struct etcd_now *now;
	const struct etcd_target *t;
};

static void take_candidate(void *arg, const struct etcd_kv *kv)
{
	struct reading *reading = arg;
	struct etcd_now *now = reading->now;
	const struct etcd_target *t = reading->t;
	uint64_t number;

	if (!t->single &&
		!etcd_segment(kv->key + t->name.len, kv->key_len - t->name.len, kv->lease, &number))
		return;
	MEM_GROW(now->items, now->n, now->cap);
	now->items[now->n++] = (struct etcd_candidate){
		.key = xstrndup(kv->key, kv->key_len),
		.value = xstrndup(kv->value_len ? kv->value : "", kv->value_len),
		.key_len = kv->key_len,
		.value_len = kv->value_len,
		.create_revision = kv->create_revision,
		.mod_revision = kv->mod_revision,
		.lease = kv->lease,
	};
}

static int compare_candidates(const void *a, const void *b)
{
	const struct etcd_candidate *x = a, *y = b;

	return x->create_revision < y->create_revision ? -1
						       : x->create_revision > y->create_revision;
}

int etcd_now_read(
	struct etcd *e, const struct etcd_target *t, struct etcd_now *ret, struct err *err)
{
	struct etcd_now now = { 0 };
	struct reading reading = { &now, t };
	struct etcd_range range;
	char *end = NULL;
	int rc;

	etcd_range_init(&range, take_candidate, &reading);
	range.key = t->name.s;
	range.key_len = t->name.len;
	if (!t->single) {
		end = xmalloc(t->name.len + 1);
		range.end_len = etcd_prefix_end(t->name.s, t->name.len, end);
		range.end = end;
	}
	rc = etcd_read_range(e, &range, ETCD_QUEUE_MOST, round_deadline_ms(e->r), err);
	now.revision = range.header.revision;
	now.cluster_id = range.header.cluster_id;
	etcd_range_release(&range);
	free(end);
	if (now.n)
		qsort(now.items, now.n, sizeof(*now.items), compare_candidates);
	if (rc)
		etcd_now_release(&now);
	else
		*ret = now;
	return rc;
}

void etcd_now_release(struct etcd_now *now)
{
	while (now->n) {
		now->n--;
		free(now->items[now->n].key);
		free(now->items[now->n].value);
	}
	free(now->items);
}

const struct etcd_candidate *etcd_now_find(const struct etcd_now *now, const struct etcd_target *t)
{
	size_t i;

	for (i = 0; i < now->n; i++)
		if (now->items[i].key_len == t->key.len &&
			memcmp(now->items[i].key, t->key.s, t->key.len) == 0)
			return &now->items[i];
	return NULL;
}

const char *etcd_candidate_name(struct str *out, const struct etcd_candidate *c)
{
	str_clear(out);
	if (c->value_len)
		text_escape_cut(out, c->value, c->value_len, ETCD_VALUE_MAX);
	else if (c->lease)
		str_addf(out, "lease:%" PRIx64, (uint64_t)c->lease);
	else
		str_add(out, "no lease");
	return out->s;
}

/* ---- a lease ---- */

static void lease_take_keys(struct etcd_lease_now *l, const Etcdpb__LeaseTimeToLiveResponse *answer)
{
	static const uint64_t seed[2] = { 0x6261746f6e, 1 };
	size_t i;

	l->keys = xcalloc(answer->n_keys ? answer->n_keys : 1, sizeof(*l->keys));
	for (i = 0; i < answer->n_keys; i++) {
		l->hash += map_siphash(seed, answer->keys[i].data, answer->keys[i].len);
		if (l->n_keys >= ETCD_LEASE_KEYS_MOST)
			l->cut++;
		else
			l->keys[l->n_keys++] =
				xstrndup((const char *)answer->keys[i].data, answer->keys[i].len);
	}
}

static int lease_take(
	struct etcd *e, const struct etcd_unary *u, struct etcd_lease_now *l, struct err *err)
{
	Etcdpb__LeaseTimeToLiveResponse *answer;

	if (u->code == GRPC_PERMISSION_DENIED || u->code == GRPC_NOT_FOUND) {
		l->known = true;
		l->denied = u->code == GRPC_PERMISSION_DENIED;
		l->gone = u->code == GRPC_NOT_FOUND;
		return 0;
	}
	if (u->code != GRPC_OK)
		return etcd_failed(e, u->code, &u->err, err);
	answer = etcdpb__lease_time_to_live_response__unpack(
		NULL, u->answer.len, (const uint8_t *)u->answer.s);
	if (!answer)
		return err_set(err, ERR_PROTO, "an answer about a lease that can't be read");
	l->known = true;
	l->ttl_s = answer->ttl;
	l->granted_s = answer->grantedttl;
	/* -1 without a granted time: no such lease (rpc.proto, LeaseTimeToLiveResponse.TTL). */
	l->gone = l->granted_s <= 0 && l->ttl_s <= 0;
	lease_take_keys(l, answer);
	etcdpb__lease_time_to_live_response__free_unpacked(answer, NULL);
	return 0;
}

int etcd_lease_now_read(
	struct etcd *e, int64_t lease, bool keys, struct etcd_lease_now *ret, struct err *err)
{
	int64_t deadline_ms = round_deadline_ms(e->r);
	struct etcd_unary u;
	int rc;

	*ret = (struct etcd_lease_now){ 0 };
	if (!lease)
		return 0;
	etcd_unary_init(&u, e->loop);
	rc = etcd_ttl_start(&u, etcd_channel(e), lease, keys, deadline_ms, err);
	if (!rc)
		rc = etcd_run(e, &u.done, deadline_ms, err);
	if (rc) /* the call may be in flight, and u is about to go */
		etcd_disconnect(e, false);
	else
		rc = lease_take(e, &u, ret, err);
	etcd_unary_release(&u);
	return rc;
}

void etcd_lease_now_release(struct etcd_lease_now *l)
{
	while (l->n_keys)
		free(l->keys[--l->n_keys]);
	free(l->keys);
	l->keys = NULL;
}

/* ---- the three functions ---- */

typedef int (*etcd_reading)(struct etcd *e, const struct order *order, const struct etcd_target *t,
	void *into, struct err *err);

/* Reading may be done again with a new token, where the old one ran out. */
static int read_with_token(struct etcd *e, const struct order *order, const struct etcd_target *t,
	etcd_reading read, void *into, struct err *err)
{
	int rc;

	e->stale_token = false;
	rc = etcd_connect(e, round_deadline_ms(e->r), err);
	if (!rc)
		rc = read(e, order, t, into, err);
	if (!rc || !e->stale_token || !e->user || !e->connected)
		return rc;
	rc = etcd_authenticate(e, round_deadline_ms(e->r), err);
	return rc ? rc : read(e, order, t, into, err);
}

static int plan_reading(struct etcd *e, const struct order *order, const struct etcd_target *t,
	void *into, struct err *err)
{
	return etcd_plan(e, order, t, into, err);
}

static int look_reading(struct etcd *e, const struct order *order, const struct etcd_target *t,
	void *into, struct err *err)
{
	return etcd_look(e, order, t, into, err);
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct etcd *e = state;
	struct etcd_target t;
	int rc = 0;

	e->r = r;
	if (!etcd_target_read(order, &t))
		plan_refuse(plan, "this row does not tell one key of etcd exactly");
	else
		rc = read_with_token(e, order, &t, plan_reading, plan, err);
	etcd_take_costs(e);
	etcd_target_release(&t);
	e->r = NULL;
	return rc;
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct etcd *e = state;
	struct etcd_target t;
	int rc;

	e->r = r;
	effect->kind = EFFECT_UNSENT;
	if (!etcd_target_read(order, &t))
		rc = err_set(err, ERR_USAGE, "this row does not tell one key of etcd exactly");
	else
		rc = etcd_connect(e, round_deadline_ms(r), err);
	if (!rc && order->verb == VERB_REVOKE)
		rc = etcd_send_revoke(e, &t, plan, effect, err);
	else if (!rc)
		rc = etcd_send_delete(e, &t, plan, effect, err);
	etcd_take_costs(e);
	etcd_target_release(&t);
	e->r = NULL;
	return rc;
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct etcd *e = state;
	struct etcd_target t;
	int rc;

	(void)plan;
	e->r = r;
	if (!etcd_target_read(order, &t))
		rc = err_set(err, ERR_USAGE, "this row does not tell one key of etcd exactly");
	else
		rc = read_with_token(e, order, &t, look_reading, sight, err);
	etcd_take_costs(e);
	etcd_target_release(&t);
	e->r = NULL;
	return rc;
}

const struct act_case etcd_acts[ETCD_ACTS] = { ETCD_ACT_CASES(act_plan, act_send, act_look) };
