#include "config.h"

#include "control/lesson-run.h"
#include "base/err.h"
#include "control/drive.h"
#include "model/board.h"
#include "model/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A way through a lesson, played on a drive. */

enum {
	END_LOOK_MS = 250
};

struct play {
	struct lesson_run *run;
	const struct lesson_way *way;
	struct drive *drive;
	struct str *faults;
};

static void fault(struct play *p, const struct lesson_step *step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void fault(struct play *p, const struct lesson_step *step, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_addf(p->faults, "%s:%d: %s\n", p->run->scenario->name, step->line, text);
}

/* ---- acts ---- */

static void play_act(struct play *p, const struct lesson_step *step)
{
	struct gate_want want = {
		.verb = (enum verb)verb_from_word(step->act), .id = step->on, .expect = step->expect
	};
	struct gate_view *view =
		drive_act(p->drive, &want, step->reason && *step->reason ? step->reason : "-");
	const char *word = gate_outcome_word(view->outcome);

	if (strcmp(word, step->outcome) != 0)
		fault(p, step, "%s %s ended as %s, not %s: %s", step->act, step->on, word,
			step->outcome,
			view->n_items && *view->items[0].text ? view->items[0].text : view->text);
	gate_view_free(view);
}

/* ---- what the board shows ---- */

static bool has_finding(const struct row *row, const char *word)
{
	size_t i;

	for (i = 0; i < row->v.n_findings; i++)
		if (strcmp(finding_word(row->v.findings[i].code)->word, word) == 0)
			return true;
	return false;
}

static bool has_holder(const struct singleton *s, const char *identity)
{
	size_t i;

	for (i = 0; i < s->n_claims; i++)
		if (s->claims[i].kind == CLAIM_HOLDER &&
			strcmp(claim_identity(&s->claims[i]), identity) == 0)
			return true;
	return false;
}

static void tell_findings(const struct row *row, char *buf, size_t size)
{
	size_t i, len = 0;

	*buf = '\0';
	for (i = 0; i < row->v.n_findings && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : "",
			finding_word(row->v.findings[i].code)->word);
}

static void check_row(
	struct play *p, const struct lesson_step *step, const struct row *row, enum state state)
{
	char findings[300];

	tell_findings(row, findings, sizeof(findings));
	if (step->state && (int)state != state_from_word(step->state))
		fault(p, step, "%s is %s (%s), not %s", step->on, state_word(state)->word, findings,
			step->state);
	if (step->finding && !has_finding(row, step->finding))
		fault(p, step, "%s has the findings \"%s\", and not %s", step->on, findings,
			step->finding);
	if (step->holder && !has_holder(row->s, step->holder))
		fault(p, step, "%s is not held by %s", step->on, step->holder);
}

static void play_sees(struct play *p, const struct lesson_step *step)
{
	struct board *board = drive_board(p->drive);
	const struct snapshot *snap;
	const struct row *row = board_find(board, step->on, &snap);

	if (row)
		check_row(p, step, row, board_state(snap, row));
	else
		fault(p, step, "there is no row %s", step->on);
	board_unref(board);
}

/* ---- the whole ---- */

static void play_step(struct play *p, const struct lesson_step *step)
{
	struct lesson_run *run = p->run;
	size_t i;

	switch (step->kind) {
	case LESSON_STEP_DIAGNOSE:
		lesson_run_diagnose(run, step->causes);
		break;
	case LESSON_STEP_ACT:
		play_act(p, step);
		break;
	case LESSON_STEP_HINT:
		for (i = 0; i <= step->hint; i++)
			lesson_run_hint(run);
		break;
	case LESSON_STEP_NOTE:
		lesson_run_note(run, step->note);
		break;
	case LESSON_STEP_SEES:
		play_sees(p, step);
		break;
	case LESSON_STEP_FINISH:
		lesson_run_finish(run);
		break;
	}
}

static bool is_over(struct lesson_run *run)
{
	struct lesson_state state;

	lesson_run_look(run, &state);
	return state.end != ACCOUNT_OPEN;
}

static void play_steps(struct play *p)
{
	size_t i;

	for (i = 0; i < p->way->n_steps; i++) {
		const struct lesson_step *step = &p->way->steps[i];

		drive_to(p->drive, step->at_ms);
		if (is_over(p->run)) {
			fault(p, step, "the lesson is over before this step");
			return;
		}
		play_step(p, step);
	}
}

/* What the timeline is to draw must be there to be drawn. */
static void check_watched(struct play *p)
{
	const char *const *watch = p->run->lesson->watch;
	struct debrief *d = lesson_run_debrief(p->run);
	size_t i;

	for (; *watch; watch++) {
		size_t len = strlen(*watch);

		for (i = 0; i < d->n_bands; i++)
			if (d->bands[i].head && strncmp(d->bands[i].head, *watch, len) == 0)
				break;
		if (i == d->n_bands)
			str_addf(p->faults, "%s: 'watch' names %s, of which nothing is told\n",
				p->run->scenario->name, *watch);
	}
	debrief_free(d);
}

void lesson_run_play(struct lesson_run *run, const struct lesson_way *way, const char *state_dir,
	struct str *ret_faults)
{
	struct drive_options options = { .state_dir = state_dir };
	struct play p = { .run = run, .way = way, .faults = ret_faults };

	lesson_run_begin(run);
	p.drive = drive_new(run->scenario, &options);
	play_steps(&p);
	while (!is_over(run))
		drive_to(p.drive, drive_now_ms(p.drive) + END_LOOK_MS);
	check_watched(&p);
	drive_free(p.drive);
}
