#include "config.h"

#include "show/show.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "show/table.h"
#include "show/text-chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_WRAP_LEAST = 20,
	TEXT_WRAP_PLAIN = 100, /* no terminal: as wide as the manual */
	TEXT_INDENT = 10
};

static const struct table_column text_columns[] = {
	{ .title = "S", .keep = true },
	{ .title = "STATE", .keep = true },
	{ .title = "SINGLETON", .keep = true },
	{ .title = "NAME", .hide_empty = true, .shrink_to = 8, .drop = 3 },
	{ .title = "HOLDER", .shrink_to = 12 },
	{ .title = "RUNS", .right = true, .hide_empty = true, .drop = 1 },
	{ .title = "WAIT", .right = true, .drop = 6 },
	{ .title = "TOKEN", .right = true, .hide_empty = true, .drop = 5 },
	{ .title = "LEASE", .right = true, .hide_empty = true, .drop = 7 },
	{ .title = "SINCE", .right = true, .drop = 4 },
	{ .title = "FINDINGS", .hide_empty = true, .shrink_to = 10, .drop = 2 },
};

struct show_text_state {
	struct table table;
	size_t n_rows;
	bool job; /* the one that is told is executed in runs */
};

/* The colours of states are those of the terminal's own palette; the letter says the same. */
static const char *text_color(enum state state)
{
	static const char *const colors[STATE_COUNT] = {
		[STATE_DUPLICATE] = "\033[1;31m",
		[STATE_STALE] = "\033[31m",
		[STATE_ORPHAN] = "\033[35m",
		[STATE_STUCK] = "\033[31m",
		[STATE_EXPIRING] = "\033[33m",
		[STATE_CONTENDED] = "\033[36m",
		[STATE_FREE] = "\033[2m",
		[STATE_SUSPENDED] = "\033[2m",
		[STATE_UNKNOWN] = "\033[2m",
	};

	return colors[state];
}

static void text_age(struct str *out, int64_t now_us, int64_t since_us)
{
	char age[CLOCK_TEXT_MAX] = "-";

	if (since_us != TIME_UNKNOWN)
		clock_format_age(age, now_us > since_us ? (now_us - since_us) / 1000 : 0);
	str_add(out, age);
}

static void text_begin(struct show *show, const char *page)
{
	struct show_text_state *state = xcalloc(1, sizeof(*state));

	(void)page;
	if (show_mark(show->sim, show->record))
		out_fmt(show->out, "%s: %s\n", show_mark(show->sim, show->record),
			show_mark_text(show->sim, show->record));
	table_init(&state->table, text_columns, ARRAY_LEN(text_columns));
	show->state = state;
}

static void text_end(struct show *show)
{
	struct show_text_state *state = show->state;

	table_release(&state->table);
	free(state);
	show->state = NULL;
}

static void text_part(const struct show *show, struct show *copy)
{
	const struct show_text_state *state = show->state;
	struct show_text_state *own = xcalloc(1, sizeof(*own));

	*own = *state;
	table_part(&state->table, &own->table, copy->out);
	copy->state = own;
}

static void text_joined(struct show *show, struct show *copy)
{
	struct show_text_state *state = show->state, *part = copy->state;

	table_join(&state->table, &part->table);
	free(part);
}

/* All rows of the list were measured; they come again to be printed. */
static void text_again(struct show *show)
{
	struct show_text_state *state = show->state;

	table_print(&state->table, &show->style, show->out);
}

static void text_section(struct show *show, enum show_section section)
{
	if (section == SHOW_HISTORY)
		out_text(show->out, "history\n");
}

static void text_section_end(struct show *show, enum show_section section)
{
	struct show_text_state *state = show->state;

	if (section == SHOW_HISTORY && !state->n_rows)
		out_text(show->out, "  nothing yet\n");
}

/*
 * A sentence, broken at spaces. The first line goes on at column `at`, the others stand at indent;
 * on a terminal that is narrower than any sense, lines are TEXT_WRAP_LEAST wide.
 */
static void text_wrap_from(struct show *show, size_t at, size_t indent, const char *text)
{
	size_t columns = show->style.columns ? show->style.columns : TEXT_WRAP_PLAIN;
	bool fresh = true; /* nothing stands in this line yet but the indent */

	if (columns < indent + TEXT_WRAP_LEAST)
		columns = indent + TEXT_WRAP_LEAST;
	while (*text) {
		size_t len = strcspn(text, " "), width;
		char *word = xstrndup(text, len);

		width = text_width(word);
		if (at > indent && at + !fresh + width > columns) {
			out_char(show->out, '\n');
			out_spaces(show->out, indent);
			at = indent;
			fresh = true;
		}
		if (!fresh)
			out_char(show->out, ' ');
		out_text(show->out, word);
		at += !fresh + width;
		fresh = false;
		free(word);
		text += len;
		text += strspn(text, " ");
	}
	out_char(show->out, '\n');
}

