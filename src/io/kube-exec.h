#ifndef IO_KUBE_EXEC_H
#define IO_KUBE_EXEC_H

#include "io/kubeconfig.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_source;
struct err;
struct str;

/*
 * A credential plugin at work (kubernetes.io "client-go credential plugins"): started directly and
 * never by a shell, in a session of its own without a terminal, with nothing on its standard input,
 * and ended when its time is over. Never blocks but in kube_run_wait.
 */
struct kube_run;

/*
 * Starts it with its own variables and KUBERNETES_EXEC_INFO added to the environment. ERR_AUTH
 * when it can't be started: where there is no such program, the text has the install hint.
 */
int kube_run_start(const struct kube_exec *exec, const char *info, const struct clock_source *clock,
	int64_t limit_ms, struct kube_run **ret, struct err *err);

/* What ended a wait. */
enum kube_wait {
	KUBE_WAIT_TIME,
	KUBE_WAIT_ACTIVE,
	KUBE_WAIT_WOKEN
};
/* Waits for the plugin until until_ms at most; wake_fd (-1: none) ends the wait when readable. */
enum kube_wait kube_run_wait(struct kube_run *run, int wake_fd, int64_t until_ms);

/*
 * Takes in what it wrote. Returns 0 while it runs; 1 when it ended well, and then out holds what it
 * printed, whole; negative when it failed (ERR_AUTH, with its own words from standard error,
 * sanitised), took too long (ERR_TIMEOUT), or printed too much.
 */
int kube_run_poll(struct kube_run *run, struct str *out, struct err *err);

/* Fills err (ERR_TIMEOUT) with what has not come of it for so many seconds. */
int kube_run_late(const struct kube_run *run, double seconds, struct err *err);

/* Ends it, with all that it started. NULL is ignored. */
void kube_run_free(struct kube_run *run);

/* KUBERNETES_EXEC_INFO for an access: an ExecCredential with its spec. The caller frees. NULL where
 * a file can't be read (err). */
char *kube_exec_info(const struct kube_access *a, struct err *err);

/* What a plugin gave. */
struct kube_grant {
	char *token;
	struct kube_data cert, key;
	int64_t expires_us; /* wall clock; INT64_MAX: not said */
};

/* Reads an ExecCredential of the plugin's version; ERR_AUTH when it is none, or holds nothing. */
int kube_grant_parse(struct kube_grant *ret, const struct kube_exec *exec, const char *text,
	size_t len, struct err *err);
void kube_grant_release(struct kube_grant *grant);

#endif
