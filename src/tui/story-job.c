#include "config.h"

#include "tui/story-job.h"
#include "model/schedule.h"
#include "tui/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	HANG = 4,
	RUNS_SHOWN = 3, /* in the lower pane */
	RUNS_MOST = 40,
};

/* ---- one run ---- */

static void tell_pod(struct prose *p, const struct model *m, const struct pod *pod)
{
	char begin[CLOCK_TEXT_MAX];
	const char *alive = pod->alive == TRI_YES  ? "alive"
			    : pod->alive == TRI_NO ? "not alive"
						   : "not known whether it is alive";
	char restarts[32] = "";

	format_when(begin, m, pod->start_us);
	if (pod->restarts > 0)
		snprintf(restarts, sizeof(restarts), ", %" PRId32 " restart%s", pod->restarts,
			pod->restarts == 1 ? "" : "s");
	prose_add(p, STYLE_DIM, "pod", 6, STYLE_TEXT, "%s on %s: %s%s%s, %s, since %s%s%s%s",
		pod->name, pod->node ? pod->node : "no node", pod_phase_word(pod->phase),
		pod->reason ? " " : "", pod->reason ? pod->reason : "", alive, begin, restarts,
		pod->deleted_us != TIME_UNKNOWN ? ", being deleted" : "",
		pod->node_gone              ? ", its node is gone"
		: pod->node_ready == TRI_NO ? ", its node does not answer"
					    : "");
}

void story_run(struct prose *p, const struct model *m, const struct run *run, bool doubt)
{
	char begin[CLOCK_TEXT_MAX], end[CLOCK_TEXT_MAX], slot[CLOCK_TEXT_MAX];
	uint32_t i;

	format_when(begin, m, run->start_us);
	format_when(end, m, run->end_us);
	format_when(slot, m, run->slot_us);
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "%s", run->name);
	prose_tail(p, STYLE_TEXT, "%s, %s", run_state_word(run->state),
		run->alive == TRI_YES && doubt ? "alive when it was read last"
		: run->alive == TRI_YES        ? "alive"
		: run->alive == TRI_NO         ? "nothing of it alive"
					       : "not known whether it is alive");
	prose_add(p, STYLE_DIM, "", 4, STYLE_TEXT, "%s%s. Started %s, %s%s. %s",
		run->manual ? "Started by hand" : "For the slot ", run->manual ? "" : slot, begin,
		run->end_us == TIME_UNKNOWN ? "not over" : "ended ",
		run->end_us == TIME_UNKNOWN ? "" : end, run->key);
	for (i = 0; i < run->n_pods; i++)
		tell_pod(p, m, &run->pods[i]);
	if (!run->n_pods)
		prose_add(p, STYLE_DIM, "", 4, STYLE_DIM,
			run->alive == TRI_NO ? "No pod of it is there." : "No pod of it is known.");
}

void story_job_runs(struct prose *p, const struct model *m, const struct singleton *s)
{
	uint32_t i;

	prose_rule(p);
	prose_add(p, STYLE_STRONG, "", 1, STYLE_STRONG, "its runs (newest first, times in UTC)");
	for (i = 0; i < s->more->n_runs && i < RUNS_MOST; i++)
		story_run(p, m, &s->more->runs[i], false);
	if (!s->more->n_runs)
		prose_add(p, STYLE_DIM, "", HANG, STYLE_DIM, "%s",
			singleton_int(s, DETAIL_JOBS_HIDDEN, 0)
				? "Its Jobs are hidden from us: which are kept can't be told."
				: "No Job of it is kept.");
	if (s->more->n_runs > RUNS_MOST)
		prose_add(p, STYLE_DIM, "", 1, STYLE_DIM,
			"%" PRIu32 " more: baton show %s --json lists all.",
			s->more->n_runs - RUNS_MOST, s->id);
}

/* ---- the job in few sentences ---- */

static void tell_schedule(struct prose *p, const struct model *m, const struct singleton *s)
{
	struct str words;

	str_init(&words, 4096);
	format_schedule(&words, m, s, &p->next_ms);
	if (words.len)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%s.", words.s);
	str_release(&words);
	if (s->more->schedule && s->more->schedule->error)
		prose_add(p, STYLE_FINDING_WARN, "!", HANG, STYLE_TEXT, "%s",
			s->more->schedule->error);
}

