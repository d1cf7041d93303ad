#include "config.h"

#include "source/kubernetes-store.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DROPPED_MAX = 64 * 1024 * 1024,
	DIRTY_KEPT = 4096,
	SCHEDULE_KEY_MAX = 4096,
	TEXTS_MOST = 12,
	FETCH_AHEAD = 2, /* Leases that are fetched while another is told */
	FETCH_LINE = 64,
	SOFT_LEAST_S = 8 /* of shorter Leases also a renewal is told at once */
};

struct kube_store {
	schedule_zone_load zone_load;
	struct map schedules;                        /* text, NUL, zone -> struct schedule */
	struct map crons, runs, pods, leases, nodes; /* by uid; nodes by name */
	struct map cron_paths, lease_paths;
	struct kube_cron **dirty_crons;
	struct kube_lease_seen **dirty_leases;
	size_t n_dirty_crons, cap_dirty_crons, n_dirty_leases, cap_dirty_leases;
	struct str dropped; /* paths, each ended by a NUL */
	struct str hidden;  /* the same, of what can't be seen any more */
	bool hiding;
	size_t n_soft; /* of the dirty Leases */
	size_t n_heartbeats, n_cronjobs, n_jobs;
	uint64_t lease_changes; /* Leases that came, or changed by more than a renewal */
	bool nodes_known;
	struct kube_now now;
};

/* ---- facts in one block ---- */

#define AT(s, member) offsetof(struct s, member)
#define HEAD_TEXTS(s)                                                           \
	AT(s, head.name), AT(s, head.ns), AT(s, head.uid), AT(s, head.version), \
		AT(s, head.owner_name), AT(s, head.owner_uid), AT(s, head.finalizers)

static const size_t cronjob_texts[] = { HEAD_TEXTS(kube_cronjob), AT(kube_cronjob, schedule),
	AT(kube_cronjob, zone), AT(kube_cronjob, policy), AT(kube_cronjob, active) };
static const size_t job_texts[] = { HEAD_TEXTS(kube_job), AT(kube_job, slot), AT(kube_job, reason),
	AT(kube_job, restart_policy), AT(kube_job, replacement_policy) };
static const size_t pod_texts[] = { HEAD_TEXTS(kube_pod), AT(kube_pod, node),
	AT(kube_pod, reason) };
static const size_t lease_texts[] = { HEAD_TEXTS(kube_lease), AT(kube_lease, holder),
	AT(kube_lease, strategy), AT(kube_lease, preferred) };

static struct kube_text *text_at(void *facts, size_t at)
{
	return (struct kube_text *)(void *)((char *)facts + at);
}

static const struct kube_text *text_in(const void *facts, size_t at)
{
	return (const struct kube_text *)(const void *)((const char *)facts + at);
}

/* Copies facts with all their texts, each with an end of its own. */
static void *pack(const void *facts, size_t size, const size_t *texts, size_t n)
{
	size_t i, total = size;
	char *block, *to;

	for (i = 0; i < n; i++) {
		const struct kube_text *t = text_in(facts, texts[i]);

		total += t->s ? t->len + 1 : 0;
	}
	block = xmalloc(total);
	memcpy(block, facts, size);
	to = block + size;
	for (i = 0; i < n; i++) {
		struct kube_text *t = text_at(block, texts[i]);

		if (!t->s)
			continue;
		memcpy(to, t->s, t->len);
		to[t->len] = '\0';
		t->s = to;
		to += t->len + 1;
	}
	return block;
}

#define PACK(facts, texts) pack((facts), sizeof(*(facts)), (texts), ARRAY_LEN(texts))

/*
 * Writes facts over a block whose texts are all as long as theirs, as of most renewals: every text
 * stays where it is. false: they are not.
 */
static bool repack(void *block, const void *facts, size_t size, const size_t *texts, size_t n)
{
	const char *places[TEXTS_MOST];
	size_t i;

	for (i = 0; i < n; i++) {
		const struct kube_text *to = text_at(block, texts[i]);
		const struct kube_text *from = text_in(facts, texts[i]);

		if (!to->s != !from->s || to->len != from->len)
			return false;
		places[i] = to->s;
	}
	memcpy(block, facts, size);
	for (i = 0; i < n; i++) {
		struct kube_text *t = text_at(block, texts[i]);

		if (t->s && t->s != places[i])
			memcpy((char *)(uintptr_t)places[i], t->s, t->len);
		t->s = places[i];
	}
	return true;
}

#define REPACK(block, facts, texts) \
	repack((block), (facts), sizeof(*(facts)), (texts), ARRAY_LEN(texts))
_Static_assert(ARRAY_LEN(lease_texts) <= TEXTS_MOST, "TEXTS_MOST");

struct kube_pod *kube_pod_copy(const struct kube_pod *facts)
{
	return PACK(facts, pod_texts);
}

static char *path_like(const char *kind, const struct kube_text *ns, const struct kube_text *name)
{
	size_t len = strlen(kind) + ns->len + name->len + 3;
	char *path = xmalloc(len);

	snprintf(path, len, "%s/%s/%s", kind, ns->s, name->s);
	return path;
}

static char *path_of(const char *kind, const struct kube_head *head)
{
	return path_like(kind, &head->ns, &head->name);
}

/* ---- what must be told ---- */

