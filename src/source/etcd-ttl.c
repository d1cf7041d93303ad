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
	SCAN_MOST = 20000, /* leases looked at in one tick */
	OTHERS_KEPT = 64,
	RENEWED_JUMP_MS = 1500,
};

void etcd_lease_read(struct etcd_lease *lease, int64_t ttl_s, int64_t granted_s, int64_t now_ms)
{
	int64_t deadline_ms, before_ms = lease->deadline_ms;
	bool known = lease->read_ms != TIME_UNKNOWN && before_ms != TIME_UNKNOWN;

	lease->read_ms = now_ms;
	lease->denied = lease->failed = false;
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

static void lease_others(struct etcd_lease *lease, const Etcdpb__LeaseTimeToLiveResponse *answer)
{
	size_t i, n = answer->n_keys < OTHERS_KEPT ? answer->n_keys : OTHERS_KEPT;
	struct etcd_other_keys *others;

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

/* ---- one round of calls ---- */

struct ttl_want {
	int64_t id;
	bool keys;
};

struct ttl_slot {
	struct etcd_unary u;
	struct ttl_run *run;
	struct ttl_want want;
	bool busy;
};

struct ttl_run {
	struct etcd *e;
	struct ttl_want *wants;
	size_t n, cap, next, ended, planned;
	struct ttl_slot *slots;
	size_t n_slots;
	int64_t deadline_ms;
	bool done;
	enum grpc_code code; /* of the first answer that ends the round */
	struct err err;
};

static void run_want(struct ttl_run *run, struct etcd_lease *lease, bool keys)
{
	if (lease->busy)
		return;
	lease->busy = true;
	MEM_GROW(run->wants, run->n, run->cap);
	run->wants[run->n++] = (struct ttl_want){ .id = lease->id, .keys = keys };
}

static void run_take(struct ttl_run *run, struct ttl_slot *slot)
{
	struct etcd *e = run->e;
	struct etcd_lease *lease = etcd_store_lease(e->store, slot->want.id);
	Etcdpb__LeaseTimeToLiveResponse *answer;

	if (!lease) /* all its keys went meanwhile */
		return;
	lease->busy = false;
	if (slot->u.code == GRPC_PERMISSION_DENIED) {
		/* Newer servers refuse it to whoever may not read all keys on the lease. */
		lease->denied = true;
		lease->read_ms = slot->u.ended_ms;
		e->schedule.n_denied++;
	} else if (slot->u.code == GRPC_NOT_FOUND) {
		etcd_lease_read(lease, -1, 0, slot->u.ended_ms);
	} else if (slot->u.code == GRPC_OK) {
		answer = etcdpb__lease_time_to_live_response__unpack(
			NULL, slot->u.answer.len, (const uint8_t *)slot->u.answer.s);
		if (!answer)
			return;
		etcd_lease_read(lease, answer->ttl, answer->grantedttl, slot->u.ended_ms);
		if (slot->want.keys)
			lease_others(lease, answer);
		etcdpb__lease_time_to_live_response__free_unpacked(answer, NULL);
	} else {
		return;
	}
	e->schedule.n_read++;
	etcd_store_touch(e->store, lease);
}

static void run_more(struct ttl_run *run, struct ttl_slot *slot);

static void run_ended(struct etcd_unary *u)
{
	struct ttl_slot *slot = u->arg;
	struct ttl_run *run = slot->run;
	bool fatal = u->code != GRPC_OK && u->code != GRPC_PERMISSION_DENIED &&
		     u->code != GRPC_NOT_FOUND;

	slot->busy = false;
	run->ended++;
	run_take(run, slot);
	if (fatal && !run->err.code) {
		run->code = u->code;
		run->err = u->err;
	}
	if (!run->err.code)
		run_more(run, slot);
	else
		run->n = run->next;
	run->done = run->ended == run->n;
}

static void run_more(struct ttl_run *run, struct ttl_slot *slot)
{
	if (run->next >= run->n)
		return;
	if (http_loop_now_ms(run->e->loop) > run->deadline_ms) {
		run->n = run->next;
		return;
	}
	slot->want = run->wants[run->next++];
	slot->busy = true;
	if (etcd_ttl_start(&slot->u, etcd_channel(run->e), slot->want.id, slot->want.keys,
		    run->deadline_ms + 1000, &run->err)) {
		slot->busy = false;
		run->ended++;
		run->n = run->next;
	}
}

static int run_all(struct ttl_run *run, struct err *err)
{
	struct etcd *e = run->e;
	size_t i, n = run->n < ETCD_IN_FLIGHT ? run->n : ETCD_IN_FLIGHT;
	int rc;

	run->planned = run->n;
	if (!run->n)
		return 0;
	run->slots = xcalloc(n, sizeof(*run->slots));
	run->n_slots = n;
	for (i = 0; i < n; i++) {
		struct ttl_slot *slot = &run->slots[i];

		etcd_unary_init(&slot->u, e->loop);
		slot->run = run;
		slot->u.arg = slot;
		slot->u.ended = run_ended;
	}
	for (i = 0; i < n; i++)
		run_more(run, &run->slots[i]);
	run->done = run->ended == run->n;
	rc = etcd_run(e, &run->done, run->deadline_ms + 1000, err);
	if (rc) /* calls may be in flight, and the slots are about to go */
		etcd_disconnect(e, false);
	else if (run->err.code)
		rc = etcd_failed(e, run->code, &run->err, err);
	return rc;
}

static void run_release(struct ttl_run *run)
{
	size_t i;

	/* What was not asked in the end may be asked again. */
	for (i = 0; i < run->planned; i++) {
		struct etcd_lease *lease = etcd_store_lease(run->e->store, run->wants[i].id);

		if (lease)
			lease->busy = false;
	}
	for (i = 0; i < run->n_slots; i++)
		etcd_unary_release(&run->slots[i].u);
	free(run->slots);
	free(run->wants);
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
			run_want(run, leases[i], true);
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

/* The rest in turn: those that were read longest ago come by as the walk goes round. */
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
		if (now_ms - lease->read_ms >= 2 * ETCD_TTL_EVERY_MS)
			run_want(run, lease, false);
	}
}

static void want_all(struct ttl_run *run, size_t most, bool leaders)
{
	struct etcd_lease *lease = NULL;
	size_t pos = 0;

	while (run->n < most && (lease = etcd_store_next_lease(run->e->store, &pos, lease)))
		if (lease->read_ms == TIME_UNKNOWN && etcd_lease_leads(lease) == leaders)
			run_want(run, lease, etcd_store_leases(run->e->store) <= ONE_SHOT_ALL);
}

static void plan_one_shot(struct ttl_run *run)
{
	size_t n = etcd_store_leases(run->e->store);
	size_t most = n <= ONE_SHOT_ALL ? n : ONE_SHOT_SOME;

	want_shown(run, most);
	want_all(run, most, true);
	want_all(run, most, false);
}

static void plan_tick(struct ttl_run *run, int64_t since_ms)
{
	struct etcd_schedule *s = &run->e->schedule;
	int64_t budget = source_option_int(run->e->config, "lease_budget");
	int64_t most = budget * since_ms / 1000, extra;

	extra = s->burst < BURST_TICK ? s->burst : BURST_TICK;
	if (most < 1)
		most = 1;
	want_shown(run, (size_t)most);
	want_due(run, (size_t)(most + extra), true);
	want_due(run, (size_t)(most + extra), false);
	if (run->n < (size_t)most / 2)
		want_turn(run, (size_t)most / 2);
	if ((int64_t)run->n > most)
		s->burst -= (int64_t)run->n - most;
}

static int64_t count_unread(const struct etcd *e)
{
	struct etcd_lease *lease = NULL;
	size_t pos = 0;
	int64_t n = 0;

	while ((lease = etcd_store_next_lease(e->store, &pos, lease)))
		n += lease->read_ms == TIME_UNKNOWN;
	return n;
}

int etcd_ttl_tick(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	struct etcd_schedule *s = &e->schedule;
	int64_t now_ms = http_loop_now_ms(e->loop), since_ms, unread;
	struct ttl_run run = { .e = e, .deadline_ms = deadline_ms };
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
	rc = run_all(&run, err);
	run_release(&run);
	unread = s->n_unread || s->n_read < (int64_t)etcd_store_leases(e->store) ? count_unread(e)
										 : 0;
	if (unread != s->n_unread)
		e->self_changed = true;
	s->n_unread = unread;
	return rc;
}
