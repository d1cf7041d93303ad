#include "config.h"

#include "cli/debrief.h"
#include "cli/look.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "control/lesson-results.h"
#include "control/lesson-run.h"
#include "io/yaml.h"
#include "show/json.h"
#include "show/show.h"
#include "source/sim-host.h"
#include "tui/console.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
	ENTRIES_MOST = 64,
	SCRIPT_MOST = 256 * 1024,
	TEXT_COLUMNS = 80,
	STOP_MS = 500,
	STEP_MOST_MS = 10 * 1000
};

/* ---- the list ---- */

struct listed {
	const struct lesson_entry *entry;
	struct lesson_run *run;
	int best; /* -1: never played */
};

static void list_head(struct out *out, const char *text)
{
	out_fmt(out, "%s\n", text);
}

static void list_row(struct out *out, const struct listed *l)
{
	const struct lesson *lesson = l->run->lesson;
	char par[SCORE_CLOCK_MAX], best[16] = "-";

	score_clock(par, lesson->par_ms);
	if (l->best >= 0)
		snprintf(best, sizeof(best), "%d", l->best);
	out_fmt(out, "  %-4s %-28s par %5s   best %3s\n       %s\n", lesson->number, lesson->title,
		par, best, lesson->line);
	if (lesson->question)
		out_fmt(out, "       answers: %s\n", lesson->question);
}

static void list_text(struct out *out, const struct listed *all, size_t n)
{
	bool studies = false;
	size_t i;

	list_head(out, "Lessons, on a built-in fleet: baton train S02 opens one.");
	for (i = 0; i < n; i++) {
		if (all[i].run->lesson->kind == LESSON_STUDY && !studies) {
			list_head(out, "Studies:");
			studies = true;
		}
		list_row(out, &all[i]);
	}
}

static void json_step(struct json_writer *j, const struct lesson *l, const struct lesson_step *step)
{
	static const char *const words[] = { "diagnose", "act", "hint", "note", "sees", "finish" };

	jw_map(j);
	jw_key_int(j, "at_ms", step->at_ms);
	jw_key_text(j, "what", words[step->kind]);
	debrief_json_causes(j, l, step->causes);
	jw_key_text(j, "act", step->act);
	jw_key_text(j, "on", step->on);
	jw_key_text(j, "expect", step->expect);
	jw_key_text(j, "reason", step->reason);
	jw_key_text(j, "note", step->note);
	jw_map_end(j);
}

static void json_steps(struct json_writer *j, const struct lesson *l, const struct lesson_way *way)
{
	size_t i;

	jw_key(j, "steps");
	jw_list(j);
	for (i = 0; i < way->n_steps; i++)
		json_step(j, l, &way->steps[i]);
	jw_list_end(j);
}

static void json_ways(struct json_writer *j, const struct lesson *l)
{
	static const char *const kinds[] = { "right", "wrong", "nothing" };
	size_t w;

	jw_key(j, "ways");
	jw_list(j);
	for (w = 0; w < l->n_ways; w++) {
		jw_newline(j);
		jw_map(j);
		jw_key_text(j, "name", l->ways[w].name);
		jw_key_text(j, "kind", kinds[l->ways[w].kind]);
		jw_key_text(j, "text", l->ways[w].text);
		jw_key_int(j, "least", l->ways[w].least);
		jw_key_int(j, "most", l->ways[w].most);
		json_steps(j, l, &l->ways[w]);
		jw_map_end(j);
	}
	jw_list_end(j);
}

static void list_json(struct out *out, const struct listed *all, size_t n)
{
	struct json_writer j;
	size_t i;

	jw_init(&j, out);
	jw_map(&j);
	jw_key_text(&j, "schema", "baton-lessons/1");
	jw_key(&j, "lessons");
	jw_list(&j);
	for (i = 0; i < n; i++) {
		const struct lesson *l = all[i].run->lesson;

		jw_newline(&j);
		jw_map(&j);
		jw_key_text(&j, "number", l->number);
		jw_key_text(&j, "kind", l->kind == LESSON_STUDY ? "study" : "lesson");
		jw_key_text(&j, "title", l->title);
		jw_key_text(&j, "line", l->line);
		jw_key_text(&j, "question", l->question);
		jw_key_int(&j, "begins_ms", l->rules.begins_ms);
		jw_key_int(&j, "par_ms", l->par_ms);
		jw_key_int(&j, "limit_ms", l->rules.limit_ms);
		jw_key_ms(&j, "best", all[i].best < 0 ? INT64_MIN : all[i].best);
		json_ways(&j, l);
		jw_map_end(&j);
	}
	jw_list_end(&j);
	jw_map_end(&j);
	out_char(out, '\n');
}

