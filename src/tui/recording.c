#include "config.h"

#include "tui/recording.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "control/fleet.h"
#include "control/settings.h"

#include <stdlib.h>
#include <string.h>

enum {
	EVENTS_AT_ONCE = 256,
	PATH_MAX_BYTES = 64 * 1024,
};

/* "records/2026-01-02T030405.678Z.jsonl" in the state folder: R may be pressed twice in a second.
 */
static int own_path(int64_t now_us, char **ret, struct err *err)
{
	char at[CLOCK_TEXT_MAX], *dir;
	struct str path;
	int rc = fs_state_dir(&dir, err);
	size_t i;

	if (rc)
		return rc;
	clock_format_utc(at, now_us, 3);
	str_init(&path, PATH_MAX_BYTES);
	str_addf(&path, "%s/records", dir);
	free(dir);
	rc = fs_make_dirs(path.s, err);
	str_add_char(&path, '/');
	for (i = 0; at[i]; i++)
		if (at[i] != ':')
			str_add_char(&path, at[i]);
	str_add(&path, ".jsonl");
	*ret = str_take(&path);
	return rc;
}

/* As a shell takes it, and short: where it stands has one line. */
static char *shown_path(const char *path)
{
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;
	struct str s;

	str_init(&s, PATH_MAX_BYTES * 4);
	if (len > 1 && strncmp(path, home, len) == 0 && path[len] == '/') {
		str_add(&s, "~");
		path += len;
	}
	text_escape(&s, path, strlen(path));
	return str_take(&s);
}

int recording_start(struct recording *rec, const struct settings *settings,
	const struct recorder_options *options, struct err *err)
{
	struct recorder_options o = *options;
	char *path = NULL;
	int rc = 0;

	if (o.path)
		path = xstrdup(o.path);
	else
		rc = own_path(clock_wall_us(&clock_system), &path, err);
	o.path = path;
	o.program = "baton " PACKAGE_VERSION;
	o.thresholds = &settings->thresholds;
	*rec = (struct recording){ .recorder = NULL };
	if (!rc)
		rc = recorder_start(&o, &rec->recorder, err);
	if (rc) {
		free(path);
		return rc;
	}
	rec->shown = shown_path(path);
	free(path);
	audit_tail_init(&rec->tail, NULL, settings->sim);
	return 0;
}

static void take_act(void *arg, const char *line)
{
	recorder_act(arg, line);
}

void recording_take(struct recording *rec, struct fleet *fleet, const struct board *board)
{
	struct event *events[EVENTS_AT_ONCE];
	size_t n;

	if (!rec->recorder)
		return;
	audit_tail_next(&rec->tail, take_act, rec->recorder);
	do {
		n = fleet_events(fleet, &rec->seq, events, EVENTS_AT_ONCE);
		recorder_take(rec->recorder, board, events, n);
	} while (n == EVENTS_AT_ONCE);
}

int recording_stop(struct recording *rec, int64_t *ret_bytes, struct err *err)
{
	int rc = 0;

	/* What was done since the last picture. */
	if (rec->recorder) {
		audit_tail_next(&rec->tail, take_act, rec->recorder);
		rc = recorder_stop(rec->recorder, ret_bytes, err);
	}
	audit_tail_release(&rec->tail);
	free(rec->shown);
	*rec = (struct recording){ .recorder = NULL };
	return rc;
}
