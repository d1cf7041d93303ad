#ifndef CONTROL_MEMORY_FILE_H
#define CONTROL_MEMORY_FILE_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct err;
struct history;
struct memory;

/*
 * The observation memory of one server on disk: STATE_DIR/memory/SOURCE.KIND.IDENTITY, 0600,
 * replaced whole. Several programs may write it: each merges what stands there, under a lock on a
 * file beside it, so that none forgets what another saw.
 */
struct memory_file {
	char *path;
	char *lock_path;
	ino_t inode; /* of the file as we last read or wrote it, to know whether another wrote since
		      */
	off_t size;
	struct timespec changed;
};

/* identity tells servers of one name apart (system identifier, cluster id); "" where it can't be
 * told. */
int memory_file_init(struct memory_file *file, const char *state_dir, const char *source,
	const char *kind, const char *identity, struct err *err);
void memory_file_release(struct memory_file *file);

/*
 * Adds what the file holds to the memory. An absent file is fine. One that can't be understood (of
 * another version, or broken) is moved aside to PATH.broken, and said: ERR_PROTO; the memory is as
 * it was.
 */
int memory_file_load(struct memory_file *file, struct memory *memory, struct err *err);

/*
 * The history (model/history.h) of the same server, in PATH.past, a file of its own: an earlier
 * program reads the memory on. An absent file is fine; one that can't be understood is left as it
 * is, and said, and nothing is written over it. source: whose events they are.
 */
int memory_file_load_history(
	struct memory_file *file, struct history *history, const char *source, struct err *err);
/* Merges in what another program wrote meanwhile, forgets what is beyond the bounds, and writes. */
int memory_file_save_history(struct memory_file *file, struct history *history, const char *source,
	int64_t now_us, struct err *err);

/* Merges in what another program wrote meanwhile, then writes. On failure the old file stands. */
int memory_file_save(struct memory_file *file, struct memory *memory, struct err *err);

#endif
