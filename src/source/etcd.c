#include "config.h"

#include "source/etcd-source.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/yaml.h"

#include <stdlib.h>
#include <string.h>

enum {
	PASSWORD_MAX = 64 * 1024,
	MEMBERS_WAIT_MS = 1500,
	/* Keys of a name that rests: one with many would be made anew for each that changes. */
	PACK_MOST = 64
};

static const struct option_def prefix_fields[] = {
	{ .name = "prefix",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The beginning of the keys, as bytes: `elections/` watches all elections "
			"below it. An "
			"empty one is the whole key space." },
	{ .name = "mechanism",
		.type = OPTION_WORD,
		.words = "auto|election|lock|key",
		.fallback = "auto",
		.help = "What the keys are. `auto` tells by the keys themselves: a last segment "
			"that is the "
			"key's own lease id in hexadecimal makes a candidate, and without values "
			"it is a lock." },
	{ .name = NULL },
};

static const struct option_def options[] = {
	{ .name = "endpoints",
		.type = OPTION_LIST,
		.fallback = "http://127.0.0.1:2379",
		.help = "The members' client URLs. Without a scheme it is http, or https where ca "
			"or cert is "
			"set. Reads go to one of them; the others are asked for their status, and "
			"take over." },
	{ .name = "prefixes",
		.type = OPTION_MAPS,
		.fields = prefix_fields,
		.help = "Which keys are watched. Without prefixes and keys, elections and locks "
			"are found by "
			"the leases that their keys are on." },
	{ .name = "keys",
		.type = OPTION_LIST,
		.help = "Single keys whose value names a holder. They stay on the board when "
			"nobody holds them." },
	{ .name = "user",
		.type = OPTION_TEXT,
		.help = "The user's name, where etcd's authentication is on." },
	{ .name = "password",
		.type = OPTION_SECRET,
		.help = "Its password. Better password_file or password_env." },
	{ .name = "password_file",
		.type = OPTION_PATH,
		.help = "A file whose first line is the password." },
	{ .name = "password_env",
		.type = OPTION_TEXT,
		.help = "The name of an environment variable that holds the password." },
	{ .name = "ca",
		.type = OPTION_PATH,
		.help = "A file with the certificates of the authorities that may have issued the "
			"servers'. "
			"Without it, the system's." },
	{ .name = "cert",
		.type = OPTION_PATH,
		.help = "A file with our client certificate. Its CN is the user's name where etcd "
			"runs with "
			"--client-cert-auth and no user is set." },
	{ .name = "key", .type = OPTION_PATH, .help = "A file with its private key." },
	{ .name = "server_name",
		.type = OPTION_TEXT,
		.help = "The name that the servers' certificates must bear, where it isn't the "
			"endpoint's." },
	{ .name = "lease_budget",
		.type = OPTION_INT,
		.fallback = "100",
		.help = "How many leases' times are read per second at most, by and large. What is "
			"on the "
			"screen comes first." },
	{ .name = "history",
		.type = OPTION_INT,
		.fallback = "10000",
		.help = "How many revisions of etcd's own history are read for past hand-overs "
			"when the console "
			"starts, as far as they are not compacted. 0: none." },
	{ .name = NULL },
};

/* ---- opening ---- */

static enum etcd_layout_kind layout_kind(const char *word)
{
	if (str_eq(word, "election"))
		return ETCD_LAYOUT_ELECTION;
	if (str_eq(word, "lock"))
		return ETCD_LAYOUT_LOCK;
	return str_eq(word, "key") ? ETCD_LAYOUT_KEY : ETCD_LAYOUT_AUTO;
}

static void open_prefix(
	struct etcd *e, const char *bytes, size_t len, enum etcd_layout_kind kind, bool exact)
{
	MEM_GROW(e->prefixes, e->n_prefixes, e->cap_prefixes);
	e->prefixes[e->n_prefixes++] = (struct etcd_prefix){
		.bytes = xstrndup(bytes, len), .len = len, .kind = kind, .exact = exact
	};
}

