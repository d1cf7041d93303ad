#include "config.h"

#include "source/sim-zookeeper.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What may be done about a candidate of a ZooKeeper's election: its znode is deleted, which is what
 * it would do itself to step down. A delete compares the version of the znode's data, and nothing
 * else; whose znode it is, is read directly before.
 */

enum {
	TEXT_MOST = 4096
};

struct target {
	struct sim_source *s;
	struct sim_zk *z;
	const struct claim *claim;
	int64_t session; /* 0: it is persistent */
	int64_t czxid;
	struct str parent; /* its path */
	const char *name;  /* of the znode, behind it */
	struct str path;   /* the whole */
};

static const char not_exact[] = "this row does not tell one znode exactly";

static bool target_read(struct target *t, void *state, const struct order *order)
{
	const char *path, *slash;

	*t = (struct target){ .s = sim_enter(state) };
	t->z = (struct sim_zk *)t->s->thing;
	str_init(&t->parent, TEXT_MOST);
	str_init(&t->path, TEXT_MOST);
	t->claim = singleton_claim_at(order->s, order->key);
	path = t->claim ? claim_text(t->claim, DETAIL_ZNODE, NULL) : NULL;
	if (!path || text_unescape(&t->path, path))
		return false;
	slash = strrchr(t->path.s, '/');
	if (!slash)
		return false;
	str_add_mem(&t->parent, t->path.s, (size_t)(slash - t->path.s));
	t->name = slash + 1;
	t->czxid = claim_int(t->claim, DETAIL_CZXID, 0);
	t->session = claim_int(t->claim, DETAIL_SESSION, 0);
	return t->parent.len && *t->name && t->czxid > 0;
}

static void target_release(struct target *t)
{
	str_release(&t->parent);
	str_release(&t->path);
	sim_leave(t->s);
}

static struct sim_zk_node *target_node(const struct target *t)
{
	return sim_zk_node(t->z, t->parent.s, t->name);
}

/* ---- planning ---- */

static bool is_same(const struct target *t, const struct sim_zk_node *node, struct plan *plan)
{
	if (!node)
		plan_changed(plan, "the znode is not there any more");
	else if (node->czxid != t->czxid)
		plan_changed(plan,
			"the znode was deleted and made again: its czxid is %" PRId64
			" now, it was %" PRId64,
			node->czxid, t->czxid);
	else if ((node->session ? node->session->id : 0) != t->session)
		plan_changed(plan, "the znode belongs to another session now");
	else
		return true;
	return false;
}

static void plan_request(const struct target *t, const struct sim_zk_node *node, struct plan *plan)
{
	char session[40];

	plan_text(&plan->request, "delete \"%s\" while its data version is %" PRId32, t->path.s,
		node->version);
	plan_text(&plan->guard, "%" PRId32, node->version);
	plan_text(&plan->guarded_by,
		"ZooKeeper compares the znode's data version in the same request. Its czxid and "
		"its session are compared directly before, which the server does not guard; but "
		"the number in its name is not given twice while its parent stands");
	plan_add(&plan->destroys, "the znode", t->path.s);
	if (!node->session)
		return;
	snprintf(session, sizeof(session), "0x%" PRIx64, (uint64_t)node->session->id);
	plan_add(&plan->keeps, "its session", session);
}

static void plan_others(const struct sim_zk_node *node, struct plan *plan)
{
	const struct sim_zk_node *other;
	struct str path;

	if (!node->session)
		return;
	str_init(&path, TEXT_MOST);
	for (other = node->session->nodes; other; other = other->session_next)
		if (other != node)
			plan_add(&plan->keeps, "another znode of the same session",
				sim_zk_path(&path, other));
	str_release(&path);
}

static void plan_next(const struct target *t, const struct sim_zk_node *node, struct plan *plan)
{
	const struct sim_zk_node *next = node->next;
	struct str name;

	if (node->prev) {
		plan_text(&plan->gap_why, "it only waits: who leads goes on");
		return;
	}
	if (!next) {
		plan_text(&plan->gap_why, "nobody waits: until somebody comes, nobody leads");
		return;
	}
	str_init(&name, TEXT_MOST);
	plan_text(&plan->successor, "%s", sim_zk_identity(&name, next));
	str_release(&name);
	plan->gap_min_ms = 0;
	if (next->session) {
		plan->gap_max_ms = sim_zk_left_ms(t->s->world, next->session);
		plan_text(&plan->gap_why, "one watch event; if that process is dead, until its own "
					  "session has expired and the next one has its turn");
	} else {
		plan_text(&plan->gap_why,
			"the next znode is persistent: if nobody is behind it, it blocks for ever");
		plan_warn(plan, "the next znode in the queue is persistent: nothing shows that a "
				"process is behind it");
	}
}

static void plan_life(
	const struct target *t, struct round *r, const struct sim_zk_node *node, struct plan *plan)
{
	const struct sim_zk_session *session = node->session;
	int64_t left_ms, ago_ms;

	if (!session) {
		plan_text(&plan->alone, "the znode is persistent: it stays for ever");
		return;
	}
	left_ms = sim_zk_left_ms(t->s->world, session);
	ago_ms = world_now_ms(t->s->world) - session->heard_ms;
	plan->last_sign_us = clock_wall_us(round_clock(r)) - ago_ms * 1000;
	plan_text(&plan->last_sign, "a server heard its session, whose timeout is %" PRId64 " s",
		session->timeout_ms / 1000);
	plan_text(&plan->alone,
		"where it is not heard again, its session expires within %" PRId64
		" s, and its znodes go",
		left_ms > 0 ? left_ms / 1000 + 1 : 1);
	if (!node->prev)
		plan_warn(plan,
			"its session still runs: the process is not told, and may go on as if it "
			"led");
	else
		plan_warn(plan,
			"a candidate that lives gets in line again once it sees that its znode is "
			"gone");
}

