#include "config.h"

#include "tests/unit/unit.h"
#include "tests/unit/control/folder.h"

#include "base/err.h"
#include "base/mem.h"
#include "control/memory-file.h"
#include "model/draft.h"
#include "model/memory.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void observe(struct memory *m, const char *path, const char *holder, int64_t token)
{
	struct draft *d = draft_new();
	struct singleton *s;
	char key[32];

	draft_begin(d, MECH_ETCD_ELECTION, "ctl", path, strlen(path));
	draft_token(d, TOKEN_CREATE_REVISION, token);
	snprintf(key, sizeof(key), "rev:%lld", (long long)token);
	draft_claim(d, CLAIM_HOLDER, holder, strlen(holder), key);
	s = draft_finish(d);
	memory_observe(m, s, 1000, 1000000, NULL);
	singleton_unref(s);
	draft_free(d);
}

static void open_file(struct memory_file *file, const char *folder)
{
	struct err err = { 0 };

	assert_int_equal(memory_file_init(file, folder, "ctl", "etcd", "4d", &err), 0);
}

static void is_private_and_comes_back(void **state)
{
	struct memory_file file;
	struct memory m;
	struct stat st;
	struct err err = { 0 };

	open_file(&file, *state);
	memory_init(&m);
	observe(&m, "a", "node-1", 7);
	assert_int_equal(memory_file_save(&file, &m, &err), 0);
	assert_int_equal(stat(file.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	memory_release(&m);
	memory_init(&m);
	assert_int_equal(memory_file_load(&file, &m, &err), 0);
	assert_non_null(memory_find(&m, "ctl/a"));
	assert_int_equal(memory_find(&m, "ctl/a")->highest_token, 7);
	memory_release(&m);
	memory_file_release(&file);
}

static void an_absent_file_is_an_empty_memory(void **state)
{
	struct memory_file file;
	struct memory m;
	struct err err = { 0 };

	open_file(&file, *state);
	memory_init(&m);
	assert_int_equal(memory_file_load(&file, &m, &err), 0);
	assert_int_equal(m.n, 0);
	memory_release(&m);
	memory_file_release(&file);
}

static void two_writers_keep_each_others_observations(void **state)
{
	struct memory_file one, two;
	struct memory a, b;
	struct err err = { 0 };

	open_file(&one, *state);
	open_file(&two, *state);
	memory_init(&a);
	memory_init(&b);
	assert_int_equal(memory_file_load(&one, &a, &err), 0);
	assert_int_equal(memory_file_load(&two, &b, &err), 0);
	observe(&a, "a", "node-1", 7);
	observe(&b, "b", "node-2", 9);
	assert_int_equal(memory_file_save(&one, &a, &err), 0);
	assert_int_equal(memory_file_save(&two, &b, &err), 0);
	memory_release(&a);
	memory_init(&a);
	assert_int_equal(memory_file_load(&one, &a, &err), 0);
	assert_non_null(memory_find(&a, "ctl/a"));
	assert_non_null(memory_find(&a, "ctl/b"));
	memory_release(&a);
	memory_release(&b);
	memory_file_release(&one);
	memory_file_release(&two);
}

static void a_broken_file_is_set_aside(void **state)
{
	struct memory_file file;
	struct memory m;
	struct err err = { 0 };
	char aside[4096];
	FILE *f;

	open_file(&file, *state);
	f = fopen(file.path, "w");
	assert_non_null(f);
	fputs("this is no memory", f);
	fclose(f);
	memory_init(&m);
	assert_int_equal(memory_file_load(&file, &m, &err), ERR_PROTO);
	assert_non_null(strstr(err.text, ".broken"));
	snprintf(aside, sizeof(aside), "%s.broken", file.path);
	assert_int_equal(access(aside, F_OK), 0);
	/* And it can be written anew. */
	observe(&m, "a", "node-1", 7);
	assert_int_equal(memory_file_save(&file, &m, &err), 0);
	memory_release(&m);
	memory_file_release(&file);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	struct rlimit before, tiny = { .rlim_cur = 64, .rlim_max = RLIM_INFINITY };
	struct memory_file file;
	struct memory m;
	struct err err = { 0 };
	int i;

	open_file(&file, *state);
	memory_init(&m);
	observe(&m, "a", "node-1", 7);
	assert_int_equal(memory_file_save(&file, &m, &err), 0);
	for (i = 0; i < 50; i++) {
		char path[16];

		snprintf(path, sizeof(path), "n%d", i);
		observe(&m, path, "node-2", 8 + i);
	}
	/* A limit on the size of files stands for the disk: the write fails in the middle just so
	 * (EFBIG). */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	tiny.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
	assert_true(memory_file_save(&file, &m, &err) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(err.text, file.path));
	memory_release(&m);
	memory_init(&m);
	assert_int_equal(memory_file_load(&file, &m, &err), 0);
	assert_non_null(memory_find(&m, "ctl/a"));
	assert_null(memory_find(&m, "ctl/n1"));
	memory_release(&m);
	memory_file_release(&file);
}

/* Writes without end, until it is killed. */
static void write_for_ever(const char *folder)
{
	struct memory_file file;
	struct memory m;
	int64_t token = 10;

	open_file(&file, folder);
	memory_init(&m);
	for (;;) {
		observe(&m, "a", "node-1", token++);
		memory_file_save(&file, &m, NULL);
	}
}

static void save_once(struct memory_file *file)
{
	struct memory m;
	struct err err = { 0 };

	memory_init(&m);
	observe(&m, "a", "node-1", 7);
	assert_int_equal(memory_file_save(file, &m, &err), 0);
	memory_release(&m);
}

static int count_files(const char *folder)
{
	char path[4096];
	struct dirent *entry;
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "%s/memory", folder);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void kill_9_never_leaves_half_a_file(void **state)
{
	struct memory_file file;
	struct err err = { 0 };
	int round;

	open_file(&file, *state);
	for (round = 0; round < 15; round++) {
		struct memory m;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			write_for_ever(*state);
			_exit(1);
		}
		while (round == 0 && access(file.path, F_OK) < 0)
			usleep(1000);
		usleep((useconds_t)(1000 + round * 700));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		memory_init(&m);
		assert_int_equal(memory_file_load(&file, &m, &err), 0);
		assert_non_null(memory_find(&m, "ctl/a"));
		memory_release(&m);
	}
	save_once(&file);
	assert_int_equal(
		count_files(*state), 2); /* the file and its lock: nothing of the dead is left */
	memory_file_release(&file);
}

static void an_unwritable_folder_is_named(void **state)
{
	struct memory_file file;
	struct err err = { 0 };
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/file", (const char *)*state);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	/* The folder's name is a file: not even root can make a folder below it. */
	assert_true(memory_file_init(&file, path, "ctl", "etcd", "4d", &err) < 0);
	assert_non_null(strstr(err.text, path));
	memory_file_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			is_private_and_comes_back, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			an_absent_file_is_an_empty_memory, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			two_writers_keep_each_others_observations, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_broken_file_is_set_aside, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_full_disk_leaves_the_old_file, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			kill_9_never_leaves_half_a_file, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			an_unwritable_folder_is_named, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
