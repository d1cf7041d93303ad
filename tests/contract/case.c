#include "config.h"

#include "base/civil.h"
#include "base/zone.h"
#include "model/schedule.h"
#include "tests/contract/case.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char current[256];

void case_name(const char *file)
{
	snprintf(current, sizeof(current), "%s", file);
}

void case_fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", current);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

int64_t case_duration(const char *text)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
		{ "d", 86400000 } };
	char *end;
	int64_t n = strtoll(text, &end, 10);
	size_t i;

	for (i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0)
			return n * units[i].ms;
	case_fail("\"%s\" is no duration", text);
}

/* "41m ago", "in 7s", "now": against that moment, in milliseconds. */
static int64_t moment(const char *text)
{
	size_t len = strlen(text);
	char buf[64];

	if (strcmp(text, "now") == 0)
		return 0;
	if (strncmp(text, "in ", 3) == 0)
		return case_duration(text + 3);
	if (len < 5 || len >= sizeof(buf) || strcmp(text + len - 4, " ago") != 0)
		case_fail("\"%s\" is no moment", text);
	snprintf(buf, sizeof(buf), "%.*s", (int)(len - 4), text);
	return -case_duration(buf);
}

int64_t case_instant(const char *text)
{
	struct civil at = { 0 };
	char z = 0;

	if (sscanf(text, "%" SCNd64 "-%d-%dT%d:%d:%d%c", &at.year, &at.month, &at.day, &at.hour,
		    &at.minute, &at.second, &z) != 7 ||
		z != 'Z')
		case_fail("\"%s\" is no instant", text);
	return civil_seconds(&at) * 1000000;
}

/* "@14:00" or "@13:59:57" on the day of the start, "@2026-11-28T14:00:00Z", else against now. */
static int64_t instant(const char *text, int64_t now_us, const struct case_clock *clock)
{
	int hour, minute, second = 0;
	int64_t day_us = INT64_C(86400) * 1000000;

	if (text[0] != '@')
		return now_us + moment(text) * 1000;
	if (strchr(text, 'T'))
		return case_instant(text + 1);
	if (sscanf(text + 1, "%d:%d:%d", &hour, &minute, &second) < 2)
		case_fail("\"%s\" is no time of the day", text);
	return clock->start_us - clock->start_us % day_us +
	       (hour * INT64_C(3600) + minute * 60 + second) * 1000000;
}

/* Of the details of type MS, those that are moments of our monotonic clock. */
static bool is_moment(enum detail_id id)
{
	return id == DETAIL_TTL_DEADLINE || id == DETAIL_TTL_READ || id == DETAIL_RENEWED ||
	       id == DETAIL_TERM_CHANGED || id == DETAIL_LEASES_LOST_AT;
}

static const char *text_of(const json_t *value, const char *what)
{
	if (!json_is_string(value))
		case_fail("%s is no text", what);
	return json_string_value(value);
}

static int64_t number_of(const json_t *value, const char *what)
{
	if (json_is_boolean(value))
		return json_is_true(value);
	if (json_is_string(value))
		return (int64_t)strtoull(json_string_value(value), NULL, 0);
	if (!json_is_integer(value))
		case_fail("%s is no number", what);
	return json_integer_value(value);
}

static void add_detail(
	struct draft *d, enum detail_id id, const json_t *value, const struct case_clock *clock)
{
	const char *name = detail_word(id)->word;

	if (json_is_null(value)) {
		draft_hidden(d, id);
		return;
	}
	switch (detail_word(id)->type) {
	case DETAIL_TYPE_TEXT:
		draft_text(d, id, text_of(value, name));
		break;
	case DETAIL_TYPE_TIME:
		draft_int(d, id,
			instant(text_of(value, name),
				id == DETAIL_READ_AT ? clock->wall_us : clock->server_us, clock));
		break;
	case DETAIL_TYPE_MS:
		if (is_moment(id))
			draft_int(d, id, clock->mono_ms + moment(text_of(value, name)));
		else
			draft_int(d, id, case_duration(text_of(value, name)));
		break;
	default:
		draft_int(d, id, number_of(value, name));
	}
}

