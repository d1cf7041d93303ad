#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include "model/board.h"
#include "model/forecast.h"
#include "model/judge.h"
#include "tests/contract/case.h"
#include "tests/unit/unit.h"

/*
 * Every fixture of tests/contract/cases/ is played: its pictures go through the memory and the
 * judge as a session would do it, and what comes out is compared with what the fixture expects.
 */
enum {
	SOURCES_MOST = 8,
	TEXT_MOST = 64 * 1024
};

struct played_source {
	char name[64];
	struct picture picture;
	struct memory memory;
	struct singleton *self;
	struct row *self_row;
	bool all_stale;
	bool failing;
	int64_t seen_ms; /* the last picture before it failed */
};

static const char *cases_dir = CASES_DIR;

struct play {
	struct draft *draft;
	struct verdict_draft verdict;
	struct thresholds thresholds;
	struct role *roles;
	size_t n_roles;
	struct played_source sources[SOURCES_MOST];
	size_t n_sources;
	struct case_clock clock;
	struct board *board;
	const json_t *never; /* of the whole case */
	int step;
	struct memory past; /* of the roles */
};

static struct played_source *source_of(struct play *p, const char *id)
{
	size_t len = strcspn(id, "/"), i;
	struct played_source *s;

	for (i = 0; i < p->n_sources; i++)
		if (strlen(p->sources[i].name) == len && strncmp(p->sources[i].name, id, len) == 0)
			return &p->sources[i];
	if (p->n_sources == SOURCES_MOST)
		case_fail("more than %d sources", SOURCES_MOST);
	s = &p->sources[p->n_sources++];
	snprintf(s->name, sizeof(s->name), "%.*s", (int)len, id);
	picture_init(&s->picture);
	memory_init(&s->memory);
	return s;
}

/* ---- one picture ---- */

static void judge_rows(struct play *p, struct played_source *s)
{
	size_t i;

	/* A console looks every second: what a picture shows was not so a second before. */
	if (s->memory.confirmed_us != TIME_UNKNOWN)
		s->memory.confirmed_us = p->clock.wall_us - 1000000;
	for (i = 0; i < s->picture.n; i++) {
		struct picture_slot *slot = &s->picture.slots[i];
		struct judge_input in = {
			.s = slot->s,
			.self = s->self,
			.thresholds = &p->thresholds,
			.role = role_of(p->roles, p->n_roles, slot->s->id),
			.all_stale = s->all_stale,
			.now_ms = p->clock.mono_ms,
			.now_us = p->clock.wall_us,
			.seen_ms = s->failing ? s->seen_ms : p->clock.mono_ms,
		};
		struct remembered *r = memory_find(&s->memory, slot->s->id);

		if (picture_is_dirty(&s->picture, i) &&
			!singleton_detail(slot->s, DETAIL_REMEMBERED))
			r = memory_observe(&s->memory, slot->s, in.now_ms, in.now_us, NULL);
		else if (s->picture.next_ms[i] > in.now_ms)
			continue;
		in.memory = r;
		verdict_draft_begin(&p->verdict);
		judge_singleton(&in, &p->verdict);
		if (r)
			judge_note(&s->memory, r, slot->s, &p->verdict, in.now_us);
		picture_judged(&s->picture, i, row_new(singleton_ref(slot->s), &p->verdict),
			p->verdict.next_ms);
	}
	memory_confirm(&s->memory, p->clock.mono_ms, p->clock.wall_us, true);
}

static void judge_self(struct play *p, struct played_source *s, const json_t *hidden)
{
	struct hidden list[8];
	struct judge_source_input in = {
		.self = s->self,
		.pic = &s->picture,
		.memory = &s->memory,
		.thresholds = &p->thresholds,
		.hidden = list,
		.now_ms = p->clock.mono_ms,
		.now_us = p->clock.wall_us,
		.seen_ms = s->failing ? s->seen_ms : p->clock.mono_ms,
	};
	size_t i;

	for (i = 0; i < json_array_size(hidden) && i < 8; i++) {
		const json_t *h = json_array_get(hidden, i);

		list[in.n_hidden++] = (struct hidden){
			.what = json_string_value(json_object_get(h, "what")),
			.remedy = json_string_value(json_object_get(h, "remedy")),
		};
	}
	verdict_draft_begin(&p->verdict);
	judge_source(&in, &p->verdict, &s->all_stale);
	row_unref(s->self_row);
	s->self_row = s->self ? row_new(singleton_ref(s->self), &p->verdict) : NULL;
}

