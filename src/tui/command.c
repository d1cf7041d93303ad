#include "config.h"

#include "tui/command.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/filter.h"
#include "model/listing.h"
#include "tui/theme.h"
#include "tui/view.h"

#include <string.h>
#include <strings.h>

enum complete {
	COMPLETE_NONE,
	COMPLETE_VIEWS,
	COMPLETE_IDS,
	COMPLETE_FILTER,
	COMPLETE_SORTS,
	COMPLETE_SOURCES,
	COMPLETE_THEMES,
	COMPLETE_OPTIONS,
	COMPLETE_CAUSES,
};

enum {
	COMPLETE_IDS_MAX = 50
};

static const struct {
	const char *word, *argument;
	enum complete complete;
	const char *help;
} commands[COMMAND_COUNT] = {
#define COMMAND(id, w, a, c, h) [COMMAND_##id] = { w, a, COMPLETE_##c, h },
#include "tui/commands.def"
#undef COMMAND
};

static const char *const options[] = { "ascii", "noascii", "mouse", "nomouse", "witnesses",
	"nowitnesses" };

const char *command_word(enum command command)
{
	return commands[command].word;
}

const char *command_argument(enum command command)
{
	return commands[command].argument;
}

const char *command_describe(enum command command)
{
	return commands[command].help;
}

static int command_find(const char *word, size_t len)
{
	int i, found = -1;

	for (i = 0; i < COMMAND_COUNT; i++) {
		if (strncasecmp(commands[i].word, word, len) != 0)
			continue;
		if (strlen(commands[i].word) == len)
			return i;
		found = found == -1 ? i : -2;
	}
	return found;
}

static const char *command_nearest(const char *word)
{
	size_t best = 3;
	const char *near = NULL;
	int i;

	for (i = 0; i < COMMAND_COUNT; i++) {
		size_t d = text_distance(word, commands[i].word, 2);

		if (d >= best)
			continue;
		best = d;
		near = commands[i].word;
	}
	return near;
}

int command_parse(const char *line, enum command *ret, const char **ret_argument, struct err *err)
{
	size_t len;
	char word[32];
	const char *near;
	int found;

	line += strspn(line, " :");
	len = strcspn(line, " ");
	if (!len)
		return err_set(err, ERR_USAGE, "no command: type one, Tab shows them");
	found = command_find(line, len);
	if (found >= 0) {
		*ret = (enum command)found;
		*ret_argument = line + len + strspn(line + len, " ");
		return 0;
	}
	len = len < sizeof(word) ? len : sizeof(word) - 1;
	memcpy(word, line, len);
	word[len] = '\0';
	if (found == -2)
		return err_set(err, ERR_USAGE,
			":%s is the beginning of several commands: Tab shows them", word);
	near = command_nearest(word);
	return near ? err_set(err, ERR_USAGE, ":%s is no command: did you mean :%s?", word, near)
		    : err_set(err, ERR_USAGE, ":%s is no command: ? lists them", word);
}

static void add_if(struct str *out, const char *word, const char *part)
{
	if (strncasecmp(word, part, strlen(part)) == 0)
		str_addf(out, "%s\n", word);
}

static void complete_views(const char *part, struct str *out)
{
	size_t i;

	for (i = 0; i < view_count(); i++)
		if (view_at(i)->ops && view_at(i)->key)
			add_if(out, view_at(i)->name, part);
}

static void complete_ids(const struct model *model, const char *part, struct str *out)
{
	size_t i, n = model->listing ? listing_count(model->listing) : 0, found = 0;

	for (i = 0; i < n && found < COMPLETE_IDS_MAX; i++) {
		const char *id = listing_at(model->listing, i)->row->s->id;

		if (strncmp(id, part, strlen(part)) != 0)
			continue;
		str_addf(out, "%s\n", id);
		found++;
	}
}

static void complete_sorts(const char *part, struct str *out)
{
	const char *minus = *part == '-' ? "-" : "";
	int i;

	part += *minus != '\0';
	for (i = 0; i < SORT_COUNT; i++)
		if (strncasecmp(sort_name((enum sort)i), part, strlen(part)) == 0)
			str_addf(out, "%s%s\n", minus, sort_name((enum sort)i));
}

static void complete_sources(const struct model *model, const char *part, struct str *out)
{
	size_t i;

	for (i = 0; model->board && i < model->board->n_snapshots; i++)
		add_if(out, model->board->snapshots[i]->source, part);
}

static void complete_lines(const char *lines, const char *part, struct str *out)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		if (strncasecmp(lines, part, strlen(part)) == 0)
			str_addf(out, "%.*s\n", (int)n, lines);
		lines += n;
		lines += *lines == '\n';
	}
}

static void complete_themes(const char *part, struct str *out)
{
	struct str names;

	str_init(&names, 16 * 1024);
	theme_names(&names);
	complete_lines(names.s, part, out);
	str_release(&names);
}

static void complete_argument(
	const struct model *model, enum complete complete, const char *part, struct str *out)
{
	size_t i;

	switch (complete) {
	case COMPLETE_VIEWS:
		complete_views(part, out);
		break;
	case COMPLETE_IDS:
		complete_ids(model, part, out);
		break;
	case COMPLETE_FILTER:
		filter_complete(part, out);
		break;
	case COMPLETE_SORTS:
		complete_sorts(part, out);
		break;
	case COMPLETE_SOURCES:
		complete_sources(model, part, out);
		break;
	case COMPLETE_THEMES:
		complete_themes(part, out);
		break;
	case COMPLETE_CAUSES:
		for (i = 0; model->lesson && i < model->lesson->run->lesson->n_causes; i++)
			add_if(out, model->lesson->run->lesson->causes[i].id, part);
		break;
	case COMPLETE_OPTIONS:
		for (i = 0; i < ARRAY_LEN(options); i++)
			add_if(out, options[i], part);
		break;
	default:
		break;
	}
}

void command_complete(const struct model *model, const char *line, struct str *out, int *ret_from)
{
	size_t head = strspn(line, " :"), len = strcspn(line + head, " ");
	const char *last;
	int i, found;

	if (!line[head + len]) {
		*ret_from = (int)head;
		for (i = 0; i < COMMAND_COUNT; i++)
			add_if(out, commands[i].word, line + head);
		return;
	}
	/* An id may hold blanks: it is completed as one word. */
	found = command_find(line + head, len);
	last = line + head + len + strspn(line + head + len, " ");
	if (found >= 0 &&
		(commands[found].complete == COMPLETE_FILTER ||
			commands[found].complete == COMPLETE_CAUSES) &&
		strrchr(last, ' '))
		last = strrchr(last, ' ') + 1;
	*ret_from = (int)(last - line);
	if (found >= 0)
		complete_argument(model, commands[found].complete, last, out);
}
