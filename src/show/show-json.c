#include "config.h"

#include "show/show.h"
#include "base/mem.h"
#include "show/json.h"

#include <stdlib.h>
#include <string.h>

struct show_json_state {
	struct json_writer j;
	bool sections;             /* inside a list of items, not an object of its own */
	const struct singleton *s; /* whose claims are told; NULL: a source's members */
	struct details details;    /* of the claim that is told */
};

static struct json_writer *json_of(struct show *show)
{
	if (!show->state) {
		struct show_json_state *state = xcalloc(1, sizeof(*state));

		jw_init(&state->j, show->out);
		details_init(&state->details);
		show->state = state;
	}
	return &((struct show_json_state *)show->state)->j;
}

static void js_free(struct show *show)
{
	struct show_json_state *state = show->state;

	out_char(show->out, '\n');
	if (state)
		details_release(&state->details);
	free(state);
	show->state = NULL;
}

static void js_head(struct show *show)
{
	struct json_writer *j = json_of(show);

	jw_map(j);
	jw_key_text(j, "schema", "baton/1");
	jw_marks(j, show->sim, show->record);
	jw_key_time(j, "at", show->now_us, 3);
}

static void js_begin(struct show *show, const char *page)
{
	js_head(show);
	if (strcmp(page, "role") == 0)
		jw_key(json_of(show), "role");
}

static void js_end(struct show *show)
{
	jw_map_end(json_of(show));
	js_free(show);
}

static void js_part(const struct show *show, struct show *copy)
{
	struct show_json_state *state = xcalloc(1, sizeof(*state));

	*state = *(const struct show_json_state *)show->state;
	state->j.out = copy->out;
	details_init(&state->details);
	copy->state = state;
}

/* Behind the last row stands what stood behind the first. */
static void js_joined(struct show *show, struct show *copy)
{
	(void)show;
	details_release(&((struct show_json_state *)copy->state)->details);
	free(copy->state);
}

static void js_section(struct show *show, enum show_section section)
{
	static const char *const keys[] = {
		[SHOW_SOURCES] = "sources",
		[SHOW_SINGLETONS] = "singletons",
		[SHOW_ROLES] = "roles",
		[SHOW_HISTORY] = "history",
	};
	struct json_writer *j = json_of(show);

	jw_key(j, keys[section]);
	jw_list(j);
	((struct show_json_state *)show->state)->sections = true;
}

static void js_section_end(struct show *show, enum show_section section)
{
	(void)section;
	jw_list_end(json_of(show));
	((struct show_json_state *)show->state)->sections = false;
}

/* An item stands in its section's list, or under a key of its own. */
static struct json_writer *js_item(struct show *show, const char *key)
{
	struct json_writer *j = json_of(show);

	if (((struct show_json_state *)show->state)->sections)
		jw_newline(j);
	else if (key)
		jw_key(j, key);
	jw_map(j);
	return j;
}

static void js_value(struct show *show, const struct detail *d)
{
	struct json_writer *j = json_of(show);

	if (d->hidden) {
		jw_null(j);
		return;
	}
	switch (detail_word(d->id)->type) {
	case DETAIL_TYPE_TEXT:
		jw_text(j, d->s);
		break;
	case DETAIL_TYPE_HEX:
		jw_hex(j, (uint64_t)d->i);
		break;
	case DETAIL_TYPE_BIG:
		jw_big(j, d->i);
		break;
	case DETAIL_TYPE_TIME:
		jw_time(j, d->i, 6);
		break;
	case DETAIL_TYPE_BOOL:
		jw_bool(j, d->i != 0);
		break;
	default:
		jw_ms(j, show_detail_now(d, show->now_ms));
		break;
	}
}

/* Those that may stand several times are always a list, so that a reader need not ask. A holder has
 * one pod, a finding may be about several. */
static bool js_is_list(const char *key, enum detail_id id)
{
	if (id == DETAIL_POD)
		return strcmp(key, "evidence") == 0;
	return id == DETAIL_BLOCKED_BY || id == DETAIL_OTHER_KEY || id == DETAIL_ALARM ||
	       id == DETAIL_FINALIZER || id == DETAIL_ACTIVE_DANGLING || id == DETAIL_ORPHAN_RUN ||
	       id == DETAIL_RUN;
}

