#include "config.h"

#include "control/memory-file.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/history.h"
#include "model/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MEMORY_FILE_MAX = 128 * 1024 * 1024,
	HISTORY_FILE_MAX = 8 * 1024 * 1024 /* more than all that the bounds allow */
};

int memory_file_init(struct memory_file *file, const char *state_dir, const char *source,
	const char *kind, const char *identity, struct err *err)
{
	struct str path;
	int rc;

	memset(file, 0, sizeof(*file));
	str_init(&path, 4000);
	str_addf(&path, "%s/memory", state_dir);
	rc = fs_make_dirs(path.s, err);
	if (!rc) {
		str_addf(&path, "/%s.%s.%s", source, kind, identity);
		if (path.full)
			rc = err_set(
				err, ERR_LIMIT, "the path of the memory of %s is too long", source);
	}
	if (!rc) {
		file->path = xstrdup(path.s);
		str_add(&path, ".lock");
		file->lock_path = xstrdup(path.s);
	}
	str_release(&path);
	return rc;
}

void memory_file_release(struct memory_file *file)
{
	free(file->path);
	free(file->lock_path);
	memset(file, 0, sizeof(*file));
}

/* A lock that another program holds for long must not hang us: it is asked for, for at most a
 * second. */
static int memory_file_lock(const struct memory_file *file, struct err *err)
{
	int fd = open(file->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), tries;

	if (fd < 0)
		return err_set(err, ERR_IO, "can't open %s: %s", file->lock_path, strerror(errno));
	for (tries = 0; tries < 100; tries++) {
		struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return err_set(err, ERR_BUSY, "another program keeps %s locked", file->lock_path);
}

static bool memory_file_same(const struct memory_file *file, const struct stat *st)
{
	return st->st_ino == file->inode && st->st_size == file->size &&
	       st->st_mtim.tv_sec == file->changed.tv_sec &&
	       st->st_mtim.tv_nsec == file->changed.tv_nsec;
}

static void memory_file_note(struct memory_file *file)
{
	struct stat st;

	if (stat(file->path, &st) < 0)
		return;
	file->inode = st.st_ino;
	file->size = st.st_size;
	file->changed = st.st_mtim;
}

static int memory_file_set_aside(
	const struct memory_file *file, const struct err *why, struct err *err)
{
	struct str aside;

	str_init(&aside, 4096);
	str_addf(&aside, "%s.broken", file->path);
	if (rename(file->path, aside.s) == 0)
		err_set(err, ERR_PROTO,
			"the memory of earlier runs could not be read (%s); it was moved to %s",
			why->text, aside.s);
	else
		err_set(err, ERR_PROTO, "the memory of earlier runs in %s could not be read: %s",
			file->path, why->text);
	str_release(&aside);
	return ERR_PROTO;
}

int memory_file_load(struct memory_file *file, struct memory *memory, struct err *err)
{
	struct err why = { 0 };
	struct str bytes;
	int rc;

	str_init(&bytes, MEMORY_FILE_MAX);
	rc = fs_read(file->path, &bytes, &why);
	if (!rc) {
		memory_file_note(file);
		rc = memory_read(memory, bytes.s, bytes.len, &why);
		if (rc)
			rc = memory_file_set_aside(file, &why, err);
	} else if (rc == ERR_NOTFOUND) {
		rc = 0;
	} else if (err) {
		*err = why;
	}
	str_release(&bytes);
	return rc;
}

/*
 * Removes what a writer that was killed left beside the file: NAME and six characters, as
 * fs_write_atomic makes them. Only under the lock, when nobody else writes.
 */
static void memory_file_tidy(const struct memory_file *file)
{
	const char *name = strrchr(file->path, '/') + 1;
	size_t len = strlen(name);
	char *folder = xstrndup(file->path, (size_t)(name - file->path));
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		const char *found = entry->d_name;

		if (strncmp(found, name, len) == 0 && found[len] == '.' &&
			strlen(found + len) == 7 && strcmp(found + len, ".broken") != 0)
			unlinkat(dirfd(dir), found, 0);
	}
	if (dir)
		closedir(dir);
	free(folder);
}

struct sink {
	struct fs_draft draft;
	size_t left;
	const char *path;
	struct err *err;
};

static int sink_add(void *arg, const void *mem, size_t len)
{
	struct sink *sink = arg;

	if (len > sink->left)
		return err_set(sink->err, ERR_LIMIT, "the memory of %s is too large", sink->path);
	sink->left -= len;
	return fs_draft_add(&sink->draft, mem, len, sink->err);
}

/* Bit by bit: the file of a hundred thousand rows is no small part of what they take themselves. */
static int memory_file_write(const struct memory_file *file, struct memory *memory, struct err *err)
{
	struct sink sink = {
		.left = MEMORY_FILE_MAX - MEMORY_HEAD_SIZE, .path = file->path, .err = err
	};
	char head[MEMORY_HEAD_SIZE] = "";
	int rc = fs_draft_begin(&sink.draft, file->path, err);

	if (!rc)
		rc = fs_draft_add(&sink.draft, head, sizeof(head), err);
	if (!rc)
		rc = memory_write_to(memory, sink_add, &sink, head);
	if (!rc)
		rc = fs_draft_put(&sink.draft, 0, head, sizeof(head), err);
	return fs_draft_end(&sink.draft, rc, err);
}

int memory_file_save(struct memory_file *file, struct memory *memory, struct err *err)
{
	struct err ignored = { 0 };
	struct stat st;
	int fd, rc;

	fd = memory_file_lock(file, err);
	if (fd < 0)
		return fd;
	memory_file_tidy(file);
	if (stat(file->path, &st) == 0 && !memory_file_same(file, &st))
		memory_file_load(file, memory, &ignored);
	rc = memory_file_write(file, memory, err);
	if (!rc) {
		memory_file_note(file);
		memory->dirty = false;
	}
	close(fd);
	return rc;
}

static char *history_path(const struct memory_file *file)
{
	struct str path;

	str_init(&path, 4096);
	str_addf(&path, "%s.past", file->path);
	return str_take(&path);
}

int memory_file_load_history(
	struct memory_file *file, struct history *history, const char *source, struct err *err)
{
	char *path = history_path(file);
	struct err why = { 0 };
	struct str bytes;
	int rc;

	str_init(&bytes, HISTORY_FILE_MAX);
	rc = fs_read(path, &bytes, &why);
	if (!rc)
		rc = history_read(history, source, bytes.s, bytes.len, &why);
	if (rc == ERR_NOTFOUND)
		rc = 0;
	else if (rc)
		err_set(err, rc, "what happened before can't be read from %s: %s", path, why.text);
	str_release(&bytes);
	free(path);
	return rc;
}

int memory_file_save_history(struct memory_file *file, struct history *history, const char *source,
	int64_t now_us, struct err *err)
{
	char *path;
	struct str bytes;
	int fd = memory_file_lock(file, err), rc;

	if (fd < 0)
		return fd;
	path = history_path(file);
	rc = memory_file_load_history(file, history, source, err);
	str_init(&bytes, HISTORY_FILE_MAX);
	if (!rc) {
		history_trim(history, now_us);
		history_write(history, &bytes);
		rc = fs_write_atomic(path, bytes.s, bytes.len, err);
	}
	if (!rc)
		history->dirty = false;
	str_release(&bytes);
	free(path);
	close(fd);
	return rc;
}
