#include "config.h"

#include "source/kubernetes.h"
#include "base/clock.h"

#include <stdlib.h>

static int access_find(const struct kube *k, struct kube_access *ret, struct err *err)
{
	struct kube_where where = {
		.kubeconfig = source_option_text(k->config, "kubeconfig"),
		.context = source_option_text(k->config, "context"),
		.in_cluster = source_option_int(k->config, "in_cluster") == 1,
	};

	if (where.in_cluster && (where.kubeconfig || where.context))
		return err_set(err, ERR_CONFIG,
			"in_cluster stands beside %s: the service account of a pod has no context",
			where.kubeconfig ? "kubeconfig" : "context");
	/* What was the current context once stays ours, whatever is current later. */
	if (k->access.context)
		where.context = k->access.context;
	return kube_access_find(&where, ret, err);
}

int kube_access_open(struct kube *k, struct err *err)
{
	int rc = access_find(k, &k->access, err);

	if (rc)
		return rc;
	k->client = rest_client_new(&k->access, &clock_system, err);
	return k->client ? 0 : err->code ? (int)err->code : ERR_CONFIG;
}

static bool access_may_be_old(int failure)
{
	return failure == ERR_AUTH || failure == ERR_TLS || failure == ERR_CONNECT;
}

void kube_access_renew(struct kube *k, int failure)
{
	struct kube_access old = k->access, fresh;
	struct rest_client *client;
	char *name_space;

	if (!access_may_be_old(failure) || !old.context || access_find(k, &fresh, NULL))
		return;
	/* Streams refer to the namespace that they were opened with. */
	name_space = fresh.name_space;
	fresh.name_space = old.name_space;
	if (kube_access_equal(&fresh, &old)) {
		fresh.name_space = name_space;
		kube_access_release(&fresh);
		return;
	}
	k->access = fresh;
	client = rest_client_new(&k->access, &clock_system, NULL);
	if (client) {
		rest_client_free(k->client);
		k->client = client;
		free(name_space);
		old.name_space = NULL;
		kube_access_release(&old);
	} else {
		k->access = old;
		fresh.name_space = name_space;
		kube_access_release(&fresh);
	}
}