static void gone(void *arg, const struct singleton *s)
{
	struct play *p = arg;

	memory_observe_gone(
		&source_of(p, s->id)->memory, s->id, p->clock.mono_ms, p->clock.wall_us, NULL);
}

/* What a console that ends and starts again keeps: the memory's bytes. */
static void restart(struct play *p, struct played_source *s)
{
	struct err err = { 0 };
	struct str bytes;

	(void)p;
	str_init(&bytes, 1 << 20);
	memory_write(&s->memory, &bytes);
	memory_release(&s->memory);
	memory_init(&s->memory);
	if (memory_read(&s->memory, bytes.s, bytes.len, &err))
		case_fail("the memory can't be read back: %s", err.text);
	str_release(&bytes);
	picture_release(&s->picture);
	picture_init(&s->picture);
}

static void compose(struct play *p)
{
	struct snapshot *snaps[SOURCES_MOST];
	size_t i;

	for (i = 0; i < p->n_sources; i++) {
		struct played_source *s = &p->sources[i];
		struct snapshot head = {
			.source = s->name,
			.kind = "fixture",
			.state = s->failing ? SOURCE_FAILING : SOURCE_OK,
			.picture_ms = p->clock.mono_ms,
			.self = s->self_row,
		};

		snaps[i] = picture_publish(&s->picture, &head);
	}
	board_unref(p->board);
	p->board = board_compose(snaps, p->n_sources, p->roles, p->n_roles, &p->thresholds, NULL,
		&p->past, p->clock.mono_ms, p->clock.wall_us);
	board_remember(p->board, &p->past);
}

static void set_clock(struct play *p, const json_t *step)
{
	const char *at = json_string_value(json_object_get(step, "at"));
	const char *skew = json_string_value(json_object_get(step, "skew"));
	int64_t at_ms = at ? case_duration(at) : 0;

	p->clock.mono_ms = 1000000000 + at_ms;
	p->clock.wall_us = p->clock.start_us + at_ms * 1000;
	p->clock.server_us = p->clock.wall_us + (skew ? case_duration(skew) * 1000 : 0);
}

static void play_rows(struct play *p, const json_t *step)
{
	const json_t *rows = json_object_get(step, "rows");
	size_t i;

	if (!rows)
		return; /* only time passes */
	for (i = 0; i < p->n_sources; i++)
		picture_begin(&p->sources[i].picture);
	for (i = 0; i < json_array_size(rows); i++) {
		struct singleton *s = case_singleton(p->draft, json_array_get(rows, i), &p->clock);

		picture_put(&source_of(p, s->id)->picture, s);
	}
	for (i = 0; i < p->n_sources; i++)
		if (!p->sources[i].failing)
			picture_end(&p->sources[i].picture, gone, p);
}

static void play_sources(struct play *p, const json_t *step)
{
	const json_t *list = json_object_get(step, "sources");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		struct singleton *self = case_singleton(p->draft, one, &p->clock);
		struct played_source *s = source_of(p, self->id);

		singleton_unref(s->self);
		s->self = self;
	}
	if (json_is_true(json_object_get(step, "restart")))
		for (i = 0; i < p->n_sources; i++)
			restart(p, &p->sources[i]);
	list = json_object_get(step, "failing");
	for (i = 0; i < json_array_size(list); i++)
		source_of(p, json_string_value(json_array_get(list, i)))->failing = true;
	list = json_object_get(step, "answering");
	for (i = 0; i < json_array_size(list); i++)
		source_of(p, json_string_value(json_array_get(list, i)))->failing = false;
}

/* ---- what it must be ---- */

static const struct row *find_row(struct play *p, const char *id)
{
	size_t len = strlen(id), i;

	for (i = 0; i < p->n_sources; i++)
		if (strlen(p->sources[i].name) + 1 == len &&
			strncmp(p->sources[i].name, id, len - 1) == 0)
			return p->board->cross[i] ? p->board->cross[i] : p->sources[i].self_row;
	for (i = 0; i < p->board->n_roles; i++)
		if (strcmp(p->board->roles[i].self->s->id, id) == 0)
			return p->board->roles[i].self;
	return board_find(p->board, id, NULL);
}

