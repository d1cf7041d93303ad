#include "config.h"

#include "sim/cluster-hand.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Pods: the scheduler's binding, what the kubelet does (pkg/kubelet: a deleted pod's process gets
 * SIGTERM, and SIGKILL after its grace period; then the kubelet deletes the object for good, which
 * goes when no finalizer holds it), and the work of a Job's pod.
 */
enum {
	BIND_MS = 30,
	UNSCHEDULED_MS = 5000,
	CREATE_MS = 1000, /* from seeing the pod to its container's start */
	PULL_MS = 10000,
	RESTART_MS = 10000, /* the kubelet's back-off of a container: 10 s, 20 s, ... 5 min */
	RESTART_MOST_MS = 300000,
	REPLACE_MS = 2000, /* a ReplicaSet's new pod */
	NAME_MAX_LEN = 300,
	CODE_TERM = 143,
	CODE_KILL = 137,
	UNITS_OF_SLOT = 1000
};

#define TRACKING "batch.kubernetes.io/job-tracking"

static void bind_due(struct world *w, void *who, int64_t a, int64_t b);

/* ---- work ---- */

static char *copied(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void cluster_work_copy(struct cluster_work *to, const struct cluster_work *from)
{
	*to = *from;
	to->finalizer = copied(from->finalizer);
	to->node = copied(from->node);
}

void cluster_work_release(struct cluster_work *work)
{
	free((char *)(uintptr_t)work->finalizer);
	free((char *)(uintptr_t)work->node);
	work->finalizer = work->node = NULL;
}

bool cluster_pod_over(const struct cluster_pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

struct cluster_job *cluster_pod_job(const struct cluster_pod *pod)
{
	struct cluster_object *o;

	if (!pod->of_job || !pod->owner_name)
		return NULL;
	o = cluster_get(pod->o.cluster, CLUSTER_JOB, pod->o.ns, pod->owner_name);
	return o && cluster_owns(o, pod->owner_uid) ? (struct cluster_job *)o : NULL;
}

static void told(struct cluster_pod *pod)
{
	struct cluster_job *job = cluster_pod_job(pod);

	cluster_changed(&pod->o);
	if (job)
		cluster_job_wake(job, 1);
}

static int64_t node_now_us(const struct cluster_pod *pod)
{
	int64_t us = machine_clock_us(pod->o.cluster->world, pod->node->machine);

	return us - us % 1000000;
}

/* ---- making and binding ---- */

/* What generateName adds (k8s.io/apiserver names.SimpleNameGenerator). */
static void random_suffix(struct cluster *c, char *buf, size_t n)
{
	static const char alphanums[] = "bcdfghjklmnpqrstvwxz2456789";
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = alphanums[sim_random_below(world_random(c->world), sizeof(alphanums) - 1)];
	buf[n] = '\0';
}

static struct cluster_pod *pod_new(struct cluster *c, const char *ns, const char *name)
{
	struct cluster_pod *pod = xcalloc(1, sizeof(*pod));

	pod->phase = POD_PENDING;
	pod->start_us = pod->started_us = pod->running_us = pod->end_us = TIME_UNKNOWN;
	pod->begin_us = pod->finish_us = TIME_UNKNOWN;
	pod->slot_us = TIME_UNKNOWN;
	pod->grace_s = 30;
	cluster_add(c, &pod->o, CLUSTER_POD, ns, name);
	return pod;
}

static struct cluster_pod *job_pod(struct cluster_job *job)
{
	struct cluster *c = job->o.cluster;
	struct cluster_work *work = xcalloc(1, sizeof(*work));
	char name[NAME_MAX_LEN], suffix[8];
	struct cluster_pod *pod;

	random_suffix(c, suffix, 5);
	snprintf(name, sizeof(name), "%.250s-%s", job->o.name, suffix);
	pod = pod_new(c, job->o.ns, name);
	cluster_work_copy(work, &job->work);
	pod->work = work;
	pod->of_job = true;
	pod->slot_us = job->slot_us;
	pod->owner_name = xstrdup(job->o.name);
	memcpy(pod->owner_uid, job->o.uid, CLUSTER_UID_MAX);
	pod->grace_s = work->grace_s;
	cluster_finalizer(&pod->o, TRACKING, true);
	if (work->finalizer)
		cluster_finalizer(&pod->o, work->finalizer, true);
	return pod;
}

struct cluster_pod *cluster_pod_new(struct cluster_job *job)
{
	struct cluster_pod *pod = job_pod(job);

	world_after(job->o.cluster->world, BIND_MS, bind_due, job->o.cluster, pod->o.serial, 0);
	return pod;
}

static struct cluster_node *choose_node(struct cluster_pod *pod)
{
	struct cluster *c = pod->o.cluster;
	struct cluster_object *o;
	struct cluster_node *first = NULL, *found = NULL;
	size_t i = 0, skip = c->n[CLUSTER_NODE] ? c->next_node % c->n[CLUSTER_NODE] : 0;

	for (o = c->first[CLUSTER_NODE]; o; o = o->next, i++) {
		struct cluster_node *node = (struct cluster_node *)o;

		if (node->ready != TRI_YES || node->unschedulable)
			continue;
		if (pod->work->node && strcmp(pod->work->node, o->name) != 0)
			continue;
		if (!first)
			first = node;
		if (!found && i >= skip)
			found = node;
	}
	if (!pod->work->node)
		c->next_node++;
	return found ? found : first;
}

static void node_takes(struct cluster_node *node, struct cluster_pod *pod)
{
	MEM_GROW(node->pods.items, node->pods.n, node->pods.cap);
	node->pods.items[node->pods.n++] = pod;
	pod->node = node;
}

void cluster_pod_past(struct cluster_job *job)
{
	struct cluster_pod *pod = job_pod(job);
	struct cluster_node *node = choose_node(pod);

	while (cluster_has_finalizers(&pod->o))
		cluster_finalizer(&pod->o, pod->o.finalizers[0], false);
	if (node)
		node_takes(node, pod);
	pod->o.created_us = pod->start_us = job->start_us;
	pod->started_us = pod->begin_us = job->start_us + 1000000;
	pod->end_us = pod->finish_us = job->end_us;
	pod->phase = POD_SUCCEEDED;
	pod->begins = 1;
	pod->counted = pod->ended = pod->told_end = true;
}

static void bind_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct cluster_pod *pod = (struct cluster_pod *)cluster_by_serial(c, a);
	struct cluster_node *node;

	(void)b;
	if (!pod || pod->node || pod->o.deleted_us != TIME_UNKNOWN)
		return;
	node = c->trouble == CLUSTER_SERVES ? choose_node(pod) : NULL;
	if (!node) {
		world_after(w, UNSCHEDULED_MS, bind_due, c, a, 0);
		if (c->trouble != CLUSTER_SERVES || pod->reason)
			return;
		pod->reason = "Unschedulable";
		cluster_event(&pod->o, "Warning", "FailedScheduling", "0/%zu nodes are available",
			c->n[CLUSTER_NODE]);
		told(pod);
		return;
	}
	pod->reason = NULL;
	node_takes(node, pod);
	told(pod);
	cluster_node_wake(node, BIND_MS);
}

/* ---- going ---- */

static void node_leaves(struct cluster_pod *pod)
{
	struct cluster_node *node = pod->node;
	size_t i;

	for (i = 0; node && i < node->pods.n; i++)
		if (node->pods.items[i] == pod) {
			memmove(&node->pods.items[i], &node->pods.items[i + 1],
				(node->pods.n - i - 1) * sizeof(node->pods.items[0]));
			node->pods.n--;
			break;
		}
	pod->node = NULL;
}

static void orphan_due(struct world *w, void *who, int64_t a, int64_t b);

static void replace_due(struct world *w, void *who, int64_t a, int64_t b);

/* The object goes. A process of it that lives is one that nobody has a record of. */
static void object_goes(struct cluster_pod *pod)
{
	struct cluster *c = pod->o.cluster;
	struct cluster_job *job = cluster_pod_job(pod);
	struct process *p = pod->process;
	struct pod_program *g = pod->program;

	node_leaves(pod);
	if (g)
		g->pod = NULL;
	if (p && process_lives(p))
		world_after(c->world, 1000, orphan_due, c, 0, 0);
	else if (p && g && g->as_process && g->owner)
		world_after(c->world, REPLACE_MS, replace_due, g, p->life, 0);
	cluster_stuck_changed(pod);
	cluster_remove(&pod->o);
	if (job)
		cluster_job_wake(job, 1);
}

void cluster_pod_remove(struct cluster_pod *pod)
{
	if (pod->o.deleted_us != TIME_UNKNOWN && pod->told_end && !cluster_has_finalizers(&pod->o))
		object_goes(pod);
}

void cluster_pod_unhold(struct cluster_pod *pod)
{
	while (cluster_has_finalizers(&pod->o))
		cluster_finalizer(&pod->o, pod->o.finalizers[0], false);
	told(pod);
	cluster_pod_remove(pod);
}

void cluster_pod_delete(struct cluster_pod *pod, int64_t grace_s)
{
	struct cluster *c = pod->o.cluster;
	int64_t grace = grace_s < 0 ? pod->grace_s : grace_s;

	if (pod->o.deleted_us == TIME_UNKNOWN || grace == 0) {
		pod->grace_s = grace;
		/* The time when its grace is over (meta/v1 ObjectMeta). */
		pod->o.deleted_us = cluster_now_us(c) / 1000000 * 1000000 + grace * 1000000;
		told(pod);
	}
	if (grace == 0 || !pod->node) {
		/* Who takes it away at once does not ask whether the process has ended. */
		pod->told_end = true;
		cluster_pod_remove(pod);
		return;
	}
	cluster_node_wake(pod->node, BIND_MS);
}

/* ---- what the kubelet does without anybody ---- */

static void launch(struct cluster_pod *pod);

static int64_t restart_wait_ms(const struct cluster_pod *pod)
{
	int64_t wait_ms = RESTART_MS;
	int32_t i;

	for (i = 1; i < pod->begins && wait_ms < RESTART_MOST_MS; i++)
		wait_ms *= 2;
	return wait_ms < RESTART_MOST_MS ? wait_ms : RESTART_MOST_MS;
}

/* A container of a Deployment is always started again, here by the process' own supervisor. */
static bool may_restart(const struct cluster_pod *pod)
{
	if (pod->program && pod->program->as_process && pod->process->state == PROCESS_CRASHED &&
		pod->o.deleted_us == TIME_UNKNOWN)
		return true;
	return pod->of_job && pod->work->restarts && pod->ended && pod->code &&
	       !pod->asked_to_stop && pod->o.deleted_us == TIME_UNKNOWN;
}

/* SIGTERM was sent: it ends when it has tidied up, or when its grace is over. */
static int64_t stopping(struct cluster_pod *pod)
{
	struct world *w = pod->o.cluster->world;

	if (!process_lives(pod->process))
		return INT64_MAX;
	if (world_now_ms(w) < pod->kill_ms)
		return pod->kill_ms;
	process_end(w, pod->process, PROCESS_END_KILLED);
	return INT64_MAX;
}

int64_t cluster_pod_local(struct cluster_pod *pod)
{
	struct world *w = pod->o.cluster->world;

	if (pod->stopping)
		return stopping(pod);
	if (!may_restart(pod) || pod->program->as_process)
		return INT64_MAX;
	if (!pod->next_start_ms)
		pod->next_start_ms = world_now_ms(w) + restart_wait_ms(pod);
	if (world_now_ms(w) < pod->next_start_ms)
		return pod->next_start_ms;
	pod->next_start_ms = 0;
	launch(pod);
	return INT64_MAX;
}

/* ---- what it does when it hears of it ---- */

static void stop_due(struct world *w, struct process *p, void *who, int64_t a)
{
	(void)who;
	(void)a;
	process_end(w, p, PROCESS_END_STOPPED);
}

static void ask_to_stop(struct cluster_pod *pod)
{
	struct world *w = pod->o.cluster->world;

	pod->asked_to_stop = true;
	if (!pod->launched || !process_lives(pod->process)) {
		pod->ended = true;
		return;
	}
	pod->stopping = true;
	pod->kill_ms = world_now_ms(w) + pod->grace_s * 1000;
	/* A process that is paused takes no signal but SIGKILL. */
	if (!pod->work || !pod->work->deaf)
		process_after(
			w, pod->process, pod->work ? pod->work->stop_ms : 0, stop_due, NULL, 0);
}

static void tell_end(struct cluster_pod *pod)
{
	pod->told_end = true;
	pod->running = 0;
	pod->running_us = TIME_UNKNOWN;
	pod->started_us = pod->begin_us;
	pod->end_us = pod->finish_us;
	pod->exit_code = pod->code;
	if (pod->phase != POD_SUCCEEDED)
		pod->phase = pod->code || !pod->launched ? POD_FAILED : POD_SUCCEEDED;
	pod->reason = pod->code ? "Error" : NULL;
	told(pod);
}

static void tell_running(struct cluster_pod *pod)
{
	pod->phase = POD_RUNNING;
	pod->reason = NULL;
	pod->running = 1;
	pod->restarts = pod->begins > 0 ? pod->begins - 1 : 0;
	pod->started_us = pod->running_us = pod->begin_us;
	told(pod);
}

/* A container that ended, and is started again after a while. */
static void tell_waiting(struct cluster_pod *pod)
{
	if (!pod->running)
		return;
	pod->running = 0;
	pod->running_us = TIME_UNKNOWN;
	pod->reason = "CrashLoopBackOff";
	told(pod);
}

static int64_t sync_new(struct cluster_pod *pod)
{
	struct world *w = pod->o.cluster->world;

	if (pod->start_us == TIME_UNKNOWN) {
		pod->start_us = node_now_us(pod);
		pod->reason = "ContainerCreating";
		pod->next_start_ms = world_now_ms(w) + CREATE_MS;
		told(pod);
	}
	if (world_now_ms(w) < pod->next_start_ms)
		return pod->next_start_ms;
	if (pod->work && pod->work->bad_image) {
		pod->reason = "ImagePullBackOff";
		pod->next_start_ms = world_now_ms(w) + PULL_MS;
		cluster_event(&pod->o, "Warning", "Failed", "Error: ImagePullBackOff");
		told(pod);
		return pod->next_start_ms;
	}
	pod->next_start_ms = 0;
	launch(pod);
	tell_running(pod);
	return INT64_MAX;
}

static int64_t sync_live(struct cluster_pod *pod)
{
	int64_t next = cluster_pod_local(pod);

	if (pod->ended && !may_restart(pod) && !pod->told_end)
		tell_end(pod);
	else if (pod->ended && may_restart(pod))
		tell_waiting(pod);
	else if (!pod->ended && !pod->running)
		tell_running(pod);
	return next;
}

int64_t cluster_pod_sync(struct cluster_pod *pod)
{
	int64_t next = INT64_MAX;

	if (pod->o.deleted_us != TIME_UNKNOWN && !pod->asked_to_stop)
		ask_to_stop(pod);
	if (!pod->launched && !pod->asked_to_stop && !cluster_pod_over(pod))
		return sync_new(pod);
	if (pod->launched)
		next = sync_live(pod);
	else if (pod->asked_to_stop && !pod->told_end)
		tell_end(pod);
	cluster_pod_remove(pod);
	return next;
}

/* Processes whose object was taken away: their kubelet stops them as soon as it hears of it. */
static void orphan_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct cluster *c = who;
	struct pod_program *g;
	bool left = false;

	(void)a;
	(void)b;
	for (g = c->pods; g; g = g->next) {
		struct process *p = g->program.process;

		if (g->pod || !g->cut_loose || !process_lives(p))
			continue;
		if (c->trouble == CLUSTER_SERVES && net_reaches(w, p->machine, c->machine))
			process_end(w, p, PROCESS_END_STOPPED);
		else
			left = true;
	}
	if (left)
		world_after(w, 1000, orphan_due, c, 0, 0);
}

