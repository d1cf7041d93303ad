#include "config.h"

#include "control/gate-run.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "control/fleet.h"
#include "control/policy.h"
#include "control/settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REFUSAL_MAX = 4000,
	KEYS_LISTED = 20,
};

__attribute__((format(printf, 2, 3))) static void refuse(
	struct gate_slot *slot, const char *fmt, ...)
{
	char text[REFUSAL_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	text_trim(text);
	plan_add(&slot->refusals, text, NULL);
}

/* ---- whom it is about ---- */

/* Somebody who could be meant: a claim, or a run that is none. */
struct candidate {
	const char *key, *identity;
};

struct candidates {
	struct candidate *items;
	size_t n, cap;
};

static void candidate_add(struct candidates *c, const char *key, const char *identity)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (strcmp(c->items[i].key, key) == 0)
			return;
	MEM_GROW(c->items, c->n, c->cap);
	c->items[c->n++] = (struct candidate){ key, identity };
}

static void collect(struct candidates *c, const struct singleton *s, enum verb verb)
{
	bool runs_only = verb_word(verb)->about == ABOUT_RUN;
	uint32_t i;

	for (i = 0; !runs_only && i < s->n_claims; i++)
		if (s->claims[i].kind == CLAIM_HOLDER ||
			(s->claims[i].kind == CLAIM_WAITER && verb != VERB_STEP_DOWN))
			candidate_add(c, claim_key(&s->claims[i]), claim_identity(&s->claims[i]));
	for (i = 0; i < s->more->n_runs; i++)
		candidate_add(c, s->more->runs[i].key, s->more->runs[i].name);
}

/*
 * Whether a word has the form of that key: "rev:7", "uid:...", "4711@1767322923000000". A prepared
 * transaction's name is made from its own key, "prepared:GID" of "prepared:GID@...", and none is
 * chosen so.
 */
static bool has_form_of(const char *word, const char *key)
{
	size_t len = strcspn(key, ":@"), digits = strspn(word, "0123456789");

	if (str_starts(key, word) && key[strlen(word)] == '@')
		return false;
	if (key[len] == ':')
		return strncmp(word, key, len + 1) == 0;
	return key[len] == '@' && digits && word[digits] == '@';
}

/*
 * Keeps those that the words mean: by key alone, or by key and else by identity. A word that can be
 * a key is one: whoever calls itself by the key of the one before it is not who was meant.
 */
static void narrow(struct candidates *c, const char *key, const char *expect)
{
	const char *wanted = key ? key : expect;
	size_t i, n = 0;

	for (i = 0; i < c->n; i++)
		if (strcmp(c->items[i].key, wanted) == 0) {
			c->items[0] = c->items[i];
			c->n = 1;
			return;
		}
	for (i = 0; !key && i < c->n; i++)
		if (strcmp(c->items[i].identity, wanted) == 0 &&
			!has_form_of(wanted, c->items[i].key))
			c->items[n++] = c->items[i];
	c->n = n;
}

/* Without words: the only holder. */
static void narrow_to_holders(struct candidates *c, const struct singleton *s)
{
	uint32_t i;

	c->n = 0;
	for (i = 0; i < s->n_claims; i++)
		if (s->claims[i].kind == CLAIM_HOLDER)
			candidate_add(c, claim_key(&s->claims[i]), claim_identity(&s->claims[i]));
}

static void list_keys(struct str *out, const struct candidates *c)
{
	size_t i;

	for (i = 0; i < c->n && i < KEYS_LISTED; i++)
		str_addf(out, "%s%s (%s)", i ? ", " : "", c->items[i].key, c->items[i].identity);
	if (c->n > KEYS_LISTED)
		str_addf(out, " and %zu more", c->n - KEYS_LISTED);
}

/* Whether the words are about somebody who is in the queue. */
static bool only_waits(const struct singleton *s, const char *wanted)
{
	uint32_t i;

	for (i = 0; i < s->n_claims; i++)
		if (s->claims[i].kind == CLAIM_WAITER &&
			(strcmp(claim_key(&s->claims[i]), wanted) == 0 ||
				strcmp(claim_identity(&s->claims[i]), wanted) == 0))
			return true;
	return false;
}