static void text_wrap(struct show *show, size_t indent, const char *text)
{
	text_wrap_from(show, indent, indent, text);
}

static void text_field(struct show *show, const char *name, const char *text)
{
	out_fmt(show->out, "  %-*s", TEXT_INDENT - 2, name);
	text_wrap(show, TEXT_INDENT, text);
}

/* Details in one sentence, the first line of which is begun already. */
static void text_details_on(
	struct show *show, const struct detail *details, size_t n, size_t indent)
{
	struct str line;
	size_t i;

	str_init(&line, 1024 * 1024);
	for (i = 0; i < n; i++) {
		char plain[DETAIL_PLAIN_MAX];

		detail_plain(details[i].id, plain);
		str_addf(&line, "%s%s ", i ? ", " : "", plain);
		show_detail_text(&details[i], show->now_ms, &line);
	}
	text_wrap(show, indent, line.s);
	str_release(&line);
}

static void text_details(struct show *show, const struct detail *details, size_t n, size_t indent)
{
	if (!n)
		return;
	out_spaces(show->out, indent);
	text_details_on(show, details, n, indent);
}

static void text_source(struct show *show, const struct snapshot *snap, const struct row *cross)
{
	char why[SHOW_VAIN_MAX], age[CLOCK_TEXT_MAX];
	const char *error = show_source_error(show, snap, why, sizeof(why));
	struct str line;

	(void)cross;
	if (!show->whole)
		return;
	str_init(&line, 8192);
	str_addf(&line, "%s (%s%s%s), %s", snap->source, snap->kind, snap->environment ? ", " : "",
		snap->environment ? snap->environment : "", source_state_word(snap->state));
	if (snap->picture_ms != TIME_UNKNOWN) {
		clock_format_age(age, show->now_ms - snap->picture_ms);
		str_addf(&line, ", picture %s old", age);
	}
	if (snap->server)
		str_addf(&line, ", %s", snap->server);
	if (error)
		str_addf(&line, ": %s", error);
	text_field(show, "source", line.s);
	str_release(&line);
}

static void text_source_end(struct show *show)
{
	(void)show;
}

static void text_holder(struct str *out, const struct singleton *s)
{
	char words[16384];

	singleton_holder_words(s, words, sizeof(words));
	str_add(out, words);
}

static void text_holder_cell(struct table *table, const struct singleton *s)
{
	const struct claim *holder = singleton_holder(s);

	/* By far the most: one holder, whose name needs no making. */
	if (holder && s->n_claims == 1 && !singleton_is_job(s)) {
		table_text(table, claim_identity(holder));
		return;
	}
	text_holder(&table->texts, s);
	table_cell(table);
}

/* How many runs are at work, of those that there are records of. */
static void text_runs_cell(struct table *table, const struct singleton *s)
{
	if (!singleton_is_job(s)) {
		table_text(table, "-");
		return;
	}
	str_addf(
		&table->texts, "%" PRIu32 "/%" PRIu32, singleton_runs(s, TRI_YES), s->more->n_runs);
	table_cell(table);
}

static void text_findings_cell(struct str *out, const struct verdict *v)
{
	bool any = false;
	size_t i;

	for (i = 0; i < v->n_findings; i++) {
		if (finding_is_usual(&v->findings[i]))
			continue;
		if (any)
			str_add_char(out, ',');
		str_add(out, finding_word(v->findings[i].code)->word);
		any = true;
	}
	if (!any)
		str_add(out, "-");
}

static bool has_news(const struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->n_findings; i++)
		if (!finding_is_usual(&v->findings[i]))
			return true;
	return false;
}

/* Since when somebody holds it, or since when nobody does. */
static int64_t text_since(const struct row *row)
{
	return singleton_holder(row->s) && row->v.first_seen_us != TIME_UNKNOWN
		       ? row->v.first_seen_us
		       : row->v.state_since_us;
}

static void text_lease_cell(struct str *out, const struct singleton *s, int64_t now_ms)
{
	char age[CLOCK_TEXT_MAX] = "-";

	if (s->lease_deadline_ms != TIME_UNKNOWN)
		clock_format_age(age, s->lease_deadline_ms - now_ms);
	str_add(out, age);
}

