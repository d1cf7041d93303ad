#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"

#include <stdlib.h>

/*
 * Many LeaseTimeToLive at once on one connection, each slot with a handle that is used again and
 * again. New calls are begun by the batch, when a part of the slots is free: they leave in one
 * segment (http.c), and a server that finds many requests at once answers many at once. One by one,
 * the waking of either side costs more than the call.
 */
enum {
	BATCHES = 8 /* that fill all slots; with 2, one run in five waits a third longer */
};

struct many_slot {
	struct etcd_unary u;
	struct etcd_many *many;
	struct etcd_want want;
};

struct etcd_many {
	struct etcd *e;
	int64_t deadline_ms;
	etcd_many_answer *answer;
	void *arg;
	struct etcd_want *wants;
	size_t n, cap; /* n: as far as we go */
	size_t next, ended;
	struct many_slot slots[ETCD_IN_FLIGHT];
	struct many_slot *free[ETCD_IN_FLIGHT]; /* those without a call */
	size_t n_free;
	bool done;
	enum grpc_code code; /* of the first answer that ends it */
	struct err err;
};

static void many_begin(struct etcd_many *m, struct many_slot *slot)
{
	slot->want = m->wants[m->next++];
	if (etcd_ttl_start(&slot->u, etcd_channel(m->e), slot->want.lease, slot->want.keys,
		    m->deadline_ms + ETCD_MANY_GRACE_MS, &m->err)) {
		m->ended++;
		m->n = m->next;
	}
}

static void many_fill(struct etcd_many *m)
{
	if (BATCHES * m->n_free < ETCD_IN_FLIGHT)
		return;
	if (http_loop_now_ms(m->e->loop) > m->deadline_ms)
		m->n = m->next;
	while (m->n_free && m->next < m->n && !m->err.code)
		many_begin(m, m->free[--m->n_free]);
}

static void many_ended(struct etcd_unary *u)
{
	struct many_slot *slot = u->arg;
	struct etcd_many *m = slot->many;

	m->ended++;
	m->free[m->n_free++] = slot;
	if (!m->answer(m->arg, &slot->want, u) && !m->err.code) {
		m->code = u->code;
		m->err = u->err;
		if (!m->err.code)
			err_set(&m->err, ERR_PROTO, "an answer about a lease that can't be read");
	}
	if (m->err.code)
		m->n = m->next;
	else
		many_fill(m);
	m->done = m->ended == m->n;
}

struct etcd_many *etcd_many_new(
	struct etcd *e, etcd_many_answer *answer, void *arg, int64_t deadline_ms)
{
	struct etcd_many *m = xcalloc(1, sizeof(*m));
	size_t i;

	m->e = e;
	m->answer = answer;
	m->arg = arg;
	m->deadline_ms = deadline_ms;
	m->done = true;
	for (i = 0; i < ETCD_IN_FLIGHT; i++) {
		struct many_slot *slot = &m->slots[i];

		etcd_unary_init(&slot->u, e->loop);
		slot->many = m;
		slot->u.arg = slot;
		slot->u.ended = many_ended;
		m->free[m->n_free++] = slot;
	}
	return m;
}

void etcd_many_add(struct etcd_many *m, const struct etcd_want *wants, size_t n)
{
	size_t i;

	for (i = 0; i < n && !m->err.code; i++) {
		MEM_GROW(m->wants, m->n, m->cap);
		m->wants[m->n++] = wants[i];
	}
	many_fill(m);
	m->done = m->ended == m->n;
}

void etcd_many_free(struct etcd_many *m)
{
	size_t i;

	for (i = 0; i < ETCD_IN_FLIGHT; i++)
		etcd_unary_release(&m->slots[i].u);
	free(m->wants);
	free(m);
}

int etcd_many_finish(struct etcd_many *m, bool (*work)(void *arg), void *arg, struct err *err)
{
	struct etcd *e = m->e;
	int rc = etcd_run_beside(e, &m->done, m->deadline_ms + ETCD_MANY_GRACE_MS, work, arg, err);

	if (rc) /* calls may be in flight, and the slots are about to go */
		etcd_disconnect(e, false);
	else if (m->err.code)
		rc = etcd_failed(e, m->code, &m->err, err);
	etcd_many_free(m);
	return rc;
}

int etcd_many_run(struct etcd *e, const struct etcd_want *wants, size_t n, int64_t deadline_ms,
	etcd_many_answer *answer, void *arg, struct err *err)
{
	struct etcd_many *m;

	if (!n)
		return 0;
	m = etcd_many_new(e, answer, arg, deadline_ms);
	etcd_many_add(m, wants, n);
	return etcd_many_finish(m, NULL, NULL, err);
}
