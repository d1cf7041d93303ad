#include "config.h"

#include "sim/postgres-recipe.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FLAG_BITS = 8,
	FOREVER_MS = 1000000000, /* a statement without a time limit */
	EVERY_MS = 5000
};

static void locker_ask(struct world *w, struct simpg_locker *l);
static void locker_again(struct world *w, struct simpg_locker *l, int64_t delay_ms);

static struct simpg_locker *locker_of(struct simpg_client *c)
{
	return (struct simpg_locker *)((char *)c - offsetof(struct simpg_locker, client));
}

static void ask(struct world *w, struct simpg_locker *l, enum simpg_op op)
{
	bool waits = op == SIMPG_LOCK;
	int64_t timeout = waits ? l->lock_timeout_ms : 0;

	simpg_client_ask(w, &l->client, op, l->key, timeout << FLAG_BITS | l->flags, NULL,
		waits ? FOREVER_MS : 0);
}

/* ---- believing ---- */

static void believe(struct world *w, struct simpg_locker *l)
{
	if (l->leads)
		return;
	l->leads = true;
	if (l->duty)
		duty_begin(w, l->duty, l->program.process, 0);
}

static void disbelieve(struct world *w, struct simpg_locker *l)
{
	if (!l->leads)
		return;
	l->leads = false;
	if (l->duty)
		duty_end(w, l->duty, l->program.process);
}

/* ---- the lock is its own ---- */

static void let_go(struct world *w, struct simpg_locker *l)
{
	bool transaction = l->flags & SIMPG_FLAG_TRANSACTION;

	disbelieve(w, l);
	l->turn++;
	l->holds = false;
	if (*l->gid)
		simpg_client_ask(w, &l->client, SIMPG_PREPARE, 0, 0, l->gid, 0);
	else
		ask(w, l, transaction ? SIMPG_COMMIT : SIMPG_UNLOCK);
}

static void hold_over(struct world *w, struct process *p, void *who, int64_t turn)
{
	struct simpg_locker *l = who;

	(void)p;
	if (!l->holds || l->turn != (uint32_t)turn)
		return;
	if (l->client.asking)
		l->asked_to_go = true; /* after what it does just now */
	else
		let_go(w, l);
}

static void check_due(struct world *w, struct process *p, void *who, int64_t turn)
{
	struct simpg_locker *l = who;

	(void)p;
	if (l->turn != (uint32_t)turn || !l->client.connected)
		return;
	if (l->client.asking)
		process_after(w, p, l->checks_ms, check_due, l, turn);
	else
		simpg_client_ask(w, &l->client, SIMPG_RUN, 0, 0, "SELECT 1", 0);
}

static void got(struct world *w, struct simpg_locker *l)
{
	struct process *p = l->program.process;

	l->holds = true;
	believe(w, l);
	if (l->hold_ms > 0)
		process_after(w, p, l->hold_ms, hold_over, l, l->turn);
	if (l->checks_ms > 0)
		process_after(w, p, l->checks_ms, check_due, l, l->turn);
	if (l->build_ms <= 0)
		return;
	l->build_began_ms = world_now_ms(w);
	simpg_client_ask(
		w, &l->client, SIMPG_RUN, l->build_ms, l->build_flags, l->build, FOREVER_MS);
}

/* ---- without it ---- */

/* What it believed of its session was wrong, or its session is over. */
static void lost(struct world *w, struct simpg_locker *l)
{
	l->holds = false;
	l->turn++;
	if (l->belief != SIMPG_BELIEVES_FOREVER)
		disbelieve(w, l);
	locker_again(w, l, l->every_ms);
}

static void again_due(struct world *w, struct process *p, void *who, int64_t turn)
{
	struct simpg_locker *l = who;

	(void)p;
	if (l->turn != (uint32_t)turn || l->done || l->client.asking || l->holds)
		return;
	if (l->client.connected)
		locker_ask(w, l);
	else
		simpg_client_connect(w, &l->client);
}

static void locker_again(struct world *w, struct simpg_locker *l, int64_t delay_ms)
{
	process_after(w, l->program.process, delay_ms, again_due, l, l->turn);
}