/* Leaves the object open, for more. */
static void js_details_open(
	struct show *show, const char *key, const struct detail *details, size_t n)
{
	struct json_writer *j = json_of(show);
	uint16_t count[DETAIL_COUNT] = { 0 };
	size_t i, k;

	for (i = 0; i < n; i++)
		count[details[i].id]++;
	jw_key(j, key);
	jw_map(j);
	for (i = 0; i < n; i++) {
		const struct detail *d = &details[i];

		if (!count[d->id])
			continue;
		jw_key(j, detail_word(d->id)->word);
		if (count[d->id] == 1 && !js_is_list(key, d->id)) {
			js_value(show, d);
		} else {
			jw_list(j);
			for (k = i; k < n; k++)
				if (details[k].id == d->id)
					js_value(show, &details[k]);
			jw_list_end(j);
		}
		count[d->id] = 0;
	}
}

static void js_details(struct show *show, const char *key, const struct detail *details, size_t n)
{
	js_details_open(show, key, details, n);
	jw_map_end(json_of(show));
}

/* Those that every holder and waiter has, so that a script need not ask: what is absent is null. */
static const enum detail_id js_always_pg[] = { DETAIL_PID, DETAIL_BACKEND_START, DETAIL_USER,
	DETAIL_CLIENT, DETAIL_DATABASE, DETAIL_MODE, DETAIL_STATE, DETAIL_STATE_CHANGE,
	DETAIL_QUERY_START, DETAIL_XACT_START };
static const enum detail_id js_always_etcd[] = { DETAIL_KEY, DETAIL_LEASE, DETAIL_CREATE_REVISION,
	DETAIL_MOD_REVISION };

static const enum detail_id js_always_lease[] = { DETAIL_RENEW_TIME, DETAIL_ACQUIRE_TIME,
	DETAIL_DURATION, DETAIL_LAST_CHANGE_SEEN, DETAIL_SKEW };

static const enum detail_id js_always_zk[] = { DETAIL_ZNODE, DETAIL_SESSION, DETAIL_CZXID,
	DETAIL_DATA_VERSION };

struct js_always {
	const enum detail_id *ids;
	size_t n;
};

static struct js_always js_always(enum mechanism mechanism)
{
	switch (mechanism) {
	case MECH_PG_ADVISORY:
		return (struct js_always){ js_always_pg, ARRAY_LEN(js_always_pg) };
	case MECH_K8S_LEASE:
		return (struct js_always){ js_always_lease, ARRAY_LEN(js_always_lease) };
	case MECH_ZK_ELECTION:
		return (struct js_always){ js_always_zk, ARRAY_LEN(js_always_zk) };
	case MECH_K8S_CRONJOB: /* what there is of a run stands in runs */
		return (struct js_always){ NULL, 0 };
	default:
		return (struct js_always){ js_always_etcd, ARRAY_LEN(js_always_etcd) };
	}
}

/* Behind the details of the claim that is told. */
static void js_absent(struct show *show, const struct singleton *s)
{
	const struct details *told = &((struct show_json_state *)show->state)->details;
	const struct js_always always = js_always(s->mechanism);
	struct json_writer *j = json_of(show);
	size_t i;

	for (i = 0; i < always.n; i++) {
		/* A lock's database is that of its singleton; so is what a Lease says of its
		 * holder. */
		const struct detail *d = singleton_detail(s, always.ids[i]);

		if (details_find(told, always.ids[i]))
			continue;
		jw_key(j, detail_word(always.ids[i])->word);
		if (d)
			js_value(show, d);
		else
			jw_null(j);
	}
}

static void js_hidden_names(struct show *show, const struct detail *details, size_t n)
{
	struct json_writer *j = json_of(show);
	size_t i;

	jw_key(j, "hidden");
	jw_list(j);
	for (i = 0; i < n; i++)
		if (details[i].hidden)
			jw_text(j, detail_word(details[i].id)->word);
	jw_list_end(j);
}

static void js_source_hidden(struct json_writer *j, const struct snapshot *snap)
{
	size_t i;

	jw_key(j, "hidden");
	jw_list(j);
	for (i = 0; i < snap->n_hidden; i++)
		if (!snap->hidden[i].chosen)
			jw_text(j, snap->hidden[i].what);
	jw_list_end(j);
	jw_key(j, "remedies");
	jw_list(j);
	for (i = 0; i < snap->n_hidden; i++)
		if (!snap->hidden[i].chosen)
			jw_text(j, snap->hidden[i].remedy);
	jw_list_end(j);
}