bool etcd_covers(const struct etcd *e, const char *prefix, size_t len)
{
	size_t i;

	for (i = 0; i < e->n_prefixes; i++) {
		const struct etcd_prefix *p = &e->prefixes[i];

		if (!p->exact && p->len <= len && memcmp(p->bytes, prefix, p->len) == 0)
			return true;
	}
	return false;
}

static void open_scopes(struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_prefixes; i++)
		etcd_scope_add(e, e->prefixes[i].bytes, e->prefixes[i].len, e->prefixes[i].exact);
}

/* Bytes as they are written in ids: a backslash and two hexadecimal digits for what can't be
 * printed. */
static int open_bytes(const char *text, struct str *raw, const char *option, struct err *err)
{
	str_clear(raw);
	if (text_unescape(raw, text))
		return err_set(err, ERR_CONFIG,
			"%s: \"%s\" holds a broken escape: write \\\\ for a backslash", option,
			text);
	return 0;
}

/*
 * A name of the config is a row also when nobody holds it. So that this is known and not believed,
 * it is watched where no prefix covers it: as a key, and as an election or lock.
 */
static void open_named(struct etcd *e)
{
	struct str raw;
	size_t i;

	str_init(&raw, 65536);
	for (i = 0; i < e->config->n_names; i++) {
		const struct key_name *name = &e->config->names[i];

		str_clear(&raw);
		if (strcmp(name->recipe, "literal") != 0 || text_unescape(&raw, name->value) ||
			!raw.len)
			continue;
		open_prefix(e, raw.s, raw.len, ETCD_LAYOUT_KEY, true);
		str_add_char(&raw, '/');
		/* Within a wider prefix it has that one's layout. */
		if (!etcd_covers(e, raw.s, raw.len))
			open_prefix(e, raw.s, raw.len, ETCD_LAYOUT_AUTO, false);
		else
			etcd_scope_add(e, raw.s, raw.len, false);
	}
	str_release(&raw);
}

static int open_layout(struct etcd *e, struct err *err)
{
	const struct yaml_node *map;
	const char *key;
	struct str raw;
	int rc = 0;
	size_t i;

	str_init(&raw, 65536);
	for (i = 0; !rc && (map = source_option_map(e->config, "prefixes", i)); i++) {
		const struct yaml_node *prefix = yaml_get(map, "prefix");
		const struct yaml_node *word = yaml_get(map, "mechanism");

		rc = open_bytes(prefix && prefix->text ? prefix->text : "", &raw, "prefix", err);
		if (!rc)
			open_prefix(
				e, raw.s, raw.len, layout_kind(word ? word->text : NULL), false);
	}
	for (i = 0; !rc && (key = source_option_item(e->config, "keys", i)); i++) {
		rc = open_bytes(key, &raw, "keys", err);
		if (!rc && !raw.len)
			rc = err_set(err, ERR_CONFIG, "keys: an empty key is none of etcd's");
		if (!rc)
			open_prefix(e, raw.s, raw.len, ETCD_LAYOUT_KEY, true);
	}
	str_release(&raw);
	e->discover = !e->n_prefixes;
	open_named(e);
	open_scopes(e);
	return rc;
}

static void open_names(struct etcd *e)
{
	struct str raw;
	size_t i;

	for (i = 0; i < e->n_prefixes; i++)
		if (e->prefixes[i].exact)
			etcd_store_name(e->store, e->prefixes[i].bytes, e->prefixes[i].len);
	str_init(&raw, 65536);
	for (i = 0; i < e->config->n_names; i++) {
		str_clear(&raw);
		if (strcmp(e->config->names[i].recipe, "literal") == 0 &&
			!text_unescape(&raw, e->config->names[i].value) && raw.len)
			etcd_store_name(e->store, raw.s, raw.len);
	}
	str_release(&raw);
}

