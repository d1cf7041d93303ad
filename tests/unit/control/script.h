#ifndef TESTS_UNIT_CONTROL_SCRIPT_H
#define TESTS_UNIT_CONTROL_SCRIPT_H

#include "base/clock.h"
#include "base/mem.h"
#include "control/fleet.h"
#include "control/settings.h"
#include "source/source.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A kind of source that does what a test tells it: for what the fleet makes of its sources'
 * answers. What real servers answer is tested with real servers (tests/live).
 */
enum {
	SCRIPT_ROWS = 8
};

struct script {
	pthread_mutex_t mutex;
	pthread_cond_t polled;
	struct err fail; /* code set: the next polls fail with it */
	bool hang;       /* polls wait for the deadline, or for the wake descriptor */
	bool deaf;       /* with hang: not even the wake descriptor is looked at, until `release` */
	bool release;
	bool dropping;        /* tells only the changes, as a watch does */
	bool hiding;          /* what is not there can't be seen */
	const char *degraded; /* NULL: all is well */
	enum mechanism mechanism;
	int64_t server_id;
	int64_t timeline;
	bool in_recovery;
	bool also_waits;  /* each holder waits as well, with the next token */
	bool lease_gone;  /* etcd does not know the holders' lease: they are STALE */
	int pile;         /* of a CronJob: so many runs are not over, "pile-7" the newest */
	bool jobs_hidden; /* of the runs only the newest is seen, by its pods */
	const char *source;
	const char *names[SCRIPT_ROWS];
	const char *holders[SCRIPT_ROWS]; /* NULL: not there */
	int64_t tokens[SCRIPT_ROWS];
	unsigned polls;
};

static struct script *script_of(const struct source_config *config)
{
	/* This kind's options are the script itself. */
	return (struct script *)(uintptr_t)config->options;
}

static int script_open(const struct source_config *config, void **ret_state, struct err *err)
{
	(void)err;
	*ret_state = script_of(config);
	return 0;
}

