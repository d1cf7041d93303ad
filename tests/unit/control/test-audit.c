#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/control/folder.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "control/audit-tail.h"
#include "control/audit.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct audit_entry step_down = {
	.id = "ctl/elections/billing",
	.verb = VERB_STEP_DOWN,
	.identity = "node-b",
	.key = "rev:1482",
	.has_token = true,
	.token = 1482,
	.request = "delete it",
	.reason = "why",
};

static uint64_t intent(struct audit *audit)
{
	struct audit_copy copy;
	struct err err = { 0 };
	uint64_t n = 0;

	if (audit_intent(audit, &step_down, 1767323045678000, &n, &copy, &err))
		fail_msg("%s", err.text);
	assert_int_equal(audit_copy_wait(&copy, NULL), 0);
	return n;
}

static void outcome(struct audit *audit, uint64_t n, const char *word)
{
	struct audit_entry entry = step_down;
	struct audit_copy copy;

	entry.outcome = word;
	entry.answer = "it is gone";
	entry.overlap = "open";
	assert_int_equal(audit_outcome(audit, &entry, 1767323046000000, n, &copy, NULL), 0);
	assert_int_equal(audit_copy_wait(&copy, NULL), 0);
}

static void tell_act(void *arg, const struct audit_act *act)
{
	str_addf(arg, "%d %s;", (int)act->n, act->outcome ? act->outcome : "-");
}

static void tell_line(void *arg, const char *line)
{
	str_addf(arg, "%s\n", line);
}

static void path_of(const struct audit *audit, const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s", audit->folder, name);
}

/* Adds bytes at the file's end, as a program that was killed would leave them. */
static void leave(const struct audit *audit, const char *bytes)
{
	char path[256];
	int fd;

	path_of(audit, "audit.jsonl", path, sizeof(path));
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
	close(fd);
}

/* A number from which none goes on is not one of ours: the next act must be told all the same. */
static void a_number_without_a_next_is_not_believed(void **state)
{
	struct audit audit;
	struct str text;
	char path[256];
	int fd;

	audit_init(&audit, *state);
	assert_int_equal(intent(&audit), 1);
	leave(&audit, "{\"n\":9223372036854775807,\"phase\":\"intent\",\"at\":\"a\",\"id\":\"i\","
		      "\"verb\":\"v\"}\n");
	assert_int_equal(intent(&audit), 2);
	path_of(&audit, "audit.lock", path, sizeof(path));
	fd = open(path, O_WRONLY);
	assert_int_equal(write(fd, "99999999999999999999\n", 21), 21);
	close(fd);
	assert_int_equal(intent(&audit), 3);
	str_init(&text, 1000);
	assert_int_equal(audit_acts(&audit, 1, tell_act, &text, NULL, NULL), 0);
	assert_string_equal(text.s, "3 -;");
	str_release(&text);
	audit_release(&audit);
}

/* A line of the file may be anybody's, and the environment is. */
static void tell_reason(void *arg, const struct audit_act *act)
{
	str_addf(arg, "%s|%s|%s|%s;", act->id, act->identity, act->user, act->reason);
}

static void texts_are_plain(void **state)
{
	struct audit audit;
	struct str text;
	size_t broken = 0;

	setenv("SUDO_USER", "eve\x1b[2J\xc2\x9b\xff\n", 1);
	audit_init(&audit, *state);
	intent(&audit);
	unsetenv("SUDO_USER");
	str_init(&text, 1024 * 1024);
	assert_int_equal(audit_lines(&audit, tell_line, &text, NULL, NULL), 0);
	assert_non_null(
		strstr(text.s, "\"sudo_user\":\"eve\\\\x1b[2J\\\\xc2\\\\x9b\\\\xff\\\\x0a\""));
	leave(&audit,
		"{\"n\":7,\"phase\":\"intent\",\"at\":\"a\",\"id\":\"i\\u001b[2J\",\"verb\":\"v\","
		"\"reason\":\"r\\n9  done\",\"target\":{\"identity\":\"t\\u202e\"},"
		"\"who\":{\"user\":\"u\xc2\x9b\"}}\n");
	str_clear(&text);
	assert_int_equal(audit_acts(&audit, 1, tell_reason, &text, NULL, NULL), 0);
	assert_string_equal(text.s, "i\\x1b[2J|t\\xe2\\x80\\xae|u\\xc2\\x9b|r\\x0a9  done;");
	str_clear(&text);
	assert_int_equal(audit_lines(&audit, tell_line, &text, &broken, NULL), 0);
	assert_int_equal(broken, 0);
	assert_null(strstr(text.s, "\xc2\x9b"));
	assert_null(strchr(text.s, '\x1b'));
	str_release(&text);
	audit_release(&audit);
}

