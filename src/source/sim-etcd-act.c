#include "config.h"

#include "source/sim-etcd.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/etcd-act.h"
#include "source/etcd-write.h"

#include <string.h>

/* etcd's verbs on the built-in world's etcd: the same reading, comparing and telling as on a real
 * one; the requests are done at once, and their guards are checked by the server. */

enum {
	ALL_OTHER_KEYS = ETCD_LEASE_KEYS_MOST
};

/* ---- reading ---- */

static void now_add(struct etcd_now *now, const struct sim_etcd_key *key)
{
	MEM_GROW(now->items, now->n, now->cap);
	now->items[now->n++] = (struct etcd_candidate){
		.key = xstrndup(key->name, key->name_len),
		.value = xstrdup(key->value),
		.key_len = key->name_len,
		.value_len = strlen(key->value),
		.create_revision = key->create_revision,
		.mod_revision = key->mod_revision,
		.lease = key->lease ? key->lease->id : 0,
	};
}

static void now_read(const struct sim_etcd *sim, const struct etcd_target *t, struct etcd_now *now)
{
	const struct sim_etcd_dir *dir = sim_etcd_dir(sim, t->name.s, t->name.len);
	const struct sim_etcd_key *key;
	uint64_t number;

	*now = (struct etcd_now){ .revision = sim->revision, .cluster_id = sim->cluster_id };
	if (t->single) {
		key = sim_etcd_key(sim, t->key.s, t->key.len);
		if (key)
			now_add(now, key);
		return;
	}
	for (key = dir ? dir->first : NULL; key; key = key->dir_next)
		if (etcd_hex(key->name + dir->len, key->name_len - dir->len, &number))
			now_add(now, key);
}

static void lease_read(const struct world *w, const struct sim_etcd *sim, int64_t id, bool keys,
	struct etcd_lease_now *ret)
{
	static const uint64_t seed[2] = { 0x6261746f6e, 1 };
	const struct sim_etcd_lease *l = id ? sim_etcd_lease(sim, id) : NULL;
	const struct sim_etcd_key *key;

	*ret = (struct etcd_lease_now){ .known = id != 0, .gone = id && !l };
	if (!l)
		return;
	ret->ttl_s = sim_etcd_ttl_s(w, l);
	ret->granted_s = l->granted_s;
	if (!keys)
		return;
	ret->keys = xcalloc(l->n_keys + 1, sizeof(*ret->keys));
	for (key = l->keys; key; key = key->lease_next) {
		ret->hash += map_siphash(seed, key->name, key->name_len);
		if (ret->n_keys >= ALL_OTHER_KEYS)
			ret->cut++;
		else
			ret->keys[ret->n_keys++] = xstrdup(key->name);
	}
}

/* ---- one act ---- */

/* What all three functions begin and end with. */
struct acting {
	struct sim_source *s;
	struct sim_etcd_own *own;
	struct etcd_target t;
	bool exact; /* the row tells one key */
};

static int begin(
	struct acting *a, void *state, struct round *r, const struct order *order, struct err *err)
{
	a->s = sim_enter(state);
	a->own = sim_etcd_own(a->s);
	a->own->e.r = r;
	a->exact = etcd_target_read(order, &a->t);
	return a->exact ? sim_etcd_connect(a->own, a->s->world, err) : 0;
}

static void end(struct acting *a)
{
	etcd_target_release(&a->t);
	a->own->e.r = NULL;
	sim_leave(a->s);
}

static const char not_exact[] = "this row does not tell one key of etcd exactly";

static void make_plan(struct acting *a, const struct order *order, struct plan *plan)
{
	const struct sim_etcd *sim = a->own->sim;
	struct etcd_reading in = { .order = order, .t = &a->t };

	now_read(sim, &a->t, &in.now);
	etcd_plan_compare(&in, plan);
	if (plan->verdict == PLAN_READY) {
		lease_read(a->s->world, sim, a->t.lease, true, &in.lease);
		if (in.next)
			lease_read(a->s->world, sim, in.next->lease, false, &in.next_lease);
		etcd_plan_make(&a->own->e, &in, plan);
		plan->permission = TRI_YES;
	}
	etcd_reading_release(&in);
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct acting a;
	int rc = begin(&a, state, r, order, err);

	if (!a.exact)
		plan_refuse(plan, "%s", not_exact);
	else if (!rc)
		make_plan(&a, order, plan);
	end(&a);
	return rc;
}

