#include "config.h"

#include "fake-round.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fake_round_init(struct round *r)
{
	*r = (struct round){ .draft = draft_new(), .wake_fd = -1 };
}

static void drop_rows(struct round *r)
{
	while (r->n_rows)
		singleton_unref(r->rows[--r->n_rows]);
}

void fake_round_release(struct round *r)
{
	drop_rows(r);
	round_hidden_clear(r);
	singleton_unref(r->self);
	free(r->rows);
	free(r->hidden);
	free(r->server);
	free(r->degraded);
	draft_free(r->draft);
}

void fake_round_start(struct round *r, int64_t timeout_ms)
{
	r->deadline_ms = clock_mono_ms(&clock_system) + timeout_ms;
	free(r->degraded);
	r->degraded = NULL;
}

const struct clock_source *round_clock(const struct round *r)
{
	(void)r;
	return &clock_system;
}

int64_t round_now_ms(const struct round *r)
{
	return clock_mono_ms(round_clock(r));
}

int64_t round_deadline_ms(const struct round *r)
{
	return r->deadline_ms;
}

int round_wake_fd(const struct round *r)
{
	return r->wake_fd;
}

bool round_cancelled(const struct round *r)
{
	return r->cancelled;
}

bool round_one_shot(const struct round *r)
{
	return r->one_shot;
}

struct draft *round_draft(struct round *r)
{
	return r->draft;
}

void round_abandon(struct round *r)
{
	if (!r->complete)
		drop_rows(r);
}

bool round_use_time(struct round *r, size_t most)
{
	(void)r;
	(void)most;
	return false;
}

void round_begin(struct round *r)
{
	drop_rows(r);
	r->complete = false;
}

void round_put(struct round *r, struct singleton *s)
{
	size_t i;

	r->puts++;
	for (i = 0; i < r->n_rows && r->complete; i++)
		if (strcmp(r->rows[i]->id, s->id) == 0) {
			singleton_unref(r->rows[i]);
			r->rows[i] = s;
			return;
		}
	MEM_GROW(r->rows, r->n_rows, r->cap_rows);
	r->rows[r->n_rows++] = s;
}

void round_drop(struct round *r, const char *id)
{
	size_t i;

	for (i = 0; i < r->n_rows; i++)
		if (strcmp(r->rows[i]->id, id) == 0) {
			singleton_unref(r->rows[i]);
			r->rows[i] = r->rows[--r->n_rows];
			return;
		}
}

void round_hide(struct round *r, const char *id)
{
	r->hides++;
	round_drop(r, id);
}

void round_partial(struct round *r)
{
	r->partial = true;
}

void round_behind(struct round *r, bool behind)
{
	(void)r;
	(void)behind;
}

void round_end(struct round *r)
{
	r->complete = true;
}

void round_self(struct round *r, struct singleton *s)
{
	singleton_unref(r->self);
	r->self = s;
}

void round_server(struct round *r, const char *text)
{
	free(r->server);
	r->server = xstrdup(text);
}

void round_hidden_clear(struct round *r)
{
	while (r->n_hidden)
		hidden_release(&r->hidden[--r->n_hidden]);
}

void round_hidden(struct round *r, const char *what, const char *remedy)
{
	round_hidden_rows(r, what, remedy, NULL, NULL);
}

void round_hidden_rows(struct round *r, const char *what, const char *remedy, const char *rows,
	const char *const *except)
{
	const struct hidden hidden = {
		.what = what, .remedy = remedy, .rows = rows, .except = except
	};

	MEM_GROW(r->hidden, r->n_hidden, r->cap_hidden);
	hidden_copy(&r->hidden[r->n_hidden++], &hidden);
}

void round_unlooked(struct round *r, const char *what, const char *remedy,
	const char *const *except, unsigned found)
{
	round_hidden_rows(r, what, remedy, "", except);
	r->hidden[r->n_hidden - 1].chosen = true;
	r->hidden[r->n_hidden - 1].found = found;
}

void round_degraded(struct round *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(r->degraded);
	r->degraded = xstrdup(text);
}

void round_cost(struct round *r, uint64_t requests, uint64_t bytes_in, uint64_t bytes_out,
	int64_t round_trip_ms)
{
	r->requests += requests;
	r->bytes_in += bytes_in;
	r->bytes_out += bytes_out;
	r->round_trip_ms = round_trip_ms;
}

void round_event(struct round *r, const char *path, int64_t at_us, int64_t token, const char *what,
	const char *text)
{
	(void)at_us;
	if (r->events)
		fprintf(r->events, "event\t%s\t%" PRId64 "\t%s\t%s\n", path ? path : "", token,
			what, text);
}

bool round_wanted(const struct round *r, const char *id)
{
	size_t i;

	for (i = 0; r->wanted && r->wanted[i]; i++)
		if (strcmp(r->wanted[i], id) == 0)
			return true;
	return false;
}

void round_each_wanted(const struct round *r, void (*each)(void *arg, const char *id), void *arg)
{
	size_t i;

	for (i = 0; r->wanted && r->wanted[i]; i++)
		each(arg, r->wanted[i]);
}

const struct singleton *fake_round_row(const struct round *r, const char *path)
{
	size_t i;

	for (i = 0; i < r->n_rows; i++)
		if (strcmp(singleton_path(r->rows[i]), path) == 0)
			return r->rows[i];
	return NULL;
}

static void print_details(const struct detail *details, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		printf(" %s=", detail_word(details[i].id)->word);
		if (details[i].hidden)
			printf("(hidden)");
		else if (detail_word(details[i].id)->type == DETAIL_TYPE_TEXT)
			printf("\"%s\"", details[i].s);
		else
			printf("%" PRId64, details[i].i);
	}
	printf("\n");
}

static void print_row(const struct singleton *s)
{
	struct details details;
	uint32_t i;

	details_init(&details);
	printf("%s name=%s", s->id, s->more->name ? s->more->name : "-");
	print_details(singleton_details(s), s->n_details);
	for (i = 0; i < s->n_claims; i++) {
		const struct claim *c = &s->claims[i];

		printf("  %s %" PRIu32 " \"%s\" [%s]",
			c->kind == CLAIM_HOLDER ? "holder" : "waiter", c->position,
			claim_identity(c), claim_key(c));
		details_of_claim(&details, s, c);
		print_details(details.at, details.n);
	}
	details_release(&details);
}

void fake_round_print(const struct round *r)
{
	size_t i;

	printf("server %s\ndegraded %s\n", r->server ? r->server : "-",
		r->degraded ? r->degraded : "-");
	for (i = 0; i < r->n_hidden; i++)
		printf("hidden %s | %s\n", r->hidden[i].what,
			r->hidden[i].remedy ? r->hidden[i].remedy : "-");
	if (r->self)
		print_row(r->self);
	for (i = 0; i < r->n_rows; i++)
		print_row(r->rows[i]);
	printf("cost %" PRIu64 " requests, %" PRIu64 " in, %" PRIu64 " out, %" PRId64 " ms\n",
		r->requests, r->bytes_in, r->bytes_out, r->round_trip_ms);
}
