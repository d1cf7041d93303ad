#include "config.h"

#include "source/etcd-source.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	KEY_TEXT_MAX = 40,
	OTHERS_TOLD = 32
};

/* "rev:N", without printf: each of a hundred thousand keys has one. */
static void tell_bound(char *buf, int64_t revision)
{
	char digits[KEY_TEXT_MAX];
	uint64_t left = revision < 0 ? 0 - (uint64_t)revision : (uint64_t)revision;
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	memcpy(buf, "rev:", 4);
	buf += 4;
	if (revision < 0)
		*buf++ = '-';
	while (n)
		*buf++ = digits[--n];
	*buf = '\0';
}

static void tell_identity(struct draft *d, enum claim_kind kind, const struct etcd_key *key)
{
	char identity[KEY_TEXT_MAX], bound[KEY_TEXT_MAX];

	tell_bound(bound, key->create_revision);
	if (key->value_len) {
		draft_claim(d, kind, etcd_key_value(key), key->value_len, bound);
		return;
	}
	if (key->lease)
		snprintf(identity, sizeof(identity), "lease:%" PRIx64, (uint64_t)key->lease->id);
	else
		snprintf(identity, sizeof(identity), "no lease");
	draft_claim(d, kind, identity, strlen(identity), bound);
}

static void tell_others(struct draft *d, const struct etcd_key *key)
{
	const struct etcd_other_keys *others = key->lease->others;
	uint32_t i, told = 0, cut;

	if (!others)
		return;
	cut = others->cut;
	for (i = 0; i < others->n; i++) {
		if (strlen(others->keys[i]) == key->key_len &&
			memcmp(others->keys[i], key->bytes, key->key_len) == 0)
			continue;
		if (told++ < OTHERS_TOLD)
			draft_text(d, DETAIL_OTHER_KEY, others->keys[i]);
		else
			cut++;
	}
	if (cut)
		draft_int(d, DETAIL_OTHER_KEYS_CUT, cut);
}

static void tell_times(struct draft *d, const struct etcd_lease *lease)
{
	if (lease->granted_ms != TIME_UNKNOWN)
		draft_int(d, DETAIL_TTL_GRANTED, lease->granted_ms);
	if (lease->deadline_ms != TIME_UNKNOWN)
		draft_int(d, DETAIL_TTL_DEADLINE, lease->deadline_ms);
	if (lease->read_ms != TIME_UNKNOWN)
		draft_int(d, DETAIL_TTL_READ, lease->read_ms);
}

static void tell_lease(struct draft *d, const struct etcd_key *key, bool holds)
{
	const struct etcd_lease *lease = key->lease;

	if (!lease)
		return;
	draft_int(d, DETAIL_LEASE, lease->id);
	if (lease->denied) {
		draft_hidden(d, DETAIL_TTL_GRANTED);
		draft_hidden(d, DETAIL_TTL_DEADLINE);
		return;
	}
	if (lease->gone)
		draft_int(d, DETAIL_LEASE_GONE, 1);
	/* The holder's times are the singleton's own (tell_head). */
	if (!holds)
		tell_times(d, lease);
	if (lease->renewed_ms != TIME_UNKNOWN)
		draft_int(d, DETAIL_RENEWED, lease->renewed_ms);
	tell_others(d, key);
}

static void tell_claim(
	struct draft *d, enum claim_kind kind, const struct etcd_key *key, uint32_t position)
{
	tell_identity(d, kind, key);
	if (position)
		draft_position(d, position);
	draft_text_mem(d, DETAIL_KEY, key->bytes, key->key_len);
	draft_int(d, DETAIL_CREATE_REVISION, key->create_revision);
	draft_int(d, DETAIL_MOD_REVISION, key->mod_revision);
	tell_lease(d, key, kind == CLAIM_HOLDER);
}

/* The singleton's own facts, before any claim: its token and its lease are those of the key that
 * leads. */
static void tell_head(struct draft *d, const struct etcd_key *leader)
{
	draft_token(d, TOKEN_CREATE_REVISION, leader->create_revision);
	if (leader->lease && !leader->lease->denied)
		draft_lease(d, leader->lease->granted_ms, leader->lease->deadline_ms,
			leader->lease->read_ms);
}

/* The operator's name for a path, where the configuration has one. */
static void tell_name(const struct etcd *e, struct draft *d, const char *path, size_t len)
{
	struct str shown;
	size_t i;

	if (!e->config->n_names)
		return;
	str_init(&shown, SIZE_MAX / 4);
	text_escape(&shown, path, len);
	for (i = 0; i < e->config->n_names; i++)
		if (strcmp(e->config->names[i].recipe, "literal") == 0 &&
			strcmp(e->config->names[i].value, shown.s) == 0)
			draft_name(d, e->config->names[i].name);
	str_release(&shown);
}

static void tell_group(void *arg, struct etcd_group *g, bool named)
{
	struct etcd *e = arg;
	struct draft *d = round_draft(e->r);
	uint32_t i, position = 0;
	bool led = false;

	draft_begin(d, etcd_group_mechanism(g), e->config->name, g->name, g->name_len);
	tell_name(e, d, g->name, g->name_len);
	if (named)
		draft_int(d, DETAIL_CONFIGURED, 1);
	for (i = 0; i < g->n; i++) {
		const struct etcd_key *key = g->keys[i];

		if (!key->hex)
			continue;
		if (!led)
			tell_head(d, key);
		tell_claim(d, led ? CLAIM_WAITER : CLAIM_HOLDER, key, led ? ++position : 0);
		led = true;
	}
	round_put(e->r, draft_finish(d));
}