static void finished(struct world *w, struct simpg_locker *l)
{
	l->asked_to_go = false;
	if (l->again_ms >= 0) {
		locker_again(w, l, l->again_ms);
		return;
	}
	l->done = true;
	simpg_client_close(w, &l->client);
	if (l->ends)
		process_end_as(w, l->program.process, PROCESS_END_STOPPED, "is done, and ended");
}

/* ---- what was answered ---- */

static void locker_ask(struct world *w, struct simpg_locker *l)
{
	if (l->flags & SIMPG_FLAG_TRANSACTION && !l->in_block)
		simpg_client_ask(w, &l->client, SIMPG_BEGIN, 0, 0, NULL, 0);
	else
		ask(w, l, l->tries ? SIMPG_TRY : SIMPG_LOCK);
}

static void connected(struct world *w, struct simpg_locker *l)
{
	l->in_block = false;
	if (*l->channel)
		simpg_client_ask(w, &l->client, SIMPG_LISTEN, 0, 0, l->channel, 0);
	else
		locker_ask(w, l);
}

/* A statement of its own failed, and its session lives. */
static void failed(struct world *w, struct simpg_locker *l, enum simpg_op op)
{
	if (l->in_block) {
		l->in_block = false;
		l->turn++;
		disbelieve(w, l);
		l->holds = false;
		simpg_client_ask(w, &l->client, SIMPG_COMMIT, 0, 0, NULL, 0);
	} else if (op == SIMPG_RUN && l->holds) {
		/* The build was cut off: it gives up. */
		let_go(w, l);
	} else {
		locker_again(w, l, l->every_ms);
	}
}

static void ran(struct world *w, struct simpg_locker *l)
{
	if (!l->holds)
		return;
	if (l->asked_to_go || l->build_ms > 0) {
		let_go(w, l);
		return;
	}
	if (l->checks_ms > 0)
		process_after(w, l->program.process, l->checks_ms, check_due, l, l->turn);
}

static void locker_done(
	struct world *w, struct simpg_client *c, enum simpg_op op, int error, int64_t value)
{
	struct simpg_locker *l = locker_of(c);

	l->last_error = error;
	if (error && !c->connected) {
		lost(w, l);
		return;
	}
	if (error) {
		failed(w, l, op);
		return;
	}
	switch (op) {
	case SIMPG_CONNECT:
		connected(w, l);
		return;
	case SIMPG_LISTEN:
		locker_ask(w, l);
		return;
	case SIMPG_BEGIN:
		l->in_block = true;
		ask(w, l, l->tries ? SIMPG_TRY : SIMPG_LOCK);
		return;
	case SIMPG_LOCK:
	case SIMPG_TRY:
		if (value)
			got(w, l);
		else
			locker_again(w, l, l->every_ms);
		return;
	case SIMPG_UNLOCK:
		l->stray_unlocks += !value;
		finished(w, l);
		return;
	case SIMPG_COMMIT:
	case SIMPG_PREPARE:
		l->in_block = false;
		finished(w, l);
		return;
	case SIMPG_RUN:
		ran(w, l);
		return;
	case SIMPG_CLOSE:
		return;
	}
}

/* A request to step down: doc/step-down.md; whose session it is not, passes it over. */
static void locker_told(struct world *w, struct process *p, void *who, int64_t pid, int64_t start)
{
	struct simpg_locker *l = locker_of(who);

	(void)p;
	(void)start;
	if (!l->holds || l->client.pid != pid)
		return;
	if (l->client.asking)
		l->asked_to_go = true;
	else
		let_go(w, l);
}

/* ---- its life ---- */

static void locker_start(struct world *w, struct program *g)
{
	struct simpg_locker *l = (struct simpg_locker *)g;

	l->holds = l->leads = l->asked_to_go = l->done = l->in_block = false;
	l->turn++;
	l->client.connected = l->client.asking = false;
	l->client.process = g->process;
	if (!*l->client.login.application)
		snprintf(l->client.login.application, SIMPG_NAME_MAX, "%s", g->process->identity);
	simpg_client_connect(w, &l->client);
}

static void locker_ended(struct world *w, struct program *g, enum process_end how)
{
	struct simpg_locker *l = (struct simpg_locker *)g;

	disbelieve(w, l);
	l->holds = false;
	simpg_client_ended(w, &l->client, how);
}