static void refuse_nobody(struct gate_slot *slot, const char *wanted, const struct candidates *all)
{
	struct str keys;

	if (!wanted) {
		refuse(slot, "nobody holds %s", slot->id);
		return;
	}
	slot->differs = true;
	str_init(&keys, REFUSAL_MAX / 2);
	list_keys(&keys, all);
	refuse(slot, "%.*s %s: %s%.*s", text_most(wanted, 300), wanted,
		only_waits(slot->row->s, wanted) ? "only waits for it" : "is not there any more",
		all->n ? "there is " : "nobody holds it", text_most(keys.s, 2000), keys.s);
	str_release(&keys);
}

static void refuse_several(
	struct gate_slot *slot, const char *wanted, const struct candidates *found)
{
	struct str keys;

	str_init(&keys, REFUSAL_MAX / 2);
	list_keys(&keys, found);
	wanted = wanted ? wanted : "the holder";
	refuse(slot, "%.*s is not one but %zu: say which by its key: %.*s", text_most(wanted, 300),
		wanted, found->n, text_most(keys.s, 2000), keys.s);
	str_release(&keys);
}

/* Raw bytes as they would be shown. The caller frees. */
static char *escaped(const char *raw)
{
	struct str text;

	str_init(&text, REFUSAL_MAX);
	text_escape_cut(&text, raw, strlen(raw), REFUSAL_MAX / 4 - 8);
	return str_take(&text);
}

/* Whom the words mean: as they are printed, or as the bytes that they are. */
static void find_meant(
	struct candidates *found, const struct gate_slot *slot, const struct gate_want *want)
{
	char *shown;

	collect(found, slot->row->s, slot->verb);
	if (!want->key && !want->expect) {
		narrow_to_holders(found, slot->row->s);
		return;
	}
	narrow(found, want->key, want->expect);
	if (found->n || want->key)
		return;
	shown = escaped(want->expect);
	collect(found, slot->row->s, slot->verb);
	narrow(found, NULL, shown);
	free(shown);
}

static void bind_claim(struct gate_slot *slot, const struct gate_want *want)
{
	const char *wanted = want->key ? want->key : want->expect;
	char *shown = wanted ? escaped(wanted) : NULL;
	struct candidates all = { .n = 0 }, found = { .n = 0 };

	collect(&all, slot->row->s, slot->verb);
	find_meant(&found, slot, want);
	if (found.n == 0) {
		/* Whom it was meant for, for the record; nobody is bound to it. */
		slot->identity = shown ? xstrdup(shown) : NULL;
		refuse_nobody(slot, shown, &all);
	} else if (found.n > 1) {
		refuse_several(slot, shown, &found);
	} else {
		slot->key = xstrdup(found.items[0].key);
		slot->identity = xstrdup(found.items[0].identity);
	}
	free(all.items);
	free(found.items);
	free(shown);
}

/* A verb about the row itself is bound by the object's uid, where there is one. */
static void bind_row(struct gate_slot *slot, const struct gate_want *want)
{
	const char *uid = singleton_text(slot->row->s, DETAIL_UID, NULL);
	const char *wanted = want->key ? want->key : want->expect;

	if (!wanted)
		return;
	if (!uid) {
		refuse(slot, "%s has no key of its own to compare with", slot->id);
		return;
	}
	if (strncmp(wanted, "uid:", 4) == 0 && strcmp(wanted + 4, uid) == 0)
		return;
	slot->differs = true;
	refuse(slot, "%s is now another object: its key is uid:%s", slot->id, uid);
}

static void check_token(struct gate_slot *slot, const struct gate_want *want)
{
	const struct singleton *s = slot->row->s;

	if (!want->has_token || (s->has_token && s->token == want->token))
		return;
	slot->differs = true;
	if (s->has_token)
		refuse(slot, "the token of %s is %" PRId64 ", not %" PRId64, slot->id, s->token,
			want->token);
	else
		refuse(slot, "%s has no token now", slot->id);
}

/* ---- what it is ---- */