static bool is_reserved(const char *name, const char *const *reserved)
{
	for (; *reserved; reserved++)
		if (strcmp(*reserved, name) == 0)
			return true;
	return false;
}

static void add_details(struct draft *d, const json_t *object, const char *const *reserved,
	const struct case_clock *clock)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		int id = is_reserved(name, reserved) ? -1 : detail_from_word(name);
		size_t i;

		if (is_reserved(name, reserved))
			continue;
		if (id < 0)
			case_fail("there is no detail \"%s\"", name);
		if (!json_is_array(value))
			add_detail(d, id, value, clock);
		for (i = 0; i < json_array_size(value); i++)
			add_detail(d, id, json_array_get(value, i), clock);
	}
}

static bool is_lease(const json_t *row)
{
	return strcmp(json_string_value(json_object_get(row, "mechanism")),
		       mechanism_word(MECH_K8S_LEASE)->word) == 0;
}

static enum token_kind token_of(const json_t *row)
{
	const char *mechanism = json_string_value(json_object_get(row, "mechanism"));

	if (strcmp(mechanism, mechanism_word(MECH_ZK_ELECTION)->word) == 0)
		return TOKEN_CZXID;
	if (strcmp(mechanism, mechanism_word(MECH_SQL_LEASE)->word) == 0)
		return TOKEN_ROW;
	return is_lease(row) ? TOKEN_LEASE_TRANSITIONS : TOKEN_CREATE_REVISION;
}

static void key_of_claim(
	char *buf, size_t size, const json_t *claim, const struct case_clock *clock)
{
	const json_t *own = json_object_get(claim, "claim"), *pid = json_object_get(claim, "pid");
	const json_t *began = json_object_get(claim, "backend_start");
	const json_t *revision = json_object_get(claim, "create_revision");
	const json_t *czxid = json_object_get(claim, "czxid");

	if (own)
		snprintf(buf, size, "%s", text_of(own, "claim"));
	else if (json_is_integer(pid) && json_is_string(began))
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT "@%" PRId64, json_integer_value(pid),
			clock->server_us + moment(json_string_value(began)) * 1000);
	else if (json_is_integer(revision))
		snprintf(buf, size, "rev:%" JSON_INTEGER_FORMAT, json_integer_value(revision));
	else if (json_is_integer(czxid))
		snprintf(buf, size, "zxid:%" JSON_INTEGER_FORMAT, json_integer_value(czxid));
	else if (json_is_integer(pid))
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(pid));
	else
		snprintf(buf, size, "%s", text_of(json_object_get(claim, "identity"), "identity"));
}

/* A Lease's claim is bound by its object, its holder and its transitions. */
static void lease_key(char *buf, size_t size, const json_t *row, const char *identity)
{
	const json_t *uid = json_object_get(row, "uid"), *token = json_object_get(row, "token");

	snprintf(buf, size, "uid:%s/%s/%" PRId64, uid ? text_of(uid, "uid") : "1", identity,
		token ? number_of(token, "token") : 0);
}

static void add_claims(struct draft *d, enum claim_kind kind, const json_t *row, const char *name,
	const struct case_clock *clock)
{
	static const char *const reserved[] = { "identity", "claim", NULL };
	const json_t *claims = json_object_get(row, name);
	size_t i;

	for (i = 0; i < json_array_size(claims); i++) {
		const json_t *claim = json_array_get(claims, i);
		const char *identity = text_of(json_object_get(claim, "identity"), "identity");
		char key[256];

		if (kind == CLAIM_HOLDER && is_lease(row))
			lease_key(key, sizeof(key), row, identity);
		else
			key_of_claim(key, sizeof(key), claim, clock);
		draft_claim(d, kind, identity, strlen(identity), key);
		if (kind == CLAIM_WAITER)
			draft_position(d, (uint32_t)i + 1);
		add_details(d, claim, reserved, clock);
	}
}

/* ---- runs ---- */

static const char *text_at(const json_t *object, const char *name, const char *absent)
{
	const json_t *value = json_object_get(object, name);

	return value ? text_of(value, name) : absent;
}