static void all_texts(const struct row *row, struct str *out)
{
	size_t i;

	for (i = 0; i < row->v.n_findings; i++)
		str_addf(out, "%s: %s %s\n", finding_word(row->v.findings[i].code)->word,
			row->v.findings[i].text,
			row->v.findings[i].advice ? row->v.findings[i].advice : "");
}

static void check_phrases(
	struct play *p, const char *id, const char *texts, const json_t *say, const json_t *never)
{
	size_t i;

	for (i = 0; i < json_array_size(say); i++)
		if (!strstr(texts, json_string_value(json_array_get(say, i))))
			fail_msg("picture %d, %s: must say \"%s\", and says:\n%s", p->step, id,
				json_string_value(json_array_get(say, i)), texts);
	for (i = 0; i < json_array_size(never); i++)
		if (strstr(texts, json_string_value(json_array_get(never, i))))
			fail_msg("picture %d, %s: must not say \"%s\", and says:\n%s", p->step, id,
				json_string_value(json_array_get(never, i)), texts);
}

/* Exactly these findings, each with its severity. */
static void check_findings(struct play *p, const char *id, const struct row *row,
	const json_t *want, const char *texts)
{
	const char *code;
	json_t *severity;
	size_t i;

	for (i = 0; i < row->v.n_findings; i++) {
		const struct finding *f = &row->v.findings[i];
		const char *word = finding_word(f->code)->word;
		const char *is = severity_word(f->severity)->word;
		const char *must = json_string_value(json_object_get(want, word));

		if (!must || strcmp(must, is) != 0)
			fail_msg("picture %d, %s: the finding %s (%s) must be %s:\n%s", p->step, id,
				word, is, must ? must : "absent", texts);
	}
	json_object_foreach((json_t *)(uintptr_t)want, code, severity)
	{
		bool found = false;

		if (finding_from_word(code) < 0)
			case_fail("there is no finding \"%s\"", code);
		for (i = 0; i < row->v.n_findings; i++)
			found = found || (int)row->v.findings[i].code == finding_from_word(code);
		if (!found)
			fail_msg("picture %d, %s: the finding %s is missing; there are:\n%s",
				p->step, id, code, texts);
	}
}

static void check_row(struct play *p, const char *id, const json_t *want)
{
	const struct row *row = find_row(p, id);
	const json_t *state = json_object_get(want, "state");
	const json_t *attention = json_object_get(want, "attention");
	const json_t *fit = json_object_get(want, "fit");
	struct str texts;

	if (json_is_null(want)) {
		if (row)
			fail_msg("picture %d: %s must not be there", p->step, id);
		return;
	}
	if (!row)
		fail_msg("picture %d: there is no %s", p->step, id);
	str_init(&texts, TEXT_MOST);
	all_texts(row, &texts);
	if (state && row->v.state != (enum state)state_from_word(json_string_value(state)))
		fail_msg("picture %d: %s is %s and must be %s:\n%s", p->step, id,
			state_word(row->v.state)->word, json_string_value(state), texts.s);
	if (json_object_get(want, "findings"))
		check_findings(p, id, row, json_object_get(want, "findings"), texts.s);
	if (attention && row->v.needs_attention != json_is_true(attention))
		fail_msg("picture %d: %s %s a person:\n%s", p->step, id,
			row->v.needs_attention ? "needs" : "does not need", texts.s);
	if (fit && !str_eq(fitness_word(row->v.fit), json_string_value(fit)))
		fail_msg("picture %d: the fit of %s is %s", p->step, id,
			row->v.fit ? fitness_word(row->v.fit) : "not known");
	check_phrases(p, id, texts.s, json_object_get(want, "say"), json_object_get(want, "never"));
	str_release(&texts);
}