/* ---- the process of a Job's pod ---- */

static void work_over(struct world *w, struct process *p, void *who, int64_t a)
{
	struct pod_program *g = who;

	/* a: it ends with this code. */
	g->ok = a == 0;
	if (g->pod)
		g->pod->code = (int32_t)a;
	g->by_itself = true;
	process_end_as(
		w, p, PROCESS_END_KILLED, g->ok ? "is done, and ended" : "failed, and ended");
}

static int64_t unit_of(const struct pod_program *g)
{
	int64_t slot_us = g->slot_us;

	return slot_us == TIME_UNKNOWN ? 0 : slot_us / 60000000 * UNITS_OF_SLOT + g->wrote + 1;
}

static void work_write(struct world *w, struct process *p, void *who, int64_t a)
{
	struct pod_program *g = who;

	(void)a;
	resource_write(w, g->work.resource, p, 0, unit_of(g));
	g->wrote++;
	if (g->wrote < g->work.writes)
		process_after(w, p, g->length_ms / g->work.writes, work_write, g, 0);
}

static void work_start(struct world *w, struct program *program)
{
	struct pod_program *g = (struct pod_program *)program;
	const struct cluster_work *work = &g->work;
	bool fails = work->fails < 0 || g->execution < work->fails;

	g->ok = g->by_itself = false;
	g->wrote = 0;
	g->began_ms = world_now_ms(w);
	g->length_ms = sim_random_vary(world_random(w), work->duration_ms, work->vary);
	if (work->duty)
		duty_begin(w, work->duty, program->process, 0);
	if (work->resource && work->writes > 0)
		work_write(w, program->process, g, 0);
	if (fails)
		process_after(w, program->process, g->length_ms / 2, work_over, g, 1);
	else if (!work->hangs)
		process_after(w, program->process, g->length_ms, work_over, g, 0);
}