static void dirty_cron(struct kube_store *s, struct kube_cron *cron)
{
	if (!cron || cron->dirty)
		return;
	MEM_GROW(s->dirty_crons, s->n_dirty_crons, s->cap_dirty_crons);
	s->dirty_crons[s->n_dirty_crons++] = cron;
	cron->dirty = s->n_dirty_crons;
}

static void clean_cron(struct kube_store *s, struct kube_cron *cron)
{
	struct kube_cron *last;

	if (!cron->dirty)
		return;
	last = s->dirty_crons[--s->n_dirty_crons];
	s->dirty_crons[cron->dirty - 1] = last;
	last->dirty = cron->dirty;
	cron->dirty = 0;
}

static void dirty_lease(struct kube_store *s, struct kube_lease_seen *lease, bool soft)
{
	if (lease->dirty) {
		if (lease->soft && !soft) {
			lease->soft = false;
			s->n_soft--;
		}
		return;
	}
	MEM_GROW(s->dirty_leases, s->n_dirty_leases, s->cap_dirty_leases);
	s->dirty_leases[s->n_dirty_leases++] = lease;
	lease->dirty = s->n_dirty_leases;
	lease->soft = soft;
	s->n_soft += soft;
}

static void clean_lease(struct kube_store *s, struct kube_lease_seen *lease)
{
	struct kube_lease_seen *last;

	if (!lease->dirty)
		return;
	last = s->dirty_leases[--s->n_dirty_leases];
	s->dirty_leases[lease->dirty - 1] = last;
	last->dirty = lease->dirty;
	s->n_soft -= lease->soft;
	lease->dirty = 0;
	lease->soft = false;
}

void kube_store_at(struct kube_store *s, const struct kube_now *now)
{
	s->now = *now;
}

void kube_store_touch_lease(struct kube_store *s, struct kube_lease_seen *lease)
{
	dirty_lease(s, lease, false);
}

static void drop_path(struct kube_store *s, const char *path)
{
	str_add_mem(s->hiding ? &s->hidden : &s->dropped, path, strlen(path) + 1);
}

/* ---- pods ---- */

static void pod_unlink(struct kube_pod_of_run *pod)
{
	struct kube_run *run = pod->run;
	size_t i;

	for (i = 0; run && i < run->n_pods; i++)
		if (run->pods[i] == pod) {
			run->pods[i] = run->pods[--run->n_pods];
			break;
		}
	pod->run = NULL;
}

static struct kube_cron *pod_cron(const struct kube_pod_of_run *pod)
{
	return pod->run ? pod->run->cron : NULL;
}

static void run_free_if_lost(struct kube_store *s, struct kube_run *run);

static void pod_free(struct kube_store *s, struct kube_pod_of_run *pod)
{
	struct kube_run *run = pod->run;

	dirty_cron(s, pod_cron(pod));
	map_remove(&s->pods, pod->facts->head.uid.s, pod->facts->head.uid.len);
	pod_unlink(pod);
	free(pod->facts);
	free(pod);
	if (run)
		run_free_if_lost(s, run);
}

/* ---- runs ---- */

static void cron_free_if_lost(struct kube_store *s, struct kube_cron *cron);

static void run_unlink(struct kube_store *s, struct kube_run *run)
{
	struct kube_cron *cron = run->cron;
	size_t i;

	if (!cron)
		return;
	for (i = 0; i < cron->n_runs; i++)
		if (cron->runs[i] == run) {
			cron->runs[i] = cron->runs[--cron->n_runs];
			break;
		}
	run->cron = NULL;
	dirty_cron(s, cron);
	cron_free_if_lost(s, cron);
}

/* Whether the Job is seen. */
static bool run_has_job(const struct kube_run *run)
{
	return run->facts && !run->gone && !run->hidden;
}

/* A run that is neither a Job nor the owner of pods is nothing. */
static void run_free_if_lost(struct kube_store *s, struct kube_run *run)
{
	if (run_has_job(run) || run->foreign || run->n_pods)
		return;
	free(run->facts);
	run->facts = NULL;
	run_unlink(s, run);
	map_remove(&s->runs, run->uid, strlen(run->uid));
	free(run->pods);
	free(run->ns);
	free(run->uid);
	free(run);
}

/*
 * The Job is gone, or out of sight. Its pods may still be there, and at work: concurrencyPolicy
 * Replace deletes the Job first. As long as they are, the run stays.
 */
static void run_forget(struct kube_store *s, struct kube_run *run)
{
	s->n_jobs -= run_has_job(run);
	if (!run->gone && !s->hiding)
		run->gone_us = s->now.wall_us;
	run->hidden = s->hiding && run->facts;
	run->gone = !s->hiding && run->facts;
	free(run->ns);
	run->ns = NULL;
	run->foreign = false;
	dirty_cron(s, run->cron);
	run_free_if_lost(s, run);
}

static struct kube_run *run_get(struct kube_store *s, const struct kube_text *uid)
{
	struct kube_run *run = map_get(&s->runs, uid->s, uid->len);

	if (run)
		return run;
	run = xcalloc(1, sizeof(*run));
	run->uid = xstrndup(uid->s, uid->len);
	map_put(&s->runs, run->uid, strlen(run->uid), run);
	return run;
}

/* uids are texts of a server: one with a NUL inside is no uid. */
static bool uid_is_good(const struct kube_text *uid)
{
	return uid->s && uid->len && strlen(uid->s) == uid->len;
}

