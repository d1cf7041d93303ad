#include "config.h"

#include "source/sim-etcd.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the built-in world's etcd is read: what etcd-read.c, etcd-ttl.c and etcd-conn.c learn of a
 * real one by requests. */

enum {
	LEASES_ALL = 200, /* with more, only what is near its end is read each second, as of a real
			     one */
	WANTED_MAX = 1024 * 1024
};

/* ---- what is kept ---- */

static enum etcd_layout_kind layout_of(const struct sim_etcd_shown *shown)
{
	static const enum etcd_layout_kind kinds[] = {
		[SIM_ETCD_AUTO] = ETCD_LAYOUT_AUTO,
		[SIM_ETCD_ELECTIONS] = ETCD_LAYOUT_ELECTION,
		[SIM_ETCD_LOCKS] = ETCD_LAYOUT_LOCK,
		[SIM_ETCD_KEYS] = ETCD_LAYOUT_KEY,
	};

	return kinds[shown->layout];
}

static void own_prefixes(struct sim_etcd_own *own)
{
	struct etcd *e = &own->e;
	size_t i;

	e->prefixes = xcalloc(own->sim->n_shown + 1, sizeof(*e->prefixes));
	for (i = 0; i < own->sim->n_shown; i++) {
		const struct sim_etcd_shown *shown = &own->sim->shown[i];

		e->prefixes[e->n_prefixes++] = (struct etcd_prefix){ .bytes = shown->prefix,
			.len = strlen(shown->prefix),
			.kind = layout_of(shown),
			.exact = shown->exact };
	}
	e->store = etcd_store_new(e->prefixes, e->n_prefixes);
	for (i = 0; i < e->n_prefixes; i++)
		if (e->prefixes[i].exact)
			etcd_store_name(e->store, e->prefixes[i].bytes, e->prefixes[i].len);
	etcd_store_live(e->store);
}

static void own_names(struct sim_etcd_own *own)
{
	const struct source_config *config = own->e.config;
	struct str raw;
	size_t i;

	str_init(&raw, ETCD_VALUE_MAX);
	for (i = 0; i < config->n_names; i++) {
		str_clear(&raw);
		if (str_eq(config->names[i].recipe, "literal") &&
			!text_unescape(&raw, config->names[i].value) && raw.len)
			etcd_store_name(own->e.store, raw.s, raw.len);
	}
	str_release(&raw);
}

struct sim_etcd_own *sim_etcd_own(struct sim_source *s)
{
	struct sim_etcd_own *own = s->own;
	struct etcd *e;
	size_t i;

	if (own)
		return own;
	s->own = own = xcalloc(1, sizeof(*own));
	own->sim = (struct sim_etcd *)s->thing;
	e = &own->e;
	e->config = s->config;
	e->term_changed_ms = e->leases_lost_ms = TIME_UNKNOWN;
	e->cluster_id = own->sim->cluster_id;
	e->n_members = own->sim->n_members;
	e->members = xcalloc(e->n_members, sizeof(*e->members));
	for (i = 0; i < e->n_members; i++) {
		e->members[i].endpoint.text = own->sim->members[i].endpoint;
		e->members[i].read_ms = TIME_UNKNOWN;
	}
	own_prefixes(own);
	own_names(own);
	return own;
}

void sim_etcd_close(struct sim_source *s)
{
	struct sim_etcd_own *own = s->own;
	size_t i;

	if (!own)
		return;
	etcd_store_free(own->e.store);
	for (i = 0; i < own->e.n_members; i++) {
		free(own->e.members[i].error);
		free(own->e.members[i].errors);
	}
	for (i = 0; i < own->e.n_alarms; i++)
		free(own->e.alarms[i]);
	free(own->e.members);
	free(own->e.prefixes);
	free(own);
	s->own = NULL;
}

/* ---- the members ---- */

/* What its status says is wrong (maintenance.go, Status). */
static char *member_errors(const struct sim_etcd *sim, const struct sim_etcd_member *m)
{
	struct str text;
	size_t i;

	str_init(&text, 256);
	for (i = 0; i < SIM_ETCD_ALARMS; i++)
		if (sim->alarms[i])
			str_addf(&text, "%smemberID:%" PRIu64 " alarm:%s ", text.len ? "; " : "",
				sim->alarms[i], sim_etcd_alarm_word((enum sim_etcd_alarm)i));
	if (!m->leader_id)
		str_addf(&text, "%s%s", text.len ? "; " : "",
			sim_etcd_error_text(SIM_ETCD_NO_LEADER));
	if (text.len)
		return str_take(&text);
	str_release(&text);
	return NULL;
}