/* The operator's name for it, or the tool that is known to use this key. */
static const char *text_name(const struct singleton *s, const char *absent)
{
	const char *name = s->more->name;

	return name ? name : singleton_text(s, DETAIL_TOOL, absent);
}

static void text_number_cell(struct table *table, bool known, int64_t number)
{
	if (!known) {
		table_text(table, "-");
		return;
	}
	str_add_int(&table->texts, number);
	table_cell(table);
}

static void text_table_row(struct show *show, const struct snapshot *snap, const struct row *row)
{
	struct show_text_state *state = show->state;
	struct table *table = &state->table;
	struct str *out = &table->texts;
	enum state shown = board_state(snap, row);
	uint32_t waiters = singleton_count(row->s, CLAIM_WAITER);

	table_row(table, text_color(shown));
	str_add_char(out, state_word(shown)->letter);
	table_cell(table);
	table_text(table, state_word(shown)->word);
	table_text(table, row->s->id);
	table_text(table, text_name(row->s, "-"));
	text_holder_cell(table, row->s);
	text_runs_cell(table, row->s);
	text_number_cell(table, waiters > 0, waiters);
	text_number_cell(table, row->s->has_token, row->s->token);
	text_lease_cell(out, row->s, show->now_ms);
	table_cell(table);
	text_age(out, show->now_us, text_since(row));
	table_cell(table);
	text_findings_cell(out, &row->v);
	table_cell(table);
}

static void text_title(struct show *show, const char *id, const char *name, enum state state)
{
	const char *color = show->style.color ? text_color(state) : NULL;

	out_text(show->out, id);
	if (name)
		out_fmt(show->out, "  \"%s\"", name);
	out_fmt(show->out, "  %s%s%s\n", color ? color : "", state_word(state)->word,
		color ? "\033[0m" : "");
}

static void text_token(struct show *show, const struct row *row)
{
	struct str line;

	if (!row->s->has_token)
		return;
	str_init(&line, 256);
	str_addf(&line, "%" PRId64 " %s", row->s->token, token_kind_plain(row->s->token_kind));
	if (row->v.has_highest && row->v.highest_token != row->s->token)
		str_addf(&line, ", highest ever seen %" PRId64, row->v.highest_token);
	text_field(show, "token", line.s);
	str_release(&line);
}

static void text_lease(struct show *show, const struct singleton *s)
{
	char granted[CLOCK_TEXT_MAX], left[CLOCK_TEXT_MAX];
	struct str line;

	if (s->lease_granted_ms == TIME_UNKNOWN && s->lease_deadline_ms == TIME_UNKNOWN)
		return;
	str_init(&line, 256);
	if (s->lease_granted_ms != TIME_UNKNOWN) {
		clock_format_age(granted, s->lease_granted_ms);
		str_addf(&line, "granted %s", granted);
	}
	if (s->lease_deadline_ms != TIME_UNKNOWN) {
		int64_t remains = s->lease_deadline_ms - show->now_ms;

		clock_format_age(left, remains < 0 ? -remains : remains);
		str_addf(&line, "%s%s %s", line.len ? ", " : "", left,
			remains < 0 ? "past its end" : "left");
	}
	text_field(show, "lease", line.s);
	str_release(&line);
}

static void text_since_field(struct show *show, const struct row *row)
{
	char at[CLOCK_TEXT_MAX];
	struct str line;

	str_init(&line, 256);
	if (row->v.first_seen_us != TIME_UNKNOWN) {
		clock_format_utc(at, row->v.first_seen_us, 3);
		str_addf(&line, "%s first seen %s, ",
			singleton_is_job(row->s) ? "a run that is not over" : "holder", at);
		text_age(&line, show->now_us, row->v.first_seen_us);
		str_add(&line, " ago");
	}
	if (row->v.known_since_us != TIME_UNKNOWN) {
		clock_format_utc(at, row->v.known_since_us, 3);
		str_addf(&line, "%sknown since %s", line.len ? "; " : "", at);
	}
	if (line.len)
		text_field(show, "since", line.s);
	str_release(&line);
}