static void run_link(struct kube_store *s, struct kube_run *run, struct kube_cron *cron)
{
	if (run->cron == cron)
		return;
	run_unlink(s, run);
	MEM_GROW(cron->runs, cron->n_runs, cron->cap_runs);
	cron->runs[cron->n_runs++] = run;
	run->cron = cron;
}

static void run_drop_pods(struct kube_store *s, struct kube_run *run)
{
	while (run->n_pods) {
		struct kube_pod_of_run *pod = run->pods[run->n_pods - 1];

		map_remove(&s->pods, pod->facts->head.uid.s, pod->facts->head.uid.len);
		run->n_pods--;
		free(pod->facts);
		free(pod);
	}
	free(run->pods);
	run->pods = NULL;
	run->cap_pods = 0;
}

static struct kube_cron *cron_get(struct kube_store *s, const struct kube_text *uid)
{
	struct kube_cron *cron = map_get(&s->crons, uid->s, uid->len);

	if (cron)
		return cron;
	cron = xcalloc(1, sizeof(*cron));
	cron->uid = xstrndup(uid->s, uid->len);
	map_put(&s->crons, cron->uid, strlen(cron->uid), cron);
	return cron;
}

/* A Job that no CronJob owns: only its uid stays, so that its pods aren't kept either. */
static void job_foreign(struct kube_store *s, const struct kube_job *facts, uint32_t generation)
{
	struct kube_run *run = run_get(s, &facts->head.uid);

	run->generation = generation;
	if (run->foreign)
		return;
	run_drop_pods(s, run);
	run_unlink(s, run);
	s->n_jobs -= run_has_job(run);
	free(run->facts);
	run->facts = NULL;
	run->gone = run->hidden = false;
	run->foreign = true;
	run->ns = xstrndup(facts->head.ns.s, facts->head.ns.len);
}

void kube_store_job(struct kube_store *s, const struct kube_job *facts, uint32_t generation)
{
	struct kube_run *run;

	if (!uid_is_good(&facts->head.uid))
		return;
	if (!uid_is_good(&facts->head.owner_uid)) {
		job_foreign(s, facts, generation);
		return;
	}
	run = run_get(s, &facts->head.uid);
	run->generation = generation;
	run->foreign = false;
	/* One that was only out of sight comes back as it was. */
	if (run_has_job(run) && kube_text_eq(&run->facts->head.version, &facts->head.version))
		return;
	s->n_jobs += !run_has_job(run);
	free(run->facts);
	run->facts = PACK(facts, job_texts);
	run->gone = run->hidden = false;
	free(run->ns);
	run->ns = NULL;
	run_link(s, run, cron_get(s, &facts->head.owner_uid));
	dirty_cron(s, run->cron);
}

void kube_store_pod(struct kube_store *s, const struct kube_pod *facts, uint32_t generation)
{
	struct kube_pod_of_run *pod;
	struct kube_run *run;

	if (!uid_is_good(&facts->head.uid))
		return;
	pod = map_get(&s->pods, facts->head.uid.s, facts->head.uid.len);
	if (!uid_is_good(&facts->head.owner_uid)) {
		/* Its Job was deleted and left it behind. */
		if (pod)
			pod_free(s, pod);
		return;
	}
	if (pod) {
		pod->generation = generation;
		if (kube_text_eq(&pod->facts->head.version, &facts->head.version))
			return;
		map_remove(&s->pods, facts->head.uid.s, facts->head.uid.len);
		free(pod->facts);
	} else {
		run = run_get(s, &facts->head.owner_uid);
		if (run->foreign)
			return;
		pod = xcalloc(1, sizeof(*pod));
		pod->generation = generation;
		pod->run = run;
		MEM_GROW(run->pods, run->n_pods, run->cap_pods);
		run->pods[run->n_pods++] = pod;
	}
	pod->facts = kube_pod_copy(facts);
	map_put(&s->pods, pod->facts->head.uid.s, pod->facts->head.uid.len, pod);
	dirty_cron(s, pod_cron(pod));
}

/* ---- CronJobs ---- */

static void cron_free(struct kube_store *s, struct kube_cron *cron)
{
	clean_cron(s, cron);
	map_remove(&s->crons, cron->uid, strlen(cron->uid));
	schedule_unref(cron->schedule);
	free(cron->facts);
	free(cron->path);
	free(cron->runs);
	free(cron->uid);
	free(cron);
}

static void cron_free_if_lost(struct kube_store *s, struct kube_cron *cron)
{
	if (!cron->facts && !cron->n_runs)
		cron_free(s, cron);
}

static void cron_forget(struct kube_store *s, struct kube_cron *cron)
{
	if (cron->path) {
		drop_path(s, cron->path);
		if (map_get(&s->cron_paths, cron->path, strlen(cron->path)) == cron)
			map_remove(&s->cron_paths, cron->path, strlen(cron->path));
	}
	s->n_cronjobs -= cron->facts != NULL;
	free(cron->facts);
	free(cron->path);
	cron->facts = NULL;
	cron->path = NULL;
	schedule_unref(cron->schedule);
	cron->schedule = NULL;
	/* What it leaves behind is told by its name. */
	dirty_cron(s, cron);
	cron_free_if_lost(s, cron);
}

struct schedule_entry {
	char *key;
	struct schedule *schedule;
};

/* Many CronJobs share few schedules. */
static struct schedule *schedule_of(struct kube_store *s, const struct kube_cronjob *facts)
{
	const char *zone = facts->zone.s && facts->zone.len ? facts->zone.s : NULL;
	const char *text = facts->schedule.s ? facts->schedule.s : "";
	struct schedule_entry *entry;
	struct str key;