static const struct act_case *find_act(
	const struct source_ops *ops, const struct singleton *s, enum verb verb)
{
	const struct act_case *act = ops->acts;
	size_t i;

	for (i = 0; i < ops->n_acts; i++, act++)
		if (act->mechanism == s->mechanism && act->verb == verb)
			return !act->has || act->has(s, verb) ? act : NULL;
	return NULL;
}

/* A row of the built-in fleet's own is a process, a machine, a change: the first word of its path.
 */
static void refuse_verb(struct gate_slot *slot, const struct singleton *s)
{
	const char *verb = verb_word(slot->verb)->word, *path = singleton_path(s);

	if (s->mechanism == MECH_PROCESS)
		refuse(slot, "%s does not work on this %.*s", verb, (int)strcspn(path, "/"), path);
	else
		refuse(slot, "%s does not work on %s", verb, mechanism_word(s->mechanism)->word);
}

static void bind_target(struct gate_slot *slot, const struct gate_want *want)
{
	const struct singleton *s = slot->row->s;

	slot->act = find_act(slot->session->config->ops, s, slot->verb);
	if (!slot->act) {
		refuse_verb(slot, s);
		return;
	}
	if (verb_word(slot->verb)->about == ABOUT_ROW)
		bind_row(slot, want);
	else
		bind_claim(slot, want);
	check_token(slot, want);
}

void gate_bind(struct gate_slot *slot, struct fleet *fleet, const struct gate_place *place,
	const struct gate_want *want)
{
	const struct settings *settings = fleet_settings(fleet);
	size_t len = strcspn(want->id, "/");

	slot->verb = want->verb;
	slot->id = xstrdup(want->id);
	slot->prod = true;
	slot->session = fleet_session(fleet, want->id, len);
	if (!slot->session && strncmp(want->id, "role/", 5) == 0) {
		refuse(slot, "%.200s is a role: act on one of its witnesses, by that one's id",
			want->id);
		return;
	}
	if (!slot->session) {
		refuse(slot, "there is no source %.*s", (int)(len < 200 ? len : 200), want->id);
		return;
	}
	slot->past = place->past;
	if (slot->past)
		gate_policy(slot, fleet, SOURCE_OK, GATE_WAY_COMMAND, &slot->refusals);
	slot->prod = slot->verb != VERB_ASK && policy_is_prod(slot->session->config->environment);
	slot->row = place->row;
	slot->snap = place->snap;
	slot->cross = place->cross;
	slot->role = role_of(settings->roles, settings->n_roles, slot->id);
	if (slot->row)
		bind_target(slot, want);
	slot->ask =
		policy_ask(slot->verb, slot->session->config->environment, slot->identity != NULL);
	slot->order = (struct order){
		.verb = slot->verb,
		.s = slot->row ? slot->row->s : NULL,
		.key = slot->key,
		.identity = slot->identity,
	};
}

bool gate_knows(struct fleet *fleet, const struct board *board, const char *id, enum verb verb)
{
	const struct session *s = fleet_session(fleet, id, strcspn(id, "/"));
	const struct row *row = board_find(board, id, NULL);

	return s && row && find_act(s->config->ops, row->s, verb);
}

void gate_slot_release(struct gate_slot *slot)
{
	plan_list_release(&slot->refusals);
	plan_release(&slot->plan);
	effect_release(&slot->effect);
	forecast_unref(slot->forecast);
	str_release(&slot->text);
	str_release(&slot->find_out);
	free(slot->id);
	free(slot->key);
	free(slot->identity);
}

void gate_policy(const struct gate_slot *slot, struct fleet *fleet, enum source_state state,
	enum gate_way way, struct plan_list *reasons)
{
	const struct source_config *config = slot->session->config;
	struct policy_facts facts = {
		.record = fleet_settings(fleet)->past,
		.past = slot->past,
		.read_only = fleet_settings(fleet)->read_only,
		.source = config->name,
		.protect = config->protect,
		.state = state,
		.armed_ms = session_armed_ms(slot->session),
		.way = way,
		.verb = slot->verb,
	};

	policy_check(&facts, reasons);
}
