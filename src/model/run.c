#include "config.h"

#include "base/mem.h"
#include "model/run.h"

#include <string.h>

static const char *const run_states[] = {
	[RUN_UNKNOWN] = "unknown",
	[RUN_RUNNING] = "running",
	[RUN_SUCCEEDED] = "succeeded",
	[RUN_FAILED] = "failed",
};

static const char *const pod_phases[] = {
	[POD_PHASE_UNKNOWN] = "Unknown",
	[POD_PENDING] = "Pending",
	[POD_RUNNING] = "Running",
	[POD_SUCCEEDED] = "Succeeded",
	[POD_FAILED] = "Failed",
};

static int word_find(const char *const *words, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

const char *run_state_word(enum run_state state)
{
	return run_states[state];
}

int run_state_from_word(const char *word)
{
	return word_find(run_states, ARRAY_LEN(run_states), word);
}

const char *pod_phase_word(enum pod_phase phase)
{
	return pod_phases[phase];
}

enum pod_phase pod_phase_from_word(const char *word)
{
	int phase = word_find(pod_phases, ARRAY_LEN(pod_phases), word);

	return phase < 0 ? POD_PHASE_UNKNOWN : (enum pod_phase)phase;
}

enum tristate pod_alive(const struct pod *pod)
{
	bool lost = pod->node_gone || pod->node_ready == TRI_NO;

	if (pod->phase == POD_SUCCEEDED)
		return TRI_NO;
	if (pod->phase == POD_FAILED)
		return lost ? TRI_UNKNOWN : TRI_NO;
	if (lost)
		return TRI_UNKNOWN;
	if (pod->phase == POD_PENDING)
		return pod->containers_running > 0 ? TRI_YES : TRI_NO;
	if (pod->phase == POD_RUNNING)
		return pod->containers_running == 0 ? TRI_NO : TRI_YES;
	return TRI_UNKNOWN;
}

enum tristate run_alive(const struct run *run)
{
	enum tristate alive = TRI_NO;
	uint32_t i;

	bool over = run->state == RUN_SUCCEEDED || run->state == RUN_FAILED;

	if (!run->n_pods)
		return over && !run->unseen ? TRI_NO : TRI_UNKNOWN;
	for (i = 0; i < run->n_pods; i++) {
		enum tristate one = run->pods[i].alive;

		if (one == TRI_YES)
			return TRI_YES;
		if (one == TRI_UNKNOWN)
			alive = TRI_UNKNOWN;
	}
	return alive;
}

bool run_is_open(const struct run *run)
{
	return run->state == RUN_RUNNING || (run->alive != TRI_NO && !run->unseen);
}