static char *member_silence(const struct sim_etcd_member *m)
{
	struct str text;

	str_init(&text, 256);
	if (m->machine->up && !m->machine->isolated)
		str_addf(&text,
			"can't connect to %s: Connection refused. Check that the server runs, and "
			"host and port",
			m->endpoint);
	else
		str_addf(&text,
			"%s did not answer within 1.5 s: no connection came about: check the host, "
			"the port and firewalls between",
			m->endpoint);
	return str_take(&text);
}

/* From where the operator sits, whatever is not cut off from everybody can be reached. */
static bool is_heard(const struct sim_etcd *sim, int member)
{
	return sim_etcd_listens(sim, member) && !sim->members[member].machine->isolated;
}

static void ask_member(struct sim_etcd_own *own, const struct world *w, int i)
{
	const struct sim_etcd_member *m = &own->sim->members[i];
	struct etcd_member *to = &own->e.members[i];

	free(to->error);
	free(to->errors);
	to->error = to->errors = NULL;
	to->answered = is_heard(own->sim, i);
	if (!to->answered) {
		to->error = member_silence(m);
		return;
	}
	sim_etcd_member_look(w, own->sim, i);
	to->read_ms = world_now_ms(w);
	to->round_trip_ms = 1;
	to->cluster_id = own->sim->cluster_id;
	to->member_id = m->id;
	to->leader_id = m->leader_id;
	to->raft_term = (uint64_t)m->term;
	to->applied = m->applied;
	to->revision = m->revision;
	to->db_size = own->sim->db_size;
	to->version = own->sim->version;
	to->errors = member_errors(own->sim, m);
}

static void ask_alarms(struct sim_etcd_own *own)
{
	struct etcd *e = &own->e;
	char text[80];
	size_t i;

	while (e->n_alarms)
		free(e->alarms[--e->n_alarms]);
	for (i = 0; i < SIM_ETCD_ALARMS; i++) {
		if (!own->sim->alarms[i])
			continue;
		snprintf(text, sizeof(text), "%s member:%" PRIx64,
			sim_etcd_alarm_word((enum sim_etcd_alarm)i), own->sim->alarms[i]);
		e->alarms[e->n_alarms++] = xstrdup(text);
	}
}

static int no_member(const struct etcd *e, struct err *err)
{
	size_t i;

	for (i = 0; i < e->n_members; i++)
		if (e->members[i].answered && !e->members[i].leader_id)
			return err_set(err, ERR_BUSY,
				"%s answers, and knows no leader: the cluster has lost its quorum, "
				"or elects",
				e->members[i].endpoint.text);
	for (i = 0; i < e->n_members; i++)
		if (e->members[i].answered)
			return err_set(err, ERR_TIMEOUT,
				"%s answers other requests, and one not within %d.0 s: it may have "
				"lost its quorum, or its disk hangs. Check etcdctl endpoint "
				"status, and the disk",
				e->members[i].endpoint.text, SIM_PATIENCE_S);
	return etcd_none_answers(e, e->current, ERR_CONNECT, err);
}

int sim_etcd_connect(struct sim_etcd_own *own, const struct world *w, struct err *err)
{
	struct etcd *e = &own->e;
	size_t i;

	for (i = 0; i < e->n_members; i++)
		ask_member(own, w, (int)i);
	ask_alarms(own);
	/* A term that rose before we first looked was not seen to rise. */
	if (e->term && own->sim->term > e->term)
		e->term_changed_ms = world_now_ms(w);
	e->term = own->sim->term;
	for (i = 0; i < e->n_members; i++) {
		size_t at = (e->current + i) % e->n_members;

		if (!is_heard(own->sim, (int)at) || !sim_etcd_serves(w, own->sim, (int)at))
			continue;
		e->current = at;
		e->connected = true;
		return 0;
	}
	e->connected = false;
	return no_member(e, err);
}

/* ---- the keys ---- */

static struct etcd_kv kv_of(const struct sim_etcd_event *event)
{
	return (struct etcd_kv){ .key = event->key,
		.key_len = strlen(event->key),
		.value = event->value ? event->value : "",
		.value_len = event->value ? strlen(event->value) : 0,
		.create_revision = event->create_revision,
		.mod_revision = event->mod_revision,
		.lease = event->lease };
}

