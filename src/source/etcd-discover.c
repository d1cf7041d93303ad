#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <stdlib.h>
#include <string.h>

/*
 * Without prefixes: elections and locks are found by the leases. LeaseLeases lists them,
 * LeaseTimeToLive the keys on each; a key that ends in its own lease's id names an election or a
 * lock, and that name is watched from then on. Never a read of the whole key space.
 */

enum {
	EVERY_MS = 30000,
	LOOKED_MOST = 2000,      /* leases looked at in one go */
	LOOKED_ONE_SHOT = 10000, /* ... by a command that comes once */
	AGAIN_MOST = 200,        /* leases looked at again: keys may have come on them */
};

struct ids {
	int64_t *ids;
	size_t n, cap;
};

static void ids_add(void *arg, int64_t id)
{
	struct ids *list = arg;

	MEM_GROW(list->ids, list->n, list->cap);
	list->ids[list->n++] = id;
}

static int compare_ids(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static int list_leases(struct etcd *e, struct ids *list, int64_t deadline_ms, struct err *err)
{
	struct etcd_unary u;
	int rc;

	etcd_unary_init(&u, e->loop);
	rc = etcd_leases_start(&u, etcd_channel(e), deadline_ms, err);
	if (!rc)
		rc = etcd_run(e, &u.done, deadline_ms, err);
	if (rc)
		etcd_disconnect(e, false);
	else if (u.code == GRPC_PERMISSION_DENIED)
		rc = err_set(err, ERR_DENIED,
			"%s does not let this user list leases, by which elections would be found: "
			"configure "
			"prefixes",
			e->members[e->current].endpoint.text);
	else if (u.code != GRPC_OK)
		rc = etcd_failed(e, u.code, &u.err, err);
	else
		rc = etcd_leases_read(&u, ids_add, list, err);
	etcd_unary_release(&u);
	if (!rc)
		qsort(list->ids, list->n, sizeof(*list->ids), compare_ids);
	return rc;
}

/* A name was found: it is watched from now on. */
static void found_name(struct etcd *e, const char *key, size_t len)
{
	char *own;

	if (map_get(&e->discovered, key, len) || e->discovered.n >= ETCD_NAMES_MOST)
		return;
	/* key[len] is the slash. */
	if (etcd_covers(e, key, len + 1))
		return;
	own = xstrndup(key, len);
	map_put(&e->discovered, own, len, own);
	MEM_GROW(e->prefixes, e->n_prefixes, e->cap_prefixes);
	/* With the slash behind it: the prefix of the candidates alone. */
	e->prefixes[e->n_prefixes++] = (struct etcd_prefix){
		.bytes = xstrndup(key, len + 1), .len = len + 1, .kind = ETCD_LAYOUT_AUTO
	};
	etcd_store_prefixes(e->store, e->prefixes, e->n_prefixes);
	etcd_scope_add(e, key, len + 1, false);
}

static void found_key(struct etcd *e, int64_t lease, const char *key, size_t len)
{
	size_t at = len;
	uint64_t number;

	while (at > 0 && key[at - 1] != '/')
		at--;
	if (at < 2 || !etcd_hex(key + at, len - at, &number) || number != (uint64_t)lease)
		return;
	found_name(e, key, at - 1);
}

static bool found_answer(void *arg, const struct etcd_want *want, const struct etcd_unary *u)
{
	Etcdpb__LeaseTimeToLiveResponse *answer;
	struct etcd *e = arg;
	size_t i;

	/* What we may not see does not keep us from the rest. */
	if (u->code == GRPC_PERMISSION_DENIED || u->code == GRPC_NOT_FOUND)
		return true;
	if (u->code != GRPC_OK)
		return false;
	answer = etcdpb__lease_time_to_live_response__unpack(
		NULL, u->answer.len, (const uint8_t *)u->answer.s);
	if (!answer)
		return false;
	for (i = 0; i < answer->n_keys; i++)
		found_key(e, want->lease, (const char *)answer->keys[i].data, answer->keys[i].len);
	etcdpb__lease_time_to_live_response__free_unpacked(answer, NULL);
	return true;
}

static bool was_seen(const struct etcd *e, int64_t id)
{
	return e->n_seen && bsearch(&id, e->seen, e->n_seen, sizeof(*e->seen), compare_ids);
}

/* Chooses which leases to look at: the new ones, and some of the others in turn; ids keeps those
 * that count as seen then. */
static size_t choose(struct etcd *e, struct ids *list, struct etcd_want *wants, size_t most)
{
	size_t i, kept = 0, n = 0, again = 0, turn = list->n ? e->turn_seen % list->n : 0;

	e->n_discover_left = 0;
	for (i = 0; i < list->n; i++) {
		int64_t id = list->ids[i];
		bool seen = was_seen(e, id);

		if (!seen && n >= most) {
			e->n_discover_left++;
			continue;
		}
		if (!seen || (i >= turn && again < AGAIN_MOST)) {
			wants[n++] = (struct etcd_want){ .lease = id, .keys = true };
			again += seen;
		}
		list->ids[kept++] = id;
	}
	e->turn_seen = turn + AGAIN_MOST < list->n ? turn + AGAIN_MOST : 0;
	list->n = kept;
	return n;
}

static bool is_time(const struct etcd *e)
{
	int64_t now_ms = http_loop_now_ms(e->loop);

	return e->discovered_ms == TIME_UNKNOWN || e->n_discover_left > 0 ||
	       now_ms - e->discovered_ms >= EVERY_MS;
}

int etcd_discover(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	size_t most = round_one_shot(e->r) ? LOOKED_ONE_SHOT : LOOKED_MOST;
	struct ids list = { NULL, 0, 0 };
	struct etcd_want *wants;
	int rc;

	if (!is_time(e))
		return 0;
	rc = list_leases(e, &list, deadline_ms, err);
	if (rc) {
		free(list.ids);
		return rc;
	}
	wants = xcalloc(most + AGAIN_MOST, sizeof(*wants));
	rc = etcd_many_run(
		e, wants, choose(e, &list, wants, most), deadline_ms, found_answer, e, err);
	free(wants);
	if (rc) {
		free(list.ids);
		return rc;
	}
	free(e->seen);
	e->seen = list.ids;
	e->n_seen = list.n;
	e->discovered_ms = http_loop_now_ms(e->loop);
	e->self_changed = true;
	return 0;
}
