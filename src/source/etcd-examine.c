#include "config.h"

#include "source/etcd-source.h"

int etcd_examine(void *state, struct round *r, struct report *report, struct err *err)
{
	(void)state;
	(void)r;
	(void)report;
	return err_set(err, ERR_UNSUPPORTED, "not yet");
}
