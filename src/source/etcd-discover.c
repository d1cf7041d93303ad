#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
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
			"%s does not let this user list leases, by which elections would be found, "
			"since some hold keys that it may not read: configure prefixes, or grant "
			"its role read on all of them (etcdctl role grant-permission ROLE read "
			"--prefix=true PREFIX)",
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
	own = xstrndup(key, len);
	map_put(&e->discovered, own, len, own);
	/* key[len] is the slash. Within a wider prefix it has that one's layout. */
	if (etcd_covers(e, key, len + 1)) {
		etcd_scope_add(e, key, len + 1, false);
		return;
	}
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
	if (at < 2 || !etcd_segment(key + at, len - at, lease, &number) ||
		number != (uint64_t)lease)
		return;
	found_name(e, key, at - 1);
}

/* Servers from 3.4.26 and 3.5.9 on tell nothing of a lease of which we may not read all keys. */
static void found_denied(struct etcd *e, int64_t lease)
{
	MEM_GROW(e->denied_leases, e->n_denied_leases, e->cap_denied_leases);
	e->denied_leases[e->n_denied_leases++] = lease;
}

bool etcd_discover_take(void *arg, const struct etcd_want *want, const struct etcd_unary *u)
{
	Etcdpb__LeaseTimeToLiveResponse *answer;
	struct etcd *e = arg;
	size_t i;

	/* What we may not see does not keep us from the rest. */
	if (u->code == GRPC_PERMISSION_DENIED)
		found_denied(e, want->lease);
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

static bool has_id(const int64_t *ids, size_t n, int64_t id)
{
	return n && bsearch(&id, ids, n, sizeof(*ids), compare_ids);
}

/* Those that are asked for once more now, or are no more, are not known to be denied. */
static void forget_denied(
	struct etcd *e, const struct ids *list, const struct etcd_want *wants, size_t n_wants)
{
	size_t i, k = 0, kept = 0;

	qsort(e->denied_leases, e->n_denied_leases, sizeof(*e->denied_leases), compare_ids);
	for (i = 0; i < e->n_denied_leases; i++) {
		int64_t id = e->denied_leases[i];

		while (k < n_wants && wants[k].lease < id)
			k++;
		if ((k < n_wants && wants[k].lease == id) || !has_id(list->ids, list->n, id))
			continue;
		e->denied_leases[kept++] = id;
	}
	e->n_denied_leases = kept;
}

/* Asks for the keys on the leases of a list, which becomes that of the leases whose keys are known.
 */
static int look_at(struct etcd *e, struct ids *list, int64_t deadline_ms, struct err *err)
{
	size_t most = round_one_shot(e->r) ? LOOKED_ONE_SHOT : LOOKED_MOST, n;
	struct etcd_want *wants = xcalloc(most + AGAIN_MOST, sizeof(*wants));
	int rc;

	n = choose(e, list, wants, most);
	if (e->n_denied_leases)
		forget_denied(e, list, wants, n);
	rc = etcd_many_run(e, wants, n, deadline_ms, etcd_discover_take, e, err);
	free(wants);
	return rc;
}

/*
 * Names that are known, or configured, are watched on although it can't be asked for more. Servers
 * from 3.6 on list no leases to whoever may not read all keys on all of them.
 */
static bool goes_on(struct etcd *e, int rc)
{
	e->leases_denied = rc == ERR_DENIED && e->n_scopes;
	if (!e->leases_denied)
		return false;
	e->n_denied_leases = 0;
	e->n_discover_left = 0;
	return true;
}

int etcd_discover(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	struct ids list = { NULL, 0, 0 };
	int rc;

	if (!is_time(e))
		return 0;
	rc = list_leases(e, &list, deadline_ms, err);
	if (!rc) {
		e->leases_denied = false;
		rc = look_at(e, &list, deadline_ms, err);
	} else if (goes_on(e, rc)) {
		rc = 0;
	}
	if (rc) {
		free(list.ids);
		return rc;
	}
	free(e->seen);
	e->seen = list.ids;
	e->n_seen = list.n;
	e->discovered_ms = http_loop_now_ms(e->loop);
	e->self_changed = e->hidden_changed = true;
	return 0;
}

/* ---- told ---- */

const char etcd_grant_leases[] =
	"etcdctl role grant-permission ROLE read --prefix=true PREFIX for all keys on leases, or "
	"prefixes in the config of this source";

void etcd_discover_tell(struct etcd *e)
{
	char what[200];

	if (!e->discover)
		return;
	if (e->discovered.n >= ETCD_NAMES_MOST)
		round_hidden_rows(e->r,
			"more elections and locks than can be found by their leases",
			"prefixes in the config of this source", "", NULL);
	if (e->leases_denied)
		round_hidden_rows(e->r,
			"the list of leases, since some hold keys that may not be read: elections "
			"and locks beside the known ones are not found",
			etcd_grant_leases, "", NULL);
	if (e->n_denied_leases) {
		snprintf(what, sizeof(what),
			"%zu lease%s with keys that may not be read: elections and locks on %s are "
			"not found",
			e->n_denied_leases, e->n_denied_leases == 1 ? "" : "s",
			e->n_denied_leases == 1 ? "it" : "them");
		round_hidden_rows(e->r, what, etcd_grant_leases, "", NULL);
	}
	if (e->n_discover_left) {
		snprintf(what, sizeof(what),
			"elections and locks on %" PRId64 " leases that were not looked at yet",
			e->n_discover_left);
		round_hidden_rows(e->r, what, "prefixes in the config of this source", "", NULL);
	}
}
