#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <stdlib.h>
#include <string.h>

int etcd_discover(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	(void)e;
	(void)deadline_ms;
	(void)err;
	return 0;
}
