#ifndef IO_KUBECONFIG_DECODE_H
#define IO_KUBECONFIG_DECODE_H

#include "io/kubeconfig.h"
#include "io/yaml.h"

#include <stddef.h>

/*
 * How a kubeconfig's nodes become a struct kube_access: tables of fields, each with its type, and
 * one decoder. Within src/io only.
 */

/* One file, read. */
struct kube_file {
	char *path;
	char *shown;  /* sanitised, for messages */
	char *folder; /* absolute: what relative paths in it are relative to */
	struct yaml_node *root;
};

enum kube_type {
	KUBE_TEXT,
	KUBE_PATH,    /* as TEXT; made absolute */
	KUBE_COMMAND, /* as PATH where it holds a slash */
	KUBE_BOOL,
	KUBE_DATA,  /* base64 */
	KUBE_TEXTS, /* a list of texts: struct kube_texts */
	KUBE_ENV,   /* a list of {name, value}: struct kube_pairs */
	KUBE_EXTRA, /* a map of lists of texts: struct kube_pairs */
	KUBE_WORDS, /* a map of texts, only checked */
	KUBE_EXEC,
	KUBE_PROVIDER,  /* auth-provider, only checked */
	KUBE_EXTENSIONS /* only checked */
};

enum {
	KUBE_NOWHERE = -1 /* checked, and not kept */
};

/* One field of an object: NULL ends a table. */
struct kube_field {
	const char *name;
	enum kube_type type;
	ptrdiff_t at; /* of what is decoded into; or KUBE_NOWHERE */
};

extern const struct kube_field kube_fields_cluster[]; /* into struct kube_access */
extern const struct kube_field kube_fields_user[];
extern const struct kube_field kube_fields_context[];

/* Decodes the fields of a table; map may be NULL or null, which is an empty one. What was decoded
 * before a failure stays, for the caller to release. */
int kube_decode(const struct kube_field *fields, const struct yaml_node *map,
	const struct kube_file *file, void *to, struct err *err);

/* ERR_CONFIG with "FILE:LINE:COLUMN: " before the text; node may be NULL. */
int kube_fail(struct err *err, const struct kube_file *file, const struct yaml_node *node,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The text of a field that was checked; NULL: not there, or empty. */
const char *kube_text(const struct yaml_node *map, const char *name);

/* Which one a scalar of YAML_TYPE_BOOL is. */
bool kube_is_true(const struct yaml_node *node);

/* The path, absolute and without "." and ".." as Go's filepath.Join makes it. The caller frees. */
char *kube_path_join(const char *folder, const char *path);

/* The node as JSON text, with YAML 1.1's types; NULL when it is too large. The caller frees. */
char *kube_json_of(const struct yaml_node *node);

/* What a cluster and a user must be to be used; at is the place of the cluster itself. */
int kube_check_cluster(const struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, const struct yaml_node *at, struct err *err);
int kube_check_user(struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, struct err *err);

void kube_exec_free(struct kube_exec *exec);

#endif