static void work_ended(struct world *w, struct program *program, enum process_end how)
{
	struct pod_program *g = (struct pod_program *)program;
	struct cluster_pod *pod = g->pod;

	if (!pod)
		return;
	pod->ended = true;
	pod->stopping = false;
	pod->finish_us = node_now_us(pod);
	if (!g->by_itself)
		pod->code = how == PROCESS_END_STOPPED ? CODE_TERM : CODE_KILL;
	(void)w;
	cluster_node_wake(pod->node, BIND_MS);
}

static void work_asked(const struct world *w, const struct program *program, char *buf, size_t size)
{
	const struct pod_program *g = (const struct pod_program *)program;
	int64_t s = (world_now_ms(w) - g->began_ms) / 1000;

	snprintf(buf, size, "has worked for %" PRId64 " s%s", s,
		g->work.hangs && s * 1000 > g->length_ms ? ", and makes no progress" : "");
}

static void pod_program_free(struct program *program)
{
	struct pod_program *g = (struct pod_program *)program;

	cluster_work_release(&g->work);
	free(g->ns);
	free(g->owner);
	free(g);
}

static const struct program_ops work_ops = {
	.word = "pod-work",
	.start = work_start,
	.ended = work_ended,
	.asked = work_asked,
	.free = pod_program_free,
};