/* The results that are there; what can't be read is said, and nothing else depends on it. */
static struct lesson_result *read_results(size_t *ret_n)
{
	struct lesson_result *results = NULL;
	struct err err = { 0 };
	size_t broken = 0;

	if (lesson_results_read(NULL, &results, ret_n, &broken, &err))
		cli_complain("the results of earlier lessons: %s", err.text);
	else if (broken)
		cli_complain("%zu lines of lessons.jsonl can't be understood", broken);
	return results;
}

static int train_list(const struct cli *cli)
{
	struct lesson_entry entries[ENTRIES_MOST];
	struct listed all[ENTRIES_MOST];
	struct lesson_options options = { 0 };
	size_t n = lesson_entries(entries, ENTRIES_MOST), i, n_results = 0;
	struct lesson_result *results = read_results(&n_results);
	struct err err = { 0 };
	struct out out;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		all[i] = (struct listed){ .entry = &entries[i] };
		rc = lesson_run_load(entries[i].name, &options, &all[i].run, &err);
		all[i].best = lesson_results_best(results, n_results, entries[i].number);
	}
	if (!rc) {
		out_init(&out, STDOUT_FILENO);
		if (cli->json)
			list_json(&out, all, n);
		else
			list_text(&out, all, n);
		rc = cli_close(&out, EXIT_CODE_OK);
	} else {
		rc = cli_fail(EXIT_CODE_CONFIG, &err);
		i--;
	}
	while (i-- > 0)
		lesson_run_free(all[i].run);
	free(results);
	return rc;
}

/* ---- past results ---- */

/* Of the lesson that was asked for; NULL: of all. */
static bool is_asked(const char *only, const struct lesson_result *r)
{
	return !only || strcasecmp(only, r->number) == 0;
}

static void results_json(
	struct out *out, const struct lesson_result *results, size_t n, const char *only)
{
	struct json_writer j;
	size_t i;

	jw_init(&j, out);
	for (i = 0; i < n; i++) {
		const struct lesson_result *r = &results[i];

		if (!is_asked(only, r))
			continue;
		jw_map(&j);
		jw_key_text(&j, "schema", "baton-lesson-result/1");
		jw_key_text(&j, "at", r->at);
		jw_key_text(&j, "lesson", r->number);
		jw_key_text(&j, "title", r->title);
		jw_key_int(&j, "seed", (int64_t)r->seed);
		jw_key_text(&j, "inject", r->inject[0] ? r->inject : NULL);
		jw_key_int(&j, "score", r->score);
		jw_key_int(&j, "diagnosis", r->diagnosis);
		jw_key_int(&j, "safety", r->safety);
		jw_key_int(&j, "time", r->time);
		jw_key_int(&j, "communication", r->communication);
		jw_key_int(&j, "hints", r->hints);
		jw_key_text(&j, "end", r->end);
		jw_key_int(&j, "after_ms", r->after_ms);
		jw_map_end(&j);
		out_char(out, '\n');
		jw_init(&j, out);
	}
}

static void results_text(
	struct out *out, const struct lesson_result *results, size_t n, const char *only)
{
	char after[SCORE_CLOCK_MAX];
	size_t i, told = 0;

	for (i = 0; i < n; i++) {
		const struct lesson_result *r = &results[i];

		if (!is_asked(only, r))
			continue;
		told++;
		score_clock(after, r->after_ms);
		out_fmt(out, "%s  %-4s %-28.28s %3d  %s after %s, seed %" PRIu64 "%s%s\n", r->at,
			r->number, r->title, r->score, r->end, after, r->seed,
			r->inject[0] ? ", added: " : "", r->inject);
	}
	if (!told && only) {
		cli_put(out, only);
		out_text(out, " was not played to its end yet.\n");
	} else if (!told) {
		out_text(out, "No lesson was played to its end yet.\n");
	}
}

/* A lesson that does not exist is none that was not played; one of a file is known by its number
 * only. */