	str_init(&key, SCHEDULE_KEY_MAX);
	str_addf(&key, "%s\n%s", text, zone ? zone : "\n");
	if (key.full) {
		str_release(&key);
		return schedule_new(text, zone, s->zone_load);
	}
	entry = map_get(&s->schedules, key.s, key.len);
	if (!entry) {
		entry = xcalloc(1, sizeof(*entry));
		entry->schedule = schedule_new(text, zone, s->zone_load);
		entry->key = str_take(&key);
		map_put(&s->schedules, entry->key, strlen(entry->key), entry);
	}
	str_release(&key);
	return schedule_ref(entry->schedule);
}

static void schedules_forget(struct kube_store *s)
{
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&s->schedules, &pos))) {
		struct schedule_entry *entry = e->value;

		schedule_unref(entry->schedule);
		free(entry->key);
		free(entry);
	}
	map_clear(&s->schedules);
}

void kube_store_cronjob(struct kube_store *s, const struct kube_cronjob *facts, uint32_t generation)
{
	struct kube_cron *cron;

	if (!uid_is_good(&facts->head.uid))
		return;
	cron = cron_get(s, &facts->head.uid);
	cron->generation = generation;
	if (cron->facts && kube_text_eq(&cron->facts->head.version, &facts->head.version))
		return;
	if (!cron->path) {
		cron->path = path_of("cronjob", &facts->head);
		map_remove(&s->cron_paths, cron->path, strlen(cron->path));
		map_put(&s->cron_paths, cron->path, strlen(cron->path), cron);
	}
	s->n_cronjobs += !cron->facts;
	free(cron->facts);
	cron->facts = PACK(facts, cronjob_texts);
	schedule_unref(cron->schedule);
	/* More schedules than CronJobs: most of them are old. */
	if (s->schedules.n > 2 * s->n_cronjobs + 1000)
		schedules_forget(s);
	cron->schedule = schedule_of(s, facts);
	dirty_cron(s, cron);
}

/* ---- Leases ---- */

static void looked_release(struct kube_looked *l)
{
	free(l->pod);
	*l = (struct kube_looked){ .matching = -1 };
}

static void former_release(struct kube_former *f)
{
	free(f->holder);
	looked_release(&f->looked);
	*f = (struct kube_former){ .holder = NULL };
}

static void candidates_release(struct kube_lease_seen *lease)
{
	while (lease->n_candidates)
		free(lease->candidates[--lease->n_candidates]);
	free(lease->candidates);
	lease->candidates = NULL;
}

void kube_lease_candidates(struct kube_lease_seen *lease, char **names, size_t n)
{
	candidates_release(lease);
	lease->candidates = names;
	lease->n_candidates = n;
}

static void lease_free(struct kube_store *s, struct kube_lease_seen *lease)
{
	const struct kube_text *uid = &lease->facts->head.uid;

	clean_lease(s, lease);
	if (!lease->facts->heartbeat)
		drop_path(s, lease->path);
	s->n_heartbeats -= lease->facts->heartbeat;
	if (map_get(&s->lease_paths, lease->path, strlen(lease->path)) == lease)
		map_remove(&s->lease_paths, lease->path, strlen(lease->path));
	map_remove(&s->leases, uid->s, uid->len);
	while (lease->n_former)
		former_release(&lease->former[--lease->n_former]);
	free(lease->former);
	looked_release(&lease->looked);
	candidates_release(lease);
	free(lease->path);
	free(lease->facts);
	free(lease);
}

static bool holder_is_vacant(const struct kube_lease *l)
{
	return !l->holder.s || !l->holder.len;
}

/* The one that held it until now. */
static void lease_former(struct kube_lease_seen *lease, const struct kube_now *now)
{
	const struct kube_text *holder = &lease->facts->holder;
	struct kube_former *f;
	size_t i;

	if (!lease->former)
		lease->former = xcalloc(KUBE_FORMER_MAX, sizeof(*lease->former));
	for (i = 0; i < lease->n_former; i++) {
		f = &lease->former[i];
		if (f->len == holder->len && memcmp(f->holder, holder->s, f->len) == 0)
			break;
	}
	if (i == KUBE_FORMER_MAX)
		i--;
	f = &lease->former[i];
	if (i < lease->n_former)
		former_release(f);
	else
		lease->n_former++;
	memmove(&lease->former[1], &lease->former[0], i * sizeof(*f));
	lease->former[0] = (struct kube_former){
		.holder = xstrndup(holder->s, holder->len),
		.len = holder->len,
		.transitions = lease->facts->transitions,
		.until_ms = now->mono_ms,
		.looked = lease->looked,
	};
	lease->looked = (struct kube_looked){ .matching = -1 };
}

/* Who holds it now held it before no more. */
static void lease_not_former(struct kube_lease_seen *lease, const struct kube_text *holder)
{
	size_t i;

	for (i = 0; i < lease->n_former; i++) {
		struct kube_former *f = &lease->former[i];

		if (f->len != holder->len || memcmp(f->holder, holder->s, f->len) != 0)
			continue;
		former_release(f);
		lease->n_former--;
		memmove(f, f + 1, (lease->n_former - i) * sizeof(*f));
		return;
	}
}

/*
 * A renewal that a watch told as it happened: its writer's clock minus ours is the skew, less what
 * the way took. The least delayed of the last few is nearest to it.
 */