static struct pod_program *program_new(struct cluster *c, struct process *p)
{
	struct pod_program *g = xcalloc(1, sizeof(*g));

	g->cluster = c;
	g->next = c->pods;
	c->pods = g;
	(void)p;
	return g;
}

/*
 * The processes of pods whose objects are gone, once they have ended: a fleet that lives for days
 * makes some with every slot of every CronJob. Here, where the next one begins, nobody walks them.
 */
static void forget_ended(struct cluster *c)
{
	struct pod_program **at = &c->pods, *g, *next;

	while ((g = *at) != NULL) {
		next = g->next;
		if (!g->as_process && !g->pod && process_forget(c->world, g->program.process))
			*at = next;
		else
			at = &g->next;
	}
}

/* Its container starts, the first time or again. */
static void launch(struct cluster_pod *pod)
{
	struct cluster *c = pod->o.cluster;
	struct cluster_job *job = cluster_pod_job(pod);

	if (!pod->process) {
		struct pod_program *g;

		forget_ended(c);
		pod->process = process_new(c->world, pod->o.name, pod->node->machine, pod->o.name);
		pod->process->hidden = true; /* it is seen as its run's pod */
		pod->process->brief = true;
		g = pod->program = program_new(c, pod->process);
		cluster_work_copy(&g->work, pod->work);
		g->pod = pod;
		g->cut_loose = true;
		g->slot_us = pod->slot_us;
		process_program(pod->process, &g->program, &work_ops);
		c->processes++;
	}
	if (job)
		pod->program->execution = job->executions++;
	pod->launched = true;
	pod->ended = false;
	pod->begins++;
	pod->code = 0;
	pod->begin_us = node_now_us(pod);
	process_start(c->world, pod->process);
}

