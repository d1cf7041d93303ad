#include "config.h"

#include "io/kube-exec.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	OUT_MAX = 1024 * 1024,
	COMPLAINT_MAX = 2048,
	COMPLAINT_SHOWN = 300,
	NAME_SHOWN = 100,
	HINT_SHOWN = 200,
	ENV_MAX = 4 * 1024 * 1024,
	REAP_MS = 20
};

extern char **environ;

struct kube_run {
	const struct clock_source *clock;
	pid_t pid; /* 0: reaped */
	int out_fd, err_fd;
	int64_t limit_ms, ends_ms;
	struct str out, complaint;
	struct str name; /* the command for messages */
};

/* ---- the environment ---- */

static bool env_is(const char *line, const char *name)
{
	size_t len = strlen(name);

	return strncmp(line, name, len) == 0 && line[len] == '=';
}

static char *env_line(const char *name, const char *value)
{
	struct str line;

	str_init(&line, ENV_MAX);
	str_addf(&line, "%s=%s", name, value);
	return str_take(&line);
}

static bool env_is_replaced(const struct kube_exec *exec, const char *line)
{
	size_t i;

	for (i = 0; i < exec->env.n; i++)
		if (env_is(line, exec->env.items[i].name))
			return true;
	return env_is(line, "KUBERNETES_EXEC_INFO");
}

/* Ours, then the plugin's own, which win, then what it is told. The caller frees. */
static char **env_make(const struct kube_exec *exec, const char *info)
{
	size_t n = 0, at = 0, i;
	char **env;

	while (environ[n])
		n++;
	env = xcalloc(n + exec->env.n + 2, sizeof(*env));
	for (i = 0; i < n; i++)
		if (!env_is_replaced(exec, environ[i]))
			env[at++] = xstrdup(environ[i]);
	for (i = 0; i < exec->env.n; i++)
		env[at++] = env_line(exec->env.items[i].name, exec->env.items[i].value);
	env[at] = env_line("KUBERNETES_EXEC_INFO", info);
	return env;
}

static void env_free(char **env)
{
	size_t i;

	for (i = 0; env[i]; i++) {
		explicit_bzero(env[i], strlen(env[i]));
		free(env[i]);
	}
	free(env);
}

/* ---- starting ---- */

static int spawn_actions(posix_spawn_file_actions_t *actions, int out, int complaint)
{
	int rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

	if (!rc)
		rc = posix_spawn_file_actions_adddup2(actions, out, 1);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(actions, complaint, 2);
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
	return rc;
}

/* A session of its own: the plugin has no terminal to ask at, and can be ended with its children.
 */
static int spawn_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	rc = posix_spawnattr_setsigmask(attr, &none);
	if (!rc)
		rc = posix_spawnattr_setsigdefault(attr, &all);
	if (!rc)
		rc = posix_spawnattr_setflags(
			attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	return rc;
}

static int spawn(
	struct kube_run *run, const struct kube_exec *exec, char **env, int out, int complaint)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	char **args = xcalloc(exec->args.n + 2, sizeof(*args));
	size_t i;
	int rc;

	args[0] = exec->command;
	for (i = 0; i < exec->args.n; i++)
		args[i + 1] = exec->args.items[i];
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	rc = spawn_actions(&actions, out, complaint);
	if (!rc)
		rc = spawn_attributes(&attr);
	if (!rc)
		rc = posix_spawnp(&run->pid, exec->command, &actions, &attr, args, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	free(args);
	if (rc)
		run->pid = 0;
	return rc;
}

static int fail_start(
	const struct kube_run *run, const struct kube_exec *exec, int number, struct err *err)
{
	struct str hint;
	int rc;

	if (number != ENOENT)
		return err_set(err, ERR_AUTH, "the credential plugin %s can't be started: %s",
			run->name.s, strerror(number));
	str_init(&hint, HINT_SHOWN * 4 + 8);
	if (exec->install_hint)
		text_escape_cut(
			&hint, exec->install_hint, strcspn(exec->install_hint, "\n"), HINT_SHOWN);
	rc = err_set(err, ERR_AUTH,
		"the credential plugin %s is not there: install it, or set PATH to find it%s%s",
		run->name.s, hint.len ? ". Its hint: " : "", hint.s);
	str_release(&hint);
	return rc;
}

static struct kube_run *run_new(
	const struct kube_exec *exec, const struct clock_source *clock, int64_t limit_ms)
{
	struct kube_run *run = xcalloc(1, sizeof(*run));

	run->clock = clock;
	run->out_fd = run->err_fd = -1;
	run->limit_ms = limit_ms;
	run->ends_ms = clock_mono_ms(clock) + limit_ms;
	str_init(&run->out, OUT_MAX);
	str_init(&run->complaint, COMPLAINT_MAX);
	str_init(&run->name, NAME_SHOWN * 4 + 8);
	text_escape_cut(&run->name, exec->command, strlen(exec->command), NAME_SHOWN);
	return run;
}

int kube_run_start(const struct kube_exec *exec, const char *info, const struct clock_source *clock,
	int64_t limit_ms, struct kube_run **ret, struct err *err)
{
	struct kube_run *run = run_new(exec, clock, limit_ms);
	int out[2] = { -1, -1 }, complaint[2] = { -1, -1 }, rc = 0;
	char **env;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(complaint, O_CLOEXEC) < 0)
		rc = errno;
	run->out_fd = out[0];
	run->err_fd = complaint[0];
	if (!rc) {
		fcntl(out[0], F_SETFL, O_NONBLOCK);
		fcntl(complaint[0], F_SETFL, O_NONBLOCK);
		env = env_make(exec, info);
		rc = spawn(run, exec, env, out[1], complaint[1]);
		env_free(env);
	}
	if (out[1] >= 0)
		close(out[1]);
	if (complaint[1] >= 0)
		close(complaint[1]);
	if (rc) {
		rc = fail_start(run, exec, rc, err);
		kube_run_free(run);
		return rc;
	}
	*ret = run;
	return 0;
}