static void lease_skew(struct kube_lease_seen *lease, int64_t renew_us, int64_t now_us)
{
	int64_t skew_us;

	if (renew_us == TIME_UNKNOWN || __builtin_sub_overflow(renew_us, now_us, &skew_us))
		return;
	if (lease->n_skews % KUBE_SKEWS == 0) {
		lease->skew_us = lease->skew_now_us;
		lease->skew_now_us = skew_us;
	} else if (skew_us > lease->skew_now_us) {
		lease->skew_now_us = skew_us;
	}
	lease->n_skews++;
}

/* It is seen to change. */
static void lease_moved(struct kube_lease_seen *lease, const struct kube_now *now)
{
	lease->change_ms = now->mono_ms;
	lease->change_us = now->wall_us;
}

static void lease_changed(struct kube_lease_seen *lease, const struct kube_lease *facts,
	const struct kube_now *now, bool live)
{
	const struct kube_lease *old = lease->facts;
	bool renewed = old->renew_us != facts->renew_us;
	bool other = !kube_text_eq(&old->holder, &facts->holder) ||
		     old->transitions != facts->transitions;

	if (!renewed && !other)
		return;
	lease_moved(lease, now);
	if (!kube_text_eq(&old->holder, &facts->holder)) {
		if (!holder_is_vacant(old))
			lease_former(lease, now);
		if (!holder_is_vacant(facts))
			lease_not_former(lease, &facts->holder);
		lease->n_skews = 0;
	}
	if (live && renewed && !holder_is_vacant(facts))
		lease_skew(lease, facts->renew_us, now->wall_us);
}

/* Whether nothing but the time of the renewal differs, and there is time to tell it. */
static bool lease_only_renewed(const struct kube_lease *old, const struct kube_lease *facts)
{
	return kube_text_eq(&old->holder, &facts->holder) &&
	       old->transitions == facts->transitions && old->acquire_us == facts->acquire_us &&
	       old->duration_s == facts->duration_s && facts->duration_s >= SOFT_LEAST_S &&
	       kube_text_eq(&old->strategy, &facts->strategy) &&
	       kube_text_eq(&old->preferred, &facts->preferred) &&
	       old->head.deleted_us == facts->head.deleted_us;
}

static struct kube_lease_seen *lease_new(
	struct kube_store *s, const struct kube_lease *facts, const struct kube_now *now)
{
	struct kube_lease_seen *lease = xcalloc(1, sizeof(*lease));

	lease->path = path_of("lease", &facts->head);
	lease->change_ms = now->mono_ms;
	lease->change_us = TIME_UNKNOWN;
	lease->known_ms = lease->candidates_ms = TIME_UNKNOWN;
	lease->looked.matching = -1;
	map_remove(&s->lease_paths, lease->path, strlen(lease->path));
	map_put(&s->lease_paths, lease->path, strlen(lease->path), lease);
	return lease;
}

/* lease: the one of that uid, or NULL. */
static void lease_put(struct kube_store *s, struct kube_lease_seen *lease,
	const struct kube_lease *facts, uint32_t generation, const struct kube_now *now, bool live)
{
	struct kube_lease *old = NULL;
	bool soft = false;

	if (!lease) {
		lease = lease_new(s, facts, now);
	} else if (kube_text_eq(&lease->facts->head.version, &facts->head.version)) {
		lease->generation = generation;
		return;
	} else {
		soft = lease_only_renewed(lease->facts, facts);
		if (facts->heartbeat && !lease->facts->heartbeat) {
			clean_lease(s, lease);
			drop_path(s, lease->path);
		}
		lease_changed(lease, facts, now, live);
		s->n_heartbeats -= lease->facts->heartbeat;
		old = lease->facts;
	}
	lease->generation = generation;
	s->n_heartbeats += facts->heartbeat;
	s->lease_changes += !soft || old->heartbeat != facts->heartbeat;
	if (!old || !REPACK(old, facts, lease_texts)) {
		lease->facts = PACK(facts, lease_texts);
		map_put(&s->leases, lease->facts->head.uid.s, lease->facts->head.uid.len, lease);
		free(old); /* the map's key was in it until now */
	}
	if (!facts->heartbeat)
		dirty_lease(s, lease, soft);
}

void kube_store_lease(struct kube_store *s, const struct kube_lease *facts, uint32_t generation,
	const struct kube_now *now, bool live)
{
	const struct kube_text *uid = &facts->head.uid;

	if (uid_is_good(uid))
		lease_put(s, map_get(&s->leases, uid->s, uid->len), facts, generation, now, live);
}

bool kube_store_lease_renewed(struct kube_store *s, const struct kube_text *uid,
	const struct kube_text *version, int64_t renew_us, const struct kube_now *now)
{
	struct kube_lease_seen *lease = map_get(&s->leases, uid->s, uid->len);
	struct kube_lease *facts = lease ? lease->facts : NULL;
	struct kube_text *told;

	if (!facts || version->len != facts->head.version.len)
		return false;
	told = &facts->head.version;
	if (kube_text_eq(told, version))
		return true;
	if (facts->renew_us != renew_us) {
		lease_moved(lease, now);
		if (!holder_is_vacant(facts))
			lease_skew(lease, renew_us, now->wall_us);
	}
	facts->renew_us = renew_us;
	memcpy((char *)(uintptr_t)told->s, version->s, version->len);
	if (!facts->heartbeat)
		dirty_lease(s, lease, facts->duration_s >= SOFT_LEAST_S);
	return true;
}