static int64_t instant_at(const json_t *object, const char *name, const struct case_clock *clock)
{
	const char *text = text_at(object, name, NULL);

	return text ? instant(text, clock->server_us, clock) : TIME_UNKNOWN;
}

static int32_t number_at(const json_t *object, const char *name, int32_t absent)
{
	const json_t *value = json_object_get(object, name);

	return value ? (int32_t)number_of(value, name) : absent;
}

static enum tristate tristate_of(const json_t *value)
{
	return !value ? TRI_UNKNOWN : json_is_true(value) ? TRI_YES : TRI_NO;
}

static void own_key(char *buf, size_t size, const json_t *object, const char *name)
{
	snprintf(buf, size, "uid:%s", text_at(object, "key", name));
}

static void add_pod(struct draft *d, const json_t *object, const struct case_clock *clock)
{
	static const char *const reserved[] = { "name", "key", "node", "phase", "reason",
		"node_ready", "node_gone", "running", "restarts", "start", "end", "deleted", NULL };
	const char *name = text_at(object, "name", "");
	char key[256];
	const struct pod pod = {
		.name = name,
		.key = key,
		.node = text_at(object, "node", NULL),
		.reason = text_at(object, "reason", NULL),
		.phase = pod_phase_from_word(text_at(object, "phase", "Running")),
		.node_ready = tristate_of(json_object_get(object, "node_ready")),
		.node_gone = json_is_true(json_object_get(object, "node_gone")),
		.containers_running = number_at(object, "running", -1),
		.restarts = number_at(object, "restarts", -1),
		.start_us = instant_at(object, "start", clock),
		.end_us = instant_at(object, "end", clock),
		.deleted_us = instant_at(object, "deleted", clock),
	};

	own_key(key, sizeof(key), object, name);
	draft_pod(d, &pod);
	add_details(d, object, reserved, clock);
}

static void add_run(struct draft *d, const json_t *object, const struct case_clock *clock)
{
	static const char *const reserved[] = { "name", "key", "state", "listed", "manual", "slot",
		"created", "start", "end", "deleted", "deadline", "parallelism", "attempts", "pods",
		NULL };
	const char *name = text_at(object, "name", ""),
		   *deadline = text_at(object, "deadline", NULL);
	const json_t *pods = json_object_get(object, "pods");
	int state = run_state_from_word(text_at(object, "state", "running"));
	char key[256];
	size_t i;
	struct run run = {
		.name = name,
		.key = key,
		.listed = tristate_of(json_object_get(object, "listed")),
		.manual = json_is_true(json_object_get(object, "manual")),
		.attempts = number_at(object, "attempts", -1),
		.slot_us = instant_at(object, "slot", clock),
		.created_us = instant_at(object, "created", clock),
		.start_us = instant_at(object, "start", clock),
		.end_us = instant_at(object, "end", clock),
		.deleted_us = instant_at(object, "deleted", clock),
		.deadline_s = deadline ? case_duration(deadline) / 1000 : TIME_UNKNOWN,
		.parallelism = number_at(object, "parallelism", 1),
	};

	if (state < 0)
		case_fail("%s: a run's state is running, succeeded, failed or unknown", name);
	run.state = (enum run_state)state;
	if (run.created_us == TIME_UNKNOWN)
		run.created_us = run.start_us;
	own_key(key, sizeof(key), object, name);
	draft_run(d, &run);
	add_details(d, object, reserved, clock);
	for (i = 0; i < json_array_size(pods); i++)
		add_pod(d, json_array_get(pods, i), clock);
}

static void add_runs(struct draft *d, const json_t *row, const struct case_clock *clock)
{
	const json_t *runs = json_object_get(row, "runs");
	const char *text = text_at(row, "schedule", NULL);
	size_t i;

	for (i = 0; i < json_array_size(runs); i++)
		add_run(d, json_array_get(runs, i), clock);
	draft_run_holders(d);
	if (text) {
		struct schedule *s = schedule_new(text, text_at(row, "time_zone", NULL), zone_load);

		draft_schedule(d, s);
		schedule_unref(s);
	}
}

