#include "config.h"

#include "model/schedule.h"
#include "model/singleton.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct singleton *singleton_ref(const struct singleton *s)
{
	/* The counter is the one part of an immutable thing that changes. */
	struct singleton *own = (struct singleton *)(uintptr_t)s;

	if (own)
		__atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

void singleton_unref(const struct singleton *s)
{
	struct singleton *own = (struct singleton *)(uintptr_t)s;

	if (!own || __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	schedule_unref(own->more->schedule);
	free(own);
}

enum lease_phase singleton_lease_phase(const struct singleton *s)
{
	int64_t left_ms;

	if (s->lease_deadline_ms == TIME_UNKNOWN || s->lease_read_ms == TIME_UNKNOWN ||
		__builtin_sub_overflow(s->lease_deadline_ms, s->lease_read_ms, &left_ms))
		return LEASE_NONE;
	if (left_ms < 0)
		return LEASE_PAST;
	if (s->lease_granted_ms != TIME_UNKNOWN && left_ms < s->lease_granted_ms / 3)
		return LEASE_LOW;
	return LEASE_RUNNING;
}

const struct claim *singleton_claim(const struct singleton *s, enum claim_kind kind, uint32_t *pos)
{
	while (*pos < s->n_claims) {
		const struct claim *c = &s->claims[(*pos)++];

		if (c->kind == kind)
			return c;
	}
	return NULL;
}

const struct claim *singleton_claim_at(const struct singleton *s, const char *key)
{
	uint32_t i;

	for (i = 0; key && i < s->n_claims; i++)
		if (strcmp(claim_key(&s->claims[i]), key) == 0)
			return &s->claims[i];
	return NULL;
}

const struct claim *singleton_holder(const struct singleton *s)
{
	uint32_t pos = 0;

	return singleton_claim(s, CLAIM_HOLDER, &pos);
}

uint32_t singleton_count(const struct singleton *s, enum claim_kind kind)
{
	uint32_t pos = 0, n = 0;

	while (singleton_claim(s, kind, &pos))
		n++;
	return n;
}

bool singleton_is_job(const struct singleton *s)
{
	return s->mechanism == MECH_K8S_CRONJOB || s->mechanism == MECH_AIRFLOW_DAG ||
	       s->mechanism == MECH_RUN_LEDGER || s->more->schedule || s->more->n_runs;
}

uint32_t singleton_runs(const struct singleton *s, enum tristate alive)
{
	uint32_t i, n = 0;

	for (i = 0; i < s->more->n_runs; i++)
		n += s->more->runs[i].alive == alive;
	return n;
}

/* How many runs are not over though nothing of them is at work; the first of them. */
static uint32_t idle_runs(const struct singleton *s, const struct run **ret)
{
	uint32_t i, n = 0;

	for (i = 0; i < s->more->n_runs; i++) {
		if (s->more->runs[i].alive != TRI_NO || !run_is_open(&s->more->runs[i]))
			continue;
		if (!n++)
			*ret = &s->more->runs[i];
	}
	return n;
}

static const struct run *first_run(const struct singleton *s, enum tristate alive)
{
	uint32_t i;

	for (i = 0; i < s->more->n_runs; i++)
		if (s->more->runs[i].alive == alive)
			return &s->more->runs[i];
	return NULL;
}

static void job_idle_words(const struct singleton *s, char *buf, size_t size)
{
	const struct run *idle = NULL;
	uint32_t n = idle_runs(s, &idle);

	if (n == 1)
		snprintf(buf, size, "%s (no pod alive)", idle->name);
	else if (n)
		snprintf(buf, size, "%" PRIu32 " runs, no pod alive", n);
	else
		snprintf(buf, size, "%s", singleton_int(s, DETAIL_RUNS_HIDDEN, 0) ? "hidden" : "-");
}

static void job_words(const struct singleton *s, char *buf, size_t size)
{
	uint32_t alive = singleton_runs(s, TRI_YES), unknown = singleton_runs(s, TRI_UNKNOWN);

	if (alive && unknown)
		snprintf(buf, size, "%" PRIu32 " run%s alive, %" PRIu32 " unknown", alive,
			alive == 1 ? "" : "s", unknown);
	else if (alive == 1)
		snprintf(buf, size, "%s", first_run(s, TRI_YES)->name);
	else if (alive)
		snprintf(buf, size, "%" PRIu32 " runs alive", alive);
	else if (unknown == 1)
		snprintf(buf, size, "%s (alive?)", first_run(s, TRI_UNKNOWN)->name);
	else if (unknown)
		snprintf(buf, size, "%" PRIu32 " runs (alive?)", unknown);
	else
		job_idle_words(s, buf, size);
}

void singleton_holder_words(const struct singleton *s, char *buf, size_t size)
{
	const struct claim *holder = singleton_holder(s);
	uint32_t n = singleton_count(s, CLAIM_HOLDER);

	if (singleton_is_job(s))
		job_words(s, buf, size);
	else if (!holder)
		snprintf(buf, size, "-");
	else if (n > 1)
		snprintf(buf, size, "%s +%" PRIu32, claim_identity(holder), n - 1);
	else
		snprintf(buf, size, "%s", claim_identity(holder));
	text_trim(buf);
}

static const struct detail *detail_find(const struct detail *details, size_t n, enum detail_id id)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (details[i].id == id)
			return &details[i];
	return NULL;
}

/* ---- details that follow ---- */

enum {
	FOLLOWS_MOST = 3, /* key, create_revision, mod_revision */
	KEY_MOST = 1024 * 1024 * 1024,
	REVISION_AT = 4 /* in a claim's key, behind "rev:" */
};

void details_init(struct details *list)
{
	memset(list, 0, sizeof(*list));
	str_init(&list->text, KEY_MOST);
}

void details_release(struct details *list)
{
	free(list->made);
	str_release(&list->text);
	details_init(list);
}

static void details_make_key(struct details *list, const struct singleton *s, const struct claim *c)
{
	str_clear(&list->text);
	str_add(&list->text, singleton_path(s));
	if (c->follows & FOLLOWS_KEY_LEASE)
		str_addf(&list->text, "/%" PRIx64, (uint64_t)claim_int(c, DETAIL_LEASE, 0));
	list->made[list->n++] = (struct detail){ .id = DETAIL_KEY, .s = list->text.s };
}

static void details_make_revision(struct details *list, enum detail_id id, const struct claim *c)
{
	list->made[list->n++] =
		(struct detail){ .id = id, .i = strtoll(claim_key(c) + REVISION_AT, NULL, 10) };
}

void details_of_claim(struct details *list, const struct singleton *s, const struct claim *c)
{
	const struct detail *kept = claim_details(c);
	size_t n_kept = c->n_details;

	list->n = n_kept;
	list->at = kept;
	if (!c->follows)
		return;
	if (list->cap < n_kept + FOLLOWS_MOST) {
		list->cap = n_kept + FOLLOWS_MOST;
		list->made = xrealloc(list->made, list->cap, sizeof(*list->made));
	}
	list->n = 0;
	/* A key that does not follow stands first all the same. */
	if (c->follows & (FOLLOWS_KEY_PATH | FOLLOWS_KEY_LEASE))
		details_make_key(list, s, c);
	else if (n_kept-- > 0)
		list->made[list->n++] = *kept++;
	if (c->follows & FOLLOWS_CREATED)
		details_make_revision(list, DETAIL_CREATE_REVISION, c);
	if (c->follows & FOLLOWS_WRITTEN)
		details_make_revision(list, DETAIL_MOD_REVISION, c);
	memcpy(list->made + list->n, kept, n_kept * sizeof(*kept));
	list->n += n_kept;
	list->at = list->made;
}

const struct detail *details_find(const struct details *list, enum detail_id id)
{
	return detail_find(list->at, list->n, id);
}

const struct detail *claim_detail(const struct claim *c, enum detail_id id)
{
	return detail_find(claim_details(c), c->n_details, id);
}

const struct detail *singleton_detail(const struct singleton *s, enum detail_id id)
{
	return detail_find(singleton_details(s), s->n_details, id);
}

const struct detail *run_detail(const struct run *r, enum detail_id id)
{
	return detail_find(r->details, r->n_details, id);
}

const struct detail *pod_detail(const struct pod *p, enum detail_id id)
{
	return detail_find(p->details, p->n_details, id);
}

static int64_t detail_int(const struct detail *d, int64_t absent)
{
	return d && !d->hidden ? d->i : absent;
}

static const char *detail_text(const struct detail *d, const char *absent)
{
	return d && !d->hidden ? d->s : absent;
}

int64_t claim_int(const struct claim *c, enum detail_id id, int64_t absent)
{
	return detail_int(claim_detail(c, id), absent);
}

const char *claim_text(const struct claim *c, enum detail_id id, const char *absent)
{
	return detail_text(claim_detail(c, id), absent);
}

int64_t singleton_int(const struct singleton *s, enum detail_id id, int64_t absent)
{
	return detail_int(singleton_detail(s, id), absent);
}

const char *singleton_text(const struct singleton *s, enum detail_id id, const char *absent)
{
	return detail_text(singleton_detail(s, id), absent);
}

const char *singleton_what(const struct singleton *s)
{
	static const struct {
		const char *kind, *what; /* the first word of the path */
	} things[] = {
		{ "process/",
			"a process of the built-in fleet: it runs (HELD), or it does not (FREE)" },
		{ "machine/",
			"a machine of the built-in fleet: it is up (HELD), or it is off (FREE)" },
		{ "api-server/", "an API server of the built-in fleet: it is up (HELD), or it is "
				 "down (FREE)" },
		{ "pod/", "the object of a pod that is Terminating and does not go: HELD while it "
			  "is there" },
		{ "change/",
			"a change that was asked for: it is applied (HELD), or it is not (FREE)" },
	};
	const char *path = singleton_path(s);
	size_t i;

	for (i = 0; s->mechanism == MECH_PROCESS && i < ARRAY_LEN(things); i++)
		if (strncmp(path, things[i].kind, strlen(things[i].kind)) == 0)
			return things[i].what;
	return mechanism_word(s->mechanism)->help;
}
