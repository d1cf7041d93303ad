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

static void to_store(void *arg, const struct etcd_watch_answer *a, const struct etcd_event *event)
{
	(void)a;
	if (event->deleted)
		etcd_store_delete(arg, event->kv.key, event->kv.key_len);
	else
		etcd_store_put(arg, &event->kv);
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

static void check_store(const uint8_t *data, size_t size)
{
	static const struct etcd_watch_handler handler = { .answer = no_answer, .event = to_store };
	static const struct etcd_teller teller = {
		.group = no_group, .key = no_key, .free = no_free, .drop = no_drop
	};
	struct etcd_prefix prefix = { .len = 0, .kind = ETCD_LAYOUT_AUTO, .bytes = NULL };
	struct etcd_store *store;
	char empty[1] = "";

	prefix.bytes = empty;
	store = etcd_store_new(&prefix, 1);
	etcd_store_name(store, "a/b", 3);
	etcd_store_live(store);
	/* Twice: the second time everything is there already. */
	etcd_watch_read(data, size, &handler, store, NULL);
	etcd_store_tell(store, &teller, NULL);
	etcd_watch_read(data, size, &handler, store, NULL);
	etcd_store_tell(store, &teller, NULL);
	etcd_store_free(store);
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
