#include "config.h"

#include "control/audit-file.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LOCK_TRIES = 5000, /* ten seconds: a line and its sync take milliseconds */
	LOCK_PAUSE_MS = 2,
	TAIL_BYTES = 2 * AUDIT_LINE_MAX + 2, /* holds at least one whole line */
	PATH_MOST = 4096,
	NUMBER_SIZE = 21 /* 64 bits, and a line's end */
};

char *audit_path(const struct audit *audit, int i)
{
	struct str path;

	str_init(&path, PATH_MOST);
	str_addf(&path, "%s/audit.jsonl", audit->folder);
	if (i)
		str_addf(&path, ".%d", i);
	return str_take(&path);
}

/* ---- the lock ---- */

static int audit_lock(const struct audit *audit, struct err *err)
{
	struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000 };
	struct str path;
	int fd, tries, rc;

	str_init(&path, PATH_MOST);
	str_addf(&path, "%s/audit.lock", audit->folder);
	fd = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) {
		rc = err_set(err, ERR_IO, "can't open %s: %s", path.s, strerror(errno));
		str_release(&path);
		return rc;
	}
	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			str_release(&path);
			return fd;
		}
		nanosleep(&pause, NULL);
	}
	close(fd);
	rc = err_set(err, ERR_BUSY, "another program keeps %s locked", path.s);
	str_release(&path);
	return rc;
}

/* ---- the number ---- */

/* One that is larger was written by nobody of us, and from the largest none goes on: what followed
 * would be no act to a reader. */
#define NUMBER_MOST (UINT64_C(1) << 53)

static uint64_t believed(uint64_t n)
{
	return n < NUMBER_MOST ? n : 0;
}

/*
 * The highest number that was given stands in the lock's file: an outcome bears the number of its
 * intent, so that the last lines may all have lower ones than a line before them, or in the file
 * before. Where that file was lost, the lines that are left decide.
 */
static uint64_t given_number(int lock)
{
	char text[NUMBER_SIZE + 1] = "";

	return pread(lock, text, NUMBER_SIZE, 0) > 0 ? believed(strtoull(text, NULL, 10)) : 0;
}

static int give_number(const struct audit *audit, int lock, uint64_t n, struct err *err)
{
	char text[NUMBER_SIZE + 1];
	ssize_t written;

	snprintf(text, sizeof(text), "%0*" PRIu64 "\n", NUMBER_SIZE - 1, n);
	written = pwrite(lock, text, NUMBER_SIZE, 0);
	if (written == NUMBER_SIZE)
		return 0;
	return err_set(err, ERR_IO, "can't write %s/audit.lock: %s", audit->folder,
		written < 0 ? strerror(errno) : "it was cut short");
}

static uint64_t number_of(const char *line, size_t len)
{
	json_t *json = json_loadb(line, len, 0, NULL);
	json_int_t n = json_integer_value(json_object_get(json, "n"));

	json_decref(json);
	return n > 0 ? believed((uint64_t)n) : 0;
}

/* The highest number in the last lines of a file: of the whole lines that its tail holds. */
static uint64_t highest_in(const char *tail, size_t len)
{
	uint64_t highest = 0;
	size_t at = 0;

	while (at < len) {
		const char *end = memchr(tail + at, '\n', len - at);
		uint64_t n = end ? number_of(tail + at, (size_t)(end - tail) - at) : 0;

		if (!end)
			break;
		if (n > highest)
			highest = n;
		at = (size_t)(end - tail) + 1;
	}
	return highest;
}

static int no_file(const char *path, struct err *err)
{
	return err_set(err, ERR_IO, "%s is no file that can be written", path);
}