static void script_hang(struct script *s, struct round *r)
{
	struct pollfd fd = { .fd = round_wake_fd(r), .events = POLLIN };
	int64_t left = round_deadline_ms(r) - round_now_ms(r);

	if (!s->deaf) {
		poll(&fd, 1, left > 0 ? (int)left : 0);
		return;
	}
	pthread_mutex_lock(&s->mutex);
	while (!s->release)
		pthread_cond_wait(&s->polled, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
}

static void script_draft_run(struct draft *d, const char *name, bool over)
{
	const struct run run = {
		.name = name,
		.key = name,
		.state = over ? RUN_SUCCEEDED : RUN_RUNNING,
		.slot_us = INT64_C(1790078400000000),
		.created_us = TIME_UNKNOWN,
		.start_us = INT64_C(1790078401000000),
		.end_us = over ? INT64_C(1790078581000000) : TIME_UNKNOWN,
		.deleted_us = TIME_UNKNOWN,
		.deadline_s = TIME_UNKNOWN,
	};

	draft_run(d, &run);
}

/* A CronJob with one run: the holder's name; it is over when it has a token. Or with a pile of
 * them, the newest first. */
static void script_put_run(struct script *s, struct round *r, int i)
{
	struct draft *d = round_draft(r);
	char name[40];
	int k;

	draft_begin(d, s->mechanism, s->source, s->names[i], strlen(s->names[i]));
	if (s->jobs_hidden)
		draft_int(d, DETAIL_JOBS_HIDDEN, 1);
	for (k = s->pile; k > (s->jobs_hidden ? s->pile - 1 : 0); k--) {
		snprintf(name, sizeof(name), "pile-%d", k);
		script_draft_run(d, name, false);
	}
	if (!s->pile)
		script_draft_run(d, s->holders[i], s->tokens[i] != 0);
	draft_run_holders(d);
	round_put(r, draft_finish(d));
}

/* A Lease of a second; its token is what its holder wrote last. */
static void script_put_lease(struct script *s, struct round *r, int i)
{
	struct draft *d = round_draft(r);

	draft_begin(d, s->mechanism, s->source, s->names[i], strlen(s->names[i]));
	draft_int(d, DETAIL_DURATION, 1);
	draft_int(d, DETAIL_RENEW_TIME, INT64_C(1900000000000000) + s->tokens[i]);
	draft_claim(d, CLAIM_HOLDER, s->holders[i], strlen(s->holders[i]), "uid:1/a/1");
	round_put(r, draft_finish(d));
}

static void script_put(struct script *s, struct round *r, int i)
{
	struct draft *d = round_draft(r);
	char key[40];

	if (s->mechanism == MECH_K8S_CRONJOB || s->mechanism == MECH_K8S_LEASE) {
		(s->mechanism == MECH_K8S_LEASE ? script_put_lease : script_put_run)(s, r, i);
		return;
	}

	draft_begin(d, s->mechanism, s->source, s->names[i], strlen(s->names[i]));
	draft_token(d, mechanism_word(s->mechanism)->token, s->tokens[i]);
	snprintf(key, sizeof(key), "rev:%lld", (long long)s->tokens[i]);
	draft_claim(d, CLAIM_HOLDER, s->holders[i], strlen(s->holders[i]), key);
	draft_int(d, DETAIL_LEASE, 0x694d);
	if (s->lease_gone)
		draft_int(d, DETAIL_LEASE_GONE, 1);
	if (s->also_waits) {
		snprintf(key, sizeof(key), "rev:%lld", (long long)s->tokens[i] + 1);
		draft_claim(d, CLAIM_WAITER, s->holders[i], strlen(s->holders[i]), key);
	}
	round_put(r, draft_finish(d));
}

static void script_tell(struct script *s, struct round *r)
{
	struct draft *d = round_draft(r);
	char id[64];
	int i;

	draft_begin(d, MECH_SOURCE, s->source, "", 0);
	draft_int(d, DETAIL_SYSTEM_IDENTIFIER, s->server_id);
	draft_int(d, DETAIL_IN_RECOVERY, s->in_recovery);
	draft_int(d, DETAIL_TIMELINE, s->timeline);
	draft_text(d, DETAIL_SERVER_ADDRESS, s->source);
	round_self(r, draft_finish(d));
	if (s->hiding)
		round_partial(r);
	if (!s->dropping)
		round_begin(r);
	for (i = 0; i < SCRIPT_ROWS && s->names[i]; i++) {
		snprintf(id, sizeof(id), "%s/%s", s->source, s->names[i]);
		if (s->holders[i])
			script_put(s, r, i);
		else if (s->dropping)
			(s->hiding ? round_hide : round_drop)(r, id);
	}
	if (!s->dropping)
		round_end(r);
	round_cost(r, 1, 100, 10, 1);
}

static int script_poll(void *state, struct round *r, struct err *err)
{
	struct script *s = state;
	int rc = 0;

	pthread_mutex_lock(&s->mutex);
	s->polls++;
	pthread_cond_broadcast(&s->polled);
	if (s->hang) {
		pthread_mutex_unlock(&s->mutex);
		script_hang(s, r);
		return round_cancelled(r) ? ERR_CANCELLED
					  : err_set(err, ERR_TIMEOUT, "no answer in time");
	}
	if (s->fail.code)
		rc = err_set(err, s->fail.code, "%s", s->fail.text);
	else
		script_tell(s, r);
	if (s->degraded)
		round_degraded(r, "%s", s->degraded);
	pthread_mutex_unlock(&s->mutex);
	return rc;
}

static void script_close(void *state)
{
	(void)state;
}

static const struct source_ops script_source = {
	.kind = "script",
	.summary = "does what a test tells it",
	.interval_ms = 10,
	.open = script_open,
	.poll = script_poll,
	.close = script_close,
};

static inline void script_init(struct script *s)
{
	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->polled, NULL);
	s->mechanism = MECH_ETCD_ELECTION;
	s->server_id = 77;
	s->timeline = 1;
	s->source = "test";
}

enum {
	SCRIPT_SOURCES = 2
};

struct script_fleet {
	struct script script, second; /* the second is there when `both` */
	bool both;
	struct source_config configs[SCRIPT_SOURCES];
	struct settings settings;
	struct fleet *fleet;
};

static inline void script_configure(
	struct source_config *config, const struct script *script, const char *name)
{
	*config = (struct source_config){
		.ops = &script_source,
		.name = name,
		.interval_ms = 10,
		.timeout_ms = 60000,
		.options = (const struct yaml_node *)(const void *)script,
	};
}

static inline void script_fleet_start(struct script_fleet *f, const char *state_dir, bool one_shot)
{
	struct fleet_options options = {
		.clock = &clock_system,
		.one_shot = one_shot,
		.memory = state_dir != NULL,
		.state_dir = state_dir,
	};

	memset(&f->settings, 0, sizeof(f->settings));
	script_configure(&f->configs[0], &f->script, f->script.source);
	script_configure(&f->configs[1], &f->second, f->second.source);
	f->settings.sources = f->configs;
	f->settings.n_sources = f->both ? 2 : 1;
	f->settings.thresholds = thresholds_default();
	f->fleet = fleet_new(&f->settings, &options);
	fleet_start(f->fleet);
}

#endif
