#include "config.h"

#include "control/audit-file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The second copy of a line, for a program of the operator's: without a shell, on its standard
 * input. */

enum {
	WAIT_STEP_MS = 10
};

static int spawn_reader(pid_t *ret_pid, const char *const *program, int fd)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t defaults, none;
	int error;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGXFSZ);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	error = posix_spawnp(
		ret_pid, program[0], &files, &attr, (char *const *)(uintptr_t)program, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

void audit_copy_start(
	struct audit_copy *copy, const char *const *program, const char *mem, size_t len)
{
	int fds[2], error;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		err_set(&copy->err, ERR_IO, "the second copy: %s", strerror(errno));
		return;
	}
	/* A line fits whole into a pipe: this never waits for the reader. */
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	n = write(fds[1], mem, len);
	error = n == (ssize_t)len ? spawn_reader(&copy->pid, program, fds[0]) : EAGAIN;
	if (error) {
		copy->pid = 0;
		err_set(&copy->err, ERR_IO, "the second copy: can't run %.200s: %s", program[0],
			strerror(error));
	}
	close(fds[0]);
	close(fds[1]);
}

/* How it ended; killed when it takes too long. */
static int reap(pid_t pid, bool *ret_late)
{
	struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000 };
	int status = 0, waited_ms;

	*ret_late = false;
	for (waited_ms = 0; waited_ms < AUDIT_COPY_TIMEOUT_MS; waited_ms += WAIT_STEP_MS) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got != 0)
			return got == pid ? status : 0;
		nanosleep(&step, NULL);
	}
	*ret_late = true;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

int audit_copy_wait(struct audit_copy *copy, struct err *err)
{
	bool late = false;
	int status = copy->pid > 0 ? reap(copy->pid, &late) : 0;

	copy->pid = 0;
	if (copy->err.code && err)
		*err = copy->err;
	if (copy->err.code)
		return copy->err.code;
	if (late)
		return err_set(err, ERR_TIMEOUT,
			"the second copy: the program took longer than %d s and was ended",
			AUDIT_COPY_TIMEOUT_MS / 1000);
	if (WIFSIGNALED(status))
		return err_set(err, ERR_IO, "the second copy: the program was ended by signal %d",
			WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(err, ERR_IO, "the second copy: the program ended with code %d",
			WEXITSTATUS(status));
	return 0;
}
