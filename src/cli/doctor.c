#include "config.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/look.h"
#include "show/json.h"
#include "source/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct doctor;

/* The examination of one source, in a thread of its own: one that hangs must not hide the others.
 */
struct patient {
	struct doctor *doctor;
	size_t number;
	pthread_t thread;
	bool started, done;
	int code;
	struct report report;
	struct err err;
};

struct doctor {
	struct look look;
	pthread_mutex_t mutex;
	pthread_cond_t news;
	struct patient *patients;
	size_t n, n_done;
};

static void *doctor_examine(void *arg)
{
	struct patient *p = arg;
	struct doctor *d = p->doctor;
	struct report report;
	struct err err = { 0 };
	int code;

	report_init(&report);
	code = fleet_examine(d->look.fleet, p->number, &report, &err);
	pthread_mutex_lock(&d->mutex);
	p->code = code;
	p->report = report;
	p->err = err;
	p->done = true;
	d->n_done++;
	pthread_cond_signal(&d->news);
	pthread_mutex_unlock(&d->mutex);
	return NULL;
}

static void doctor_start(struct doctor *d)
{
	pthread_condattr_t attr;
	size_t i;

	d->n = d->look.settings->n_sources;
	d->patients = xcalloc(d->n, sizeof(*d->patients));
	pthread_mutex_init(&d->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->news, &attr);
	pthread_condattr_destroy(&attr);
	for (i = 0; i < d->n; i++) {
		d->patients[i].doctor = d;
		d->patients[i].number = i;
		d->patients[i].started = pthread_create(&d->patients[i].thread, NULL,
						 doctor_examine, &d->patients[i]) == 0;
		if (!d->patients[i].started)
			d->n_done++;
	}
}

/* Returns with the mutex held, so that a thread that comes late changes nothing any more. */
static void doctor_wait(struct doctor *d)
{
	/* Each began its own time after us. */
	int64_t until_ms = d->look.started_ms + d->look.timeout_ms * 7 / 4;
	struct timespec until = { .tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000 };

	pthread_mutex_lock(&d->mutex);
	while (d->n_done < d->n)
		if (pthread_cond_timedwait(&d->news, &d->mutex, &until) == ETIMEDOUT)
			return;
}

/* The state folder: where it is, and whether what was observed can be kept. */
static void doctor_state(char **ret_path, const char **ret_trouble)
{
	struct err err = { 0 };

	*ret_path = NULL;
	*ret_trouble = NULL;
	if (fs_state_dir(ret_path, &err))
		*ret_trouble = "neither XDG_STATE_HOME nor HOME is set";
	else if (access(*ret_path, W_OK) < 0 && errno != ENOENT)
		*ret_trouble = strerror(errno);
}

static const char *doctor_outcome(
	const struct patient *p, const struct look *look, char *buf, size_t size)
{
	if (p->done)
		return p->code ? p->err.text : NULL;
	show_vain(buf, size, look->timeout_ms);
	return buf;
}

static bool doctor_told(const struct patient *p)
{
	size_t i;

	for (i = 0; p->done && i < p->report.n; i++)
		if (strcmp(p->report.lines[i].level, "fail") == 0)
			return true;
	return false;
}

static void doctor_text_source(const struct doctor *d, const struct patient *p,
	const struct source_config *config, struct out *out)
{
	char buf[SHOW_VAIN_MAX];
	const char *trouble = doctor_outcome(p, &d->look, buf, sizeof(buf));
	size_t i;

	out_fmt(out, "\n%s (%s%s%s)\n", config->name, config->ops->kind,
		config->environment ? ", " : "", config->environment ? config->environment : "");
	for (i = 0; p->done && i < p->report.n; i++) {
		const struct report_line *line = &p->report.lines[i];

		out_fmt(out, "  %-5s %-16s ", line->level, line->what);
		out_text(out, line->text);
		out_char(out, '\n');
		if (line->advice) {
			out_text(out, "        > ");
			out_text(out, line->advice);
			out_char(out, '\n');
		}
	}
	/* A source that told on its own what failed said it better. */
	if (trouble && !doctor_told(p)) {
		out_text(out, "  fail  ");
		out_text(out, trouble);
		out_char(out, '\n');
	}
}

/* A password in the config, and a config that others may read. */
static bool doctor_secret_is_open(const struct settings *s)
{
	const struct option_def *def;
	struct stat st;
	size_t i;

	if (!s->path || stat(s->path, &st) < 0 || !(st.st_mode & (S_IRGRP | S_IROTH)))
		return false;
	for (i = 0; i < s->n_sources && !s->discovered; i++)
		for (def = s->sources[i].ops->options; def && def->name; def++)
			if (def->type == OPTION_SECRET &&
				source_option_set(&s->sources[i], def->name))
				return true;
	return false;
}

