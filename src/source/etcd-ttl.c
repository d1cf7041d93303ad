#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/etcd.pb-c.h"

#include <stdlib.h>
#include <string.h>

/*
 * Leases' times to live: one LeaseTimeToLive each, so many at once, within a budget of requests per
 * second. First what is on a screen, then what is near its end, then the rest in turn. Reading
 * never renews.
 */

enum {
	ONE_SHOT_ALL = 20000, /* so many leases are all read by a one-shot command */
	ONE_SHOT_SOME = 5000, /* of more, only these */
	BURST_FIRST = 5000,   /* above the budget, once after the first picture */
	BURST_TICK = 1000,
	TURN_TICK = 1,
	SCAN_MOST = 20000, /* leases looked at in one tick */
	OTHERS_KEPT = 64,
	OTHERS_MOST =
		2000, /* keys up to which a one-shot command asks for the others on every lease */
	RENEWED_JUMP_MS = 1500,
	SAME_END_MS = 1500, /* readings are cut to whole seconds */
	OTHERS_EVERY_MS = 15000,
};

void etcd_lease_read(struct etcd_lease *lease, int64_t ttl_s, int64_t granted_s, int64_t now_ms)
{
	int64_t deadline_ms, before_ms = lease->deadline_ms;
	bool known = lease->read_ms != TIME_UNKNOWN && before_ms != TIME_UNKNOWN;

	lease->read_ms = now_ms;
	lease->denied = false;
	/* -1 without a granted time is etcd's way to say that there is no such lease (rpc.proto,
	 * LeaseTimeToLiveResponse.TTL). */
	lease->gone = granted_s <= 0 && ttl_s <= 0;
	if (lease->gone) {
		lease->granted_ms = lease->deadline_ms = TIME_UNKNOWN;
		return;
	}
	/* 2^53 seconds are enough for anybody, and fit in milliseconds. */
	if (ttl_s > INT64_MAX / 2048)
		ttl_s = INT64_MAX / 2048;
	if (ttl_s < INT64_MIN / 2048)
		ttl_s = INT64_MIN / 2048;
	if (granted_s > INT64_MAX / 2048)
		granted_s = INT64_MAX / 2048;
	/* etcd cuts to whole seconds towards zero: the end is up to a second later than what a
	 * positive one says. */
	deadline_ms = now_ms + ttl_s * 1000 + (ttl_s >= 0 ? 999 : 0);
	lease->granted_ms = granted_s * 1000;
	lease->deadline_ms = deadline_ms;
	if (known && deadline_ms > before_ms + RENEWED_JUMP_MS)
		lease->renewed_ms = now_ms - (granted_s - ttl_s) * 1000;
}

static void lease_others(
	struct etcd_lease *lease, const Etcdpb__LeaseTimeToLiveResponse *answer, int64_t now_ms)
{
	size_t i, n = answer->n_keys < OTHERS_KEPT ? answer->n_keys : OTHERS_KEPT;
	struct etcd_other_keys *others;

	lease->others_ms = now_ms;
	for (i = 0; lease->others && i < lease->others->n; i++)
		free(lease->others->keys[i]);
	free(lease->others);
	lease->others = NULL;
	if (answer->n_keys < 2)
		return;
	others = xcalloc(1, sizeof(*others) + n * sizeof(others->keys[0]));
	others->n = (uint32_t)n;
	others->cut = (uint32_t)(answer->n_keys - n);
	for (i = 0; i < n; i++)
		others->keys[i] = xstrndup((const char *)answer->keys[i].data, answer->keys[i].len);
	lease->others = others;
}

struct etcd_lease_sight etcd_lease_look(const struct etcd_lease *lease)
{
	struct etcd_lease_sight sight = { .granted_ms = lease->granted_ms,
		.deadline_ms = lease->deadline_ms,
		.renewed_ms = lease->renewed_ms,
		.others = lease->others ? lease->others->n + lease->others->cut : 0,
		.read = lease->read_ms != TIME_UNKNOWN,
		.gone = lease->gone,
		.denied = lease->denied };

	if (lease->deadline_ms != TIME_UNKNOWN && sight.read) {
		int64_t left_ms = lease->deadline_ms - lease->read_ms;

		sight.phase = left_ms < 0 ? 2 : left_ms < lease->granted_ms / 3;
	}
	return sight;
}

bool etcd_lease_looks_other(const struct etcd_lease_sight *a, const struct etcd_lease_sight *b)
{
	int64_t moved;

	if (a->read != b->read || a->gone != b->gone || a->denied != b->denied ||
		a->phase != b->phase || a->granted_ms != b->granted_ms || a->others != b->others)
		return true;
	if (a->deadline_ms == TIME_UNKNOWN || b->deadline_ms == TIME_UNKNOWN)
		return a->deadline_ms != b->deadline_ms;
	moved = b->deadline_ms - a->deadline_ms;
	return moved > SAME_END_MS || moved < -SAME_END_MS;
}

/* ---- one round of calls ---- */

struct ttl_run {
	struct etcd *e;
	struct etcd_want *wants;
	size_t n, cap;
};