/* Reads the file's tail; tells whether it ends in the middle of a line. */
static int read_tail(const char *path, uint64_t *ret_n, bool *ret_half, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *buf;
	ssize_t got;
	struct stat st;

	*ret_n = 0;
	*ret_half = false;
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : err_set(err, ERR_IO, "can't read %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return no_file(path, err);
	}
	buf = xmalloc(TAIL_BYTES);
	got = pread(fd, buf, TAIL_BYTES, st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
	close(fd);
	if (got > 0) {
		*ret_half = buf[got - 1] != '\n';
		*ret_n = highest_in(buf, (size_t)got);
	}
	free(buf);
	return got < 0 ? err_set(err, ERR_IO, "can't read %s", path) : 0;
}

static int next_number(const struct audit *audit, int lock, const char *path, uint64_t *ret,
	bool *ret_half, struct err *err)
{
	char *before = audit_path(audit, 1);
	uint64_t highest, given = given_number(lock);
	bool half;
	int rc = read_tail(path, ret, ret_half, err);

	if (!rc) {
		rc = read_tail(before, &highest, &half, err);
		*ret = highest > *ret ? highest : *ret;
	}
	free(before);
	*ret = (given > *ret ? given : *ret) + 1;
	return rc;
}

/* ---- the file ---- */

static void audit_rotate(const struct audit *audit)
{
	int i;

	for (i = AUDIT_FILES - 1; i > 0; i--) {
		char *from = audit_path(audit, i - 1), *to = audit_path(audit, i);

		rename(from, to);
		free(from);
		free(to);
	}
}

static int sync_folder(const struct audit *audit, struct err *err)
{
	int fd = open(audit->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) < 0)
		rc = err_set(err, ERR_IO, "can't sync %s: %s", audit->folder, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Opens the current file for appending, a new one where the old is full; tells its size. */
static int audit_open(const struct audit *audit, const char *path, off_t *ret_size, struct err *err)
{
	struct stat st;
	bool fresh = stat(path, &st) < 0;
	int fd;

	if (!fresh && st.st_size >= audit->file_max) {
		audit_rotate(audit);
		fresh = true;
	}
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0)
		return err_set(err, ERR_IO, "can't open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return no_file(path, err);
	}
	/* It names people and requests: whoever made it wider, it is ours alone again. */
	if (st.st_mode & 077)
		fchmod(fd, 0600);
	*ret_size = st.st_size;
	if (fresh && sync_folder(audit, err)) {
		close(fd);
		return ERR_IO;
	}
	return fd;
}

static int write_whole(int fd, const char *mem, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, mem, len);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			mem += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Sets space aside behind the end. A file system that can't is none of our errors. */
static int reserve_space(int fd, off_t at, size_t len)
{
	if (len == 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, at, (off_t)len) == 0)
		return 0;
	return errno == ENOSPC || errno == EFBIG || errno == EDQUOT ? errno : 0;
}

/* Writes all or nothing. */
static int put_line(int fd, const char *path, off_t size, const struct str *line, size_t reserve,
	struct err *err)
{
	int error = reserve_space(fd, size, line->len + reserve);

	if (!error)
		error = write_whole(fd, line->s, line->len);
	if (!error && fsync(fd) < 0)
		error = errno;
	if (!error)
		return 0;
	if (ftruncate(fd, size) < 0)
		return err_set(err, ERR_IO, "can't write %s: %s; half a line may stand at its end",
			path, strerror(error));
	return err_set(err, ERR_IO, "can't write %s: %s", path, strerror(error));
}

static int append_locked(struct audit *audit, int lock, uint64_t n, size_t reserve,
	audit_make_line make, void *arg, uint64_t *ret_n, struct str *line, struct err *err)
{
	char *path = audit_path(audit, 0);
	off_t size = 0;
	bool half;
	uint64_t next;
	int fd, rc = next_number(audit, lock, path, &next, &half, err);

	/* Before the line: a number that is never used does no harm. */
	if (!rc && !n)
		rc = give_number(audit, lock, next, err);

	fd = rc ? rc : audit_open(audit, path, &size, err);
	if (fd < 0) {
		free(path);
		return fd;
	}
	/* What a program that was killed left half written must not swallow this line. */
	if (half && size > 0)
		str_add_char(line, '\n');
	make(arg, n ? n : next, line);
	str_add_char(line, '\n');
	rc = line->full ? err_set(err, ERR_LIMIT, "the line for %s is too long", path)
			: put_line(fd, path, size, line, reserve, err);
	close(fd);
	free(path);
	if (!rc)
		*ret_n = n ? n : next;
	return rc;
}

int audit_append(struct audit *audit, uint64_t n, size_t reserve, audit_make_line make, void *arg,
	uint64_t *ret_n, struct str *ret_line, struct err *err)
{
	int lock, rc;

	if (!audit->folder)
		return err_set(err, ERR_IO,
			"there is no place for the audit: neither XDG_STATE_HOME nor HOME is set");
	rc = fs_make_dirs(audit->folder, err);
	if (rc)
		return rc;
	lock = audit_lock(audit, err);
	if (lock < 0)
		return lock;
	rc = append_locked(audit, lock, n, reserve, make, arg, ret_n, ret_line, err);
	close(lock);
	return rc;
}
