#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "cli/look.h"
#include "show/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Exit codes and output after the Monitoring Plugins Development Guidelines: one line with the
 * state and performance data behind a bar, then long output; the bar stands nowhere else.
 */
enum check_status {
	CHECK_OK,
	CHECK_WARNING,
	CHECK_CRITICAL,
	CHECK_UNKNOWN
};

enum {
	CHECK_LINES_MAX = 50,
	CHECK_TEXT_MAX = 1024 * 1024
};

struct check_problem {
	enum check_status status;
	const char *code; /* of the finding, or the state's word */
	const char *id;
	const char *text; /* borrowed from the board, or NULL */
};

struct check {
	const struct cli *cli;
	struct check_problem *problems;
	size_t n, cap;
	size_t failing;
	char vain[SHOW_VAIN_MAX]; /* said of each source that was waited for in vain */
};

/* How much one status says beside another: OK < WARNING < UNKNOWN < CRITICAL. */
static int check_rank(enum check_status status)
{
	static const int ranks[] = {
		[CHECK_OK] = 0,
		[CHECK_WARNING] = 1,
		[CHECK_UNKNOWN] = 2,
		[CHECK_CRITICAL] = 3,
	};

	return ranks[status];
}

static const char *check_word(enum check_status status)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	return words[status];
}

static void check_add(struct check *c, enum check_status status, const char *code, const char *id,
	const char *text)
{
	MEM_GROW(c->problems, c->n, c->cap);
	c->problems[c->n++] =
		(struct check_problem){ .status = status, .code = code, .id = id, .text = text };
}

static void check_row(struct check *c, const struct row *row, const char *id)
{
	size_t i, passed = 0, before = c->n;

	for (i = 0; row && i < row->v.n_findings; i++) {
		const struct finding *f = &row->v.findings[i];

		if (c->cli->ignored & (UINT64_C(1) << f->code))
			passed++;
		else if (f->severity != SEVERITY_INFO)
			check_add(c, f->severity == SEVERITY_CRIT ? CHECK_CRITICAL : CHECK_WARNING,
				finding_word(f->code)->word, id, f->text);
	}
	/* What needs a person is a warning by itself, unless its finding is passed over. */
	if (row && row->v.needs_attention && c->n == before && !passed)
		check_add(c, CHECK_WARNING,
			row->v.n_findings ? finding_word(row->v.findings[0].code)->word
					  : state_word(row->v.state)->word,
			id, row->v.n_findings ? row->v.findings[0].text : NULL);
}

static void check_source(struct check *c, const struct board *board, size_t i)
{
	const struct snapshot *snap = board->snapshots[i];
	size_t k;

	if (snap->state == SOURCE_FAILING || snap->state == SOURCE_CONNECTING) {
		check_add(c, CHECK_UNKNOWN, "unreadable", snap->source,
			snap->error ? snap->error : c->vain);
		c->failing++;
		return;
	}
	check_row(c, snap->self, snap->source);
	if (board->cross)
		check_row(c, board->cross[i], snap->source);
	for (k = 0; k < snap->n_rows; k++)
		check_row(c, snapshot_row(snap, k), snapshot_row(snap, k)->s->id);
}

static int check_order(const void *a, const void *b)
{
	const struct check_problem *x = a, *y = b;
	int by_rank = check_rank(y->status) - check_rank(x->status);

	return by_rank ? by_rank : strcmp(x->id, y->id);
}

static void check_collect(struct check *c, const struct look *look, const struct board *board)
{
	size_t i;

	show_vain(c->vain, sizeof(c->vain), look_patience_ms(look));
	for (i = 0; i < board->n_snapshots; i++)
		check_source(c, board, i);
	for (i = 0; i < board->n_roles; i++)
		check_row(c, board->roles[i].self, board->roles[i].self->s->id);
	if (c->n)
		qsort(c->problems, c->n, sizeof(*c->problems), check_order);
}

static void check_plain(struct out *out, const char *text)
{
	for (; *text; text++)
		out_char(out, *text == '|' ? '/' : *text);
}

static void check_summary(const struct check *c, const struct board *board, struct str *out)
{
	const struct check_problem *worst = c->problems;

	if (!c->n) {
		str_addf(out, "%zu %s in %zu %s, none needs you", board->n_rows,
			board->n_rows == 1 ? "singleton" : "singletons", board->n_snapshots,
			board->n_snapshots == 1 ? "source" : "sources");
		return;
	}
	str_addf(out, "%s: %s", worst->id, worst->code);
	if (worst->status == CHECK_UNKNOWN && worst->text)
		str_addf(out, ": %s", worst->text);
	if (c->n > 1)
		str_addf(out, " (and %zu more)", c->n - 1);
}

