#include "config.h"

#include "tui/console-state.h"
#include "base/err.h"
#include "control/settings.h"

#include <stdio.h>
#include <string.h>

/* R and :record: what the console shows is kept in a file. */

static void record_end(struct console *k)
{
	struct err err = { 0 };
	char path[400];

	snprintf(path, sizeof(path), "%s", k->recording.shown);
	if (recording_stop(&k->recording, NULL, &err))
		console_say(k, true, "%s", err.text);
	else
		console_say(k, false, "recorded in %s; baton replay shows it", path);
}

void console_record(struct console *k, const char *path)
{
	struct recorder_options options = { .path = *path ? path : NULL };
	struct err err = { 0 };

	if (k->recording.recorder) {
		record_end(k);
		return;
	}
	if (k->settings->past) {
		console_say(k, false, "this is a record already");
		return;
	}
	if (options.path && strcmp(options.path, "-") == 0) {
		console_say(k, true, "standard output is the screen: :record needs a file");
		return;
	}
	if (recording_start(&k->recording, k->settings, &options, &err)) {
		console_say(k, true, "%s", err.text);
		return;
	}
	if (k->board)
		recording_take(&k->recording, k->fleet, k->board);
	console_say(k, false, "recording to %s; R ends it", k->recording.shown);
}

void console_record_look(struct console *k)
{
	if (k->recording.recorder && recorder_status(k->recording.recorder, NULL))
		record_end(k);
}
