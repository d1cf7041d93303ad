#include "config.h"

#include "base/fs.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FS_WAIT_MS = 5000
};

static int fs_error(struct err *err, enum err_code code, const char *what, const char *path)
{
	return err_set(err, code, "can't %s %s: %s", what, path, strerror(errno));
}

/* A pipe (`--config <(...)`) is waited for, and not for ever; errno says why it was in vain. */
static bool fs_wait(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, FS_WAIT_MS);

	if (n == 0)
		errno = ETIMEDOUT;
	return n > 0;
}

static int fs_read_fd(int fd, const char *path, struct str *out, struct err *err)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && (errno == EINTR || (errno == EAGAIN && fs_wait(fd))))
			continue;
		if (n < 0)
			return fs_error(err, ERR_IO, "read", path);
		str_add_mem(out, buf, (size_t)n);
		if (out->full)
			return err_set(
				err, ERR_LIMIT, "%s is larger than %zu bytes", path, out->max);
	}
	return 0;
}

int fs_open_unwaiting(int fd)
{
	char path[40];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	/* Nothing opens a socket anew: each write asks not to wait. */
	if (S_ISSOCK(st.st_mode))
		return fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (!S_ISFIFO(st.st_mode) && !isatty(fd))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

ssize_t fs_write_unwaiting(int fd, const void *mem, size_t len)
{
	ssize_t n = send(fd, mem, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(fd, mem, len) : n;
}

int fs_read(const char *path, struct str *out, struct err *err)
{
	struct stat st;
	int fd, rc;

	/* O_NONBLOCK: a FIFO without a writer must not hang the open. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fs_error(err, errno == ENOENT ? ERR_NOTFOUND : ERR_IO, "open", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		rc = err_set(err, ERR_IO, "%s is a directory, not a file", path);
	else
		rc = fs_read_fd(fd, path, out, err);
	close(fd);
	return rc;
}

static int fs_write_fd(int fd, const char *mem, size_t len)
{
	while (len) {
		ssize_t n = write(fd, mem, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		mem += n;
		len -= (size_t)n;
	}
	return 0;
}

int fs_draft_begin(struct fs_draft *d, const char *path, struct err *err)
{
	struct str tmp;

	*d = (struct fs_draft){ .path = path, .fd = -1 };
	str_init(&tmp, 4096);
	str_addf(&tmp, "%s.XXXXXX", path);
	if (tmp.full) {
		str_release(&tmp);
		return d->rc = err_set(err, ERR_LIMIT, "the path %.40s... is too long", path);
	}
	d->beside = str_take(&tmp);
	d->fd = mkostemp(d->beside, O_CLOEXEC); /* mode 0600 */
	if (d->fd < 0)
		d->rc = fs_error(err, ERR_IO, "create a file beside", path);
	return d->rc;
}

int fs_draft_add(struct fs_draft *d, const void *mem, size_t len, struct err *err)
{
	if (!d->rc && fs_write_fd(d->fd, mem, len) < 0)
		d->rc = fs_error(err, ERR_IO, "write", d->path);
	return d->rc;
}

int fs_draft_put(struct fs_draft *d, size_t at, const void *mem, size_t len, struct err *err)
{
	off_t end = d->rc ? 0 : lseek(d->fd, 0, SEEK_CUR);

	if (!d->rc && (end < 0 || lseek(d->fd, (off_t)at, SEEK_SET) < 0 ||
			      fs_write_fd(d->fd, mem, len) < 0 || lseek(d->fd, end, SEEK_SET) < 0))
		d->rc = fs_error(err, ERR_IO, "write", d->path);
	return d->rc;
}

int fs_draft_end(struct fs_draft *d, int rc, struct err *err)
{
	rc = rc ? rc : d->rc;
	if (!rc && fsync(d->fd) < 0)
		rc = fs_error(err, ERR_IO, "write", d->path);
	if (d->fd >= 0 && close(d->fd) < 0 && !rc)
		rc = fs_error(err, ERR_IO, "write", d->path);
	if (!rc && rename(d->beside, d->path) < 0)
		rc = fs_error(err, ERR_IO, "replace", d->path);
	if (rc && d->fd >= 0)
		unlink(d->beside);
	free(d->beside);
	*d = (struct fs_draft){ .fd = -1 };
	return rc;
}

int fs_write_atomic(const char *path, const void *mem, size_t len, struct err *err)
{
	struct fs_draft d;

	fs_draft_begin(&d, path, err);
	fs_draft_add(&d, mem, len, err);
	return fs_draft_end(&d, 0, err);
}

int fs_make_dirs(const char *path, struct err *err)
{
	char *copy = xstrdup(path), *p = copy;
	int rc = 0;

	do {
		p = strchr(p + 1, '/');
		if (p)
			*p = '\0';
		if (*copy && mkdir(copy, 0700) < 0 && errno != EEXIST)
			rc = fs_error(err, ERR_IO, "make the directory", copy);
		if (p)
			*p = '/';
	} while (p && !rc);
	free(copy);
	return rc;
}

static int fs_xdg(const char *variable, const char *below_home, char **ret_path, struct err *err)
{
	const char *dir = getenv(variable), *home = getenv("HOME");
	struct str path;

	str_init(&path, 4096);
	if (dir && dir[0] == '/')
		str_addf(&path, "%s/baton", dir);
	else if (home && home[0] == '/')
		str_addf(&path, "%s/%s/baton", home, below_home);
	else
		return err_set(err, ERR_NOTFOUND, "neither %s nor HOME is set", variable);
	*ret_path = str_take(&path);
	return 0;
}

int fs_state_dir(char **ret_path, struct err *err)
{
	return fs_xdg("XDG_STATE_HOME", ".local/state", ret_path, err);
}

int fs_config_dir(char **ret_path, struct err *err)
{
	return fs_xdg("XDG_CONFIG_HOME", ".config", ret_path, err);
}