/* ---- a process of the scenario as a pod ---- */

static void pod_made(struct world *w, struct pod_program *g)
{
	struct cluster *c = g->cluster;
	struct process *p = g->program.process;
	struct cluster_node *node = cluster_node_new(c, p->machine);
	char name[NAME_MAX_LEN];
	char suffix[8];

	if (p->life == 1) {
		snprintf(name, sizeof(name), "%.250s", p->thing.name);
	} else {
		random_suffix(c, suffix, 5);
		snprintf(name, sizeof(name), "%.250s-%s", p->thing.name, suffix);
	}
	(void)w;
	g->pod = pod_new(c, g->ns, name);
	g->pod->owner_name = copied(g->owner);
	g->pod->process = p;
	g->pod->program = g;
	node_takes(node, g->pod);
	g->pod->start_us = node_now_us(g->pod);
}

/* A pod that is being deleted goes with the life that has ended. */
static void let_go(struct pod_program *g)
{
	struct cluster_pod *pod = g->pod;

	if (!pod || pod->o.deleted_us == TIME_UNKNOWN)
		return;
	pod->process = NULL;
	pod->program = NULL;
	pod->ended = pod->asked_to_stop = true;
	pod->stopping = false;
	g->pod = NULL;
	cluster_node_wake(pod->node, BIND_MS);
}

