#ifndef BASE_FS_H
#define BASE_FS_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct str;

/*
 * Reads a whole file into out (whose cap is the limit); a pipe is waited for, at most 5 s at a
 * time. Errors name the path and what is wrong with it: absent, a directory, unreadable, larger
 * than the cap.
 */
int fs_read(const char *path, struct str *out, struct err *err);

/*
 * Writes a file so that a reader sees the old or the new contents, never a part: a temporary file
 * beside it, mode 0600, fsync, rename. On failure the old file is as it was, and no temporary file
 * is left.
 */
int fs_write_atomic(const char *path, const void *mem, size_t len, struct err *err);

/*
 * The same for a file that is made bit by bit: begin, add as often as need be, then end, which puts
 * it in the old one's place, or takes back all where `rc`, or an addition, is an error; that is
 * returned. fs_draft_put writes over what was added, at `at`.
 */
struct fs_draft {
	const char *path; /* borrowed until the end */
	char *beside;
	int fd;
	int rc;
};
int fs_draft_begin(struct fs_draft *d, const char *path, struct err *err);
int fs_draft_add(struct fs_draft *d, const void *mem, size_t len, struct err *err);
int fs_draft_put(struct fs_draft *d, size_t at, const void *mem, size_t len, struct err *err);
int fs_draft_end(struct fs_draft *d, int rc, struct err *err);

/*
 * A descriptor of our own on the pipe, terminal or socket that fd writes to, for
 * fs_write_unwaiting: O_NONBLOCK, set on fd itself, would hold for all that share it, as a shell
 * does. -1 where fd is another thing, or that is not to be had (no /proc, or another user's).
 */
int fs_open_unwaiting(int fd);
/* As write: fails with EAGAIN where it would have to wait for the reader. */
ssize_t fs_write_unwaiting(int fd, const void *mem, size_t len);

/* Makes a directory and its parents, mode 0700 where they are new. */
int fs_make_dirs(const char *path, struct err *err);

/*
 * $XDG_STATE_HOME/baton or $HOME/.local/state/baton, and $XDG_CONFIG_HOME/baton or
 * $HOME/.config/baton (XDG Base Directory Specification 0.8; a relative value is ignored as it
 * asks). Returns 0 and a path that the caller frees, or ERR_NOTFOUND when neither variable is set.
 */
int fs_state_dir(char **ret_path, struct err *err);
int fs_config_dir(char **ret_path, struct err *err);

#endif