static int open_password(struct etcd *e, struct err *err)
{
	const char *text = source_option_text(e->config, "password");
	const char *file = source_option_text(e->config, "password_file");
	const char *variable = source_option_text(e->config, "password_env");
	struct str str;
	int rc = 0;

	if (variable && !text) {
		text = getenv(variable);
		if (!text)
			return err_set(err, ERR_CONFIG, "password_env names %s, which is not set",
				variable);
	}
	if (text || !file) {
		e->password = xstrdup(text ? text : "");
		return 0;
	}
	str_init(&str, PASSWORD_MAX);
	rc = fs_read(file, &str, err);
	if (!rc) {
		/* Nothing of the file stays behind, whatever stands below the first line. */
		size_t len = str.len;

		str_truncate(&str, strcspn(str.s, "\r\n"));
		e->password = xstrdup(str.s);
		if (!str.len)
			rc = err_set(err, ERR_CONFIG, "the first line of %s is empty", file);
		if (len && str.s)
			explicit_bzero(str.s, len);
	}
	if (rc)
		err_prefix(err, "password_file");
	str_release(&str);
	return rc;
}

static int open_user(struct etcd *e, struct err *err)
{
	const char *user = source_option_text(e->config, "user"), *colon;

	if (!user || !*user)
		return 0;
	/* As etcdctl takes it: NAME:PASSWORD in one. */
	colon = strchr(user, ':');
	if (colon && !source_option_text(e->config, "password")) {
		e->user = xstrndup(user, (size_t)(colon - user));
		e->password = xstrdup(colon + 1);
		return 0;
	}
	e->user = xstrdup(user);
	return open_password(e, err);
}

static void etcd_close(void *state)
{
	struct etcd *e = state;
	struct map_entry *entry;
	size_t i, pos = 0;

	if (!e)
		return;
	if (e->members)
		etcd_conn_close(e);
	etcd_store_free(e->store);
	str_release(&e->gone);
	for (i = 0; i < e->n_prefixes; i++)
		free(e->prefixes[i].bytes);
	etcd_scopes_free(e);
	free(e->seen);
	free(e->denied_leases);
	while ((entry = map_next(&e->discovered, &pos)))
		free(entry->value);
	map_release(&e->discovered);
	while (e->n_alarms)
		free(e->alarms[--e->n_alarms]);
	if (e->password)
		explicit_bzero(e->password, strlen(e->password));
	free(e->password);
	free(e->user);
	free(e->prefixes);
	free(e);
}

/* The port for the members among themselves asks for certificates of its own, and tells nothing to
 * others: not even that it is one. */
static const struct http_words etcd_words = { "ca", "cert", "key", "server_name", "endpoint",
	"Or it is the port of etcd for its peers, mostly 2380: name one of listen-client-urls, "
	"mostly 2379" };

static int etcd_open(const struct source_config *config, void **ret_state, struct err *err)
{
	struct etcd *e = xcalloc(1, sizeof(*e));
	int rc;

	e->config = config;
	e->tls = (struct http_settings){
		.ca = source_option_text(config, "ca"),
		.cert = source_option_text(config, "cert"),
		.key = source_option_text(config, "key"),
		.server_name = source_option_text(config, "server_name"),
		.words = &etcd_words,
	};
	e->term_changed_ms = e->leases_lost_ms = e->alarms_ms = TIME_UNKNOWN;
	e->schedule.ticked_ms = e->discovered_ms = e->asked_ms = e->timed_ms = TIME_UNKNOWN;
	map_init(&e->discovered);
	rc = open_layout(e, err);
	if (!rc)
		rc = open_user(e, err);
	if (!rc)
		rc = etcd_conn_open(e, err);
	if (rc) {
		etcd_close(e);
		return rc;
	}
	e->store = etcd_store_new(e->prefixes, e->n_prefixes);
	open_names(e);
	*ret_state = e;
	return 0;
}

/* ---- polling ---- */

/* A refused watch: the token may have expired, or the permissions changed. What may be seen is read
 * anew, but not for ever. */
static int poll_watch_denied(struct etcd *e, struct err *err)
{
	int64_t now_ms = http_loop_now_ms(e->loop);

	e->denied_watch = false;
	e->pictured = false;
	if (now_ms - e->denied_ms > ETCD_DENIALS_MS)
		e->denials = 0;
	e->denied_ms = now_ms;
	if (++e->denials > ETCD_DENIALS_MOST) {
		e->denials = 0;
		return err_set(err, ERR_DENIED, "%s", e->watch_error.text);
	}
	*err = e->watch_error;
	e->stale_token = e->has_token;
	return e->has_token ? ERR_AUTH : 0;
}

