#include "config.h"

#include "sim/postgres-script.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FOREVER_MS = 1000000000,
	WORD_MAX = 32
};

static struct simpg_script *script_of(struct simpg_client *c)
{
	return (struct simpg_script *)((char *)c - offsetof(struct simpg_script, client));
}

/* ---- saying it ---- */

static void script_due(struct world *w, struct process *p, void *who, int64_t a);

static void say(struct world *w, struct simpg_script *s)
{
	const struct simpg_step *step = &s->steps[s->next++];

	s->due = false;
	if (s->next < s->n_steps)
		process_after(w, s->program.process,
			s->program.process->began_ms + s->steps[s->next].at_ms - world_now_ms(w),
			script_due, s, (int64_t)s->next);
	if (step->op == SIMPG_CONNECT)
		simpg_client_connect(w, &s->client);
	else if (step->op == SIMPG_CLOSE)
		simpg_client_close(w, &s->client);
	else
		simpg_client_ask(
			w, &s->client, step->op, step->b, step->flags, step->text, FOREVER_MS);
}

static void script_due(struct world *w, struct process *p, void *who, int64_t next)
{
	struct simpg_script *s = who;

	(void)p;
	if (s->next != (size_t)next)
		return;
	/* Who goes away does not wait for an answer. */
	if (s->client.asking && s->steps[s->next].op != SIMPG_CLOSE)
		s->due = true;
	else
		say(w, s);
}

static void script_done(
	struct world *w, struct simpg_client *c, enum simpg_op op, int error, int64_t value)
{
	struct simpg_script *s = script_of(c);

	(void)op;
	(void)value;
	s->last_error = error;
	if (s->due)
		say(w, s);
}

static void script_start(struct world *w, struct program *g)
{
	struct simpg_script *s = (struct simpg_script *)g;

	s->client.connected = s->client.asking = s->due = false;
	s->client.process = g->process;
	s->next = 0;
	if (!*s->client.login.application)
		snprintf(s->client.login.application, SIMPG_NAME_MAX, "%s", g->process->identity);
	simpg_client_connect(w, &s->client);
	if (s->n_steps)
		process_after(w, g->process, s->steps[0].at_ms, script_due, s, 0);
}

static void script_ended(struct world *w, struct program *g, enum process_end how)
{
	simpg_client_ended(w, &((struct simpg_script *)g)->client, how);
}

static void script_asked(const struct world *w, const struct program *g, char *buf, size_t size)
{
	const struct simpg_script *s = (const struct simpg_script *)g;

	(void)w;
	snprintf(buf, size, "it has said %zu of %zu things; the last answer: %s", s->next,
		s->n_steps, simpg_error_word(s->last_error));
}

static const struct program_ops script_ops = {
	.word = "pg-script",
	.start = script_start,
	.ended = script_ended,
	.asked = script_asked,
};

struct simpg_script *simpg_script_new(struct process *p)
{
	struct simpg_script *s = xcalloc(1, sizeof(*s));

	s->client.done = script_done;
	process_program(p, &s->program, &script_ops);
	return s;
}

/* ---- reading it ---- */

static const struct {
	const char *word;
	enum simpg_op op;
} words[] = {
	{ "lock", SIMPG_LOCK },
	{ "try", SIMPG_TRY },
	{ "unlock", SIMPG_UNLOCK },
	{ "begin", SIMPG_BEGIN },
	{ "commit", SIMPG_COMMIT },
	{ "prepare", SIMPG_PREPARE },
	{ "listen", SIMPG_LISTEN },
	{ "run", SIMPG_RUN },
	{ "connect", SIMPG_CONNECT },
	{ "close", SIMPG_CLOSE },
};

/* The next word; returns the rest, without the spaces before it. */
static const char *take_word(const char *s, char word[WORD_MAX])
{
	size_t n = strcspn(s, " ");

	snprintf(word, WORD_MAX, "%.*s", (int)n, s);
	s += n;
	return s + strspn(s, " ");
}

/* "2s", "500ms"; false when it is neither. */
static bool read_span(const char *s, int64_t *ret_ms)
{
	char *end;
	long long n = strtoll(s, &end, 10);

	if (end == s || n < 0 || n > FOREVER_MS / 1000)
		return false;
	if (strcmp(end, "ms") == 0)
		*ret_ms = n;
	else if (strcmp(end, "s") == 0)
		*ret_ms = n * 1000;
	else
		return false;
	return true;
}

static bool read_key(struct simpg_step *step, const char *rest)
{
	char word[WORD_MAX];
	struct simpg_key key;

	rest = take_word(rest, word);
	if (!simpg_key_read(word, 0, &key))
		return false;
	step->b = (int64_t)((uint64_t)key.classid << 32 | key.objid);
	step->flags = key.objsubid == 2 ? SIMPG_FLAG_PAIR : 0;
	while (*rest) {
		rest = take_word(rest, word);
		if (strcmp(word, "share") == 0)
			step->flags |= SIMPG_FLAG_SHARE;
		else if (strcmp(word, "transaction") == 0)
			step->flags |= SIMPG_FLAG_TRANSACTION;
		else
			return false;
	}
	return true;
}

static bool read_rest(struct simpg_step *step, const char *rest)
{
	char word[WORD_MAX];

	switch (step->op) {
	case SIMPG_LOCK:
	case SIMPG_TRY:
	case SIMPG_UNLOCK:
		return read_key(step, rest);
	case SIMPG_RUN:
		rest = take_word(rest, word);
		if (!read_span(word, &step->b))
			return false;
		snprintf(step->text, sizeof(step->text), "%s", rest);
		return *rest;
	case SIMPG_PREPARE:
	case SIMPG_LISTEN:
		snprintf(step->text, sizeof(step->text), "%s", rest);
		return *rest;
	case SIMPG_CONNECT:
	case SIMPG_CLOSE:
	case SIMPG_BEGIN:
	case SIMPG_COMMIT:
		break;
	}
	return !*rest;
}

int simpg_script_add(struct simpg_script *s, const char *text, struct err *err)
{
	struct simpg_step *step = &s->steps[s->n_steps];
	char at[WORD_MAX], word[WORD_MAX];
	const char *rest = take_word(take_word(text, at), word);
	size_t i;

	if (s->n_steps == SIMPG_STEPS_MOST)
		return err_set(err, ERR_CONFIG, "at most %d steps", SIMPG_STEPS_MOST);
	memset(step, 0, sizeof(*step));
	for (i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].word, word) == 0)
			break;
	if (i == ARRAY_LEN(words) || !read_span(at, &step->at_ms))
		return err_set(err, ERR_CONFIG,
			"'%.80s' is no step: it is a time, a word and what belongs to it, as in "
			"\"2s lock 42\"",
			text);
	step->op = words[i].op;
	if (!read_rest(step, rest))
		return err_set(err, ERR_CONFIG, "what follows in '%.80s' does not belong to '%s'",
			text, word);
	if (s->n_steps && step->at_ms < s->steps[s->n_steps - 1].at_ms)
		return err_set(err, ERR_CONFIG, "'%.80s' comes before the step ahead of it", text);
	s->n_steps++;
	return 0;
}
