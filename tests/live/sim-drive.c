#include "config.h"

#include "base/err.h"
#include "control/drive.h"
#include "io/yaml.h"
#include "show/json.h"
#include "show/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A scenario that is driven by a test: sim-drive FILE STATE_FOLDER reads one order a line, and
 *answers with one line of JSON each:
 *
 *	to MILLISECONDS                   lets the world run up to that moment
 *	list                              the board, as `baton list --json`
 *	act VERB<tab>ID<tab>EXPECT        an act through the gate, driven to its end; EXPECT may be
 *empty fault {api-down: {cluster: prod}} a fault, now
 */
enum {
	LINE_MAX_LEN = 8192
};

static void done(void)
{
	puts("{\"rc\":0}");
}

static void list(struct drive *drive)
{
	struct show_style style = { 0 };
	struct board *board = drive_board(drive);
	struct show show;
	struct out out;

	fflush(stdout);
	out_init(&out, STDOUT_FILENO);
	show_init(&show, &show_json, &out, &style, board);
	show_list(&show, board, 0);
	out_close(&out);
	/* Its own text is of several lines: an empty one ends it. */
	if (write(STDOUT_FILENO, "\n", 1) != 1)
		abort();
	board_unref(board);
}

static void act(struct drive *drive, char *words)
{
	char *rest = words, *verb = strsep(&rest, "\t"), *id = strsep(&rest, "\t"), *expect = rest;
	struct gate_want want = { .id = id, .expect = expect && *expect ? expect : NULL };
	struct gate_view *view;
	int word = verb_from_word(verb);

	if (word < 0 || !id) {
		puts("{\"rc\":1}");
		return;
	}
	want.verb = (enum verb)word;
	view = drive_act(drive, &want, "a test");
	printf("{\"rc\":0,\"outcome\":\"%s\",\"overlap\":\"%s\"}\n",
		gate_outcome_word(view->outcome), overlap_word(view->items[0].overlap));
	gate_view_free(view);
}

static void fault(struct scenario *scenario, const char *text)
{
	struct yaml_node *root;
	struct err err = { 0 };

	if (yaml_parse(text, strlen(text), "the test", &root, &err) ||
		scenario_fault(scenario, root, "the test", &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	yaml_node_free(root);
	done();
}

static void obey(struct scenario *scenario, struct drive *drive, char *line)
{
	if (strncmp(line, "to ", 3) == 0) {
		drive_to(drive, strtoll(line + 3, NULL, 10));
		done();
	} else if (strcmp(line, "list") == 0) {
		list(drive);
	} else if (strncmp(line, "act ", 4) == 0) {
		act(drive, line + 4);
	} else if (strncmp(line, "fault ", 6) == 0) {
		fault(scenario, line + 6);
	} else {
		puts("{\"rc\":1}");
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct drive_options options = { .state_dir = argc > 2 ? argv[2] : NULL };
	struct scenario *scenario;
	struct err err = { 0 };
	char line[LINE_MAX_LEN];
	struct drive *drive;

	if (argc != 3)
		return 64;
	if (scenario_load(argv[1], &(struct scenario_options){ 0 }, &scenario, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	drive = drive_new(scenario, &options);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(scenario, drive, line);
	}
	drive_free(drive);
	scenario_free(scenario);
	return 0;
}
