#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "control/lesson.h"
#include "control/scenario.h"
#include "io/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Messages are plain text on one line, whatever the file says. */
static void check_message(const struct err *err)
{
	size_t i;

	for (i = 0; err->text[i]; i++)
		if ((unsigned char)err->text[i] < 0x20)
			abort();
}

/* What was taken holds to its own limits. */
static void check_lesson(const struct lesson *l)
{
	size_t i, k;

	if (!l->score.right || l->par_ms >= l->rules.limit_ms || !l->n_ways)
		abort();
	for (i = 0; i < l->n_ways; i++)
		for (k = 0; k < l->ways[i].n_steps; k++)
			if (l->ways[i].steps[k].at_ms < l->rules.begins_ms)
				abort();
	for (i = 0; i < l->score.n_costs; i++)
		if (l->score.costs[i].per < 1)
			abort();
}

static void read_lesson(const char *text, size_t size)
{
	struct options_check check = { .file = "x.yaml" };
	struct yaml_node *root = NULL, *map;
	struct lesson *lesson;
	struct err err = { 0 };

	if (yaml_parse(text, size, "x.yaml", &root, &err))
		return;
	map = (struct yaml_node *)(uintptr_t)yaml_get(root, "lesson");
	if (!map || lesson_read(&check, map, "title", &lesson, &err)) {
		check_message(&err);
	} else {
		check_lesson(lesson);
		lesson_free(lesson);
	}
	yaml_node_free(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	struct scenario_options options = { 0 };
	struct scenario *scenario;
	struct err err = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (!begun)
		text_init_locale();
	begun = true;
	memcpy(text, data, size);
	text[size] = '\0';
	read_lesson(text, size);
	if (scenario_parse(text, size, "x.yaml", &options, &scenario, &err))
		check_message(&err);
	else
		scenario_free(scenario);
	free(text);
	return 0;
}
