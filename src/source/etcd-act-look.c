#include "config.h"

#include "source/etcd-act.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is so after an act. */

static void look_leader(const struct etcd_target *t, const struct etcd_now *now, struct str *out)
{
	struct str name;

	if (!now->n) {
		str_add(out, "; nobody leads now");
		return;
	}
	str_init(&name, 8 * ETCD_VALUE_MAX);
	str_addf(out, "; %s leads now, token %" PRId64, etcd_candidate_name(&name, &now->items[0]),
		now->items[0].create_revision);
	if (t->lease && now->items[0].lease == t->lease)
		str_add(out, ", which is the same session again");
	if (now->n > 1)
		str_addf(out, "; %zu %s", now->n - 1, now->n == 2 ? "waits" : "wait");
	str_release(&name);
}

/* The process is seen by its lease alone: while that runs, it was not seen to stop. */
static void look_overlap(
	const struct etcd_target *t, const struct etcd_lease_now *lease, struct sight *sight)
{
	if (t->claim->kind != CLAIM_HOLDER) {
		sight->overlap = OVERLAP_NONE;
		return;
	}
	sight->overlap = t->lease && lease->gone ? OVERLAP_CLOSED : OVERLAP_OPEN;
	if (!t->lease)
		str_add(&sight->text,
			"; it had no lease, so that nothing shows whether its process "
			"lives");
	else if (lease->denied)
		str_add(&sight->text, "; whether its lease runs may not be read");
	else if (lease->gone)
		str_addf(&sight->text, "; its lease %" PRIx64 " is gone", (uint64_t)t->lease);
	else if (lease->ttl_s < 0)
		str_addf(&sight->text,
			"; its lease %" PRIx64
			" is past its end and still there: its process was not "
			"seen to stop",
			(uint64_t)t->lease);
	else
		str_addf(&sight->text,
			"; its lease %" PRIx64 " runs for %" PRId64
			" s more: its process was not seen "
			"to stop",
			(uint64_t)t->lease, lease->ttl_s);
}

void etcd_look_tell(const struct order *order, const struct etcd_target *t,
	const struct etcd_now *now, const struct etcd_lease_now *lease, struct sight *sight)
{
	const struct etcd_candidate *own = etcd_now_find(now, t);

	str_clear(&sight->text);
	sight->settled = !own || own->create_revision != t->create_revision;
	if (order->verb == VERB_REVOKE && !lease->gone)
		sight->settled = false;
	str_add(&sight->text, sight->settled ? "the key is gone" : "the key is still there");
	if (own && own->create_revision != t->create_revision)
		str_addf(&sight->text, ", and was made again (create_revision %" PRId64 ")",
			own->create_revision);
	look_leader(t, now, &sight->text);
	look_overlap(t, lease, sight);
}

void etcd_tell_behind(struct etcd *e)
{
	/* What came of an answer in parts is not told before the rest is there. */
	if (e->gone_created && !e->midway &&
		etcd_store_created(e->store, e->gone.s, e->gone.len) != e->gone_created)
		e->gone_created = 0;
	round_behind(e->r, e->gone_created != 0);
}

/* The picture may show the key for a while yet. */
static void look_gone(struct etcd *e, const struct etcd_target *t, const struct etcd_now *now)
{
	const struct etcd_candidate *own = etcd_now_find(now, t);

	if (own && own->create_revision == t->create_revision)
		return;
	str_release(&e->gone);
	str_init(&e->gone, ETCD_FIELD_MAX);
	str_add_mem(&e->gone, t->key.s, t->key.len);
	e->gone_created = t->create_revision;
	etcd_tell_behind(e);
}

int etcd_look(struct etcd *e, const struct order *order, const struct etcd_target *t,
	struct sight *sight, struct err *err)
{
	struct etcd_now now;
	struct etcd_lease_now lease;
	int rc = etcd_now_read(e, t, &now, err);

	if (rc)
		return rc;
	rc = etcd_lease_now_read(e, t->lease, true, &lease, err);
	if (!rc) {
		etcd_look_tell(order, t, &now, &lease, sight);
		look_gone(e, t, &now);
	}
	etcd_now_release(&now);
	etcd_lease_now_release(&lease);
	return rc;
}