static void check_never(struct play *p)
{
	struct str texts;
	size_t i, k;

	str_init(&texts, TEXT_MOST);
	for (i = 0; i < p->board->n_snapshots; i++) {
		for (k = 0; k < p->board->snapshots[i]->n_rows; k++)
			all_texts(snapshot_row(p->board->snapshots[i], k), &texts);
		if (p->board->snapshots[i]->self)
			all_texts(p->board->snapshots[i]->self, &texts);
		if (p->board->cross[i])
			all_texts(p->board->cross[i], &texts);
	}
	for (i = 0; i < p->board->n_roles; i++)
		all_texts(p->board->roles[i].self, &texts);
	check_phrases(p, "anywhere", texts.s, NULL, p->never);
	str_release(&texts);
}

/* ---- what would happen if somebody acted ---- */

static const char *key_of(const struct singleton *s, const char *of, const char **ret_identity)
{
	const struct claim *claim;
	uint32_t pos = 0;

	if (strcmp(of, "run") == 0 && s->more->n_runs) {
		*ret_identity = s->more->runs[0].name;
		return s->more->runs[0].key;
	}
	claim = singleton_claim(s, strcmp(of, "waiter") == 0 ? CLAIM_WAITER : CLAIM_HOLDER, &pos);
	if (!claim)
		case_fail("%s has no %s", s->id, of);
	*ret_identity = claim_identity(claim);
	return claim_key(claim);
}

static bool forecast_warns(const struct forecast *f, const char *code)
{
	size_t i;

	for (i = 0; i < f->warnings.n; i++)
		if (strcmp(f->warnings.items[i].what, code) == 0)
			return true;
	return false;
}

static void add_line(void *arg, const char *label, const char *text)
{
	str_addf(arg, "%s: %s\n", label, text);
}

static void compare_forecast(struct play *p, const struct forecast *f, const json_t *want)
{
	const json_t *warns = json_object_get(want, "warns"), *not = json_object_get(want, "not");
	struct str texts;
	size_t i;

	str_init(&texts, TEXT_MOST);
	forecast_tell(f, add_line, &texts);
	for (i = 0; i < json_array_size(warns); i++)
		if (!forecast_warns(f, json_string_value(json_array_get(warns, i))))
			fail_msg("picture %d, %s: %s must warn of %s, and says:\n%s", p->step,
				f->id, verb_word(f->verb)->word,
				json_string_value(json_array_get(warns, i)), texts.s);
	for (i = 0; i < json_array_size(not ); i++)
		if (forecast_warns(f, json_string_value(json_array_get(not, i))))
			fail_msg("picture %d, %s: %s must not warn of %s, and says:\n%s", p->step,
				f->id, verb_word(f->verb)->word,
				json_string_value(json_array_get(not, i)), texts.s);
	check_phrases(p, f->id, texts.s, json_object_get(want, "say"), p->never);
	str_release(&texts);
}

/* The findings whose warnings a fixture has asked for. */
static bool shown[FINDING_COUNT];

static void note_shown(const json_t *warns)
{
	size_t i;

	for (i = 0; i < json_array_size(warns); i++) {
		int code = finding_from_word(json_string_value(json_array_get(warns, i)));

		if (code >= 0)
			shown[code] = true;
	}
}

static void each_warning_of_the_table_is_shown(void **state)
{
	static const enum finding_code codes[] = {
#define WARNING(finding, severity, target, verbs, text) FINDING_##finding,
#include "model/warnings.def"
#undef WARNING
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!shown[codes[i]])
			fail_msg("no fixture's forecast warns of %s", finding_word(codes[i])->word);
}

static void check_forecast(struct play *p, const json_t *want)
{
	const char *id = json_string_value(json_object_get(want, "id"));
	const json_t *of = json_object_get(want, "of");
	int verb = verb_from_word(json_string_value(json_object_get(want, "verb")));
	const struct snapshot *snap = NULL;
	const struct row *row = board_find(p->board, id, &snap);
	struct order order = { .verb = (enum verb)verb };
	struct forecast_input in = { .order = &order, .row = row, .now_us = p->clock.wall_us };
	struct plan plan;
	struct forecast *f;
	size_t i;

	if (!row || verb < 0)
		case_fail("a forecast of %s, which is not there, or of no verb", id);
	order.s = row->s;
	if (verb_word(order.verb)->about != ABOUT_ROW)
		order.key = key_of(row->s, of ? json_string_value(of) : "holder", &order.identity);
	plan_init(&plan);
	plan_text(&plan.request, "a request");
	in.plan = &plan;
	in.snap = snap;
	in.role = role_of(p->roles, p->n_roles, id);
	for (i = 0; i < p->board->n_snapshots; i++)
		if (p->board->snapshots[i] == snap)
			in.cross = p->board->cross[i];
	f = forecast_new(&in);
	compare_forecast(p, f, want);
	note_shown(json_object_get(want, "warns"));
	forecast_unref(f);
	plan_release(&plan);
}