uint64_t kube_store_lease_changes(const struct kube_store *s)
{
	return s->lease_changes;
}

void kube_store_leases_known(struct kube_store *s, const char *ns, int64_t known_ms)
{
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&s->leases, &pos))) {
		struct kube_lease_seen *lease = e->value;

		if (lease->known_ms == known_ms ||
			(ns && !kube_text_is(&lease->facts->head.ns, ns)))
			continue;
		lease->known_ms = known_ms;
		if (!lease->facts->heartbeat)
			dirty_lease(s, lease, false);
	}
}

/* ---- nodes ---- */

/* The pods on it are told anew with their runs. */
static void node_changed(struct kube_store *s, const char *name)
{
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&s->pods, &pos))) {
		const struct kube_pod_of_run *pod = e->value;

		if (kube_text_is(&pod->facts->node, name))
			dirty_cron(s, pod_cron(pod));
	}
}

static void node_free(struct kube_store *s, struct kube_node_seen *node)
{
	map_remove(&s->nodes, node->name, strlen(node->name));
	node_changed(s, node->name);
	free(node->name);
	free(node);
}

void kube_store_node(struct kube_store *s, const struct kube_node *facts, uint32_t generation)
{
	struct kube_node_seen *node;

	if (!uid_is_good(&facts->name))
		return;
	node = map_get(&s->nodes, facts->name.s, facts->name.len);
	if (!node) {
		node = xcalloc(1, sizeof(*node));
		node->name = xstrndup(facts->name.s, facts->name.len);
		map_put(&s->nodes, node->name, strlen(node->name), node);
		node->ready = facts->ready;
		if (s->nodes_known)
			node_changed(s, node->name);
	} else if (node->ready != facts->ready) {
		node->ready = facts->ready;
		node_changed(s, node->name);
	}
	node->generation = generation;
}

void kube_store_nodes_known(struct kube_store *s, bool known)
{
	if (s->nodes_known == known)
		return;
	s->nodes_known = known;
	kube_store_redo(s);
}

enum tristate kube_store_node_ready(
	const struct kube_store *s, const struct kube_text *name, bool *ret_gone)
{
	const struct kube_node_seen *node;

	*ret_gone = false;
	if (!name->s || !name->len || !s->nodes_known)
		return TRI_UNKNOWN;
	node = map_get(&s->nodes, name->s, name->len);
	*ret_gone = !node;
	return node ? node->ready : TRI_UNKNOWN;
}

/* ---- what is gone ---- */

void kube_store_delete(struct kube_store *s, enum kube_kind kind, const char *id, size_t len)
{
	void *found;

	switch (kind) {
	case KUBE_CRONJOBS:
		found = map_get(&s->crons, id, len);
		if (found)
			cron_forget(s, found);
		break;
	case KUBE_JOBS:
		found = map_get(&s->runs, id, len);
		if (found)
			run_forget(s, found);
		break;
	case KUBE_PODS:
		found = map_get(&s->pods, id, len);
		if (found)
			pod_free(s, found);
		break;
	case KUBE_LEASES:
		found = map_get(&s->leases, id, len);
		if (found)
			lease_free(s, found);
		break;
	default:
		found = map_get(&s->nodes, id, len);
		if (found)
			node_free(s, found);
	}
}

static struct map *kind_map(struct kube_store *s, enum kube_kind kind)
{
	switch (kind) {
	case KUBE_CRONJOBS:
		return &s->crons;
	case KUBE_JOBS:
		return &s->runs;
	case KUBE_PODS:
		return &s->pods;
	case KUBE_LEASES:
		return &s->leases;
	default:
		return &s->nodes;
	}
}

/* Its namespace, and when it was last told; false for what no list tells. */
static bool swept(enum kube_kind kind, const void *value, const char **ret_ns, uint32_t *ret_gen)
{
	const struct kube_cron *cron = value;
	const struct kube_run *run = value;
	const struct kube_pod_of_run *pod = value;
	const struct kube_lease_seen *lease = value;

	*ret_ns = "";
	switch (kind) {
	case KUBE_CRONJOBS:
		*ret_gen = cron->generation;
		*ret_ns = cron->facts ? cron->facts->head.ns.s : "";
		return cron->facts != NULL;
	case KUBE_JOBS:
		*ret_gen = run->generation;
		*ret_ns = run->facts ? run->facts->head.ns.s : run->ns;
		return (run->facts && !run->gone) || run->foreign;
	case KUBE_PODS:
		*ret_gen = pod->generation;
		*ret_ns = pod->facts->head.ns.s;
		return true;
	case KUBE_LEASES:
		*ret_gen = lease->generation;
		*ret_ns = lease->facts->head.ns.s;
		return true;
	default:
		*ret_gen = ((const struct kube_node_seen *)value)->generation;
		return true;
	}
}

void kube_store_sweep(
	struct kube_store *s, enum kube_kind kind, const char *ns, uint32_t generation)
{
	struct map *map = kind_map(s, kind);
	struct map_entry *e;
	struct str gone;
	size_t pos = 0, at;
	uint32_t told;
	const char *in;

	/* The ids first: deleting changes what is walked. */
	str_init(&gone, DROPPED_MAX);
	while ((e = map_next(map, &pos)))
		if (swept(kind, e->value, &in, &told) && told != generation &&
			(!ns || strcmp(ns, in) == 0)) {
			str_add_mem(&gone, e->key, e->len);
			str_add_char(&gone, '\0');
		}
	for (at = 0; at < gone.len; at += strlen(gone.s + at) + 1)
		kube_store_delete(s, kind, gone.s + at, strlen(gone.s + at));
	str_release(&gone);
}