static void tell_key(void *arg, struct etcd_key *key, const char *path, size_t len)
{
	struct etcd *e = arg;
	struct draft *d = round_draft(e->r);

	draft_begin(d, MECH_ETCD_KEY, e->config->name, path, len);
	tell_name(e, d, path, len);
	if (key->named)
		draft_int(d, DETAIL_CONFIGURED, 1);
	tell_head(d, key);
	tell_claim(d, CLAIM_HOLDER, key, 0);
	round_put(e->r, draft_finish(d));
}

/* What may not be read is not free for that. */
static void tell_free(void *arg, const char *path, size_t len, enum mechanism mechanism)
{
	struct etcd *e = arg;
	struct draft *d = round_draft(e->r);

	if (etcd_path_is_denied(e, path, len))
		return;
	draft_begin(d, mechanism, e->config->name, path, len);
	tell_name(e, d, path, len);
	draft_int(d, DETAIL_CONFIGURED, 1);
	round_put(e->r, draft_finish(d));
}

static void tell_drop(void *arg, const char *path, size_t len)
{
	struct etcd *e = arg;
	struct str id;

	str_init(&id, SIZE_MAX / 4);
	str_addf(&id, "%s/", e->config->name);
	text_escape(&id, path, len);
	round_drop(e->r, id.s);
	str_release(&id);
}

static const struct etcd_teller teller = {
	.group = tell_group,
	.key = tell_key,
	.free = tell_free,
	.drop = tell_drop,
};

static void tell_begin(struct etcd *e)
{
	if (!e->told_all && !e->begun)
		round_begin(e->r);
	e->begun = true;
}

void etcd_tell(struct etcd *e)
{
	tell_begin(e);
	etcd_store_tell(e->store, &teller, e);
	if (!e->told_all)
		round_end(e->r);
	e->told_all = e->told_ever = true;
	e->begun = false;
}

bool etcd_tell_some(struct etcd *e, const char *last, size_t last_len, bool read, size_t most)
{
	tell_begin(e);
	return etcd_store_tell_some(e->store, &teller, e, last, last_len, read, most);
}

/* ---- the source itself ---- */

static void tell_member(struct draft *d, const struct etcd_member *m)
{
	char bound[KEY_TEXT_MAX];

	if (m->member_id)
		snprintf(bound, sizeof(bound), "member:%" PRIx64, m->member_id);
	else
		snprintf(bound, sizeof(bound), "member:?");
	draft_claim(d, CLAIM_MEMBER, m->endpoint.text, strlen(m->endpoint.text), bound);
	if (m->member_id)
		draft_int(d, DETAIL_MEMBER_ID, (int64_t)m->member_id);
	if (m->read_ms != TIME_UNKNOWN) {
		draft_int(d, DETAIL_LEADER_ID, (int64_t)m->leader_id);
		draft_int(d, DETAIL_RAFT_TERM, (int64_t)m->raft_term);
		draft_int(d, DETAIL_RAFT_APPLIED, m->applied);
		draft_int(d, DETAIL_REVISION, m->revision);
		draft_int(d, DETAIL_DB_SIZE, m->db_size);
		draft_int(d, DETAIL_ROUND_TRIP, m->round_trip_ms);
		if (m->version)
			draft_text(d, DETAIL_VERSION, m->version);
	}
	if (m->error)
		draft_text(d, DETAIL_ERROR, m->error);
	else if (m->errors)
		draft_text(d, DETAIL_ERROR, m->errors);
}

void etcd_tell_self(struct etcd *e)
{
	const struct etcd_member *now = &e->members[e->current];
	struct draft *d = round_draft(e->r);
	char server[KEY_TEXT_MAX + 64];
	size_t i;

	draft_begin(d, MECH_SOURCE, e->config->name, "", 0);
	if (now->cluster_id)
		draft_int(d, DETAIL_CLUSTER_ID, (int64_t)now->cluster_id);
	for (i = 0; i < e->n_alarms; i++)
		draft_text(d, DETAIL_ALARM, e->alarms[i]);
	if (e->term)
		draft_int(d, DETAIL_RAFT_TERM, e->term);
	if (e->term_changed_ms != TIME_UNKNOWN)
		draft_int(d, DETAIL_TERM_CHANGED, e->term_changed_ms);
	if (e->leases_lost) {
		draft_int(d, DETAIL_LEASES_LOST, e->leases_lost);
		draft_int(d, DETAIL_LEASES_LOST_AT, e->leases_lost_ms);
	}
	/* Before anything was read these are unknown, not 0. */
	if (e->pictured) {
		draft_int(d, DETAIL_KEYS_IGNORED, etcd_store_ignored(e->store));
		draft_int(d, DETAIL_LEASES_UNREAD, e->schedule.n_unread + e->n_discover_left);
	}
	for (i = 0; i < e->n_members; i++)
		tell_member(d, &e->members[i]);
	round_self(e->r, draft_finish(d));
	if (now->version) {
		snprintf(server, sizeof(server), "etcd %.*s", text_most(now->version, 60),
			now->version);
		round_server(e->r, server);
	}
	e->self_changed = false;
}

void etcd_tell_hidden(struct etcd *e)
{
	round_hidden_clear(e->r);
	etcd_scopes_tell(e);
	etcd_discover_tell(e);
	if (e->schedule.n_denied)
		round_hidden(e->r, "the time to live of leases that other keys are on as well",
			"read permission on all keys of these leases");
	etcd_scopes_tell_rest(e);
	e->hidden_changed = false;
}
