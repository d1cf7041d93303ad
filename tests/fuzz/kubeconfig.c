#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "io/kubeconfig.h"
#include "io/rest-inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_failure(int rc, const struct err *err)
{
	if (rc >= 0 || err->code != rc || !err->text[0])
		abort();
}

/* What an access promises, and that the client can start from it or says why not. */
static void check_access(struct kube_access *a)
{
	struct rest_place place;
	struct err err = { 0 };
	int rc;

	if (!a->context || !a->cluster || !a->server || !a->name_space || !a->file)
		abort();
	if (a->exec && (!a->exec->command || !a->exec->command[0]))
		abort();
	if ((a->cert.s || a->cert_file) && !a->key.s && !a->key_file)
		abort();
	if (!kube_access_method(a)[0])
		abort();
	rc = rest_place_make(&place, a, &err);
	if (rc)
		check_failure(rc, &err);
	else
		rest_place_release(&place);
}

static void check_contexts(const struct kubeconfig *k)
{
	struct kube_access a;
	struct err err = { 0 };
	size_t i;
	int rc;

	for (i = 0; i < 8; i++) {
		const char *context = i ? kubeconfig_context(k, i - 1) : NULL;

		if (i && !context)
			break;
		rc = kubeconfig_resolve(k, context, &a, &err);
		if (rc) {
			check_failure(rc, &err);
			continue;
		}
		check_access(&a);
		kube_access_release(&a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("kubeconfig", MFD_CLOEXEC), rc;
	struct kubeconfig *k = NULL;
	struct err err = { 0 };
	char path[64];
	const char *files[] = { path, "/nowhere/config" };

	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = kubeconfig_load(files, 2, &k, &err);
	close(fd);
	if (rc) {
		check_failure(rc, &err);
		return 0;
	}
	check_contexts(k);
	kubeconfig_free(k);
	return 0;
}