static void run_want(struct ttl_run *run, struct etcd_lease *lease, bool keys)
{
	if (lease->busy)
		return;
	lease->busy = true;
	MEM_GROW(run->wants, run->n, run->cap);
	run->wants[run->n++] = (struct etcd_want){ .lease = lease->id, .keys = keys };
}

static bool take_times(
	struct etcd_lease *lease, const struct etcd_want *want, const struct etcd_unary *u)
{
	Etcdpb__LeaseTimeToLiveResponse *answer = etcdpb__lease_time_to_live_response__unpack(
		NULL, u->answer.len, (const uint8_t *)u->answer.s);

	if (!answer)
		return false;
	etcd_lease_read(lease, answer->ttl, answer->grantedttl, u->ended_ms);
	if (want->keys)
		lease_others(lease, answer, u->ended_ms);
	etcdpb__lease_time_to_live_response__free_unpacked(answer, NULL);
	return true;
}

/* One answer; false when it ends the round. */
bool etcd_ttl_take(void *arg, const struct etcd_want *want, const struct etcd_unary *u)
{
	struct etcd *e = arg;
	struct etcd_lease *lease = etcd_store_lease(e->store, want->lease);
	struct etcd_lease_sight before, after;

	if (!lease) /* all its keys went meanwhile */
		return u->code != GRPC_NONE;
	lease->busy = false;
	before = etcd_lease_look(lease);
	if (u->code == GRPC_PERMISSION_DENIED) {
		/* Newer servers refuse it to whoever may not read all keys on the lease. */
		lease->denied = true;
		lease->read_ms = u->ended_ms;
	} else if (u->code == GRPC_NOT_FOUND) {
		etcd_lease_read(lease, -1, 0, u->ended_ms);
	} else if (u->code != GRPC_OK || !take_times(lease, want, u)) {
		return false;
	}
	after = etcd_lease_look(lease);
	if (before.read != after.read || before.denied != after.denied)
		e->schedule.recount = true;
	if (etcd_lease_looks_other(&before, &after))
		etcd_store_touch(e->store, lease);
	return true;
}

static int run_all(struct ttl_run *run, int64_t deadline_ms, struct err *err)
{
	int rc = etcd_many_run(run->e, run->wants, run->n, deadline_ms, etcd_ttl_take, run->e, err);
	size_t i;

	/* What was not asked in the end may be asked again. */
	for (i = 0; i < run->n; i++) {
		struct etcd_lease *lease = etcd_store_lease(run->e->store, run->wants[i].lease);

		if (lease)
			lease->busy = false;
	}
	free(run->wants);
	return rc;
}

/* ---- what is read next ---- */

struct wanted_ids {
	struct str ids; /* each ended by NUL */
};

static void wanted_add(void *arg, const char *id)
{
	struct wanted_ids *wanted = arg;

	str_add_mem(&wanted->ids, id, strlen(id) + 1);
}

static bool others_are_old(const struct etcd *e, const struct etcd_lease *lease)
{
	return lease->others_ms == TIME_UNKNOWN ||
	       http_loop_now_ms(e->loop) - lease->others_ms >= OTHERS_EVERY_MS;
}

static void want_path(struct ttl_run *run, const char *path)
{
	struct etcd_lease *leases[64];
	struct str raw;
	size_t i, n;

	str_init(&raw, 1024 * 1024);
	if (!text_unescape(&raw, path)) {
		n = etcd_store_path_leases(
			run->e->store, raw.s, raw.len, leases, ARRAY_LEN(leases));
		for (i = 0; i < n; i++)
			run_want(run, leases[i], others_are_old(run->e, leases[i]));
	}
	str_release(&raw);
}

static void want_shown(struct ttl_run *run, size_t most)
{
	struct wanted_ids wanted;
	size_t at;

	str_init(&wanted.ids, 4 * 1024 * 1024);
	round_each_wanted(run->e->r, wanted_add, &wanted);
	for (at = 0; at < wanted.ids.len && run->n < most; at += strlen(wanted.ids.s + at) + 1) {
		const char *slash = strchr(wanted.ids.s + at, '/');

		if (slash)
			want_path(run, slash + 1);
	}
	str_release(&wanted.ids);
}

/* Whether what is known of a lease is about to lose its worth: never read, or near or past the end
 * that was read. */
static bool lease_is_due(const struct etcd_lease *lease, int64_t now_ms)
{
	int64_t left;

	if (lease->read_ms == TIME_UNKNOWN)
		return true;
	if (lease->gone || lease->denied || lease->deadline_ms == TIME_UNKNOWN)
		return false;
	left = lease->deadline_ms - now_ms;
	return left < lease->granted_ms / 3 && now_ms - lease->read_ms >= ETCD_TTL_EVERY_MS;
}