void kube_store_hide(struct kube_store *s, enum kube_kind kind, const char *ns)
{
	s->hiding = true;
	/* No object has this generation. */
	kube_store_sweep(s, kind, ns, UINT32_MAX);
	s->hiding = false;
}

void kube_store_redo(struct kube_store *s)
{
	struct map_entry *e;
	size_t pos = 0;

	while ((e = map_next(&s->crons, &pos)))
		dirty_cron(s, e->value);
}

/* ---- asking ---- */

const struct kube_text *kube_store_version(
	const struct kube_store *s, enum kube_kind kind, const char *uid)
{
	const struct kube_lease_seen *lease;
	const struct kube_cron *cron;
	const struct kube_run *run;
	size_t len = strlen(uid);

	switch (kind) {
	case KUBE_CRONJOBS:
		cron = map_get(&s->crons, uid, len);
		return cron && cron->facts ? &cron->facts->head.version : NULL;
	case KUBE_JOBS:
		run = map_get(&s->runs, uid, len);
		return run && run_has_job(run) ? &run->facts->head.version : NULL;
	case KUBE_LEASES:
		lease = map_get(&s->leases, uid, len);
		return lease ? &lease->facts->head.version : NULL;
	default:
		return NULL;
	}
}

size_t kube_store_count(const struct kube_store *s, enum kube_kind kind)
{
	switch (kind) {
	case KUBE_CRONJOBS:
		return s->n_cronjobs;
	case KUBE_JOBS:
		return s->n_jobs;
	case KUBE_PODS:
		return s->pods.n;
	case KUBE_LEASES:
		return s->leases.n - s->n_heartbeats;
	default:
		return s->nodes.n;
	}
}

size_t kube_store_heartbeats(const struct kube_store *s)
{
	return s->n_heartbeats;
}

struct kube_cron *kube_store_cron_at(const struct kube_store *s, const char *path)
{
	return map_get(&s->cron_paths, path, strlen(path));
}

struct kube_lease_seen *kube_store_lease_at(const struct kube_store *s, const char *path)
{
	return map_get(&s->lease_paths, path, strlen(path));
}

struct kube_lease_seen *kube_store_next_lease(const struct kube_store *s, size_t *pos)
{
	struct map_entry *e = map_next(&s->leases, pos);

	return e ? e->value : NULL;
}

struct kube_lease_seen *kube_store_lease_in_turn(const struct kube_store *s, size_t *pos)
{
	struct kube_lease_seen *lease = kube_store_next_lease(s, pos);

	if (lease)
		return lease;
	*pos = 0;
	return kube_store_next_lease(s, pos);
}

bool kube_store_has_lost(const struct kube_store *s)
{
	return s->crons.n > s->n_cronjobs;
}

struct kube_cron *kube_store_next_lost(const struct kube_store *s, size_t *pos)
{
	struct map_entry *e;

	while ((e = map_next(&s->crons, pos))) {
		struct kube_cron *cron = e->value;

		if (!cron->facts)
			return cron;
	}
	return NULL;
}

bool kube_cron_lists(const struct kube_cron *cron, const struct kube_run *run)
{
	const struct kube_text *active = &cron->facts->active;
	const char *at = active->s, *end;

	if (!at)
		return false;
	for (end = at + active->len; at < end;) {
		if (strcmp(at, run->uid) == 0)
			return true;
		at += strlen(at) + 1;
		at += at < end ? strlen(at) + 1 : 0;
	}
	return false;
}

static int64_t run_order(const struct kube_run *run)
{
	const char *from;
	int64_t slot_us;

	if (!run->facts)
		return INT64_MIN;
	slot_us = kube_job_slot(run->facts, &from);
	return slot_us == TIME_UNKNOWN ? run->facts->head.created_us : slot_us;
}

static int compare_runs(const void *left, const void *right)
{
	const struct kube_run *a = *(struct kube_run *const *)left;
	const struct kube_run *b = *(struct kube_run *const *)right;
	int64_t at_a = run_order(a), at_b = run_order(b);

	if (at_a != at_b)
		return at_a > at_b ? -1 : 1;
	if (a->facts && b->facts && a->facts->head.created_us != b->facts->head.created_us)
		return a->facts->head.created_us > b->facts->head.created_us ? -1 : 1;
	return strcmp(a->uid, b->uid);
}

static int compare_pods(const void *left, const void *right)
{
	const struct kube_pod *a = (*(struct kube_pod_of_run *const *)left)->facts;
	const struct kube_pod *b = (*(struct kube_pod_of_run *const *)right)->facts;

	if (a->head.created_us != b->head.created_us)
		return a->head.created_us < b->head.created_us ? -1 : 1;
	return strcmp(a->head.uid.s, b->head.uid.s);
}

void kube_cron_sort(struct kube_cron *cron)
{
	size_t i;

	if (cron->n_runs)
		qsort(cron->runs, cron->n_runs, sizeof(struct kube_run *), compare_runs);
	for (i = 0; i < cron->n_runs; i++)
		if (cron->runs[i]->n_pods > 1)
			qsort(cron->runs[i]->pods, cron->runs[i]->n_pods,
				sizeof(struct kube_pod_of_run *), compare_pods);
}