static void assert_acts(const struct audit *audit, const char *want, size_t want_broken)
{
	struct str text;
	size_t broken;

	str_init(&text, 1 << 20);
	assert_int_equal(audit_acts(audit, 100000, tell_act, &text, &broken, NULL), 0);
	assert_string_equal(text.s, want);
	assert_int_equal(broken, want_broken);
	str_release(&text);
}

static void an_act_has_two_lines(void **state)
{
	struct audit audit;
	struct str lines;
	json_t *json;
	char *second;

	audit_init(&audit, *state);
	assert_int_equal(intent(&audit), 1);
	outcome(&audit, 1, "done");
	str_init(&lines, 1 << 20);
	assert_int_equal(audit_lines(&audit, tell_line, &lines, NULL, NULL), 0);
	second = strchr(lines.s, '\n') + 1;
	second[-1] = '\0';
	json = json_loads(lines.s, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(json, "phase")), "intent");
	assert_true(json_is_null(json_object_get(json, "outcome")));
	assert_string_equal(json_string_value(json_object_get(json, "schema")), "baton/1");
	assert_string_equal(
		json_string_value(json_object_get(json, "at")), "2026-01-02T03:04:05.678Z");
	assert_non_null(json_string_value(json_object_get(json_object_get(json, "who"), "user")));
	json_decref(json);
	json = json_loads(second, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(json, "n")), 1);
	assert_string_equal(json_string_value(json_object_get(json, "outcome")), "done");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "target"), "token")),
		"1482");
	json_decref(json);
	str_release(&lines);
	audit_release(&audit);
}

static void the_file_is_ours_alone(void **state)
{
	struct audit audit;
	char path[256];
	struct stat st;

	audit_init(&audit, *state);
	intent(&audit);
	path_of(&audit, "audit.jsonl", path, sizeof(path));
	assert_int_equal(chmod(path, 0666), 0);
	intent(&audit);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	audit_release(&audit);
}

static void half_a_line_swallows_nothing(void **state)
{
	struct audit audit;

	audit_init(&audit, *state);
	assert_int_equal(intent(&audit), 1);
	leave(&audit, "{\"schema\":\"baton/1\",\"n\":2,\"pha");
	assert_acts(&audit, "1 -;", 1);
	assert_int_equal(intent(&audit), 2);
	outcome(&audit, 2, "done");
	assert_acts(&audit, "2 done;1 -;", 1);
	leave(&audit, "not json\n{}\n{\"n\":5}\n\n");
	assert_acts(&audit, "2 done;1 -;", 4);
	/* Above whatever number stands there, so that none comes twice. */
	assert_int_equal(intent(&audit), 6);
	audit_release(&audit);
}

/* A pipe of that name has no other end: nobody waits for one. */
static void what_is_no_file_is_refused_at_once(void **state)
{
	struct audit_copy copy;
	struct err err = { 0 };
	struct audit audit;
	char path[256];
	uint64_t n = 0;

	audit_init(&audit, *state);
	path_of(&audit, "audit.jsonl", path, sizeof(path));
	assert_int_equal(fs_make_dirs(audit.folder, &err), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20);
	assert_int_not_equal(
		audit_intent(&audit, &step_down, 1767323045678000, &n, &copy, &err), 0);
	alarm(0);
	assert_non_null(strstr(err.text, "audit.jsonl is no file"));
	audit_release(&audit);
}

static void hostile_texts_stay_on_their_line(void **state)
{
	struct audit_entry entry = step_down;
	struct audit_copy copy;
	struct audit audit;
	struct str long_text;
	uint64_t n;
	int i;

	str_init(&long_text, 1 << 20);
	for (i = 0; i < 40000; i++)
		str_add(&long_text, "\"\\");
	audit_init(&audit, *state);
	entry.identity = "a\nb\xff\xfe\x1b[2J";
	entry.request = entry.reason = long_text.s;
	assert_int_equal(audit_intent(&audit, &entry, 0, &n, &copy, NULL), 0);
	assert_int_equal(intent(&audit), 2);
	assert_acts(&audit, "2 -;1 -;", 0);
	str_release(&long_text);
	audit_release(&audit);
}

