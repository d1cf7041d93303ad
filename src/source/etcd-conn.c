#include "config.h"

#include "source/etcd-source.h"
#include "base/clock.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_LEAST_MS = 300,
	STATUS_LIMIT_MS = 2000,
	SLICE_MS = 50, /* no step waits longer without listening to whoever wakes us */
	ERRORS_MAX = 600,
	MORE_MAX = 24 /* "; and 4 more" */
};

/* ---- driving ---- */

int etcd_step(struct etcd *e, int64_t until_ms, struct err *err)
{
	enum http_step step = http_loop_step(e->loop, round_wake_fd(e->r), until_ms);
	int64_t slice_ms = http_loop_now_ms(e->loop) + SLICE_MS;

	if (step != HTTP_STEP_WOKEN)
		return 0;
	if (round_cancelled(e->r))
		return err_set(err, ERR_CANCELLED, "asked to stop");
	/* Woken for something else, which waits until the poll is done; its descriptor stays
	 * readable. */
	http_loop_step(e->loop, -1, until_ms < slice_ms ? until_ms : slice_ms);
	return 0;
}

int etcd_run(struct etcd *e, const bool *done, int64_t deadline_ms, struct err *err)
{
	return etcd_run_beside(e, done, deadline_ms, NULL, NULL, err);
}

int etcd_run_beside(struct etcd *e, const bool *done, int64_t deadline_ms, bool (*work)(void *arg),
	void *arg, struct err *err)
{
	bool more = work != NULL; /* after the first step, which sends what is to be sent */
	int64_t begun_ms = http_loop_now_ms(e->loop);

	while (!*done) {
		int64_t until_ms = more ? 0 : deadline_ms + 2 * SLICE_MS;
		int rc;

		if (http_loop_now_ms(e->loop) > deadline_ms + SLICE_MS)
			return grpc_channel_late(etcd_channel(e),
				(double)(http_loop_now_ms(e->loop) - begun_ms) / 1000, err);
		/* The calls have the deadline themselves, and say better what did not happen. */
		rc = etcd_step(e, until_ms, err);
		if (rc)
			return rc;
		more = work && !*done && work(arg);
	}
	return 0;
}

struct grpc_channel *etcd_channel(const struct etcd *e)
{
	return e->members[e->current].ch;
}

void etcd_take_costs(struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_members; i++) {
		struct grpc_cost cost = grpc_channel_take_cost(e->members[i].ch);

		/* Of the member that is read from, once for each time that its status came. */
		bool timed = i == e->current && e->members[i].answered &&
			     e->members[i].read_ms > e->timed_ms;

		if (timed)
			e->timed_ms = e->members[i].read_ms;
		round_cost(e->r, cost.requests, cost.bytes_in, cost.bytes_out,
			timed ? e->members[i].round_trip_ms : TIME_UNKNOWN);
	}
}

bool etcd_worth_another(int code)
{
	switch (code) {
	case ERR_CONNECT:
	case ERR_TIMEOUT:
	case ERR_IO:
	case ERR_BUSY:
	case ERR_PROTO:
	case ERR_TLS:
		return true;
	default:
		return false;
	}
}

static bool says(const struct err *err, const char *words)
{
	return strstr(err->text, words) != NULL;
}

/* The words are those of etcd's api/v3rpc/rpctypes/error.go. Maintenance/Alarm of 3.4 says them
 * with the code of an unknown error. */
static bool token_is_refused(enum grpc_code code, const struct err *why)
{
	return code == GRPC_UNAUTHENTICATED || says(why, "invalid auth token") ||
	       (code == GRPC_INVALID_ARGUMENT && says(why, "revision of auth store is old"));
}