static int check_asked(const char *only, const struct lesson_result *results, size_t n)
{
	struct lesson_options options = { 0 };
	struct lesson_run *run;
	struct err err = { 0 };
	size_t i;

	for (i = 0; only && i < n; i++)
		if (is_asked(only, &results[i]))
			return 0;
	if (!only)
		return 0;
	if (lesson_run_load(only, &options, &run, &err))
		return cli_fail(EXIT_CODE_NO_ID, &err);
	lesson_run_free(run);
	return 0;
}

static int train_results(const struct cli *cli)
{
	size_t n = 0;
	struct lesson_result *results = read_results(&n);
	const char *only = cli->n_args ? cli->args[0] : NULL;
	int rc = check_asked(only, results, n);
	struct out out;

	if (!rc) {
		out_init(&out, STDOUT_FILENO);
		if (cli->json)
			results_json(&out, results, n, only);
		else
			results_text(&out, results, n, only);
		rc = cli_close(&out, EXIT_CODE_OK);
	}
	free(results);
	return rc;
}

/* ---- a script ---- */

/* A way of the lesson's own by its name, or one in a file. */
static int find_way(
	struct lesson_run *run, const char *script, const struct lesson_way **ret, struct err *err)
{
	int at = lesson_way_find(run->lesson, script);
	struct str text;
	int rc;

	if (at >= 0) {
		*ret = &run->lesson->ways[at];
		return 0;
	}
	if (!strchr(script, '/') && !str_ends(script, ".yaml"))
		return lesson_no_way(run->lesson, script, err);
	str_init(&text, SCRIPT_MOST);
	rc = fs_read(script, &text, err);
	if (!rc)
		rc = lesson_read_script(run->lesson, text.s, text.len, script, ret, err);
	str_release(&text);
	return rc;
}

static int tell_debrief(
	const struct cli *cli, const struct debrief *d, const char *way, const char *faults)
{
	struct show_style style = cli_style(cli);
	struct out out;

	out_init(&out, STDOUT_FILENO);
	if (cli->json)
		debrief_json(&out, d, way, faults);
	else
		debrief_text(&out, d,
			style.columns > 40 && style.columns < 200 ? style.columns : TEXT_COLUMNS,
			cli->ascii || !cli->utf8);
	return cli_close(&out, *faults ? EXIT_CODE_FAILED : EXIT_CODE_OK);
}

static int train_script(const struct cli *cli, struct lesson_run *run)
{
	const struct lesson_way *way;
	struct debrief *d;
	struct err err = { 0 };
	struct str faults;
	int code;

	if (find_way(run, cli->script, &way, &err))
		return cli_fail(EXIT_CODE_USAGE, &err);
	str_init(&faults, 64 * 1024);
	lesson_run_play(run, way, NULL, &faults);
	d = lesson_run_debrief(run);
	if (faults.len)
		fputs(faults.s, stderr);
	code = tell_debrief(cli, d, way->name, faults.s);
	debrief_free(d);
	str_release(&faults);
	return code;
}

/* ---- the console ---- */

static int64_t next_of_world(void *arg, int64_t after_ms)
{
	(void)after_ms; /* where the clock stands, which the world was brought up to */
	return sim_host_story_ms(arg, STEP_MOST_MS);
}

/* What came of it: into the results, and a line for the shell. */
static void keep_result(const struct cli *cli, struct lesson_run *run)
{
	struct lesson_state state;
	struct err err = { 0 };
	struct debrief *d;

	lesson_run_look(run, &state);
	if (state.end == ACCOUNT_OPEN) {
		cli_complain("%s was left before its end: no result is kept", run->lesson->number);
		return;
	}
	d = lesson_run_debrief(run);
	if (lesson_results_add(NULL, d, clock_wall_us(&clock_system), &err))
		cli_complain("the result could not be kept: %s", err.text);
	if (cli->json)
		tell_debrief(cli, d, NULL, "");
	else
		printf("%s %s: %d of 100\n", d->lesson->number, d->lesson->title, d->score.total);
	debrief_free(d);
}