static int act_plan(
	void *state, struct round *r, const struct order *order, struct plan *plan, struct err *err)
{
	struct target t;
	struct sim_zk_node *node;
	int rc = 0;

	if (!target_read(&t, state, order)) {
		plan_refuse(plan, "%s", not_exact);
	} else if ((rc = sim_zk_reach(t.s->world, t.z, err)) >= 0) {
		node = target_node(&t);
		rc = 0;
		if (is_same(&t, node, plan)) {
			if (order->verb == VERB_STEP_DOWN && node->prev)
				plan_refuse(plan,
					"it waits in the queue, and only who leads can step down: "
					"release takes it out of the queue");
			plan_request(&t, node, plan);
			plan_others(node, plan);
			plan_next(&t, node, plan);
			plan_life(&t, r, node, plan);
			plan->permission = TRI_YES;
		}
	}
	target_release(&t);
	return rc;
}

/* ---- sending ---- */

static void send_delete(
	struct target *t, const struct order *order, const struct plan *plan, struct effect *effect)
{
	struct sim_zk_node *node = target_node(t);

	effect->kind = EFFECT_CHANGED;
	if (!node || node->czxid != t->czxid ||
		(node->session ? node->session->id : 0) != t->session) {
		str_add(&effect->answer,
			"the znode is not there any more, or another one: nothing was deleted");
		return;
	}
	if (!plan->guard || strtol(plan->guard, NULL, 10) != node->version) {
		str_add(&effect->answer,
			"BadVersion: its data was written meanwhile: nothing was deleted");
		return;
	}
	effect->kind = EFFECT_DONE;
	sim_zk_delete(t->s->world, t->z, node, "an operator deleted its znode");
	sim_acted(t->s, order, "the znode %s was deleted", t->path.s);
	str_addf(&effect->answer, "the znode was deleted, zxid %" PRId64, sim_zk_zxid(t->z));
}

static int act_send(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct effect *effect, struct err *err)
{
	struct target t;
	bool exact = target_read(&t, state, order);
	int rc = exact ? sim_zk_reach(t.s->world, t.z, err) : err_set(err, ERR_USAGE, not_exact);

	(void)r;
	effect->kind = EFFECT_UNSENT;
	if (rc >= 0) {
		rc = 0;
		send_delete(&t, order, plan, effect);
	}
	target_release(&t);
	return rc;
}

/* ---- looking ---- */

static void look_leader(const struct target *t, struct str *out)
{
	const struct sim_zk_node *node = sim_zk_parent(t->z, t->parent.s)->first, *other;
	struct str name;
	size_t n = 0;

	if (!node) {
		str_add(out, "; nobody leads now");
		return;
	}
	for (other = node->next; other; other = other->next)
		n++;
	str_init(&name, TEXT_MOST);
	str_addf(out, "; %s leads now, token %" PRId64, sim_zk_identity(&name, node), node->czxid);
	if (t->session && node->session && node->session->id == t->session)
		str_add(out, ", which is the same session again");
	if (n)
		str_addf(out, "; %zu %s", n, n == 1 ? "waits" : "wait");
	str_release(&name);
}

static void look_overlap(const struct target *t, struct sight *sight)
{
	const struct sim_zk_session *session = t->session ? sim_zk_session(t->z, t->session) : NULL;

	if (t->claim->kind != CLAIM_HOLDER) {
		sight->overlap = OVERLAP_NONE;
		return;
	}
	sight->overlap = t->session && !session ? OVERLAP_CLOSED : OVERLAP_OPEN;
	if (!t->session)
		str_add(&sight->text,
			"; it had no session, so that nothing shows whether its process lives");
	else if (!session)
		str_addf(&sight->text, "; its session 0x%" PRIx64 " is over", (uint64_t)t->session);
	else
		str_addf(&sight->text,
			"; its session 0x%" PRIx64 " was heard %" PRId64
			" s ago: its process was not seen to stop",
			(uint64_t)t->session,
			(world_now_ms(t->s->world) - session->heard_ms) / 1000);
}

static int act_look(void *state, struct round *r, const struct order *order,
	const struct plan *plan, struct sight *sight, struct err *err)
{
	struct target t;
	bool exact = target_read(&t, state, order);
	int rc = exact ? sim_zk_reach(t.s->world, t.z, err) : err_set(err, ERR_USAGE, not_exact);
	const struct sim_zk_node *node;

	(void)r;
	(void)plan;
	if (rc >= 0) {
		rc = 0;
		node = target_node(&t);
		str_clear(&sight->text);
		sight->settled = !node || node->czxid != t.czxid;
		str_add(&sight->text,
			sight->settled ? "the znode is gone" : "the znode is still there");
		look_leader(&t, &sight->text);
		look_overlap(&t, sight);
	}
	target_release(&t);
	return rc;
}

#define DELETES(which)                                                                           \
	{                                                                                        \
		.mechanism = MECH_ZK_ELECTION, .verb = which,                                    \
		.request = "delete of the one znode, with the version of its data",              \
		.guard = "the version of the znode's data; its czxid and session only directly " \
			 "before",                                                               \
		.needs = "delete permission on its parent", .plan = act_plan, .send = act_send,  \
		.look = act_look                                                                 \
	}

const struct act_case sim_zk_acts[SIM_ZK_ACTS] = { DELETES(VERB_STEP_DOWN), DELETES(VERB_RELEASE) };