static void text_whole(struct show *show, const struct snapshot *snap, const struct row *row)
{
	struct show_text_state *state = show->state;
	struct str line;

	text_title(show, row->s->id, text_name(row->s, NULL), board_state(snap, row));
	str_init(&line, 512);
	if (row->s->mechanism != MECH_PROCESS)
		str_addf(&line, "%s, ", mechanism_word(row->s->mechanism)->word);
	str_add(&line, singleton_what(row->s));
	text_field(show, row->s->mechanism == MECH_PROCESS ? "is" : "by", line.s);
	str_release(&line);
	text_token(show, row);
	text_lease(show, row->s);
	text_since_field(show, row);
	if (row_role(row))
		text_field(show, "role", row_role(row));
	if (row->s->n_details) {
		out_fmt(show->out, "  %-*s", TEXT_INDENT - 2, "facts");
		text_details_on(show, singleton_details(row->s), row->s->n_details, TEXT_INDENT);
	}
	state->job = singleton_is_job(row->s);
	if (state->job)
		text_job_chart(show, snap, row);
	else
		text_holder_chart(show, snap, row);
}

static void text_singleton(struct show *show, const struct snapshot *snap, const struct row *row)
{
	if (show->whole)
		text_whole(show, snap, row);
	else if (show->state)
		text_table_row(show, snap, row);
}

static void text_singleton_end(
	struct show *show, const struct snapshot *snap, const struct row *row)
{
	(void)show;
	(void)snap;
	(void)row;
}

static void text_claims(struct show *show, enum claim_kind kind, size_t n)
{
	const struct show_text_state *state = show->state;

	if (show->whole && kind == CLAIM_HOLDER && n == 0 && !state->job)
		text_field(show, "holder", "nobody");
}

static void text_claim(struct show *show, const struct singleton *s, const struct claim *claim)
{
	static const char *const names[] = {
		[CLAIM_HOLDER] = "holder",
		[CLAIM_WAITER] = "waiter",
		[CLAIM_FORMER] = "former",
		[CLAIM_MEMBER] = "member",
	};
	const struct show_text_state *state = show->state;
	struct details details;
	struct str line;

	/* What holds a job are its runs, which are told as such. */
	if (!show->whole || claim->kind == CLAIM_MEMBER ||
		(state->job && claim->kind == CLAIM_HOLDER))
		return;
	str_init(&line, 16384);
	if (claim->position)
		str_addf(&line, "%" PRIu32 ". ", claim->position);
	str_addf(&line, "%s   (%s)", claim_identity(claim), claim_key(claim));
	text_field(show, names[claim->kind], line.s);
	str_release(&line);
	details_init(&details);
	details_of_claim(&details, s, claim);
	text_details(show, details.at, details.n, TEXT_INDENT + 2);
	details_release(&details);
}

static void text_claims_end(struct show *show, enum claim_kind kind)
{
	(void)show;
	(void)kind;
}

static void text_runs(struct show *show, const struct row *row, size_t n)
{
	if (show->whole && !n && singleton_is_job(row->s))
		text_field(show, "runs", "none is there");
}

static const char *text_alive(enum tristate alive)
{
	return alive == TRI_YES  ? "alive"
	       : alive == TRI_NO ? "not alive"
				 : "not known whether it is alive";
}

static void text_time(struct str *out, const char *before, int64_t at_us)
{
	char at[CLOCK_TEXT_MAX];

	if (at_us == TIME_UNKNOWN)
		return;
	clock_format_utc(at, at_us, 0);
	str_addf(out, ", %s %s", before, at);
}

static void text_run(struct show *show, const struct run *run)
{
	struct str line;

	if (!show->whole)
		return;
	str_init(&line, 16384);
	str_addf(
		&line, "%s, %s, %s", run->name, run_state_word(run->state), text_alive(run->alive));
	if (run->manual)
		str_add(&line, ", started by hand");
	else if (run->slot_us == TIME_UNKNOWN)
		str_add(&line, ", slot not known");
	text_time(&line, "slot", run->slot_us);
	text_time(&line, "started", run->start_us);
	text_time(&line, "ended", run->end_us);
	text_time(&line, "being deleted since", run->deleted_us);
	str_addf(&line, "   (%s)", run->key);
	text_field(show, "run", line.s);
	text_details(show, run->details, run->n_details, TEXT_INDENT + 2);
	str_release(&line);
}