static int play(const struct cli *cli, struct lesson_run *run, struct fleet *fleet, bool *ret_ran)
{
	struct sim_host *host = run->scenario->host;
	struct show_style style = cli_style(cli);
	struct console_time time = {
		.clock = sim_host_vclock(host), .mark = "SIM", .next_ms = next_of_world, .arg = host
	};
	struct console_options options = {
		.theme = cli->theme,
		.ascii = cli->ascii,
		.utf8 = cli->utf8,
		.no_color = !style.color,
		.time = &time,
		.lesson = run,
	};
	struct err err = { 0 };
	int code;

	/* Real time, and standing still until the trainee has read the story. */
	vclock_speed(time.clock, 1000);
	vclock_pause(time.clock, true);
	vclock_set(time.clock, run->lesson->rules.begins_ms);
	fleet_start(fleet);
	code = console_run(fleet, run->scenario->settings, &options, &err);
	*ret_ran = code >= 0;
	if (code >= 0 && err.code)
		cli_complain("%s", err.text);
	return code < 0 ? cli_fail(EXIT_CODE_FAILED, &err) : code;
}

/* With --json standard output may be a file: the screen goes to the terminal then. Returns the
 * output as it was, for back_to_output; -1: nothing was changed. */
static int output_to_terminal(const struct cli *cli)
{
	int tty, was;

	if (!cli->json || isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return -1;
	tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (tty < 0)
		return -1;
	was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (was >= 0 && dup2(tty, STDOUT_FILENO) < 0) {
		close(was);
		was = -1;
	}
	close(tty);
	return was;
}

static void back_to_output(int was)
{
	if (was < 0)
		return;
	fflush(stdout);
	dup2(was, STDOUT_FILENO);
	close(was);
}

static int train_console(const struct cli *cli, struct lesson_run *run)
{
	struct fleet_options options = { .clock = sim_host_clock(run->scenario->host),
		.sim = true };
	struct fleet *fleet;
	int code, output = output_to_terminal(cli);
	bool ran;

	lesson_run_begin(run);
	fleet = fleet_new(run->scenario->settings, &options);
	code = play(cli, run, fleet, &ran);
	fleet_stop(fleet, STOP_MS);
	fleet_free(fleet);
	back_to_output(output);
	if (ran)
		keep_result(cli, run);
	return code;
}

static int train_run(struct cli *cli)
{
	struct lesson_options options = {
		.has_seed = cli->has_seed, .seed = cli->seed, .inject = cli->inject
	};
	struct lesson_run *run;
	struct err err = { 0 };
	int rc;

	if (cli->results)
		return train_results(cli);
	if (!cli->n_args && (cli->script || cli->inject || cli->has_seed)) {
		cli_complain("train needs a LESSON for --script, --inject and --seed");
		return EXIT_CODE_USAGE;
	}
	if (!cli->n_args)
		return train_list(cli);
	rc = lesson_run_load(cli->args[0], &options, &run, &err);
	if (rc)
		return cli_fail(rc == ERR_NOTFOUND ? EXIT_CODE_NO_ID : EXIT_CODE_CONFIG, &err);
	rc = cli->script ? train_script(cli, run) : train_console(cli, run);
	lesson_run_free(run);
	return rc;
}

const struct command cli_command_train = {
	.name = "train",
	.args = "[LESSON]",
	.least = 0,
	.most = 1,
	.completes = "lesson",
	.summary = "Lessons: practise on a built-in fleet, with a score and a debrief.",
	.help = "Without a lesson they are listed, with the par time and the best score so far. "
		"With one "
		"(S02, or a file of your own) the console opens on a built-in fleet in which "
		"something goes wrong: the same screens, keys and verbs as at night, read only "
		"until :arm (but for ask, a question), and nothing real is touched. Key 6 is the "
		"lesson: its story, the "
		"causes to "
		"pick from, :hint, :note, :finish; Z starts and stops the clock. It ends when all "
		"is well again, at its limit, or by :finish, and the debrief takes the place of "
		"the story. --script plays one of the lesson's ways, or a file of steps, without a "
		"screen, and prints the debrief; --json makes it one JSON object, and a lesson "
		"that was "
		"played prints one at its end, also into a file: the screen stays on the terminal. "
		"--inject adds a "
		"fault: the menu has no verb that breaks things, as that of the demo has. "
		"Results are kept in lessons.jsonl in the state folder: --results lists them, with "
		"a LESSON only its own; the best score counts what was played without --inject.",
	.takes = TAKES(JSON) | TAKES(THEME) | TAKES(SEED) | TAKES(SCRIPT) | TAKES(INJECT) |
		 TAKES(RESULTS),
	.run = train_run,
};
