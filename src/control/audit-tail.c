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
	PIECE_MAX = 4 * 1024 * 1024, /* in one look */
};

void audit_tail_init(struct audit_tail *tail, const char *folder, bool sim)
{
	struct audit audit;
	struct stat st;

	*tail = (struct audit_tail){ .path = NULL };
	if (sim)
		audit_init_sim(&audit, folder);
	else
		audit_init(&audit, folder);
	if (audit.folder)
		tail->path = audit_path(&audit, 0);
	audit_release(&audit);
	if (!tail->path)
		return;
	if (stat(tail->path, &st) == 0) {
		tail->at = st.st_size;
		tail->inode = st.st_ino;
	}
}

void audit_tail_release(struct audit_tail *tail)
{
	free(tail->path);
	tail->path = NULL;
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

static void tail_read(
	struct audit_tail *tail, int fd, void (*each)(void *arg, const char *line), void *arg)
{
	char *text = xmalloc(PIECE_MAX);
	ssize_t got = pread(fd, text, PIECE_MAX, tail->at);

	if (got > 0)
		tail->at += (int64_t)tail_lines(text, (size_t)got, each, arg);
	free(text);
}

void audit_tail_next(struct audit_tail *tail, void (*each)(void *arg, const char *line), void *arg)
{
	struct stat st;
	int fd;

	if (!tail->path || stat(tail->path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	/* It was put aside, and a new one begun. */
	if (st.st_ino != tail->inode || st.st_size < tail->at) {
		tail->inode = st.st_ino;
		tail->at = 0;
	}
	if (st.st_size <= tail->at)
		return;
	fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	tail_read(tail, fd, each, arg);
	close(fd);
}
