#ifndef CONTROL_DISCOVERY_H
#define CONTROL_DISCOVERY_H

#include "source/source.h"

struct err;
struct str;
struct yaml_node;

/* A source that the environment speaks of. name and options are the caller's; options is a map, or
 * NULL for the kind's own defaults. */
struct discovered {
	const struct source_ops *ops;
	char *name;
	struct yaml_node *options;
};

enum {
	DISCOVERY_MAX = 3
};

/*
 * Looks for sources in the environment: PostgreSQL where one of libpq's variables PGHOST,
 * PGHOSTADDR, PGSERVICE, PGDATABASE or PGPORT is set (PostgreSQL manual, libpq "Environment
 * Variables"); etcd where ETCDCTL_ENDPOINTS is, with etcdctl's other variables (etcdctl's README:
 * each flag as ETCDCTL_FLAG); Kubernetes where kubectl finds something (kubeconfig.h): the current
 * context of KUBECONFIG's files or of HOME/.kube/config, under its own name, in which all but
 * letters, digits, ".", "_" and "-" becomes "-"; else the service account of the pod that this runs
 * in. Of two names that are equal the second gets "-2". An empty variable is one that is not set.
 * Fills found, and returns how many. Nothing is contacted.
 */
size_t discovery_look(struct discovered found[DISCOVERY_MAX]);

/* What discovery_look looks for, and how to point the program at something: sentences, one
 * paragraph a line. there: the config was read, and names no source. */
void discovery_explain(const char *config_path, bool there, struct str *out);

/* What the environment says and these sources do not do, as a sentence; NULL. The caller frees it.
 */
char *discovery_note(void);

#endif