/* ---- while it runs ---- */

enum kube_wait kube_run_wait(struct kube_run *run, int wake_fd, int64_t until_ms)
{
	struct pollfd fds[] = { { .fd = run->out_fd, .events = POLLIN },
		{ .fd = run->err_fd, .events = POLLIN }, { .fd = wake_fd, .events = POLLIN } };
	int64_t left;

	if (until_ms > run->ends_ms)
		until_ms = run->ends_ms;
	left = until_ms - clock_mono_ms(run->clock);
	if (left < 0)
		left = 0;
	/* Both pipes are closed, and it has not ended: that can't be polled for. */
	if (run->out_fd < 0 && run->err_fd < 0 && left > REAP_MS)
		left = REAP_MS;
	if (left > 60000)
		left = 60000;
	if (poll(fds, ARRAY_LEN(fds), (int)left) <= 0)
		return left == REAP_MS ? KUBE_WAIT_ACTIVE : KUBE_WAIT_TIME;
	return fds[2].revents ? KUBE_WAIT_WOKEN : KUBE_WAIT_ACTIVE;
}

/* Reads what is there; closes at the end. */
static void drain(int *fd, struct str *out)
{
	char buf[16384];
	ssize_t n;

	while (*fd >= 0) {
		n = read(*fd, buf, sizeof(buf));
		if (n > 0) {
			str_add_mem(out, buf, (size_t)n);
			explicit_bzero(buf, (size_t)n);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		close(*fd);
		*fd = -1;
	}
}

/* Its words on one line: lines become "; ". */
static void complaint_add(const struct kube_run *run, struct str *out)
{
	struct str line;
	size_t i;

	str_init(&line, COMPLAINT_MAX * 2);
	for (i = 0; i < run->complaint.len; i++) {
		char c = run->complaint.s[i];

		if (c != '\n' && c != '\r')
			str_add_char(&line, c);
		else if (line.len && line.s[line.len - 1] != ' ')
			str_add(&line, "; ");
	}
	while (line.len && strchr("; ", line.s[line.len - 1]))
		str_truncate(&line, line.len - 1);
	text_escape_cut(out, line.s, line.len, COMPLAINT_SHOWN);
	str_release(&line);
}

static int fail_end(const struct kube_run *run, int status, struct err *err)
{
	struct str said;
	int rc;

	str_init(&said, COMPLAINT_SHOWN * 4 + 8);
	complaint_add(run, &said);
	if (WIFSIGNALED(status))
		rc = err_set(err, ERR_AUTH, "the credential plugin %s was ended by signal %d%s%s",
			run->name.s, WTERMSIG(status), said.len ? ": " : "", said.s);
	else
		rc = err_set(err, ERR_AUTH, "the credential plugin %s failed (exit code %d): %s",
			run->name.s, WEXITSTATUS(status), said.len ? said.s : "it gave no reason");
	str_release(&said);
	return rc;
}

int kube_run_late(const struct kube_run *run, double seconds, struct err *err)
{
	struct str said;
	int rc;

	str_init(&said, COMPLAINT_SHOWN * 4 + 8);
	complaint_add(run, &said);
	rc = err_set(err, ERR_TIMEOUT,
		"the credential plugin %s gave no credentials within %.1f s%s%s. It can't ask at "
		"the terminal here: if it wants a log-in, do that by its own command first",
		run->name.s, seconds, said.len ? "; it said: " : "", said.s);
	str_release(&said);
	return rc;
}

int kube_run_poll(struct kube_run *run, struct str *out, struct err *err)
{
	int status = 0;
	pid_t pid;

	drain(&run->out_fd, &run->out);
	drain(&run->err_fd, &run->complaint);
	if (run->out.full)
		return err_set(err, ERR_AUTH,
			"the credential plugin %s printed more than %d bytes: that is no "
			"credential",
			run->name.s, OUT_MAX);
	pid = waitpid(run->pid, &status, WNOHANG);
	if (pid == 0 || (pid < 0 && errno == EINTR))
		return clock_mono_ms(run->clock) < run->ends_ms
			       ? 0
			       : kube_run_late(run, (double)run->limit_ms / 1000, err);
	/* A pid below 0: someone else has reaped it; what it printed tells. */
	run->pid = 0;
	drain(&run->out_fd, &run->out);
	drain(&run->err_fd, &run->complaint);
	if (pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return fail_end(run, status, err);
	str_add_mem(out, run->out.s, run->out.len);
	return 1;
}

void kube_run_free(struct kube_run *run)
{
	if (!run)
		return;
	if (run->pid > 0) {
		kill(-run->pid, SIGKILL);
		kill(run->pid, SIGKILL);
		while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (run->out_fd >= 0)
		close(run->out_fd);
	if (run->err_fd >= 0)
		close(run->err_fd);
	if (run->out.len)
		explicit_bzero(run->out.s, run->out.len);
	str_release(&run->out);
	str_release(&run->complaint);
	str_release(&run->name);
	free(run);
}
