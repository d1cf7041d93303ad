#include "config.h"

#include "source/etcd-source.h"
#include "base/mem.h"
#include "io/etcd.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Maintenance/Alarm with the action GET: an alarm of one member makes the whole cluster refuse
 * writes. etcd sends even this question through its raft log (v3_server.go), which is a write on
 * every member. So it is asked only where a member's status, which costs nothing, speaks of an
 * alarm, and until that is over.
 */

static const char *alarm_word(int32_t alarm)
{
	switch (alarm) {
	case 1:
		return "NOSPACE";
	case 2:
		return "CORRUPT";
	default:
		return "an unknown alarm";
	}
}

static void alarms_forget(struct etcd *e)
{
	while (e->n_alarms)
		free(e->alarms[--e->n_alarms]);
}

static void alarms_keep(struct etcd *e, const Etcdpb__AlarmResponse *answer)
{
	char text[80];
	size_t i;

	for (i = 0; i < answer->n_alarms && e->n_alarms < ARRAY_LEN(e->alarms); i++) {
		snprintf(text, sizeof(text), "%s member:%" PRIx64,
			alarm_word(answer->alarms[i]->alarm), answer->alarms[i]->memberid);
		e->alarms[e->n_alarms++] = xstrdup(text);
	}
}

static bool alarm_is_likely(const struct etcd *e)
{
	size_t i;

	for (i = 0; i < e->n_members; i++)
		if (e->members[i].errors && strstr(e->members[i].errors, "alarm:"))
			return true;
	return e->n_alarms > 0;
}

int etcd_read_alarms(struct etcd *e, int64_t deadline_ms, struct err *err)
{
	int64_t now_ms = http_loop_now_ms(e->loop);
	Etcdpb__AlarmResponse *answer = NULL;
	struct etcd_unary u;
	size_t before;
	int rc;

	if (!alarm_is_likely(e))
		return 0;
	if (e->alarms_ms != TIME_UNKNOWN && now_ms - e->alarms_ms < ETCD_STATUS_EVERY_MS)
		return 0;
	e->alarms_ms = now_ms;
	etcd_unary_init(&u, e->loop);
	rc = etcd_alarm_start(&u, etcd_channel(e), deadline_ms, err);
	if (!rc)
		rc = etcd_run(e, &u.done, deadline_ms, err);
	if (rc) {
		etcd_disconnect(e, false);
	} else if (u.code == GRPC_OK) {
		answer = etcdpb__alarm_response__unpack(
			NULL, u.answer.len, (const uint8_t *)u.answer.s);
	} else if (u.code == GRPC_PERMISSION_DENIED || strstr(u.err.text, "permission denied")) {
		/* Where only root may ask, the members' status still tells of alarms in its errors.
		 */
	} else {
		rc = etcd_failed(e, u.code, &u.err, err);
	}
	if (answer) {
		before = e->n_alarms;
		alarms_forget(e);
		alarms_keep(e, answer);
		e->self_changed = e->self_changed || before != e->n_alarms;
		etcdpb__alarm_response__free_unpacked(answer, NULL);
	}
	etcd_unary_release(&u);
	return rc;
}
