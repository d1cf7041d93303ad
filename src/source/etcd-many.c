#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"

#include <stdlib.h>

/*
 * Many LeaseTimeToLive at once on one connection, each slot with a handle that is used again and
 * again. New calls are begun by the batch, when half of the slots are free: they leave in one
 * segment (http.c), and a server that finds many requests at once answers many at once. One by one,
 * the waking of either side costs more than the call.
 */

struct many_slot {
	struct etcd_unary u;
	struct many_run *run;
	struct etcd_want want;
};

struct many_run {
	struct etcd *e;
	const struct etcd_many *many;
	struct many_slot *slots;
	struct many_slot **free; /* those without a call */
	size_t n_slots, n_free;
	size_t n, next, ended; /* n: as far as we go */
	bool done;
	enum grpc_code code; /* of the first answer that ends the run */
	struct err err;
};

static void many_begin(struct many_run *run, struct many_slot *slot)
{
	slot->want = run->many->wants[run->next++];
	if (etcd_ttl_start(&slot->u, etcd_channel(run->e), slot->want.lease, slot->want.keys,
		    run->many->deadline_ms + ETCD_MANY_GRACE_MS, &run->err)) {
		run->ended++;
		run->n = run->next;
	}
}

/* Begins as many calls as there are free slots. */
static void many_fill(struct many_run *run)
{
	if (http_loop_now_ms(run->e->loop) > run->many->deadline_ms)
		run->n = run->next;
	while (run->n_free && run->next < run->n && !run->err.code)
		many_begin(run, run->free[--run->n_free]);
}

static void many_ended(struct etcd_unary *u)
{
	struct many_slot *slot = u->arg;
	struct many_run *run = slot->run;

	run->ended++;
	run->free[run->n_free++] = slot;
	if (!run->many->answer(run->many->arg, &slot->want, u) && !run->err.code) {
		run->code = u->code;
		run->err = u->err;
		if (!run->err.code)
			err_set(&run->err, ERR_PROTO, "an answer about a lease that can't be read");
	}
	if (run->err.code)
		run->n = run->next;
	else if (2 * run->n_free >= run->n_slots)
		many_fill(run);
	run->done = run->ended == run->n;
}

int etcd_many_run(struct etcd *e, const struct etcd_many *many, struct err *err)
{
	struct many_run run = { .e = e, .many = many, .n = many->n };
	size_t i, n = many->n < ETCD_IN_FLIGHT ? many->n : ETCD_IN_FLIGHT;
	int rc;

	if (!many->n)
		return 0;
	run.slots = xcalloc(n, sizeof(*run.slots));
	run.free = xcalloc(n, sizeof(struct many_slot *));
	run.n_slots = run.n_free = n;
	for (i = 0; i < n; i++) {
		struct many_slot *slot = &run.slots[i];

		etcd_unary_init(&slot->u, e->loop);
		slot->run = &run;
		slot->u.arg = slot;
		slot->u.ended = many_ended;
		run.free[i] = slot;
	}
	many_fill(&run);
	run.done = run.ended == run.n;
	rc = etcd_run(e, &run.done, many->deadline_ms + ETCD_MANY_GRACE_MS, err);
	if (rc) /* calls may be in flight, and the slots are about to go */
		etcd_disconnect(e, false);
	else if (run.err.code)
		rc = etcd_failed(e, run.code, &run.err, err);
	for (i = 0; i < n; i++)
		etcd_unary_release(&run.slots[i].u);
	free(run.slots);
	free(run.free);
	return rc;
}