static void files_rotate_and_numbers_go_on(void **state)
{
	struct audit audit;
	char path[256];
	struct stat st;
	uint64_t n = 0;
	int i;

	audit_init(&audit, *state);
	audit.file_max = 2000;
	for (i = 0; i < 200; i++) {
		assert_int_equal(intent(&audit), n + 1);
		n++;
		outcome(&audit, n, "done");
	}
	path_of(&audit, "audit.jsonl.15", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	path_of(&audit, "audit.jsonl.16", path, sizeof(path));
	assert_int_equal(stat(path, &st), -1);
	path_of(&audit, "audit.jsonl.1", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	audit_release(&audit);
}

/* An intent in one file and its outcome in the next are one act. */
static void an_act_may_lie_in_two_files(void **state)
{
	struct audit audit;
	char path[256];
	struct stat st;

	audit_init(&audit, *state);
	audit.file_max = 10;
	assert_int_equal(intent(&audit), 1);
	outcome(&audit, 1, "unknown");
	path_of(&audit, "audit.jsonl.1", path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_acts(&audit, "1 unknown;", 0);
	audit_release(&audit);
}

enum {
	WRITERS = 4,
	ACTS = 60,
	PATIENCE = 30 /* times the lock's ten seconds */
};

/*
 * Writes the intent, or the outcome of n, which is not 0 then. The lock is no queue: where a sync
 * takes long, one of several that write without a pause may not get it in ten seconds. Then nothing
 * was written, and the same is written later, under whatever number is next by then.
 */
static int write_line(struct audit *audit, const struct audit_entry *entry, uint64_t *n)
{
	struct audit_copy copy;
	uint64_t of = *n;
	int tries, rc = ERR_BUSY;

	for (tries = 0; tries < PATIENCE && rc == ERR_BUSY; tries++)
		rc = of ? audit_outcome(audit, entry, 0, of, &copy, NULL)
			: audit_intent(audit, entry, 0, n, &copy, NULL);
	return rc;
}

/* In a process of its own: no test's assertion may fail there. */
static int write_many(const char *folder)
{
	struct audit_entry entry = step_down;
	struct audit audit;
	int i, rc = 0;

	audit_init(&audit, folder);
	audit.file_max = 20000;
	entry.outcome = "done";
	for (i = 0; i < ACTS && !rc; i++) {
		uint64_t n = 0;

		rc = write_line(&audit, &step_down, &n);
		if (!rc)
			rc = write_line(&audit, &entry, &n);
	}
	audit_release(&audit);
	return rc ? 1 : 0;
}

static void count_act(void *arg, const struct audit_act *act)
{
	char *seen = arg;

	assert_true(act->n >= 1 && act->n <= WRITERS * ACTS);
	assert_int_equal(seen[act->n], 0);
	seen[act->n] = 1;
	assert_string_equal(act->outcome, "done");
}

/* An outcome bears an old number: where it is the last line, or alone in a file, the next act still
 * gets a new one. */
static void no_number_is_given_twice(void **state)
{
	struct audit audit;
	char path[256];
	int i;

	audit_init(&audit, *state);
	for (i = 1; i <= 5; i++)
		assert_int_equal(intent(&audit), i);
	audit.file_max = 10;
	outcome(&audit, 1, "done");
	audit.file_max = 100000;
	assert_int_equal(intent(&audit), 6);
	audit.file_max = 10;
	outcome(&audit, 2, "done");
	outcome(&audit, 3, "done");
	assert_int_equal(intent(&audit), 7);
	/* Who removes the lock's file takes nothing from the lines that are there. */
	path_of(&audit, "audit.lock", path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	outcome(&audit, 4, "done");
	assert_int_equal(intent(&audit), 8);
	audit_release(&audit);
}

static void several_programs_never_mix_lines(void **state)
{
	char seen[WRITERS * ACTS + 1] = { 0 };
	pid_t children[WRITERS];
	struct audit audit;
	size_t broken, i;
	int status;

	for (i = 0; i < WRITERS; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(write_many(*state));
	}
	for (i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	audit_init(&audit, *state);
	assert_int_equal(audit_acts(&audit, 100000, count_act, seen, &broken, NULL), 0);
	assert_int_equal(broken, 0);
	for (i = 1; i <= WRITERS * ACTS; i++)
		assert_int_equal(seen[i], 1);
	audit_release(&audit);
}

/* ---- the second copy ---- */

static void a_program_gets_each_line(void **state)
{
	char path[256], out[300];
	struct audit audit;
	struct str got;

	audit_init(&audit, *state);
	path_of(&audit, "copy", path, sizeof(path));
	snprintf(out, sizeof(out), "of=%s", path);
	audit.program = (const char *const[]){ "dd", out, "oflag=append", "conv=notrunc",
		"status=none", NULL };
	outcome(&audit, intent(&audit), "done");
	str_init(&got, 1 << 20);
	assert_int_equal(fs_read(path, &got, NULL), 0);
	assert_non_null(strstr(got.s, "\"intent\""));
	assert_non_null(strstr(got.s, "\"outcome\":\"done\""));
	assert_int_equal(got.s[got.len - 1], '\n');
	str_release(&got);
	audit_release(&audit);
}

static void a_program_that_fails_is_told_and_stops_nothing(void **state)
{
	static const char *const absent[] = { "/no/such/program", NULL };
	static const char *const failing[] = { "false", NULL };
	static const char *const slow[] = { "sleep", "60", NULL };
	static const char *const *const programs[] = { absent, failing, slow };
	struct audit audit;
	size_t i;

	audit_init(&audit, *state);
	for (i = 0; i < 3; i++) {
		struct audit_copy copy;
		struct err err = { 0 };
		uint64_t n;

		audit.program = programs[i];
		assert_int_equal(audit_intent(&audit, &step_down, 0, &n, &copy, NULL), 0);
		assert_int_equal(n, i + 1);
		assert_true(audit_copy_wait(&copy, &err) < 0);
		assert_non_null(strstr(err.text, "the second copy: "));
	}
	audit_release(&audit);
}

static void assert_tail(struct audit_tail *tail, size_t want)
{
	struct str lines;
	size_t n = 0, i;

	str_init(&lines, 1024 * 1024);
	audit_tail_next(tail, tell_line, &lines);
	for (i = 0; i < lines.len; i++)
		n += lines.s[i] == '\n';
	assert_int_equal(n, want);
	str_release(&lines);
}

/* Who follows the audit misses no line when its file is put aside between two looks. */
static void a_tail_goes_on_in_the_next_file(void **state)
{
	struct audit audit;
	struct audit_tail tail;

	audit_init(&audit, *state);
	audit_tail_init(&tail, *state, false);
	assert_tail(&tail, 0);
	intent(&audit);
	assert_tail(&tail, 1);
	intent(&audit);
	/* The next one finds the file full. */
	audit.file_max = 10;
	intent(&audit);
	assert_tail(&tail, 2);
	assert_tail(&tail, 0);
	audit_tail_release(&tail);
	/* What was there before it began is none of its. */
	audit_tail_init(&tail, *state, false);
	assert_tail(&tail, 0);
	intent(&audit);
	leave(&audit, "{\"half\"");
	assert_tail(&tail, 1);
	leave(&audit, ":1}\n");
	assert_tail(&tail, 1);
	audit_tail_release(&tail);
	audit_release(&audit);
}

#define AUDIT_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUDIT_TEST(an_act_has_two_lines),
		AUDIT_TEST(the_file_is_ours_alone),
		AUDIT_TEST(texts_are_plain),
		AUDIT_TEST(a_number_without_a_next_is_not_believed),
		AUDIT_TEST(half_a_line_swallows_nothing),
		AUDIT_TEST(what_is_no_file_is_refused_at_once),
		AUDIT_TEST(hostile_texts_stay_on_their_line),
		AUDIT_TEST(files_rotate_and_numbers_go_on),
		AUDIT_TEST(an_act_may_lie_in_two_files),
		AUDIT_TEST(a_tail_goes_on_in_the_next_file),
		AUDIT_TEST(no_number_is_given_twice),
		AUDIT_TEST(several_programs_never_mix_lines),
		AUDIT_TEST(a_program_gets_each_line),
		AUDIT_TEST(a_program_that_fails_is_told_and_stops_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