static void js_cost(struct json_writer *j, const struct source_cost *cost)
{
	jw_key(j, "cost");
	jw_map(j);
	jw_key_int(j, "requests", (int64_t)cost->requests);
	jw_key_int(j, "bytes_in", (int64_t)cost->bytes_in);
	jw_key_int(j, "bytes_out", (int64_t)cost->bytes_out);
	jw_key_ms(j, "round_trip_ms", cost->round_trip_ms);
	jw_map_end(j);
}

static void js_source(struct show *show, const struct snapshot *snap, const struct row *cross)
{
	struct json_writer *j = js_item(show, "source");
	const struct row *self = snap->self;
	char why[SHOW_VAIN_MAX];
	const char *error = show_source_error(show, snap, why, sizeof(why));

	jw_key_text(j, "name", snap->source);
	jw_key_text(j, "kind", snap->kind);
	jw_key_text(j, "environment", snap->environment);
	jw_key_text(j, "state", source_state_word(snap->state));
	jw_key_ms(j, "age_ms",
		snap->picture_ms == TIME_UNKNOWN ? TIME_UNKNOWN : show->now_ms - snap->picture_ms);
	jw_key_text(j, "error", error);
	jw_key_time(j, "error_since", snap->error ? snap->error_since_us : TIME_UNKNOWN, 3);
	jw_key_text(j, "server", snap->server);
	js_source_hidden(j, snap);
	jw_key_bool(j, "protect", snap->protect);
	jw_key_bool(j, "live", snap->live);
	jw_key_bool(j, "needs_attention",
		(self && self->v.needs_attention) || (cross && cross->v.needs_attention) ||
			snap->state == SOURCE_FAILING || (error && !self));
	js_cost(j, &snap->cost);
	js_details(show, "detail", self ? singleton_details(self->s) : NULL,
		self ? self->s->n_details : 0);
	if (!self) {
		jw_key(j, "members");
		jw_list(j);
		jw_list_end(j);
	}
}

static void js_object_end(struct show *show)
{
	jw_map_end(json_of(show));
}

static void js_token(struct json_writer *j, const char *key, bool has, int64_t token)
{
	jw_key(j, key);
	if (has)
		jw_big(j, token);
	else
		jw_null(j);
}

static void js_singleton(struct show *show, const struct snapshot *snap, const struct row *row)
{
	const struct singleton *s = row->s;
	const struct verdict *v = &row->v;
	struct json_writer *j = js_item(show, "singleton");

	((struct show_json_state *)show->state)->s = s;

	jw_key_text(j, "id", s->id);
	jw_key_text(j, "source", snap->source);
	jw_key_text(j, "name", s->more->name);
	jw_key_text(j, "mechanism", mechanism_word(s->mechanism)->word);
	jw_key_text(j, "state", state_word(board_state(snap, row))->word);
	jw_key_bool(j, "needs_attention", v->needs_attention);
	js_token(j, "token", s->has_token, s->token);
	jw_key_text(j, "token_kind", token_kind_word(s->token_kind)->word);
	js_token(j, "highest_token", v->has_highest, v->highest_token);
	jw_key_ms(j, "lease_granted_ms", s->lease_granted_ms);
	jw_key_ms(j, "lease_remaining_ms",
		s->lease_deadline_ms == TIME_UNKNOWN ? TIME_UNKNOWN
						     : s->lease_deadline_ms - show->now_ms);
	jw_key_time(j, "first_seen", v->first_seen_us, 3);
	jw_key_time(j, "state_since", v->state_since_us, 3);
	jw_key_time(j, "known_since", v->known_since_us, 3);
	js_details(show, "detail", singleton_details(s), s->n_details);
}

static void js_singleton_end(struct show *show, const struct snapshot *snap, const struct row *row)
{
	struct json_writer *j = json_of(show);

	(void)snap;
	((struct show_json_state *)show->state)->s = NULL;
	jw_key_text(j, "role", row_role(row));
	jw_key_text(j, "fit", fitness_word(row->v.fit));
	jw_map_end(j);
}

