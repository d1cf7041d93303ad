#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "io/kube-exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a credential plugin prints. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kube_exec exec = { .version = KUBE_EXEC_V1,
		.command = (char *)(uintptr_t) "plugin" };
	struct kube_grant grant;
	struct err err = { 0 };
	int rc = kube_grant_parse(&grant, &exec, (const char *)data, size, &err);

	if (rc) {
		if (rc != ERR_AUTH || err.code != rc || !err.text[0])
			abort();
		return 0;
	}
	if (!grant.token && !grant.cert.s)
		abort();
	if (!grant.cert.s != !grant.key.s)
		abort();
	if (grant.token && (!grant.token[0] || grant.token[strcspn(grant.token, "\r\n")]))
		abort();
	kube_grant_release(&grant);
	return 0;
}
