#include "config.h"

#include "source/etcd-pack.h"
#include "base/varint.h"

#include <string.h>

enum packed_group {
	GROUP_TOLD = 1,
	GROUP_SEEN_OWN = 2,
	GROUP_ONE = 4,
	GROUP_KIND_SHIFT = 3,
};

enum packed_key {
	KEY_NAMED = 1,
	KEY_TOLD = 2,
	KEY_BESIDE = 4,
	KEY_LEADS = 8,
	KEY_LEASED = 16,
	KEY_ENDS_IN_LEASE = 32, /* the last segment is not told */
	KEY_WRITTEN_ONCE = 64,  /* mod_revision is create_revision */
};

enum {
	/* A key's byte and its five numbers; a group's byte and its two. */
	KEY_MOST = 1 + 5 * VARINT_MOST,
	GROUP_MOST = 1 + 2 * VARINT_MOST,
};

/* What stands behind the name: of a key without one, all. */
static const char *key_last(const struct etcd_key *key, size_t *ret_len)
{
	size_t at = key->group->name_len ? key->group->name_len + 1 : 0;

	*ret_len = key->key_len - at;
	return key->bytes + at;
}

static bool ends_in_lease(const struct etcd_key *key)
{
	char text[ETCD_HEX_MAX];
	const char *last;
	size_t len;

	/* The same number can be written in other ways. */
	if (!key->own || !key->group->name_len)
		return false;
	last = key_last(key, &len);
	return etcd_hex_write(text, (uint64_t)key->lease->id) == len &&
	       memcmp(text, last, len) == 0;
}

size_t etcd_pack_room(const struct etcd_group *g)
{
	size_t room = GROUP_MOST + g->name_len;
	uint32_t i;

	for (i = 0; i < g->n; i++)
		room += KEY_MOST + g->keys[i]->key_len + g->keys[i]->value_len;
	return room;
}

static unsigned char *write_bytes(unsigned char *to, const void *mem, size_t len)
{
	to = varint_put(to, len);
	memcpy(to, mem, len);
	return to + len;
}

static unsigned char *write_key(unsigned char *to, const struct etcd_key *key, bool leads)
{
	bool short_of = ends_in_lease(key), once = key->mod_revision == key->create_revision;
	const char *last;
	size_t len;

	*to++ = (unsigned char)((key->named ? KEY_NAMED : 0) | (key->told ? KEY_TOLD : 0) |
				(key->beside ? KEY_BESIDE : 0) | (leads ? KEY_LEADS : 0) |
				(key->lease ? KEY_LEASED : 0) | (short_of ? KEY_ENDS_IN_LEASE : 0) |
				(once ? KEY_WRITTEN_ONCE : 0));
	last = key_last(key, &len);
	if (!short_of)
		to = write_bytes(to, last, len);
	if (key->lease)
		to = varint_put(to, key->lease->number);
	to = varint_put(to, (uint64_t)key->create_revision);
	if (!once)
		to = varint_put(to, (uint64_t)key->mod_revision - (uint64_t)key->create_revision);
	return write_bytes(to, etcd_key_value(key), key->value_len);
}

size_t etcd_pack(struct etcd_group *g, unsigned char *to)
{
	const struct etcd_key *leader = etcd_group_leader(g);
	const unsigned char *start = to;
	uint32_t i;

	etcd_group_sort(g);
	to = write_bytes(to, g->name, g->name_len);
	*to++ = (unsigned char)((g->told ? GROUP_TOLD : 0) | (g->seen_own ? GROUP_SEEN_OWN : 0) |
				(g->n == 1 ? GROUP_ONE : 0) | g->kind << GROUP_KIND_SHIFT);
	if (g->n != 1)
		to = varint_put(to, g->n);
	for (i = 0; i < g->n; i++)
		to = write_key(
			to, g->keys[i], g->keys[i] == leader || !etcd_key_is_candidate(g->keys[i]));
	return (size_t)(to - start);
}

static const char *read_bytes(struct etcd_packed *p, uint32_t *ret_len)
{
	const char *bytes;

	*ret_len = (uint32_t)varint_take(&p->at);
	bytes = (const char *)p->at;
	p->at += *ret_len;
	return bytes;
}

void etcd_unpack(struct etcd_packed *p, const unsigned char *string)
{
	unsigned flags;

	p->at = string;
	p->name = read_bytes(p, &p->name_len);
	flags = *p->at++;
	p->told = flags & GROUP_TOLD;
	p->seen_own = flags & GROUP_SEEN_OWN;
	p->kind = (enum etcd_layout_kind)(flags >> GROUP_KIND_SHIFT);
	p->n = flags & GROUP_ONE ? 1 : (uint32_t)varint_take(&p->at);
}

void etcd_unpack_key(struct etcd_packed *p, struct etcd_packed_key *key)
{
	unsigned flags = *p->at++;

	memset(key, 0, sizeof(*key));
	key->named = flags & KEY_NAMED;
	key->told = flags & KEY_TOLD;
	key->beside = flags & KEY_BESIDE;
	key->leads = flags & KEY_LEADS;
	if (!(flags & KEY_ENDS_IN_LEASE))
		key->last = read_bytes(p, &key->last_len);
	if (flags & KEY_LEASED)
		key->lease = (uint32_t)varint_take(&p->at);
	key->create_revision = key->mod_revision = (int64_t)varint_take(&p->at);
	if (!(flags & KEY_WRITTEN_ONCE))
		key->mod_revision = (int64_t)((uint64_t)key->create_revision + varint_take(&p->at));
	key->value = read_bytes(p, &key->value_len);
}