static void js_claims(struct show *show, enum claim_kind kind, size_t n)
{
	static const char *const keys[] = {
		[CLAIM_HOLDER] = "holders",
		[CLAIM_WAITER] = "waiters",
		[CLAIM_FORMER] = "former",
		[CLAIM_MEMBER] = "members",
	};

	(void)n;
	jw_key(json_of(show), keys[kind]);
	jw_list(json_of(show));
}

static void js_claims_end(struct show *show, enum claim_kind kind)
{
	(void)kind;
	jw_list_end(json_of(show));
}

static void js_claim(struct show *show, const struct singleton *s, const struct claim *claim)
{
	struct json_writer *j = json_of(show);
	struct show_json_state *state = show->state;
	struct details *details = &state->details;

	jw_map(j);
	jw_key_text(j, "identity", claim_identity(claim));
	jw_key_text(j, "key", claim_key(claim));
	if (claim->kind == CLAIM_WAITER)
		jw_key_ms(j, "position", claim->position ? (int64_t)claim->position : INT64_MIN);
	details_of_claim(details, s, claim);
	js_details_open(show, "detail", details->at, details->n);
	if (state->s)
		js_absent(show, s);
	jw_map_end(j);
	js_hidden_names(show, details->at, details->n);
	jw_map_end(j);
}

static void js_tristate(struct json_writer *j, const char *key, enum tristate value)
{
	jw_key(j, key);
	if (value == TRI_UNKNOWN)
		jw_null(j);
	else
		jw_bool(j, value == TRI_YES);
}

/* A count; negative: it was not told. */
static void js_count(struct json_writer *j, const char *key, int32_t count)
{
	jw_key_ms(j, key, count < 0 ? INT64_MIN : count);
}

static void js_runs(struct show *show, const struct row *row, size_t n)
{
	(void)row;
	(void)n;
	jw_key(json_of(show), "runs");
	jw_list(json_of(show));
}

static void js_run(struct show *show, const struct run *run)
{
	struct json_writer *j = json_of(show);

	jw_map(j);
	jw_key_text(j, "key", run->key);
	jw_key_text(j, "name", run->name);
	jw_key_time(j, "slot", run->slot_us, 3);
	jw_key_bool(j, "manual", run->manual);
	jw_key_text(j, "state", run_state_word(run->state));
	js_tristate(j, "alive", run->alive);
	jw_key_time(j, "created", run->created_us, 3);
	jw_key_time(j, "start", run->start_us, 3);
	jw_key_time(j, "end", run->end_us, 3);
	jw_key_time(j, "deleted", run->deleted_us, 3);
	js_count(j, "attempts", run->attempts);
	js_tristate(j, "listed", run->listed);
	js_details(show, "detail", run->details, run->n_details);
	jw_key(j, "pods");
	jw_list(j);
}

static void js_pod(struct show *show, const struct pod *pod)
{
	struct json_writer *j = json_of(show);

	jw_map(j);
	jw_key_text(j, "name", pod->name);
	jw_key_text(j, "key", pod->key);
	jw_key_text(j, "node", pod->node);
	jw_key_text(j, "phase", pod_phase_word(pod->phase));
	jw_key_text(j, "reason", pod->reason);
	js_tristate(j, "alive", pod->alive);
	js_tristate(j, "node_ready", pod->node_ready);
	jw_key_bool(j, "node_gone", pod->node_gone);
	js_count(j, "containers_running", pod->containers_running);
	js_count(j, "restarts", pod->restarts);
	jw_key_time(j, "start", pod->start_us, 3);
	jw_key_time(j, "end", pod->end_us, 3);
	jw_key_time(j, "deleted", pod->deleted_us, 3);
	js_details(show, "detail", pod->details, pod->n_details);
	jw_map_end(j);
}

static void js_run_end(struct show *show)
{
	jw_list_end(json_of(show));
	jw_map_end(json_of(show));
}

static void js_findings(struct show *show, size_t n)
{
	(void)n;
	jw_key(json_of(show), "findings");
	jw_list(json_of(show));
}