static void text_pod(struct show *show, const struct pod *pod)
{
	struct str line;

	if (!show->whole)
		return;
	str_init(&line, 16384);
	str_addf(&line, "pod %s on %s: %s%s%s, %s", pod->name, pod->node ? pod->node : "no node",
		pod_phase_word(pod->phase), pod->reason ? " " : "", pod->reason ? pod->reason : "",
		text_alive(pod->alive));
	if (pod->node_gone)
		str_add(&line, ", its node is gone");
	else if (pod->node_ready == TRI_NO)
		str_add(&line, ", its node does not answer");
	if (pod->restarts > 0)
		str_addf(&line, ", %" PRId32 " restart%s", pod->restarts,
			pod->restarts == 1 ? "" : "s");
	text_time(&line, "since", pod->start_us);
	text_time(&line, "being deleted since", pod->deleted_us);
	out_spaces(show->out, TEXT_INDENT + 2);
	text_wrap(show, TEXT_INDENT + 4, line.s);
	text_details(show, pod->details, pod->n_details, TEXT_INDENT + 4);
	str_release(&line);
}

static void text_run_end(struct show *show)
{
	(void)show;
}

static void text_runs_end(struct show *show)
{
	(void)show;
}

static void text_findings(struct show *show, size_t n)
{
	(void)show;
	(void)n;
}

static void text_finding(struct show *show, const struct finding *f)
{
	char head[64];

	if (!show->whole)
		return;
	snprintf(head, sizeof(head), "%c %s ", f->severity == SEVERITY_INFO ? '-' : '!',
		finding_word(f->code)->word);
	out_text(show->out, "  ");
	out_text(show->out, head);
	/* The code may be long: what follows stands below its beginning. */
	text_wrap_from(show, strlen(head) + 2, 4, f->text);
	if (!f->advice)
		return;
	out_text(show->out, "    > ");
	text_wrap(show, 6, f->advice);
}

static void text_findings_end(struct show *show)
{
	(void)show;
}

/* Who holds it by its witnesses, and how many others do by theirs. */
static void text_role_holder(struct str *out, const struct role_view *view)
{
	char first[512] = "", words[512] = "";
	size_t i, others = 0;

	for (i = 0; i < view->role->n_witnesses; i++) {
		const struct row *row = view->witnesses[i];

		if (!row)
			continue;
		singleton_holder_words(row->s, words, sizeof(words));
		if (strcmp(words, "-") == 0)
			continue;
		if (!*first)
			memcpy(first, words, sizeof(first));
		else if (strcmp(words, first) != 0)
			others++;
	}
	str_add(out, *first ? first : "-");
	if (others)
		str_addf(out, " +%zu", others);
}

/* A role stands in the table like what it joins. */
static void text_role_row(struct show *show, const struct role_view *view)
{
	struct show_text_state *state = show->state;
	struct table *table = &state->table;
	struct str *out = &table->texts;
	size_t i;

	table_row(table, text_color(view->self->v.state));
	str_add_char(out, state_word(view->self->v.state)->letter);
	table_cell(table);
	str_add(out, state_word(view->self->v.state)->word);
	table_cell(table);
	str_addf(out, "role/%s", view->role->name);
	table_cell(table);
	str_add_char(out, '-');
	table_cell(table);
	text_role_holder(out, view);
	table_cell(table);
	for (i = 0; i < 5; i++) {
		str_add_char(out, '-');
		table_cell(table);
	}
	if (view->self)
		text_findings_cell(out, &view->self->v);
	else
		str_add_char(out, '-');
	table_cell(table);
}

/* A witness that is not there is told from one that can't be looked for. */
static const char *text_witness_state(const struct role_view *view, size_t i)
{
	static const char *const words[] = {
		[SIGHT_ABSENT] = "not there",
		[SIGHT_HIDDEN] = "hidden",
		[SIGHT_OUTSIDE] = "not looked at",
		[SIGHT_STANDBY] = "not known (read on a standby)",
		[SIGHT_UNREAD] = "not known",
		[SIGHT_UNKNOWN_SOURCE] = "not known (no such source)",
	};
	enum witness_sight sight = role_witness_sight(view, i);

	if (view->witnesses[i] && sight != SIGHT_STANDBY && sight != SIGHT_HIDDEN)
		return state_word(board_state(view->sources[i], view->witnesses[i]))->word;
	return words[sight];
}

/* A role has its witness' state: what is wrong with that is said here as well. */
static void text_witness_findings(struct show *show, const struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->n_findings; i++)
		if (v->findings[i].severity != SEVERITY_INFO)
			text_finding(show, &v->findings[i]);
}

