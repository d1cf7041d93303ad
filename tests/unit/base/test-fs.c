#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "tests/unit/unit.h"

struct place {
	char folder[64];
	char file[96];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	snprintf(place->folder, sizeof(place->folder), "/tmp/baton-fs-XXXXXX");
	if (!mkdtemp(place->folder))
		return -1;
	snprintf(place->file, sizeof(place->file), "%s/file", place->folder);
	*state = place;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static int remove_place(void **state)
{
	struct place *place = *state;

	nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(place);
	return 0;
}

static int count_files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int n = 0;

	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void assert_contents(const char *path, const char *want)
{
	struct str text;

	str_init(&text, 1 << 20);
	assert_int_equal(fs_read(path, &text, NULL), 0);
	assert_string_equal(text.s, want);
	str_release(&text);
}

static void writes_private_and_whole(void **state)
{
	struct place *place = *state;
	struct stat st;

	assert_int_equal(fs_write_atomic(place->file, "one", 3, NULL), 0);
	assert_contents(place->file, "one");
	assert_int_equal(fs_write_atomic(place->file, "two two", 7, NULL), 0);
	assert_contents(place->file, "two two");
	assert_int_equal(stat(place->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(count_files(place->folder), 1);
}

/* In a child: what fs_write_atomic returns when a file may not grow past a few bytes, as on a full
 * disk. */
static int write_with_limit(const char *path)
{
	struct rlimit limit = { 4, 4 };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct err err = { 0 };
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		rc = fs_write_atomic(path, "much more than that", 19, &err);
		_exit(rc == ERR_IO && strstr(err.text, path) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	struct place *place = *state;

	assert_int_equal(fs_write_atomic(place->file, "old", 3, NULL), 0);
	assert_int_equal(write_with_limit(place->file), 0);
	assert_contents(place->file, "old");
	assert_int_equal(count_files(place->folder), 1);
}

static void says_which_path_and_what_is_wrong(void **state)
{
	struct place *place = *state;
	struct err err = { 0 };
	struct str text;

	str_init(&text, 4);
	assert_int_equal(fs_read(place->file, &text, &err), ERR_NOTFOUND);
	assert_non_null(strstr(err.text, place->file));
	assert_int_equal(fs_read(place->folder, &text, &err), ERR_IO);
	assert_non_null(strstr(err.text, "directory"));
	assert_int_equal(fs_write_atomic(place->file, "12345", 5, NULL), 0);
	assert_int_equal(fs_read(place->file, &text, &err), ERR_LIMIT);
	assert_int_equal(fs_write_atomic("/proc/none/file", "x", 1, &err), ERR_IO);
	assert_non_null(strstr(err.text, "/proc/none/file"));
	str_release(&text);
}

static void a_fifo_does_not_hang(void **state)
{
	struct place *place = *state;
	struct str text;

	str_init(&text, 100);
	assert_int_equal(mkfifo(place->file, 0600), 0);
	alarm(10);
	fs_read(place->file, &text, NULL);
	alarm(0);
	str_release(&text);
}

static void makes_all_parents(void **state)
{
	struct place *place = *state;
	struct err err = { 0 };
	char path[128], below[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/a/b/c", place->folder);
	assert_int_equal(fs_make_dirs(path, NULL), 0);
	assert_int_equal(fs_make_dirs(path, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(fs_write_atomic(place->file, "x", 1, NULL), 0);
	snprintf(below, sizeof(below), "%s/d", place->file);
	assert_int_equal(fs_make_dirs(below, &err), ERR_IO);
}

static void assert_state_dir(const char *xdg, const char *home, const char *want)
{
	struct err err = { 0 };
	char *path = NULL;

	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	if (xdg)
		setenv("XDG_STATE_HOME", xdg, 1);
	if (home)
		setenv("HOME", home, 1);
	assert_int_equal(fs_state_dir(&path, &err), want ? 0 : ERR_NOTFOUND);
	if (want)
		assert_string_equal(path, want);
	free(path);
}

static void follows_the_xdg_folders(void **state)
{
	(void)state;
	assert_state_dir("/s", "/h", "/s/baton");
	assert_state_dir(NULL, "/h", "/h/.local/state/baton");
	assert_state_dir("", "/h", "/h/.local/state/baton");
	assert_state_dir("relative", "/h", "/h/.local/state/baton");
	assert_state_dir(NULL, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(writes_private_and_whole, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			a_full_disk_leaves_the_old_file, make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			says_which_path_and_what_is_wrong, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_fifo_does_not_hang, make_place, remove_place),
		cmocka_unit_test_setup_teardown(makes_all_parents, make_place, remove_place),
		cmocka_unit_test(follows_the_xdg_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