/* The watch ended, or told that the past which we wanted is gone: says so, and prepares for what
 * follows. */
static int poll_watch_ended(struct etcd *e, struct err *err)
{
	if (e->compacted) {
		round_event(e->r, NULL, TIME_UNKNOWN, etcd_known_revision(e), "gap",
			"etcd compacted its history before it was read: hand-overs in between are "
			"not known");
		e->pictured = false;
		etcd_watch_stop(e);
		e->compacted = e->ended_watch = e->denied_watch = false;
		return 0;
	}
	if (!e->ended_watch)
		return 0;
	e->ended_watch = false;
	etcd_watch_stop(e);
	if (e->denied_watch)
		return poll_watch_denied(e, err);
	*err = e->watch_error;
	return err->code ? (int)err->code : ERR_IO;
}

/* Brings the store up to date and keeps the watch open. */
static int poll_keys(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int rc = poll_watch_ended(e, err);

	if (!rc && e->discover)
		rc = etcd_discover(e, deadline_ms, err);
	if (!rc)
		rc = e->pictured ? etcd_read_new(e, deadline_ms, err)
				 : etcd_read_all(e, deadline_ms, err);
	if (rc || round_one_shot(e->r))
		return rc;
	if (!e->watch)
		rc = etcd_watch_start(e, err);
	else
		etcd_watch_more(e);
	return rc ? rc : etcd_watch_check(e, err);
}