int etcd_failed(struct etcd *e, enum grpc_code code, const struct err *why, struct err *err)
{
	if (err)
		*err = *why;
	if (token_is_refused(code, why)) {
		e->stale_token = e->has_token;
		return ERR_AUTH;
	}
	if (code == GRPC_INVALID_ARGUMENT && says(why, "user name is empty"))
		return err_set(err, ERR_AUTH,
			"%s asks who we are: set user and password, or a client certificate "
			"whose CN is a user's name",
			e->members[e->current].endpoint.text);
	return why->code ? (int)why->code : ERR_PROTO;
}

/* ---- members ---- */

static void member_text(char **to, const char *text)
{
	free(*to);
	*to = text ? xstrdup(text) : NULL;
}

static bool member_set(uint64_t *to, uint64_t value)
{
	bool changed = *to != value;

	*to = value;
	return changed;
}

static void member_errors(struct etcd_member *m, const Etcdpb__StatusResponse *status)
{
	struct str text;
	size_t i;

	str_init(&text, ERRORS_MAX);
	for (i = 0; i < status->n_errors; i++) {
		str_add(&text, i ? "; " : "");
		str_add(&text, status->errors[i]);
	}
	member_text(&m->errors, status->n_errors ? text.s : NULL);
	str_release(&text);
}

static void member_read(struct etcd_member *m, const Etcdpb__StatusResponse *status)
{
	m->leader_id = status->leader;
	m->raft_term = status->raftterm;
	m->applied =
		(int64_t)(status->raftappliedindex ? status->raftappliedindex : status->raftindex);
	m->db_size = status->dbsize;
	m->learner = status->islearner;
	if (status->header) {
		member_set(&m->member_id, status->header->member_id);
		member_set(&m->cluster_id, status->header->cluster_id);
		m->revision = status->header->revision;
	}
	member_text(&m->version, status->version);
	member_errors(m, status);
}

/* A status came, or its failure: what is known of the member changes, and nothing else. */
static void member_status_ended(struct etcd_unary *u)
{
	struct etcd *e = u->arg;
	struct etcd_member *m = e->members;
	Etcdpb__StatusResponse *status = NULL;

	while (&m->status != u)
		m++;
	m->asking = false;
	e->self_changed = true;
	if (u->code == GRPC_OK)
		status = etcdpb__status_response__unpack(
			NULL, u->answer.len, (const uint8_t *)u->answer.s);
	m->answered = status != NULL;
	if (!status && e->user &&
		(token_is_refused(u->code, &u->err) || says(&u->err, "user name is empty"))) {
		/* Newer servers tell their status only to users: it is asked for again with a
		 * token. */
		e->token_refused = e->has_token;
		m->asked_ms = TIME_UNKNOWN;
		return;
	}
	if (!status) {
		member_text(&m->error,
			u->code == GRPC_OK ? "a status that is no protobuf message" : u->err.text);
		return;
	}
	m->read_ms = u->ended_ms;
	m->round_trip_ms = u->ended_ms - u->started_ms;
	member_text(&m->error, NULL);
	member_read(m, status);
	etcdpb__status_response__free_unpacked(status, NULL);
}

static int member_ask(struct etcd *e, struct etcd_member *m, int64_t deadline_ms, struct err *err)
{
	int rc;

	m->asked_ms = http_loop_now_ms(e->loop);
	rc = etcd_status_start(&m->status, m->ch, deadline_ms, err);
	m->asking = !rc;
	return rc;
}

void etcd_ask_members(struct etcd *e, bool now)
{
	int64_t now_ms = http_loop_now_ms(e->loop);
	struct err err = { 0 };
	size_t i;

	for (i = 0; i < e->n_members; i++) {
		struct etcd_member *m = &e->members[i];

		if (m->asking)
			continue;
		if (!now && m->asked_ms != TIME_UNKNOWN &&
			now_ms - m->asked_ms < ETCD_STATUS_EVERY_MS)
			continue;
		grpc_channel_connect_limit(m->ch, STATUS_LIMIT_MS);
		member_ask(e, m, now_ms + STATUS_LIMIT_MS, &err);
	}
}

