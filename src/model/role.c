#include "config.h"

#include "model/role.h"
#include "model/judge-rules.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const harm_words[] = {
	[HARM_HARMLESS] = "harmless",
	[HARM_ANNOYING] = "annoying",
	[HARM_HARMFUL] = "harmful",
};

const char *harm_word(enum harm harm)
{
	return harm_words[harm];
}

int harm_from_word(const char *word)
{
	int i;

	for (i = HARM_HARMLESS; i <= HARM_HARMFUL; i++)
		if (strcasecmp(harm_words[i], word) == 0)
			return i;
	return -1;
}

const struct role *role_of(const struct role *roles, size_t n, const char *id)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < roles[i].n_witnesses; k++)
			if (strcmp(roles[i].witnesses[k], id) == 0)
				return &roles[i];
	return NULL;
}

const char *role_fit(const struct role *role, enum mechanism mechanism)
{
	if (role->harm == HARM_HARMFUL) {
		if (role->fenced == TRI_YES || role->idempotent == TRI_YES)
			return "ok";
		if (role->fenced == TRI_NO && role->idempotent == TRI_NO)
			return "weak";
		return NULL;
	}
	if (role->harm == HARM_HARMLESS)
		return mechanism == MECH_ETCD_ELECTION || mechanism == MECH_ETCD_LOCK ? "overkill"
										      : "ok";
	return role->harm == HARM_ANNOYING ? "ok" : NULL;
}

void role_judge(const struct role_view *view, const struct thresholds *thresholds, int64_t now_us,
	struct verdict_draft *out)
{
	size_t i;

	(void)thresholds;
	(void)now_us;
	out->v.state = STATE_UNKNOWN;
	for (i = 0; i < view->role->n_witnesses; i++)
		if (view->witnesses[i] && view->witnesses[i]->v.state < out->v.state)
			out->v.state = view->witnesses[i]->v.state;
	judge_attention(out);
}

bool identity_alike(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}