static void as_start(struct world *w, struct program *program)
{
	struct pod_program *g = (struct pod_program *)program;

	let_go(g);
	if (!g->pod)
		pod_made(w, g);
	g->pod->launched = true;
	g->pod->ended = false;
	g->pod->begins++;
	g->pod->begin_us = node_now_us(g->pod);
	if (g->pod->begins == 1)
		tell_running(g->pod);
	else
		cluster_node_wake(g->pod->node, BIND_MS);
}

/* A container that crashed is started again in its pod; one that was stopped goes with it. */
static void as_ended(struct world *w, struct program *program, enum process_end how)
{
	struct pod_program *g = (struct pod_program *)program;
	struct cluster_pod *pod = g->pod;

	(void)w;
	if (!pod)
		return;
	pod->ended = true;
	pod->stopping = false;
	pod->finish_us = node_now_us(pod);
	pod->code = how == PROCESS_END_STOPPED ? 0 : CODE_KILL;
	/* Who stops a pod's process does it by deleting the pod. */
	if (how == PROCESS_END_STOPPED && pod->o.deleted_us == TIME_UNKNOWN)
		cluster_pod_delete(pod, -1);
	cluster_node_wake(pod->node, BIND_MS);
}

static const struct program_ops as_ops = {
	.word = "pod",
	.start = as_start,
	.ended = as_ended,
	.free = pod_program_free,
};

static void replace_due(struct world *w, void *who, int64_t a, int64_t b)
{
	struct pod_program *g = who;
	struct process *p = g->program.process;

	(void)b;
	if (p->life == (uint32_t)a && !process_lives(p))
		process_start(w, p);
}

struct pod_program *cluster_pod_program(
	struct cluster *c, struct process *p, const char *ns, const char *owner)
{
	struct pod_program *g = program_new(c, p);

	g->as_process = g->cut_loose = true;
	g->ns = xstrdup(ns);
	g->owner = copied(owner);
	process_program(p, &g->program, &as_ops);
	cluster_node_new(c, p->machine);
	return g;
}

struct cluster_pod *cluster_process_pod(const struct process *p)
{
	const struct program *g;

	for (g = p->programs; g; g = g->next)
		if (g->ops == &as_ops || g->ops == &work_ops)
			return ((const struct pod_program *)g)->pod;
	return NULL;
}