bool etcd_members_settled(const struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_members; i++)
		if (e->members[i].asking || e->members[i].asked_ms == TIME_UNKNOWN)
			return false;
	return true;
}

/* ---- connecting ---- */

/* Speaks to one member. Returns 0 when it serves, 1 when it answers and knows no leader, negative
 * when it doesn't answer. */
static int connect_member(
	struct etcd *e, struct etcd_member *m, int64_t deadline_ms, struct err *err)
{
	int rc;

	if (m->asking) {
		grpc_channel_drop(m->ch);
		m->asking = false;
	}
	grpc_channel_connect_limit(m->ch, deadline_ms - http_loop_now_ms(e->loop));
	rc = member_ask(e, m, deadline_ms, err);
	if (rc)
		return rc;
	rc = etcd_run(e, &m->status.done, deadline_ms, err);
	if (rc)
		return rc;
	/* An answer in gRPC that refuses the status is an answer: it may want a token first. */
	if (m->status.code == GRPC_NONE) {
		*err = m->status.err;
		return err->code ? (int)err->code : ERR_IO;
	}
	return m->answered && !m->leader_id;
}

int etcd_none_answers(const struct etcd *e, size_t first, int rc, struct err *err)
{
	struct str all;
	size_t i;

	if (e->n_members == 1)
		return err_set(err, (enum err_code)rc, "%s", e->members[0].error);
	str_init(&all, ERR_TEXT_MAX);
	str_addf(&all, "none of the %zu endpoints answers: ", e->n_members);
	for (i = 0; i < e->n_members; i++) {
		const char *why = e->members[(first + i) % e->n_members].error;

		if (i && all.len + strlen(why) + MORE_MAX > ERR_TEXT_MAX) {
			str_addf(&all, "; and %zu more", e->n_members - i);
			break;
		}
		str_addf(&all, "%s%s", i ? "; " : "", why);
	}
	err_set(err, (enum err_code)rc, "%s", all.s);
	str_release(&all);
	return rc;
}

/* Tries the endpoints in turn, from the present one on, each with its share of the time. */
static int connect_any(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	size_t i, first = e->current, leaderless = e->n_members;
	int rc = ERR_CONNECT;

	for (i = 0; i < e->n_members; i++) {
		size_t at = (first + i) % e->n_members;
		int64_t now_ms = http_loop_now_ms(e->loop);
		int64_t share = (deadline_ms - now_ms) / (int64_t)(e->n_members - i);

		if (share < CONNECT_LEAST_MS)
			share = CONNECT_LEAST_MS;
		e->current = at;
		rc = connect_member(e, &e->members[at], now_ms + share, err);
		if (rc == 0 || rc == ERR_CANCELLED)
			return rc;
		if (rc < 0)
			member_text(&e->members[at].error, err->text);
		if (rc > 0 && leaderless == e->n_members)
			leaderless = at;
	}
	if (leaderless == e->n_members)
		return etcd_none_answers(e, first, rc, err);
	e->current = leaderless;
	return err_set(err, ERR_BUSY,
		"%s answers, and knows no leader: the cluster has lost its quorum, or elects",
		e->members[leaderless].endpoint.text);
}