static void play_step(struct play *p, const json_t *step)
{
	const char *id;
	json_t *want;
	size_t i;

	set_clock(p, step);
	play_sources(p, step);
	play_rows(p, step);
	for (i = 0; i < p->n_sources; i++) {
		if (!p->sources[i].failing)
			p->sources[i].seen_ms = p->clock.mono_ms;
		judge_self(p, &p->sources[i], json_object_get(step, "hidden"));
		judge_rows(p, &p->sources[i]);
	}
	compose(p);
	json_object_foreach(json_object_get(step, "expect"), id, want) check_row(p, id, want);
	check_never(p);
	for (i = 0; i < json_array_size(json_object_get(step, "forecasts")); i++)
		check_forecast(p, json_array_get(json_object_get(step, "forecasts"), i));
}

/* ---- one fixture ---- */

static void play_end(struct play *p)
{
	size_t i;

	memory_release(&p->past);
	board_unref(p->board);
	for (i = 0; i < p->n_sources; i++) {
		picture_release(&p->sources[i].picture);
		memory_release(&p->sources[i].memory);
		singleton_unref(p->sources[i].self);
		row_unref(p->sources[i].self_row);
	}
	case_roles_free(p->roles, p->n_roles);
	verdict_draft_release(&p->verdict);
	draft_free(p->draft);
}

static void plays(void **state)
{
	const char *file = *state;
	json_error_t where;
	char path[4096];
	struct play p = { 0 };
	json_t *root, *steps;
	size_t i;

	memory_init(&p.past);
	snprintf(path, sizeof(path), "%s/%s", cases_dir, file);
	case_name(file);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	if (!root)
		case_fail("line %d: %s", where.line, where.text);
	steps = json_object_get(root, "pictures");
	if (!json_is_string(json_object_get(root, "source")) || !json_array_size(steps))
		case_fail("a fixture names its source and has at least one picture");
	p.clock.start_us = json_object_get(root, "start")
				   ? case_instant(json_string_value(json_object_get(root, "start")))
				   : INT64_C(1790000000000000);
	p.draft = draft_new();
	verdict_draft_init(&p.verdict);
	case_thresholds(json_object_get(root, "thresholds"), &p.thresholds);
	p.roles = case_roles(json_object_get(root, "roles"), &p.n_roles);
	p.never = json_object_get(root, "never");
	for (i = 0; i < json_array_size(steps); i++) {
		p.step = (int)i + 1;
		play_step(&p, json_array_get(steps, i));
	}
	play_end(&p);
	json_decref(root);
}

static int is_fixture(const struct dirent *entry)
{
	return str_ends(entry->d_name, ".json");
}

/* With a folder: its fixtures alone. */
int main(int argc, char **argv)
{
	struct dirent **files;
	int n, i, failed;
	struct CMUnitTest *tests;

	text_init_locale();
	if (argc > 1)
		cases_dir = argv[1];
	n = scandir(cases_dir, &files, is_fixture, alphasort);
	if (n <= 0) {
		fprintf(stderr, "no fixtures in %s\n", cases_dir);
		return 1;
	}
	tests = calloc((size_t)n + 1, sizeof(*tests));
	for (i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){
			.name = files[i]->d_name,
			.test_func = plays,
			.initial_state = files[i]->d_name,
		};
	tests[n] = (struct CMUnitTest)cmocka_unit_test(each_warning_of_the_table_is_shown);
	failed = _cmocka_run_group_tests(
		"cases", tests, argc > 1 ? (size_t)n : (size_t)n + 1, NULL, NULL);
	for (i = 0; i < n; i++)
		free(files[i]);
	free(files);
	free(tests);
	return failed;
}