/* ---- telling ---- */

bool kube_store_changed(const struct kube_store *s)
{
	return s->dropped.len || s->hidden.len || s->n_dirty_crons || s->n_dirty_leases > s->n_soft;
}

bool kube_store_renewed(const struct kube_store *s)
{
	return s->n_soft > 0;
}

static void tell_dropped(
	struct kube_store *s, struct str *paths, const struct kube_teller *teller, void *arg)
{
	size_t at;

	for (at = 0; at < paths->len; at += strlen(paths->s + at) + 1) {
		const char *path = paths->s + at;
		struct kube_cron *cron = kube_store_cron_at(s, path);
		struct kube_lease_seen *lease = kube_store_lease_at(s, path);

		teller->drop(arg, path, paths == &s->hidden);
		/* Another object of that name is there: it is told again behind. */
		if (cron)
			dirty_cron(s, cron);
		if (lease && !lease->facts->heartbeat)
			dirty_lease(s, lease, false);
	}
	str_clear(paths);
}

/* Runs without their CronJob are told with the one of its name that is there now. */
static void tell_lost(
	struct kube_store *s, struct kube_cron *lost, const struct kube_teller *teller, void *arg)
{
	struct kube_cron *cron;
	char *path;

	teller->lost(arg);
	if (!lost->n_runs || !lost->runs[0]->facts || !lost->runs[0]->facts->head.owner_name.s)
		return;
	path = path_like(
		"cronjob", &lost->runs[0]->facts->head.ns, &lost->runs[0]->facts->head.owner_name);
	cron = kube_store_cron_at(s, path);
	if (cron && cron->facts)
		teller->cron(arg, cron);
	free(path);
}

/* Of thousands that are renewed in a second, none is near the one before in memory. */
static void lease_fetch(const struct kube_lease_seen *lease)
{
	const char *facts = (const char *)lease->facts;
	size_t at;

	for (at = 0; at < sizeof(*lease->facts); at += FETCH_LINE)
		__builtin_prefetch(facts + at);
	__builtin_prefetch(lease->path);
}

void kube_store_tell(struct kube_store *s, const struct kube_teller *teller, void *arg)
{
	size_t i, n;

	tell_dropped(s, &s->dropped, teller, arg);
	tell_dropped(s, &s->hidden, teller, arg);
	for (i = 0; i < s->n_dirty_crons; i++) {
		struct kube_cron *cron = s->dirty_crons[i];

		cron->dirty = 0;
		if (cron->facts)
			teller->cron(arg, cron);
		else
			tell_lost(s, cron, teller, arg);
	}
	s->n_dirty_crons = 0;
	for (i = 0; i < s->n_dirty_leases; i++) {
		struct kube_lease_seen *lease = s->dirty_leases[i];

		if (i + FETCH_AHEAD < s->n_dirty_leases)
			lease_fetch(s->dirty_leases[i + FETCH_AHEAD]);
		lease->dirty = 0;
		lease->soft = false;
		teller->lease(arg, lease);
	}
	n = s->n_dirty_leases;
	s->n_dirty_leases = s->n_soft = 0;
	/* After a first picture changes mostly come in small numbers. */
	if (s->cap_dirty_crons > DIRTY_KEPT ||
		(s->cap_dirty_leases > DIRTY_KEPT && n < s->cap_dirty_leases / 4)) {
		free(s->dirty_crons);
		free(s->dirty_leases);
		s->dirty_crons = NULL;
		s->dirty_leases = NULL;
		s->cap_dirty_crons = s->cap_dirty_leases = 0;
	}
}

/* ---- life ---- */

struct kube_store *kube_store_new(schedule_zone_load load)
{
	struct kube_store *s = xcalloc(1, sizeof(*s));

	s->zone_load = load;
	map_init(&s->schedules);
	map_init(&s->crons);
	map_init(&s->runs);
	map_init(&s->pods);
	map_init(&s->leases);
	map_init(&s->nodes);
	map_init(&s->cron_paths);
	map_init(&s->lease_paths);
	str_init(&s->dropped, DROPPED_MAX);
	str_init(&s->hidden, DROPPED_MAX);
	return s;
}

void kube_store_same_order(struct kube_store *s)
{
	map_same_order(&s->schedules);
	map_same_order(&s->crons);
	map_same_order(&s->runs);
	map_same_order(&s->pods);
	map_same_order(&s->leases);
	map_same_order(&s->nodes);
	map_same_order(&s->cron_paths);
	map_same_order(&s->lease_paths);
}

void kube_store_clear(struct kube_store *s)
{
	int kind;

	/* No object has this generation: all are gone. */
	for (kind = KUBE_KINDS - 1; kind >= 0; kind--)
		kube_store_sweep(s, (enum kube_kind)kind, NULL, UINT32_MAX);
	schedules_forget(s);
	str_clear(&s->dropped);
	str_clear(&s->hidden);
	s->nodes_known = false;
}

void kube_store_free(struct kube_store *s)
{
	if (!s)
		return;
	kube_store_clear(s);
	map_release(&s->schedules);
	map_release(&s->crons);
	map_release(&s->runs);
	map_release(&s->pods);
	map_release(&s->leases);
	map_release(&s->nodes);
	map_release(&s->cron_paths);
	map_release(&s->lease_paths);
	str_release(&s->dropped);
	str_release(&s->hidden);
	free(s->dirty_crons);
	free(s->dirty_leases);
	free(s);
}
