#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"

#include <stdlib.h>

/*
 * The first picture of a large key space takes the server as long as it takes us to tell and to
 * judge it. Done one after the other that is twice the time; here it is done beside.
 */

enum {
	TELL_MOST = 256, /* between two looks at the network */
	JUDGE_MOST = 256,
	WANTS_MOST = 256,
};

struct etcd_early {
	int64_t deadline_ms;
	size_t wanted, most;    /* leases */
	struct str last;        /* the last key of those whose times are asked for */
	struct etcd_many *many; /* calls about them; NULL: none yet */
};

static void note_wanted(void *arg, const char *id)
{
	(void)id;
	*(bool *)arg = true;
}

void etcd_early_begin(struct etcd *e, int64_t deadline_ms)
{
	bool wanted = false;

	etcd_early_end(e);
	/* What was told of a picture that was never finished. */
	if (e->begun)
		round_abandon(e->r);
	e->begun = false;
	e->schedule.n_early = 0;
	/* A picture that is there is replaced as a whole, or not at all. */
	if (e->told_ever)
		return;
	e->early = xcalloc(1, sizeof(*e->early));
	str_init(&e->early->last, ETCD_FIELD_MAX);
	e->early->deadline_ms = deadline_ms;
	e->early->most = etcd_ttl_early_most(e);
	round_each_wanted(e->r, note_wanted, &wanted);
	if (round_one_shot(e->r) && !wanted)
		etcd_store_forget_told(e->store);
	/* Whose memory it is to be judged with, the session learns from the source's own facts. */
	if (e->self_changed)
		etcd_tell_self(e);
}

bool etcd_early_work(struct etcd *e, const char *last, size_t last_len)
{
	bool read, told, judged;

	if (!e->early || !last_len)
		return false;
	/* The console reads the other times later on; a command must have them first. */
	read = round_one_shot(e->r) || e->early->wanted < e->early->most;
	told = etcd_tell_some(e, last, last_len, read, TELL_MOST);
	judged = round_use_time(e->r, JUDGE_MOST);
	return told || judged;
}

static bool early_beside(void *arg)
{
	struct etcd *e = arg;

	return etcd_early_work(e, e->early->last.s, e->early->last.len);
}

void etcd_early_leases(struct etcd *e, const char *last, size_t last_len)
{
	struct etcd_early *early = e->early;
	struct etcd_want wants[WANTS_MOST];
	struct etcd_lease *lease;
	size_t n = 0;

	if (!early || early->wanted == early->most)
		return;
	if (!early->many)
		early->many = etcd_many_new(e, etcd_ttl_take, e, early->deadline_ms);
	while (early->wanted < early->most &&
		(lease = etcd_store_next_unread(e->store, last, last_len)) != NULL) {
		lease->busy = true;
		early->wanted++;
		wants[n++] = (struct etcd_want){ .lease = lease->id };
		if (n < WANTS_MOST)
			continue;
		etcd_many_add(early->many, wants, n);
		n = 0;
	}
	etcd_many_add(early->many, wants, n);
	str_clear(&early->last);
	str_add_mem(&early->last, last, last_len);
	e->schedule.n_early = early->wanted;
}

int etcd_early_wait(struct etcd *e, struct err *err)
{
	struct etcd_many *many = e->early ? e->early->many : NULL;

	if (!many)
		return 0;
	e->early->many = NULL;
	return etcd_many_finish(many, early_beside, e, err);
}

void etcd_early_end(struct etcd *e)
{
	struct err err = { 0 };

	if (!e->early)
		return;
	/* Only where the reading failed. Of a connection that was given up no answer comes. */
	if (e->early->many && e->connected)
		etcd_early_wait(e, &err);
	else if (e->early->many)
		etcd_many_free(e->early->many);
	str_release(&e->early->last);
	free(e->early);
	e->early = NULL;
}