static void text_role(struct show *show, const struct role_view *view)
{
	size_t i;

	if (!show->whole) {
		if (show->state)
			text_role_row(show, view);
		return;
	}
	out_text(show->out, "role/");
	text_title(show, view->role->name, NULL, view->self->v.state);
	text_field(show, "harm",
		harm_word(view->role->harm) ? harm_word(view->role->harm) : "not said");
	for (i = 0; i < view->role->n_witnesses; i++) {
		const struct row *row = view->witnesses[i];
		enum witness_sight sight = role_witness_sight(view, i);
		char holder[512] = "-";
		struct str line;

		if (row && sight != SIGHT_HIDDEN)
			singleton_holder_words(row->s, holder, sizeof(holder));
		str_init(&line, 16384);
		str_addf(&line, "%s  %s  %s%s", view->role->witnesses[i],
			text_witness_state(view, i), sight == SIGHT_UNREAD && row ? "then " : "",
			holder);
		text_field(show, "witness", line.s);
		str_release(&line);
		if (row && sight == SIGHT_THERE)
			text_witness_findings(show, &row->v);
	}
}

static void text_role_end(struct show *show, const struct role_view *view)
{
	(void)show;
	(void)view;
}

static void text_event(struct show *show, const struct event *e)
{
	struct show_text_state *state = show->state;
	char at[CLOCK_TEXT_MAX] = "time unknown";

	state->n_rows++;
	if (e->at_us != TIME_UNKNOWN)
		clock_format_utc(at, e->at_us, 3);
	out_fmt(show->out, "  %-24s  %-8s  ", at, e->what);
	text_wrap(show, 38, e->text);
}

static void text_change_singleton(
	struct show *show, const struct snapshot *snap, const struct row *row)
{
	struct str line;

	str_init(&line, 65536);
	text_holder(&line, row->s);
	if (singleton_count(row->s, CLAIM_WAITER))
		str_addf(&line, "  %" PRIu32 " wait", singleton_count(row->s, CLAIM_WAITER));
	if (row->s->has_token)
		str_addf(&line, "  token %" PRId64, row->s->token);
	if (has_news(&row->v)) {
		str_add(&line, "  ");
		text_findings_cell(&line, &row->v);
	}
	out_fmt(show->out, "%-9s  ", state_word(board_state(snap, row))->word);
	out_text(show->out, row->s->id);
	out_text(show->out, "  ");
	out_text(show->out, line.s);
	str_release(&line);
}

static void text_change_role(struct show *show, const struct role_view *role)
{
	struct str line;

	str_init(&line, 1024);
	text_findings_cell(&line, &role->self->v);
	out_fmt(show->out, "%-9s  %s  %s", state_word(role->self->v.state)->word, role->self->s->id,
		line.s);
	str_release(&line);
}

static void text_change_source(struct show *show, const struct snapshot *snap)
{
	char why[SHOW_VAIN_MAX];
	const char *error = show_source_error(show, snap, why, sizeof(why));

	out_fmt(show->out, "%-9s  %s", source_state_word(snap->state), snap->source);
	if (error)
		out_fmt(show->out, "  %s", error);
}

static void text_change(struct show *show, const char *what, const struct snapshot *snap,
	const struct row *row, const struct role_view *role)
{
	const char *color = NULL;
	char at[CLOCK_TEXT_MAX];

	if (show->style.color && role)
		color = text_color(role->self->v.state);
	else if (show->style.color && row)
		color = text_color(board_state(snap, row));
	clock_format_utc(at, show->now_us, 3);
	if (color)
		out_text(show->out, color);
	out_fmt(show->out, "%s  %-8s  ", at, what);
	if (role)
		text_change_role(show, role);
	else if (row)
		text_change_singleton(show, snap, row);
	else
		text_change_source(show, snap);
	if (color)
		out_text(show->out, "\033[0m");
	out_char(show->out, '\n');
}

static void text_change_end(struct show *show)
{
	(void)show;
}

const struct show_ops show_text = {
	.name = "text",
	.roles_among = true,
	.again = text_again,
	.part = text_part,
	.joined = text_joined,
	.begin = text_begin,
	.end = text_end,
	.section = text_section,
	.section_end = text_section_end,
	.source = text_source,
	.source_end = text_source_end,
	.singleton = text_singleton,
	.singleton_end = text_singleton_end,
	.claims = text_claims,
	.claim = text_claim,
	.claims_end = text_claims_end,
	.runs = text_runs,
	.run = text_run,
	.pod = text_pod,
	.run_end = text_run_end,
	.runs_end = text_runs_end,
	.findings = text_findings,
	.finding = text_finding,
	.findings_end = text_findings_end,
	.role = text_role,
	.role_end = text_role_end,
	.event = text_event,
	.change = text_change,
	.change_end = text_change_end,
};