static void add_lease(struct draft *d, const json_t *lease, const struct case_clock *clock)
{
	const json_t *granted = json_object_get(lease, "granted");
	const json_t *ends = json_object_get(lease, "ends"), *read = json_object_get(lease, "read");

	draft_lease(d, granted ? case_duration(text_of(granted, "granted")) : TIME_UNKNOWN,
		ends ? clock->mono_ms + moment(text_of(ends, "ends")) : TIME_UNKNOWN,
		clock->mono_ms + (read ? moment(text_of(read, "read")) : 0));
}

struct singleton *case_singleton(struct draft *d, const json_t *row, const struct case_clock *clock)
{
	static const char *const reserved[] = { "id", "mechanism", "name", "token", "lease",
		"holders", "waiters", "former", "members", "runs", NULL };
	const char *id = text_of(json_object_get(row, "id"), "id"), *slash = strchr(id, '/');
	int mechanism = mechanism_from_word(
		text_of(json_object_get(row, "mechanism"), "mechanism of a row"));
	const json_t *token = json_object_get(row, "token");
	char source[64];

	if (!slash || mechanism < 0)
		case_fail("%s: an id is SOURCE/PATH, and its mechanism one of the table", id);
	snprintf(source, sizeof(source), "%.*s", (int)(slash - id), id);
	draft_begin(d, mechanism, source, slash + 1, strlen(slash + 1));
	if (json_object_get(row, "name"))
		draft_name(d, text_of(json_object_get(row, "name"), "name"));
	if (token)
		draft_token(d, token_of(row), number_of(token, "token"));
	if (json_object_get(row, "lease"))
		add_lease(d, json_object_get(row, "lease"), clock);
	add_details(d, row, reserved, clock);
	add_claims(d, CLAIM_HOLDER, row, "holders", clock);
	add_claims(d, CLAIM_WAITER, row, "waiters", clock);
	add_claims(d, CLAIM_FORMER, row, "former", clock);
	add_claims(d, CLAIM_MEMBER, row, "members", clock);
	if (mechanism == MECH_K8S_CRONJOB || mechanism == MECH_RUN_LEDGER ||
		mechanism == MECH_AIRFLOW_DAG)
		add_runs(d, row, clock);
	return draft_finish(d);
}

void case_thresholds(const json_t *object, struct thresholds *to)
{
	const char *name;
	json_t *value;

	*to = thresholds_default();
	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		bool known = false;

#define THRESHOLD(field, word, usual, help)                      \
	if (strcmp(name, word) == 0) {                           \
		to->field = case_duration(text_of(value, name)); \
		known = true;                                    \
	}
#define THRESHOLD_COUNT(field, word, usual, help)   \
	if (strcmp(name, word) == 0) {              \
		to->field = number_of(value, name); \
		known = true;                       \
	}
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
		if (!known)
			case_fail("there is no threshold \"%s\"", name);
	}
}

struct role *case_roles(const json_t *object, size_t *ret_n)
{
	struct role *roles = calloc(json_object_size(object) + 1, sizeof(*roles));
	const char *name;
	json_t *value;
	size_t n = 0, i;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		const json_t *harm = json_object_get(value, "harm");
		const json_t *ids = json_object_get(value, "witnesses");
		const char **witnesses = calloc(json_array_size(ids) + 1, sizeof(*witnesses));

		for (i = 0; i < json_array_size(ids); i++)
			witnesses[i] = text_of(json_array_get(ids, i), "witness");
		roles[n++] = (struct role){
			.name = name,
			.harm = harm ? harm_from_word(text_of(harm, "harm")) : HARM_UNKNOWN,
			.idempotent = tristate_of(json_object_get(value, "idempotent")),
			.fenced = tristate_of(json_object_get(value, "fenced")),
			.witnesses = witnesses,
			.n_witnesses = json_array_size(ids),
		};
	}
	*ret_n = n;
	return roles;
}

void case_roles_free(struct role *roles, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free((void *)(uintptr_t)roles[i].witnesses);
	free(roles);
}