/* A one-shot command waits for the other members, since nobody will ask again. */
static int poll_members(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int64_t until_ms = http_loop_now_ms(e->loop) + MEMBERS_WAIT_MS;

	if (until_ms > deadline_ms)
		until_ms = deadline_ms;
	while (round_one_shot(e->r) && !etcd_members_settled(e) &&
		http_loop_now_ms(e->loop) < until_ms) {
		int rc = etcd_step(e, until_ms, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* After a new connection: a picture of another history (restored data, another cluster) must not be
 * carried on. */
static void poll_same_history(struct etcd *e)
{
	const struct etcd_member *m = &e->members[e->current];
	int64_t known = etcd_known_revision(e);

	e->fresh = false;
	if (!m->answered)
		return;
	if (e->pictured &&
		((e->cluster_id && m->cluster_id != e->cluster_id) || m->revision < known)) {
		e->pictured = false;
		e->known_revision = known;
	}
	e->cluster_id = m->cluster_id;
}

static int poll_once(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int rc;

	e->stale_token = false;
	/* What came while nobody looked (a pause) counts before silence does. */
	http_loop_step(e->loop, -1, http_loop_now_ms(e->loop));
	rc = etcd_connect(e, deadline_ms, err);
	if (rc)
		return rc;
	if (e->token_refused && e->has_token) {
		e->stale_token = true;
		return err_set(err, ERR_AUTH, "%s does not take the token any more",
			e->members[e->current].endpoint.text);
	}
	if (e->fresh)
		poll_same_history(e);
	etcd_ask_members(e, false);
	rc = poll_keys(e, deadline_ms, err);
	if (!rc)
		rc = etcd_ttl_tick(e, deadline_ms, err);
	if (!rc)
		rc = poll_members(e, deadline_ms, err);
	if (!rc)
		rc = etcd_read_alarms(e, deadline_ms, err);
	if (!rc && (e->told_all || round_one_shot(e->r)))
		rc = etcd_history(e, deadline_ms, err);
	return rc;
}

/*
 * Many leases gone at once before their time, after a change of etcd's leader: an old leader that
 * stalled revokes what its followers renewed. Without that change it may as well be a service that
 * shuts down.
 */
void etcd_note_lost(struct etcd *e, int64_t now_ms)
{
	int64_t n = etcd_store_take_lost(e->store);

	if (!n)
		return;
	if (now_ms - e->losing_ms > ETCD_LOST_WITHIN_MS)
		e->losing = 0;
	e->losing_ms = now_ms;
	e->losing += n;
	if (e->losing < ETCD_LOST_LEAST || e->term_changed_ms == TIME_UNKNOWN ||
		now_ms - e->term_changed_ms > ETCD_LOST_TERM_MS)
		return;
	e->leases_lost = e->losing;
	e->leases_lost_ms = now_ms;
	e->self_changed = true;
}

/* The picture comes from one member; the others matter to what would happen next. */
static void poll_degraded(struct etcd *e)
{
	const struct etcd_member *bad = NULL;
	size_t i, n = 0;

	for (i = 0; i < e->n_members; i++) {
		if (!e->members[i].error)
			continue;
		n++;
		bad = bad ? bad : &e->members[i];
	}
	if (bad)
		round_degraded(e->r, "%zu of %zu endpoints can't be asked: %s", n, e->n_members,
			bad->error);
}

static void poll_tell(struct etcd *e)
{
	poll_degraded(e);
	etcd_note_lost(e, http_loop_now_ms(e->loop));
	if (etcd_store_ignored(e->store) != e->told_ignored) {
		e->told_ignored = etcd_store_ignored(e->store);
		e->self_changed = true;
	}
	/* Which cluster it is comes before what it has. */
	if (e->self_changed)
		etcd_tell_self(e);
	if (etcd_is_partial(e))
		round_partial(e->r);
	if (e->hidden_changed || !e->told_all)
		etcd_tell_hidden(e);
	if (!e->midway && (etcd_store_changed(e->store) || !e->told_all))
		etcd_tell(e);
	etcd_tell_behind(e);
	if (e->self_changed)
		etcd_tell_self(e);
	if (!round_one_shot(e->r))
		return;
	/* Nothing will be asked again: what is judged and shown next may have the memory. */
	etcd_store_clear(e->store);
	e->pictured = false;
}

/* One try on the present endpoint, and a second with a new token where the old one was refused. */
static int poll_try(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int rc = poll_once(e, deadline_ms, err);

	if (!rc || !e->stale_token || !e->user || !e->connected)
		return rc;
	etcd_watch_stop(e);
	rc = etcd_authenticate(e, deadline_ms, err);
	return rc ? rc : poll_once(e, deadline_ms, err);
}

static int etcd_poll(void *state, struct round *r, struct err *err)
{
	struct etcd *e = state;
	size_t i;
	int rc = 0;

	e->r = r;
	for (i = 0; i < e->n_members; i++) {
		int64_t now_ms = http_loop_now_ms(e->loop);
		int64_t left_ms = round_deadline_ms(r) - now_ms;

		if (i && left_ms <= 0)
			break;
		rc = poll_try(e, now_ms + left_ms / (int64_t)(e->n_members - i), err);
		if (!rc || !etcd_worth_another(rc))
			break;
		etcd_disconnect(e, true);
	}
	etcd_take_costs(e);
	if (rc)
		etcd_disconnect(e, false);
	if (rc && e->begun) {
		/* A part of a picture is none: the next poll reads it from the beginning. */
		round_abandon(r);
		e->begun = e->pictured = false;
	}
	if (!rc)
		poll_tell(e);
	else if (e->self_changed)
		etcd_tell_self(e);
	e->r = NULL;
	return rc;
}

/* ---- waiting ---- */

static bool wait_is_news(const struct etcd *e)
{
	if (e->ended_watch || e->compacted)
		return true;
	return (etcd_store_changed(e->store) && !e->midway) || e->self_changed;
}

static int etcd_wait(void *state, struct round *r, struct err *err)
{
	struct etcd *e = state;
	int rc = 0;

	(void)err;
	e->r = r;
	if (!wait_is_news(e))
		etcd_store_pack(e->store, PACK_MOST);
	while (!wait_is_news(e)) {
		enum http_step step =
			http_loop_step(e->loop, round_wake_fd(r), round_deadline_ms(r));

		if (step != HTTP_STEP_ACTIVE)
			break;
	}
	rc = wait_is_news(e);
	e->r = NULL;
	return rc;
}

const struct source_ops source_etcd = {
	.kind = "etcd",
	.summary = "elections, locks and leased keys in etcd (3.4 and newer), by its native gRPC",
	.options = options,
	.interval_ms = 1000,
	.open = etcd_open,
	.poll = etcd_poll,
	.wait = etcd_wait,
	.examine = etcd_examine,
	.close = etcd_close,
	.acts = etcd_acts,
	.n_acts = ETCD_ACTS,
};