static void doctor_text(const struct doctor *d, struct out *out)
{
	const struct settings *s = d->look.settings;
	const char *trouble;
	char *state;
	size_t i;

	doctor_state(&state, &trouble);
	out_text(out, "baton " PACKAGE_VERSION "\n");
	out_text(out, "config  ");
	cli_put(out, s->path ? s->path : "none");
	out_text(out, s->discovered ? ", sources discovered from the environment\n" : "\n");
	if (doctor_secret_is_open(s))
		out_text(out, "  warn  the config holds a password, and others may read it\n"
			      "        > chmod 600, or password_file or password_env\n");
	out_text(out, "memory  ");
	cli_put(out, state ? state : "none");
	out_fmt(out, "%s%s\n", trouble ? ": " : "", trouble ? trouble : "");
	free(state);
	for (i = 0; i < d->n; i++)
		doctor_text_source(d, &d->patients[i], &s->sources[i], out);
}

static void doctor_json_source(const struct doctor *d, const struct patient *p,
	const struct source_config *config, struct json_writer *j)
{
	char buf[SHOW_VAIN_MAX];
	const char *trouble = doctor_outcome(p, &d->look, buf, sizeof(buf));
	size_t i;

	jw_newline(j);
	jw_map(j);
	jw_key_text(j, "name", config->name);
	jw_key_text(j, "kind", config->ops->kind);
	jw_key_text(j, "environment", config->environment);
	jw_key_text(j, "error", trouble);
	jw_key(j, "lines");
	jw_list(j);
	for (i = 0; p->done && i < p->report.n; i++) {
		jw_map(j);
		jw_key_text(j, "level", p->report.lines[i].level);
		jw_key_text(j, "what", p->report.lines[i].what);
		jw_key_text(j, "text", p->report.lines[i].text);
		jw_key_text(j, "advice", p->report.lines[i].advice);
		jw_map_end(j);
	}
	jw_list_end(j);
	jw_map_end(j);
}

static void doctor_json(const struct doctor *d, struct out *out)
{
	const struct settings *s = d->look.settings;
	const char *trouble;
	struct json_writer j;
	char *state;
	size_t i;

	doctor_state(&state, &trouble);
	jw_init(&j, out);
	jw_map(&j);
	jw_key_text(&j, "schema", "baton/1");
	jw_key_time(&j, "at", clock_wall_us(&clock_system), 3);
	jw_key_text(&j, "version", PACKAGE_VERSION);
	jw_key_text(&j, "config", s->path);
	jw_key_bool(&j, "discovered", s->discovered);
	jw_key_text(&j, "memory", state);
	jw_key_text(&j, "memory_error", trouble);
	jw_key(&j, "sources");
	jw_list(&j);
	for (i = 0; i < d->n; i++)
		doctor_json_source(d, &d->patients[i], &s->sources[i], &j);
	jw_list_end(&j);
	jw_map_end(&j);
	out_char(out, '\n');
	free(state);
}

static int doctor_exit_code(const struct doctor *d)
{
	size_t i, well = 0;

	for (i = 0; i < d->n; i++)
		well += d->patients[i].done && d->patients[i].code == 0;
	if (well == d->n)
		return EXIT_CODE_OK;
	return well ? EXIT_CODE_PARTIAL : EXIT_CODE_NO_SOURCE;
}

/* Frees everything, unless a thread hangs that may still use it: then the program's end does. */
static void doctor_close(struct doctor *d)
{
	bool all = d->n_done == d->n;
	size_t i;

	for (i = 0; i < d->n; i++)
		if (d->patients[i].started && !d->patients[i].done) {
			pthread_detach(d->patients[i].thread);
			d->patients[i].started = false;
		}
	pthread_mutex_unlock(&d->mutex);
	for (i = 0; i < d->n; i++)
		if (d->patients[i].started)
			pthread_join(d->patients[i].thread, NULL);
	if (!all) {
		*d->look.left = true;
		return;
	}
	for (i = 0; i < d->n; i++)
		report_release(&d->patients[i].report);
	pthread_cond_destroy(&d->news);
	pthread_mutex_destroy(&d->mutex);
	look_close(&d->look);
	free(d->patients);
	free(d);
}

static int doctor_run(struct cli *cli)
{
	struct doctor *d = xcalloc(1, sizeof(*d));
	struct out out;
	int code = look_open(&d->look, cli, true, false, NULL);

	if (code) {
		free(d);
		return code;
	}
	doctor_start(d);
	doctor_wait(d);
	out_init(&out, STDOUT_FILENO);
	if (cli->json)
		doctor_json(d, &out);
	else
		doctor_text(d, &out);
	code = cli_close(&out, doctor_exit_code(d));
	doctor_close(d);
	return code;
}

const struct command cli_command_doctor = {
	.name = "doctor",
	.summary = "Examine each source: connection, version, privileges, what can't be seen.",
	.help = "Each line has a level: ok, note, warn or fail. What can't be seen is told with "
		"the grant or the "
		"role that would show it.",
	.takes = TAKES_SOURCES | TAKES(JSON),
	.run = doctor_run,
};