static void js_finding(struct show *show, const struct finding *f)
{
	struct json_writer *j = json_of(show);

	jw_map(j);
	jw_key_text(j, "code", finding_word(f->code)->word);
	jw_key_text(j, "severity", severity_word(f->severity)->word);
	jw_key_text(j, "text", f->text);
	jw_key_text(j, "advice", f->advice);
	jw_key_time(j, "since", f->since_us, 3);
	js_details(show, "evidence", f->evidence, f->n_evidence);
	jw_map_end(j);
}

static void js_list_end(struct show *show)
{
	jw_list_end(json_of(show));
}

static void js_witnesses(struct json_writer *j, const struct role_view *view)
{
	size_t i;

	jw_key(j, "witnesses");
	jw_list(j);
	for (i = 0; i < view->role->n_witnesses; i++) {
		const struct row *row = view->witnesses[i];
		const struct snapshot *snap = view->sources[i];
		const struct claim *holder = row ? singleton_holder(row->s) : NULL;

		jw_map(j);
		jw_key_text(j, "id", view->role->witnesses[i]);
		jw_key_text(j, "source", snap ? snap->source : NULL);
		jw_key_text(
			j, "state", row && snap ? state_word(board_state(snap, row))->word : NULL);
		jw_key_text(j, "holder", holder ? claim_identity(holder) : NULL);
		jw_key_text(j, "sight", role_sight_word(role_witness_sight(view, i)));
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void js_role(struct show *show, const struct role_view *view)
{
	struct show_json_state *state = show->state;
	struct json_writer *j = json_of(show);
	const struct verdict *v = view->self ? &view->self->v : NULL;

	if (state->sections)
		jw_newline(j);
	jw_map(j);
	jw_key_text(j, "name", view->role->name);
	jw_key_text(j, "state", state_word(view->self->v.state)->word);
	jw_key_bool(j, "needs_attention", v && v->needs_attention);
	jw_key_text(j, "harm", harm_word(view->role->harm));
	js_tristate(j, "idempotent", view->role->idempotent);
	js_tristate(j, "fenced", view->role->fenced);
	jw_key_text(j, "fit", v ? fitness_word(v->fit) : NULL);
	js_witnesses(j, view);
}

static void js_role_end(struct show *show, const struct role_view *view)
{
	(void)view;
	jw_map_end(json_of(show));
}

static void js_event(struct show *show, const struct event *e)
{
	struct json_writer *j = js_item(show, NULL);

	jw_key_time(j, "at", e->at_us, 3);
	jw_key_text(j, "what", e->what);
	jw_key_text(j, "text", e->text);
	js_token(j, "token", e->token != 0, e->token);
	jw_key_text(j, "holder", e->holder);
	jw_key_text(j, "key", e->key);
	jw_map_end(j);
}

static void js_change(struct show *show, const char *what, const struct snapshot *snap,
	const struct row *row, const struct role_view *role)
{
	struct json_writer *j = json_of(show);

	js_head(show);
	jw_key_text(j, "event", what);
	/* A source's line carries its name in the object that follows. */
	(void)snap;
	jw_key_text(j, "id", role ? role->self->s->id : row ? row->s->id : NULL);
	if (role)
		jw_key(j, "role");
}

static void js_change_end(struct show *show)
{
	js_end(show);
}

void show_json_singleton(struct json_writer *j, const struct board *board,
	const struct snapshot *snap, const struct row *row)
{
	struct show_json_state state = { .j = *j, .sections = true };
	struct show show;

	details_init(&state.details);
	show_init(&show, &show_json, j->out, NULL, board);
	show.whole = true;
	show.state = &state;
	show_singleton(&show, snap, row);
	*j = state.j;
	details_release(&state.details);
}

const struct show_ops show_json = {
	.name = "json",
	.part = js_part,
	.joined = js_joined,
	.begin = js_begin,
	.end = js_end,
	.section = js_section,
	.section_end = js_section_end,
	.source = js_source,
	.source_end = js_object_end,
	.singleton = js_singleton,
	.singleton_end = js_singleton_end,
	.claims = js_claims,
	.claim = js_claim,
	.claims_end = js_claims_end,
	.runs = js_runs,
	.run = js_run,
	.pod = js_pod,
	.run_end = js_run_end,
	.runs_end = js_list_end,
	.findings = js_findings,
	.finding = js_finding,
	.findings_end = js_list_end,
	.role = js_role,
	.role_end = js_role_end,
	.event = js_event,
	.change = js_change,
	.change_end = js_change_end,
};
