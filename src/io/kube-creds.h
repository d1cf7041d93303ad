#ifndef IO_KUBE_CREDS_H
#define IO_KUBE_CREDS_H

#include "io/kube-exec.h"

/*
 * Who we are to one API server, as it is now: a token that was written down, a token file that is
 * read again now and then, a certificate, or what a plugin gave until it expires. Precedence as in
 * client-go: a token or a certificate of the kubeconfig, else the plugin; a token file's contents
 * before the token. Credentials go over TLS only.
 */
struct kube_creds;

/* access is borrowed. tls: whether the server is reached by TLS; without it there are none. */
struct kube_creds *kube_creds_new(
	const struct kube_access *access, bool tls, const struct clock_source *clock);
void kube_creds_free(struct kube_creds *creds);

/*
 * Makes them ready. Returns 1 when they are; 0 when a plugin is at work (kube_creds_wait); negative
 * when there are none to be had. Never blocks, but on a token file that hangs.
 */
int kube_creds_step(struct kube_creds *creds, struct err *err);
/* While a plugin is at work. */
enum kube_wait kube_creds_wait(struct kube_creds *creds, int wake_fd, int64_t until_ms);
/* Fills err (ERR_TIMEOUT) with what is waited for since so many seconds; 1: for nothing of its. */
int kube_creds_late(const struct kube_creds *creds, double seconds, struct err *err);

/* Whether there are any at all; without them the server takes us for system:anonymous. */
bool kube_creds_any(const struct kube_creds *creds);

/* When ready: the token (NULL: none), and the certificate with its key, where a plugin gave them.
 */
const char *kube_creds_token(const struct kube_creds *creds);
const struct kube_grant *kube_creds_grant(const struct kube_creds *creds);
/* Rises with each change. */
unsigned kube_creds_generation(const struct kube_creds *creds);

/*
 * The server did not accept them as they were at that generation. Returns whether it is worth
 * another try, after kube_creds_step: they have changed meanwhile, a token file says something new,
 * or the plugin can be asked again.
 */
bool kube_creds_refused(struct kube_creds *creds, unsigned generation);

/* Why a request without better credentials was refused: one sentence, with the server's name. */
void kube_creds_explain(const struct kube_creds *creds, const char *server, struct err *err);

#endif