static bool is_shown(const struct etcd *e, const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < e->n_prefixes; i++) {
		const struct etcd_prefix *p = &e->prefixes[i];

		if (p->len <= len && memcmp(p->bytes, key, p->len) == 0 &&
			(!p->exact || p->len == len))
			return true;
	}
	return false;
}

static void put_key(struct etcd *e, const struct etcd_kv *kv)
{
	if (is_shown(e, kv->key, kv->key_len))
		etcd_store_put(e->store, kv);
}

/* What changed hands before we first looked, as far as it is not compacted. */
static void read_past(struct sim_etcd_own *own)
{
	const struct sim_etcd *sim = own->sim;
	uint64_t i = sim->n_events > sim->n_event_slots ? sim->n_events - sim->n_event_slots : 0;
	const struct sim_etcd_event *event;
	bool quiet = true;

	if (!sim->n_events)
		return;
	etcd_past_begin(&own->e);
	etcd_past_quiet(&own->e, true);
	for (; (event = sim_etcd_event(sim, i)) != NULL; i++) {
		struct etcd_kv kv = kv_of(event);

		if (quiet && event->mod_revision > sim->compacted) {
			quiet = false;
			etcd_past_quiet(&own->e, false);
		}
		if (is_shown(&own->e, kv.key, kv.key_len))
			etcd_past_add(&own->e, &kv, !event->value);
	}
	etcd_past_tell(&own->e);
}

static void read_all_keys(struct sim_etcd_own *own)
{
	const struct sim_etcd_dir *dir;
	const struct sim_etcd_key *key;

	etcd_store_clear(own->e.store);
	etcd_store_live(own->e.store);
	for (dir = own->sim->first_dir; dir; dir = dir->next)
		for (key = dir->first; key; key = key->dir_next) {
			const struct etcd_kv kv = { .key = key->name,
				.key_len = key->name_len,
				.value = key->value,
				.value_len = strlen(key->value),
				.create_revision = key->create_revision,
				.mod_revision = key->mod_revision,
				.lease = key->lease ? key->lease->id : 0 };

			put_key(&own->e, &kv);
		}
	own->seen = own->sim->n_events;
	own->e.told_all = false;
}

static void read_keys(struct sim_etcd_own *own, int64_t now_ms)
{
	const struct sim_etcd_event *event;

	etcd_store_at(own->e.store, now_ms);
	if (!own->e.pictured)
		read_past(own);
	if (!own->e.pictured ||
		(own->seen < own->sim->n_events && !sim_etcd_event(own->sim, own->seen)))
		read_all_keys(own);
	own->e.pictured = true;
	while ((event = sim_etcd_event(own->sim, own->seen)) != NULL) {
		const struct etcd_kv kv = kv_of(event);

		own->seen++;
		if (event->value)
			put_key(&own->e, &kv);
		else if (is_shown(&own->e, event->key, strlen(event->key)))
			etcd_store_delete(own->e.store, event->key, strlen(event->key));
	}
}

/* ---- the leases ---- */

int64_t sim_etcd_ttl_s(const struct world *w, const struct sim_etcd_lease *l)
{
	return sim_etcd_lease_left_ms(w, l) / 1000;
}

static void read_others(struct etcd_lease *lease, const struct sim_etcd_lease *l)
{
	const struct sim_etcd_key *key;
	struct etcd_other_keys *others;
	size_t i;

	for (i = 0; lease->others && i < lease->others->n; i++)
		free(lease->others->keys[i]);
	free(lease->others);
	lease->others = NULL;
	if (l->n_keys < 2)
		return;
	others = xcalloc(1, sizeof(*others) + l->n_keys * sizeof(others->keys[0]));
	for (key = l->keys; key; key = key->lease_next)
		others->keys[others->n++] = xstrdup(key->name);
	lease->others = others;
}

static bool is_due(const struct etcd_lease *lease, int64_t now_ms, bool all)
{
	if (lease->read_ms == TIME_UNKNOWN)
		return true;
	if (now_ms - lease->read_ms < ETCD_TTL_EVERY_MS)
		return false;
	return all || lease->busy || lease->deadline_ms - now_ms < lease->granted_ms / 3;
}

struct wanted {
	struct str ids; /* each ended by NUL */
};

static void want(void *arg, const char *id)
{
	struct wanted *wanted = arg;

	str_add_mem(&wanted->ids, id, strlen(id) + 1);
}