static void locker_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct simpg_locker *l = (const struct simpg_locker *)g;

	int64_t percent =
		l->build_ms > 0 ? (world_now_ms(w) - l->build_began_ms) * 100 / l->build_ms : 0;

	if (l->holds && l->build_ms > 0 && l->client.asking)
		snprintf(buf, size, "its statement is at %d percent%s",
			percent > 100 ? 100 : (int)percent,
			percent > 100 ? ", and waits for older transactions to end" : "");
	else if (l->leads)
		snprintf(buf, size, "it believes that the work is its own%s",
			l->client.connected ? "" : ", and has no session");
	else if (l->client.connected)
		snprintf(buf, size, "it %s", l->done ? "is done" : "waits for the lock");
	else
		snprintf(buf, size, "it has no session: %s", simpg_error_word(l->last_error));
}

static const struct program_ops locker_ops = {
	.word = "pg-lock",
	.start = locker_start,
	.ended = locker_ended,
	.asked = locker_asked,
};

struct simpg_locker *simpg_locker_new(struct process *p)
{
	struct simpg_locker *l = xcalloc(1, sizeof(*l));

	l->client.done = locker_done;
	l->client.login.listener = locker_told;
	l->every_ms = EVERY_MS;
	l->again_ms = -1;
	process_program(p, &l->program, &locker_ops);
	return l;
}

/* ---- one who does something else ---- */

static struct simpg_user *user_of(struct simpg_client *c)
{
	return (struct simpg_user *)((char *)c - offsetof(struct simpg_user, client));
}

static void user_run(struct world *w, struct simpg_user *u)
{
	simpg_client_ask(w, &u->client, SIMPG_RUN, u->runs_ms, u->flags, u->query, FOREVER_MS);
}

static void user_due(struct world *w, struct process *p, void *who, int64_t a)
{
	struct simpg_user *u = who;

	(void)p;
	(void)a;
	if (u->client.asking)
		return;
	if (u->client.connected)
		user_run(w, u);
	else
		simpg_client_connect(w, &u->client);
}

static void user_done(
	struct world *w, struct simpg_client *c, enum simpg_op op, int error, int64_t value)
{
	struct simpg_user *u = user_of(c);

	(void)value;
	u->last_error = error;
	if (error) {
		process_after(w, u->program.process, u->retry_ms, user_due, u, 0);
	} else if (op == SIMPG_CONNECT && u->block) {
		simpg_client_ask(w, c, SIMPG_BEGIN, 0, 0, NULL, 0);
	} else if (op == SIMPG_CONNECT || op == SIMPG_BEGIN) {
		user_run(w, u);
	} else if (op == SIMPG_RUN) {
		u->done++;
		if (u->every_ms >= 0)
			process_after(w, u->program.process, u->every_ms, user_due, u, 0);
	}
}

static void user_start(struct world *w, struct program *g)
{
	struct simpg_user *u = (struct simpg_user *)g;

	u->client.connected = u->client.asking = false;
	u->client.process = g->process;
	if (!*u->client.login.application)
		snprintf(u->client.login.application, SIMPG_NAME_MAX, "%s", g->process->identity);
	simpg_client_connect(w, &u->client);
}

static void user_ended(struct world *w, struct program *g, enum process_end how)
{
	simpg_client_ended(w, &((struct simpg_user *)g)->client, how);
}

static void user_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct simpg_user *u = (const struct simpg_user *)g;

	(void)w;
	if (u->client.connected)
		snprintf(buf, size, "it is connected, and has executed \"%s\" %llu times", u->query,
			(unsigned long long)u->done);
	else
		snprintf(buf, size, "it has no session: %s", simpg_error_word(u->last_error));
}

static const struct program_ops user_ops = {
	.word = "pg-session",
	.start = user_start,
	.ended = user_ended,
	.asked = user_asked,
};

struct simpg_user *simpg_user_new(struct process *p)
{
	struct simpg_user *u = xcalloc(1, sizeof(*u));

	u->client.done = user_done;
	u->every_ms = -1;
	u->retry_ms = EVERY_MS;
	process_program(p, &u->program, &user_ops);
	return u;
}
