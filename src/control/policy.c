#include "config.h"

#include "control/policy.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	SENTENCE_MAX = 400,
	TYPED_MAX = 4096
};

__attribute__((format(printf, 2, 3))) static void refuse(
	struct plan_list *reasons, const char *fmt, ...)
{
	char text[SENTENCE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	plan_add(reasons, text, NULL);
}

void policy_check(const struct policy_facts *facts, struct plan_list *reasons)
{
	if (facts->record) {
		refuse(reasons, "this is a record of what was: nothing can be done in it");
		return;
	}
	if (facts->past)
		refuse(reasons,
			"what was looked at is past: an act is bound to what is seen now; go back "
			"to now first");
	if (facts->read_only)
		refuse(reasons, "the config says read_only: nothing may be changed anywhere");
	if (facts->protect)
		refuse(reasons, "the config protects source %s: no verb works on it",
			facts->source);
	if (facts->state == SOURCE_FAILING || facts->state == SOURCE_CONNECTING)
		refuse(reasons, "source %s can't be read now: what is so there is not known",
			facts->source);
	if (facts->way == GATE_WAY_CONSOLE && facts->armed_ms <= 0 && facts->verb != VERB_ASK)
		refuse(reasons,
			"the console is read only for source %s: arm it first (:arm), or start it "
			"with --write",
			facts->source);
}

bool policy_is_prod(const char *environment)
{
	/* Blanks say nothing. */
	return !environment || !environment[strspn(environment, " ")] ||
	       strcasestr(environment, "prod") || strcasestr(environment, "prd") ||
	       strcasestr(environment, "live");
}

static bool is_trouble(enum state state)
{
	return state <= STATE_STUCK;
}

bool policy_may_be_over(enum verb verb, enum state was)
{
	const struct verb_word *word = verb_word(verb);

	return word->where == WHERE_ANYWHERE && word->about != ABOUT_ROW && is_trouble(was);
}

bool policy_is_over(enum verb verb, enum state was, enum state now)
{
	return policy_may_be_over(verb, was) && !is_trouble(now) && now != STATE_UNKNOWN;
}

enum gate_ask policy_ask(enum verb verb, const char *environment, bool has_holder)
{
	/* A question to somebody changes nothing, wherever it is asked. */
	if (verb == VERB_ASK)
		return GATE_ASK_YES;
	if (policy_is_prod(environment))
		return GATE_ASK_NAME;
	if (verb_word(verb)->danger == DANGER_REVERSIBLE)
		return GATE_ASK_YES;
	return has_holder ? GATE_ASK_HOLDER : GATE_ASK_NAME;
}

char *policy_typed_form(const char *name)
{
	struct str out;

	str_init(&out, TYPED_MAX);
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		/* A backslash is doubled in what is sanitised already, and stays as it is. */
		if (c >= 0x20 && c < 0x7f)
			str_add_char(&out, (char)c);
		else
			str_addf(&out, "\\x%02x", c);
	}
	return str_take(&out);
}