/* The pod that tells most of a run: one that is alive, else one of which that can't be told. */
static const struct pod *telling_pod(const struct run *run)
{
	const struct pod *found = run->n_pods ? &run->pods[0] : NULL;
	uint32_t i;

	for (i = 0; i < run->n_pods; i++) {
		if (run->pods[i].alive == TRI_YES)
			return &run->pods[i];
		if (run->pods[i].alive == TRI_UNKNOWN)
			found = &run->pods[i];
	}
	return found;
}

static const char *life_words(const struct run *run)
{
	return run->alive == TRI_YES  ? "is alive"
	       : run->alive == TRI_NO ? "is not over, and no pod of it is alive"
				      : "is not over; whether it is alive can't be told";
}

static void tell_open(struct prose *p, const struct model *m, const struct run *run)
{
	const struct pod *pod = telling_pod(run);
	char slot[CLOCK_TEXT_MAX], age[CLOCK_TEXT_MAX];
	struct str words;

	str_init(&words, 4096);
	format_when(slot, m, run->slot_us);
	format_since(age, m, run->start_us != TIME_UNKNOWN ? run->start_us : run->created_us,
		&p->next_ms);
	if (run->manual)
		str_add(&words, ", started by hand,");
	else if (run->slot_us != TIME_UNKNOWN)
		str_addf(&words, ", for the slot %s,", slot);
	str_addf(&words, " %s", life_words(run));
	if (strcmp(age, "-") != 0)
		str_addf(&words, ", for %s", age);
	if (pod)
		str_addf(&words, ": pod %s on %s, %s%s%s", pod->name,
			pod->node ? pod->node : "no node", pod_phase_word(pod->phase),
			pod->reason ? " " : "", pod->reason ? pod->reason : "");
	prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%s%s.", run->name, words.s);
	str_release(&words);
}

/* The last that ended, where none is under way. */
static void tell_last(struct prose *p, const struct model *m, const struct singleton *s)
{
	char age[CLOCK_TEXT_MAX], took[CLOCK_TEXT_MAX] = "";
	const struct run *run = s->more->n_runs ? &s->more->runs[0] : NULL;
	int64_t success_us = singleton_int(s, DETAIL_LAST_SUCCESS, TIME_UNKNOWN);

	if (singleton_int(s, DETAIL_RUNS_HIDDEN, 0)) {
		prose_add(p, STYLE_DIM, "", HANG, STYLE_TEXT, "Its runs are hidden from us.");
		return;
	}
	if (run && run->end_us != TIME_UNKNOWN) {
		format_since(age, m, run->end_us, &p->next_ms);
		if (run->start_us != TIME_UNKNOWN)
			clock_format_age(took, clock_minus(run->end_us, run->start_us) / 1000);
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT,
			"No run is under way. The last, %s, %s %s ago%s%s.", run->name,
			run_state_word(run->state), age, *took ? ", after " : "", took);
	} else {
		format_since(age, m, success_us, &p->next_ms);
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "No run is under way%s%s%s.",
			success_us == TIME_UNKNOWN ? "" : "; one last succeeded ",
			success_us == TIME_UNKNOWN ? "" : age,
			success_us == TIME_UNKNOWN ? "" : " ago");
	}
}

void story_job(struct prose *p, const struct model *m, const struct singleton *s)
{
	uint32_t i, open = 0;

	tell_schedule(p, m, s);
	for (i = 0; i < s->more->n_runs; i++) {
		if (!run_is_open(&s->more->runs[i]))
			continue;
		if (open++ < RUNS_SHOWN)
			tell_open(p, m, &s->more->runs[i]);
	}
	if (open > RUNS_SHOWN)
		prose_add(p, STYLE_TEXT, "", HANG, STYLE_TEXT, "%" PRIu32 " more %s not over.",
			open - RUNS_SHOWN, open - RUNS_SHOWN == 1 ? "run is" : "runs are");
	if (!open)
		tell_last(p, m, s);
}