static void check_perfdata(const struct check *c, const struct board *board, struct out *out)
{
	int i;

	out_fmt(out, " | singletons=%zu;;;0 attention=%zu;;;0 unreadable_sources=%zu;;;0",
		board->n_rows, board->n_attention, c->failing);
	for (i = 0; i < STATE_COUNT; i++) {
		const char *word = state_word((enum state)i)->word;

		out_char(out, ' ');
		for (; *word; word++)
			out_char(out, (char)(*word - 'A' + 'a'));
		out_fmt(out, "=%zu;;;0", board->by_state[i]);
	}
	out_char(out, '\n');
}

static void check_text(
	const struct check *c, const struct board *board, enum check_status status, struct out *out)
{
	struct str summary;
	size_t i;

	str_init(&summary, CHECK_TEXT_MAX);
	check_summary(c, board, &summary);
	out_fmt(out, "BATON %s - ", check_word(status));
	if (show_mark(board->sim, board->record))
		out_fmt(out, "%s: ", show_mark(board->sim, board->record));
	check_plain(out, summary.s);
	check_perfdata(c, board, out);
	for (i = 0; i < c->n && i < CHECK_LINES_MAX; i++) {
		const struct check_problem *p = &c->problems[i];

		out_fmt(out, "%s %s ", check_word(p->status), p->code);
		check_plain(out, p->id);
		if (p->text) {
			out_text(out, ": ");
			check_plain(out, p->text);
		}
		out_char(out, '\n');
	}
	if (c->n > CHECK_LINES_MAX)
		out_fmt(out, "and %zu more\n", c->n - CHECK_LINES_MAX);
	str_release(&summary);
}

static void check_json(
	const struct check *c, const struct board *board, enum check_status status, struct out *out)
{
	struct str summary;
	struct json_writer j;
	size_t i;

	str_init(&summary, CHECK_TEXT_MAX);
	check_summary(c, board, &summary);
	jw_init(&j, out);
	jw_map(&j);
	jw_key_text(&j, "schema", "baton/1");
	jw_marks(&j, board->sim, board->record);
	jw_key_time(&j, "at", board->wall_us, 3);
	jw_key_text(&j, "status", check_word(status));
	jw_key_int(&j, "code", status);
	jw_key_text(&j, "text", summary.s);
	jw_key(&j, "problems");
	jw_list(&j);
	for (i = 0; i < c->n; i++) {
		const struct check_problem *p = &c->problems[i];

		jw_map(&j);
		jw_key_text(&j, "status", check_word(p->status));
		jw_key_text(&j, "code", p->code);
		jw_key_text(&j, "id", p->id);
		jw_key_text(&j, "text", p->text);
		jw_map_end(&j);
	}
	jw_list_end(&j);
	jw_key(&j, "singletons");
	jw_map(&j);
	for (i = 0; i < STATE_COUNT; i++)
		jw_key_int(&j, state_word((enum state)i)->word, (int64_t)board->by_state[i]);
	jw_map_end(&j);
	jw_map_end(&j);
	out_char(out, '\n');
	str_release(&summary);
}

/* What is wrong with the config: on one line, as every error's text. */
static int check_misconfigured(const struct err *err, struct out *out)
{
	out_text(out, "BATON UNKNOWN - ");
	out_text(out, err->text);
	out_char(out, '\n');
	return cli_close(out, CHECK_UNKNOWN);
}

static int check_run(struct cli *cli)
{
	struct check c = { .cli = cli };
	struct err err = { 0 };
	enum check_status status;
	struct board *board;
	struct look look;
	struct out out;
	int code;

	out_init(&out, STDOUT_FILENO);
	if (look_open(&look, cli, true, true, &err))
		return check_misconfigured(&err, &out);
	board = look_wait(&look);
	check_collect(&c, &look, board);
	status = c.n ? c.problems[0].status : CHECK_OK;
	if (cli->json)
		check_json(&c, board, status, &out);
	else
		check_text(&c, board, status, &out);
	code = cli_close(&out, EXIT_CODE_OK) == EXIT_CODE_OK ? (int)status : CHECK_UNKNOWN;
	free(c.problems);
	board_unref(board);
	look_close(&look);
	return code;
}

const struct command cli_command_check = {
	.name = "check",
	.summary = "For monitoring: one line and an exit code from 0 to 3.",
	.help = "0 OK; 1 WARNING and 2 CRITICAL by the worst finding; 3 UNKNOWN when a source "
		"can't be read or "
		"the config is wrong. UNKNOWN beats WARNING and is beaten by CRITICAL. The first "
		"line ends with "
		"performance data; the lines behind it name every problem, at most 50.",
	.takes = TAKES_SOURCES | TAKES_SIM | TAKES(REPLAY) | TAKES(JSON) | TAKES(IGNORE),
	.own_errors = true,
	.run = check_run,
};