int etcd_authenticate(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	Etcdpb__AuthenticateResponse *answer;
	struct etcd_unary u;
	size_t i;
	int rc;

	e->has_token = e->stale_token = e->token_refused = false;
	grpc_channel_authorize(etcd_channel(e), NULL);
	etcd_unary_init(&u, e->loop);
	rc = etcd_authenticate_start(&u, etcd_channel(e), e->user, e->password, deadline_ms, err);
	if (!rc)
		rc = etcd_run(e, &u.done, deadline_ms, err);
	if (rc) {
		/* The call may be in flight still, and u is about to go. */
		etcd_disconnect(e, false);
	} else if (u.code == GRPC_FAILED_PRECONDITION && says(&u.err, "not enabled")) {
		/* Nobody needs a token there. */
	} else if (u.code == GRPC_INVALID_ARGUMENT || u.code == GRPC_UNAUTHENTICATED) {
		rc = err_set(err, ERR_AUTH,
			"%s does not accept the user \"%s\" with its password: check user and "
			"password",
			e->members[e->current].endpoint.text, e->user);
	} else if (u.code != GRPC_OK) {
		rc = etcd_failed(e, u.code, &u.err, err);
	} else {
		answer = etcdpb__authenticate_response__unpack(
			NULL, u.answer.len, (const uint8_t *)u.answer.s);
		if (answer && answer->token[strcspn(answer->token, "\r\n")] == '\0') {
			/* A token is known to all members. */
			for (i = 0; i < e->n_members; i++)
				grpc_channel_authorize(e->members[i].ch, answer->token);
			e->has_token = true;
		} else {
			rc = err_set(err, ERR_PROTO, "%s sent a token that can't be used",
				e->members[e->current].endpoint.text);
		}
		if (answer)
			etcdpb__authenticate_response__free_unpacked(answer, NULL);
	}
	if (u.answer.len)
		explicit_bzero(u.answer.s, u.answer.len);
	etcd_unary_release(&u);
	return rc;
}

int etcd_connect(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int rc;

	if (e->connected && grpc_channel_up(etcd_channel(e)))
		return 0;
	etcd_disconnect(e, false);
	rc = connect_any(e, deadline_ms, err);
	if (!rc && e->user)
		rc = etcd_authenticate(e, deadline_ms, err);
	e->connected = e->fresh = !rc;
	return rc;
}

void etcd_disconnect(struct etcd *e, bool rotate)
{
	struct etcd_member *m = &e->members[e->current];

	etcd_watch_stop(e);
	etcd_history_end(e);
	grpc_channel_drop(m->ch);
	m->asking = false;
	e->connected = false;
	e->has_token = false;
	if (rotate)
		e->current = (e->current + 1) % e->n_members;
}

/* ---- opening ---- */

static int open_member(struct etcd *e, const char *text, struct err *err)
{
	struct etcd_member *m = &e->members[e->n_members];
	bool tls = e->tls.ca || e->tls.cert;
	int rc = http_endpoint_parse(&m->endpoint, text, tls, ETCD_PORT, e->tls.server_name, err);

	if (rc)
		return rc;
	m->asked_ms = m->read_ms = TIME_UNKNOWN;
	etcd_unary_init(&m->status, e->loop);
	m->status.arg = e;
	m->status.ended = member_status_ended;
	m->ch = grpc_channel_new(e->loop, &m->endpoint, &e->tls);
	e->n_members++;
	return 0;
}

int etcd_conn_open(struct etcd *e, struct err *err)
{
	size_t i, n = 0;
	int rc;

	while (source_option_item(e->config, "endpoints", n))
		n++;
	e->members = xcalloc(n ? n : 1, sizeof(*e->members));
	e->loop = http_loop_new(&clock_system, err);
	if (!e->loop)
		return ERR_NOMEM;
	for (i = 0; i < n; i++) {
		rc = open_member(e, source_option_item(e->config, "endpoints", i), err);
		if (rc)
			return rc;
	}
	return n ? 0 : open_member(e, "http://127.0.0.1:2379", err);
}

void etcd_conn_close(struct etcd *e)
{
	size_t i;

	etcd_watch_stop(e);
	etcd_history_end(e);
	for (i = 0; i < e->n_members; i++)
		grpc_channel_drop(e->members[i].ch);
	http_loop_free(e->loop);
	for (i = 0; i < e->n_members; i++) {
		struct etcd_member *m = &e->members[i];

		grpc_channel_free(m->ch);
		http_endpoint_release(&m->endpoint);
		etcd_unary_release(&m->status);
		free(m->version);
		free(m->errors);
		free(m->error);
	}
	free(e->members);
}