/* What the transaction compares. */
static bool guard_holds(
	const struct acting *a, const struct sim_etcd_key *key, const struct plan *plan)
{
	struct str value;
	bool same;

	if (!key || key->create_revision != a->t.create_revision ||
		(key->lease ? key->lease->id : 0) != a->t.lease)
		return false;
	if (!a->t.single)
		return true;
	str_init(&value, ETCD_FIELD_MAX);
	same = plan->guard && !text_unescape(&value, plan->guard) &&
	       value.len == strlen(key->value) && memcmp(value.s, key->value, value.len) == 0;
	str_release(&value);
	return same;
}

/* The server refuses: nothing was done. */
static bool is_refused(enum sim_etcd_error error, struct effect *effect)
{
	if (error == SIM_ETCD_OK)
		return false;
	effect->kind = EFFECT_REFUSED;
	str_add(&effect->answer, sim_etcd_error_text(error));
	return true;
}

static void send_delete(
	struct acting *a, const struct order *order, const struct plan *plan, struct effect *effect)
{
	struct sim_etcd *sim = a->own->sim;
	struct sim_etcd_key *key = sim_etcd_key(sim, a->t.key.s, a->t.key.len);
	struct etcd_deleted d = { .there = key != NULL };

	if (key) {
		d.create_revision = key->create_revision;
		d.lease = key->lease ? key->lease->id : 0;
	}
	d.succeeded = guard_holds(a, key, plan);
	if (d.succeeded) {
		if (is_refused(
			    sim_etcd_delete(a->s->world, sim, key, "an operator deleted its key"),
			    effect))
			return;
		sim_acted(a->s, order, "the key %s was deleted", a->t.key.s);
	}
	d.revision = sim->revision;
	etcd_say_deleted(&d, effect);
}

static void send_revoke(
	struct acting *a, const struct order *order, const struct plan *plan, struct effect *effect)
{
	struct sim_etcd *sim = a->own->sim;
	struct sim_etcd_lease *l = sim_etcd_lease(sim, a->t.lease);
	struct etcd_lease_now lease;
	struct etcd_now now;

	now_read(sim, &a->t, &now);
	lease_read(a->s->world, sim, a->t.lease, true, &lease);
	if (etcd_revoke_holds(&a->t, plan, &now, &lease, effect) && l) {
		size_t n = l->n_keys;

		if (!is_refused(
			    sim_etcd_revoke(a->s->world, sim, l, "an operator revoked its lease"),
			    effect)) {
			sim_acted(a->s, order, "the lease of %s was revoked, with %zu keys",
				a->t.key.s, n);
			world_count(a->s->world, "keys-destroyed", (int64_t)n - 1);
			etcd_say_revoked(sim->revision, effect);
		}
	}
	etcd_now_release(&now);
	etcd_lease_now_release(&lease);
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct acting a;
	int rc = begin(&a, state, r, order, err);

	effect->kind = EFFECT_UNSENT;
	if (!a.exact)
		rc = err_set(err, ERR_USAGE, "%s", not_exact);
	else if (!rc && order->verb == VERB_REVOKE)
		send_revoke(&a, order, plan, effect);
	else if (!rc)
		send_delete(&a, order, plan, effect);
	end(&a);
	return rc;
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct acting a;
	int rc = begin(&a, state, r, order, err);

	(void)plan;
	if (!a.exact)
		rc = err_set(err, ERR_USAGE, "%s", not_exact);
	if (!rc) {
		struct etcd_lease_now lease;
		struct etcd_now now;

		now_read(a.own->sim, &a.t, &now);
		lease_read(a.s->world, a.own->sim, a.t.lease, true, &lease);
		etcd_look_tell(order, &a.t, &now, &lease, sight);
		etcd_now_release(&now);
		etcd_lease_now_release(&lease);
	}
	end(&a);
	return rc;
}

const struct act_case sim_etcd_acts[SIM_ETCD_ACTS] = { ETCD_ACT_CASES(
	act_plan, act_send, act_look) };
