#include "config.h"

#include "control/audit-tail.h"
#include "base/mem.h"
#include "control/audit-file.h"
#include "control/audit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIECE_MAX = 4 * 1024 * 1024, /* at once: a line is far shorter */
};

static int tail_open(const struct audit_tail *tail)
{
	struct stat st;
	int fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

void audit_tail_init(struct audit_tail *tail, const char *folder, bool sim)
{
	struct audit audit;
	struct stat st;

	*tail = (struct audit_tail){ .fd = -1 };
	if (sim)
		audit_init_sim(&audit, folder);
	else
		audit_init(&audit, folder);
	if (audit.folder)
		tail->path = audit_path(&audit, 0);
	audit_release(&audit);
	if (!tail->path)
		return;
	tail->fd = tail_open(tail);
	if (tail->fd >= 0 && fstat(tail->fd, &st) == 0)
		tail->at = st.st_size;
}

void audit_tail_release(struct audit_tail *tail)
{
	if (!tail->path)
		return;
	free(tail->path);
	tail->path = NULL;
	if (tail->fd >= 0)
		close(tail->fd);
	tail->fd = -1;
}

/* Hands over the whole lines of a piece; returns how many bytes they are. */
static size_t tail_lines(
	char *text, size_t len, void (*each)(void *arg, const char *line), void *arg)
{
	size_t at = 0;
	char *end;

	while ((end = memchr(text + at, '\n', len - at)) != NULL) {
		*end = '\0';
		each(arg, text + at);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

/* All whole lines that the file has more now. */
static void tail_read(struct audit_tail *tail, void (*each)(void *arg, const char *line), void *arg)
{
	struct stat st;
	char *text;
	ssize_t got;
	size_t whole;

	if (tail->fd < 0 || fstat(tail->fd, &st) < 0)
		return;
	if (st.st_size < tail->at)
		tail->at = 0;
	if (st.st_size == tail->at)
		return;
	text = xmalloc(PIECE_MAX);
	do {
		got = pread(tail->fd, text, PIECE_MAX, tail->at);
		whole = got > 0 ? tail_lines(text, (size_t)got, each, arg) : 0;
		tail->at += (int64_t)whole;
	} while (whole);
	free(text);
}

/* Whether the file that is read was put aside, and another one begun. */
static bool tail_is_aside(const struct audit_tail *tail)
{
	struct stat now, read;

	if (stat(tail->path, &now) < 0)
		return false;
	return tail->fd < 0 || fstat(tail->fd, &read) < 0 || now.st_ino != read.st_ino ||
	       now.st_dev != read.st_dev;
}

void audit_tail_next(struct audit_tail *tail, void (*each)(void *arg, const char *line), void *arg)
{
	if (!tail->path)
		return;
	if (!tail_is_aside(tail)) {
		tail_read(tail, each, arg);
		return;
	}
	/* What came to its end before. */
	tail_read(tail, each, arg);
	if (tail->fd >= 0)
		close(tail->fd);
	tail->fd = tail_open(tail);
	tail->at = 0;
	tail_read(tail, each, arg);
}