/* One walk over (a part of) all leases: those that are due, the leaders' first. */
static void want_due(struct ttl_run *run, size_t most, bool leaders)
{
	struct etcd_schedule *s = &run->e->schedule;
	int64_t now_ms = http_loop_now_ms(run->e->loop);
	struct etcd_lease *lease = NULL;
	size_t pos = s->pos, looked;

	for (looked = 0; looked < SCAN_MOST && run->n < most; looked++) {
		lease = etcd_store_next_lease(run->e->store, &pos, lease);
		if (!lease) {
			pos = 0;
			if (looked >= etcd_store_leases(run->e->store))
				break;
			lease = etcd_store_next_lease(run->e->store, &pos, NULL);
			if (!lease)
				break;
		}
		if (lease_is_due(lease, now_ms) && etcd_lease_leads(lease) == leaders)
			run_want(run, lease, false);
	}
	s->pos = pos;
}

/*
 * The rest in turn, a few each second: what was read stays true until near its end, so that only
 * renewals before it are learnt so.
 */
static void want_turn(struct ttl_run *run, size_t most)
{
	struct etcd_schedule *s = &run->e->schedule;
	int64_t now_ms = http_loop_now_ms(run->e->loop);
	struct etcd_lease *lease = NULL;
	size_t looked;

	for (looked = 0; looked < SCAN_MOST && run->n < most; looked++) {
		lease = etcd_store_next_lease(run->e->store, &s->pos, lease);
		if (!lease) {
			s->pos = 0;
			break;
		}
		if (lease->read_ms == TIME_UNKNOWN ||
			now_ms - lease->read_ms >= 2 * ETCD_TTL_EVERY_MS)
			run_want(run, lease, false);
	}
}

static void want_all(struct ttl_run *run, size_t most, bool leaders)
{
	bool keys = etcd_store_keys(run->e->store) <= OTHERS_MOST;
	struct etcd_lease *lease = NULL;
	size_t pos = 0;

	while (run->n < most && (lease = etcd_store_next_lease(run->e->store, &pos, lease)))
		if (lease->read_ms == TIME_UNKNOWN && etcd_lease_leads(lease) == leaders)
			run_want(run, lease, keys);
}

static void plan_one_shot(struct ttl_run *run)
{
	size_t n = etcd_store_leases(run->e->store), early = run->e->schedule.n_early;
	size_t most = n <= ONE_SHOT_ALL ? n : early < ONE_SHOT_SOME ? ONE_SHOT_SOME - early : 0;

	want_shown(run, n);
	want_all(run, most, true);
	want_all(run, most, false);
}

static void plan_tick(struct ttl_run *run, int64_t since_ms)
{
	struct etcd_schedule *s = &run->e->schedule;
	int64_t budget = source_option_int(run->e->config, "lease_budget");
	int64_t most = budget * since_ms / 1000, extra;

	extra = s->burst < BURST_TICK ? s->burst : BURST_TICK;
	extra -= (int64_t)s->n_early;
	s->burst -= (int64_t)s->n_early;
	s->n_early = 0;
	if (extra < 0)
		extra = 0;
	if (most < 1)
		most = 1;
	want_shown(run, (size_t)most);
	want_due(run, (size_t)(most + extra), true);
	want_due(run, (size_t)(most + extra), false);
	want_turn(run, run->n + TURN_TICK);
	if ((int64_t)run->n > most)
		s->burst -= (int64_t)run->n - most;
}

size_t etcd_ttl_early_most(const struct etcd *e)
{
	return round_one_shot(e->r) ? ONE_SHOT_SOME : BURST_TICK;
}

/* How many were never read, and how many are denied to us. */
static void count_leases(struct etcd *e)
{
	struct etcd_schedule *s = &e->schedule;
	struct etcd_lease *lease = NULL;
	int64_t unread = 0, denied = 0;
	size_t pos = 0;

	while ((lease = etcd_store_next_lease(e->store, &pos, lease))) {
		unread += lease->read_ms == TIME_UNKNOWN;
		denied += lease->denied;
	}
	if (unread != s->n_unread || denied != s->n_denied)
		e->self_changed = true;
	if (!denied != !s->n_denied)
		e->hidden_changed = true;
	s->n_unread = unread;
	s->n_denied = denied;
}

int etcd_ttl_tick(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	struct etcd_schedule *s = &e->schedule;
	int64_t now_ms = http_loop_now_ms(e->loop), since_ms;
	struct ttl_run run = { .e = e };
	int rc;

	since_ms = s->ticked_ms == TIME_UNKNOWN ? ETCD_TTL_EVERY_MS : now_ms - s->ticked_ms;
	if (since_ms < ETCD_TTL_EVERY_MS || !etcd_store_leases(e->store))
		return 0;
	if (s->ticked_ms == TIME_UNKNOWN)
		s->burst = BURST_FIRST;
	s->ticked_ms = now_ms;
	if (round_one_shot(e->r))
		plan_one_shot(&run);
	else
		plan_tick(&run, since_ms > 5000 ? 5000 : since_ms);
	/* Most leases are known and none is new: nothing to count. */
	if (!run.n && !s->n_unread)
		return 0;
	rc = run_all(&run, deadline_ms, err);
	if (s->recount || s->n_unread)
		count_leases(e);
	s->recount = false;
	return rc;
}
