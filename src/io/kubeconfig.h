#ifndef IO_KUBECONFIG_H
#define IO_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * kubeconfig as kubectl reads it (kubernetes.io "Organizing Cluster Access Using kubeconfig Files",
 * "kubeconfig (v1)"; client-go's tools/clientcmd for what these leave open), and what it comes to
 * for one context: where the API server is, how it is told from others, and who we are. Nothing
 * here talks to a server or runs a plugin. No error text holds a token, a password, a key or data.
 */

/* Bytes of a *-data field, decoded from base64. Empty: s is NULL. */
struct kube_data {
	char *s;
	size_t len;
};

/* One more variable of a plugin's environment, or one more of the values of one "extra" of
 * impersonation. */
struct kube_pair {
	char *name, *value;
};

struct kube_pairs {
	struct kube_pair *items;
	size_t n;
};

struct kube_texts {
	char **items;
	size_t n;
};

enum kube_exec_version {
	KUBE_EXEC_V1BETA1,
	KUBE_EXEC_V1
};

/* A credential plugin: client.authentication.k8s.io. */
struct kube_exec {
	enum kube_exec_version version;
	char *command; /* with a slash: a path, absolute; without one: looked for in PATH */
	struct kube_texts args;
	struct kube_pairs env;
	char *install_hint;   /* raw; NULL: none */
	char *cluster_config; /* the cluster's extension client.authentication.k8s.io/exec as JSON;
				 NULL: none */
	bool cluster_info;    /* provideClusterInfo */
};

/*
 * What a context, or the service account of a pod, comes to. Texts are raw bytes of a file:
 * sanitise them for showing. NULL where nothing was said. Files are absolute paths.
 */
struct kube_access {
	char *context; /* NULL: in-cluster */
	char *cluster, *user;
	char *file;       /* the file that the context stands in; NULL: in-cluster */
	char *server;     /* as written, "https://10.0.0.1:6443/prefix" */
	char *name_space; /* "default" where nothing was said */

	bool insecure;     /* insecure-skip-tls-verify: to be shown as a warning */
	char *server_name; /* tls-server-name */
	char *ca_file;     /* not used where ca is there */
	struct kube_data ca;
	char *proxy_url;     /* NULL: as the environment says (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) */
	bool no_compression; /* disable-compression */

	char *token;      /* not used where token_file can be read */
	char *token_file; /* to be read again now and then */
	char *cert_file, *key_file;
	struct kube_data cert, key; /* before the files */
	struct kube_exec *exec;     /* not used where a token or a certificate is there */

	char *as, *as_uid; /* impersonation */
	struct kube_texts as_groups;
	struct kube_pairs as_extra;
};

/* Frees what it holds (secrets are wiped first), and leaves it zeroed. */
void kube_access_release(struct kube_access *a);

/* Whether both say the same. */
bool kube_access_equal(const struct kube_access *a, const struct kube_access *b);

/* Who we are in a word or two, for `doctor`: "token", "token file", "client certificate", "exec
 * plugin", "service account", "nobody (no credentials)". */
const char *kube_access_method(const struct kube_access *a);

/* ---- the files ---- */

/* Several files, merged. */
struct kubeconfig;

/*
 * Reads and merges files by kubectl's rules: the first file that has a context, cluster or user of
 * a name wins it whole; the first current-context that is not empty wins; relative paths are
 * relative to their own file's folder; a file of the list that does not exist is skipped, an empty
 * name too, and one that stands there twice is read once. An empty file is one without entries.
 * Unknown keys are left alone. ERR_CONFIG names file, line and column; ERR_IO a file that can't be
 * read.
 */
int kubeconfig_load(const char *const *files, size_t n, struct kubeconfig **ret, struct err *err);
void kubeconfig_free(struct kubeconfig *k);

/* How many of the files were there. */
size_t kubeconfig_files(const struct kubeconfig *k);
/* current-context; NULL: none. */
const char *kubeconfig_current(const struct kubeconfig *k);
/* The contexts' names, sorted by bytes; NULL beyond the last. */
const char *kubeconfig_context(const struct kubeconfig *k, size_t i);

/*
 * What a context comes to; NULL: the current one. Fails as kubectl would, and where it would go on
 * with a guess (no current context, a user that is named and is not there) (ERR_CONFIG, with the
 * place of what is wrong): no such context, cluster or user, no server, a certificate without a
 * key, data that is no base64, a file that can't be read, an exec plugin of a version that nobody
 * knows. Also what kubectl would do and we do not is refused with a reason: basic auth,
 * auth-provider, a plugin that must have a terminal (interactiveMode Always). The caller releases.
 */
int kubeconfig_resolve(
	const struct kubeconfig *k, const char *context, struct kube_access *ret, struct err *err);

/* ---- finding it ---- */

/* Where to look. */
struct kube_where {
	const char *kubeconfig;      /* one file that must be there; NULL: KUBECONFIG's list, else
					HOME/.kube/config */
	const char *context;         /* NULL: the current one */
	bool in_cluster;             /* the pod's service account, and no file */
	const char *service_account; /* its folder; NULL:
					"/var/run/secrets/kubernetes.io/serviceaccount" */
};

/*
 * What kubectl would use: the file that is named, else those of KUBECONFIG, else HOME/.kube/config;
 * when these say nothing at all, the service account of the pod that we run in, if we do
 * (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are set, and there is a token). ERR_NOTFOUND
 * when there is nothing to use: the text says where was looked. The caller releases.
 */
int kube_access_find(const struct kube_where *where, struct kube_access *ret, struct err *err);

/* What there is to be found without a file named. */
enum kube_found {
	KUBE_FOUND_NOTHING,
	KUBE_FOUND_CONTEXT, /* a current context */
	KUBE_FOUND_FILE,    /* a kubeconfig whose current context is not known: it is wrong, or has
			       none, which is told when it is used; or a pipe, which can be read
			       once only */
	KUBE_FOUND_POD
};

/* For discovery: as kube_access_find without a file named, and without using it. ret_context: the
 * context's name, raw, else NULL; the caller frees. */
enum kube_found kube_access_look(const char *service_account, char **ret_context);

/*
 * The pod's service account: https://KUBERNETES_SERVICE_HOST:PORT, token (a file that the kubelet
 * replaces), ca.crt and namespace of its folder. folder: NULL for the usual one. ERR_NOTFOUND when
 * this is no pod.
 */
int kube_access_in_cluster(const char *folder, struct kube_access *ret, struct err *err);

#endif
