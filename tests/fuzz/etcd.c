#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "io/etcd.pb-c.h"
#include "model/singleton.h"
#include "source/etcd-rpc.h"
#include "source/etcd-store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A watch's answers, as a hostile etcd may send them, into a store; and every other message that is
 * unpacked. */

static void no_answer(void *arg, const struct etcd_watch_answer *a)
{
	(void)arg;
	(void)a;
}

/* The same events into two: names of the second are laid down after each telling. */
struct two {
	struct etcd_store *awake, *laid;
};

static void to_stores(void *arg, const struct etcd_watch_answer *a, const struct etcd_event *event)
{
	struct two *two = arg;

	(void)a;
	if (event->deleted) {
		etcd_store_delete(two->awake, event->kv.key, event->kv.key_len);
		etcd_store_delete(two->laid, event->kv.key, event->kv.key_len);
	} else {
		etcd_store_put(two->awake, &event->kv);
		etcd_store_put(two->laid, &event->kv);
	}
}

static void no_group(void *arg, struct etcd_group *g, bool named)
{
	(void)arg;
	(void)named;
	if (!g->n)
		abort();
}

static void no_key(void *arg, struct etcd_key *key, const char *path, size_t len)
{
	(void)arg;
	(void)path;
	if (len < key->key_len)
		abort();
}

static void no_free(void *arg, const char *path, size_t len, enum mechanism mechanism)
{
	(void)arg;
	(void)path;
	(void)len;
	(void)mechanism;
}

static void no_drop(void *arg, const char *path, size_t len)
{
	(void)arg;
	(void)path;
	(void)len;
}

static void no_lease(void *arg, int64_t id)
{
	(void)arg;
	(void)id;
}

static struct etcd_store *store_new(const struct etcd_prefix *prefix)
{
	struct etcd_store *store = etcd_store_new(prefix, 1);

	etcd_store_name(store, "a/b", 3);
	etcd_store_live(store);
	return store;
}

static void check_store(const uint8_t *data, size_t size)
{
	static const struct etcd_watch_handler handler = { .answer = no_answer,
		.event = to_stores };
	static const struct etcd_teller teller = {
		.group = no_group, .key = no_key, .free = no_free, .drop = no_drop
	};
	struct etcd_prefix prefix = { .len = 0, .kind = ETCD_LAYOUT_AUTO, .bytes = NULL };
	char empty[1] = "";
	struct two two;
	int i;

	prefix.bytes = empty;
	two.awake = store_new(&prefix);
	two.laid = store_new(&prefix);
	/* Twice: the second time everything is there already. */
	for (i = 0; i < 2; i++) {
		etcd_watch_read(data, size, &handler, &two, NULL);
		etcd_store_tell(two.awake, &teller, NULL);
		etcd_store_tell(two.laid, &teller, NULL);
		etcd_store_pack(two.laid, 64);
		if (etcd_store_keys(two.awake) != etcd_store_keys(two.laid) ||
			etcd_store_leases(two.awake) != etcd_store_leases(two.laid) ||
			etcd_store_ignored(two.awake) != etcd_store_ignored(two.laid))
			abort();
	}
	etcd_store_free(two.awake);
	etcd_store_free(two.laid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Etcdpb__StatusResponse *status;
	Etcdpb__LeaseTimeToLiveResponse *ttl;
	struct etcd_unary u = { 0 };

	check_store(data, size);
	str_init(&u.answer, 1 << 20);
	str_add_mem(&u.answer, data, size);
	etcd_leases_read(&u, no_lease, NULL, NULL);
	str_release(&u.answer);
	status = etcdpb__status_response__unpack(NULL, size, data);
	if (status)
		etcdpb__status_response__free_unpacked(status, NULL);
	ttl = etcdpb__lease_time_to_live_response__unpack(NULL, size, data);
	if (ttl)
		etcdpb__lease_time_to_live_response__free_unpacked(ttl, NULL);
	return 0;
}