/* Marks the leases of what is on the screen. */
static void want_shown(struct etcd *e)
{
	struct etcd_lease *leases[64];
	struct wanted wanted;
	struct str raw;
	size_t at, i, n;

	str_init(&wanted.ids, WANTED_MAX);
	str_init(&raw, WANTED_MAX);
	round_each_wanted(e->r, want, &wanted);
	for (at = 0; at < wanted.ids.len; at += strlen(wanted.ids.s + at) + 1) {
		const char *slash = strchr(wanted.ids.s + at, '/');

		str_clear(&raw);
		if (!slash || text_unescape(&raw, slash + 1))
			continue;
		n = etcd_store_path_leases(e->store, raw.s, raw.len, leases, ARRAY_LEN(leases));
		for (i = 0; i < n; i++)
			leases[i]->busy = true;
	}
	str_release(&wanted.ids);
	str_release(&raw);
}

static void read_leases(struct sim_etcd_own *own, const struct world *w)
{
	const struct sim_etcd_lease *l;
	int64_t now_ms = world_now_ms(w);
	bool all = own->sim->n_heap <= LEASES_ALL;

	if (!all)
		want_shown(&own->e);
	for (l = own->sim->first_lease; l; l = l->next) {
		struct etcd_lease *lease = etcd_store_lease(own->e.store, l->id);
		struct etcd_lease_sight before, after;

		if (!lease || !is_due(lease, now_ms, all))
			continue;
		lease->busy = false;
		before = etcd_lease_look(lease);
		etcd_lease_read(lease, sim_etcd_ttl_s(w, l), l->granted_s, now_ms);
		read_others(lease, l);
		after = etcd_lease_look(lease);
		if (etcd_lease_looks_other(&before, &after))
			etcd_store_touch(own->e.store, lease);
	}
}

/* ---- telling ---- */

static void tell_degraded(const struct etcd *e)
{
	const char *first = NULL;
	size_t i, n = 0;

	for (i = 0; i < e->n_members; i++) {
		if (!e->members[i].error)
			continue;
		n++;
		first = first ? first : e->members[i].error;
	}
	if (first)
		round_degraded(
			e->r, "%zu of %zu endpoints can't be asked: %s", n, e->n_members, first);
}

int sim_etcd_tell(struct sim_source *s, struct round *r, struct err *err)
{
	struct sim_etcd_own *own = sim_etcd_own(s);
	struct etcd *e = &own->e;
	int rc;

	e->r = r;
	rc = sim_etcd_connect(own, s->world, err);
	if (!rc) {
		read_keys(own, world_now_ms(s->world));
		read_leases(own, s->world);
		etcd_note_lost(e, world_now_ms(s->world));
		tell_degraded(e);
		etcd_tell_hidden(e);
		etcd_tell(e);
		round_cost(r, 1 + e->n_members, 0, 0, 1);
	}
	etcd_tell_self(e);
	e->r = NULL;
	return rc;
}

/* ---- who is behind a claim ---- */

/* The key of a claim as it is there now; NULL: it is gone, or was made anew. */
static const struct sim_etcd_key *key_of_claim(
	const struct sim_etcd *sim, const struct singleton *row, const struct claim *c)
{
	const struct sim_etcd_key *found = NULL;
	const struct detail *key, *created;
	struct details details;
	struct str raw;

	str_init(&raw, ETCD_VALUE_MAX);
	details_init(&details);
	details_of_claim(&details, row, c);
	key = details_find(&details, DETAIL_KEY);
	created = details_find(&details, DETAIL_CREATE_REVISION);
	if (key && !key->hidden && created && !text_unescape(&raw, key->s))
		found = sim_etcd_key(sim, raw.s, raw.len);
	if (found && found->create_revision != created->i)
		found = NULL;
	details_release(&details);
	str_release(&raw);
	return found;
}

struct process *sim_etcd_behind(struct sim_source *s, const struct singleton *row, const char *key)
{
	const struct sim_etcd *sim = (const struct sim_etcd *)s->thing;
	const struct sim_etcd_key *found;
	struct process *p = NULL;
	uint32_t i;

	for (i = 0; i < row->n_claims; i++) {
		if (!str_eq(claim_key(&row->claims[i]), key))
			continue;
		found = key_of_claim(sim, row, &row->claims[i]);
		if (found)
			p = found->owner;
	}
	return p;
}
