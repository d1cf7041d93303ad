#include "config.h"

#include "base/mem.h"
#include "base/str.h"
#include "control/audit.h"
#include "control/fleet.h"
#include "tui/actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void record_release(struct action_record *r)
{
	char **texts[] = { &r->at, &r->outcome_at, &r->id, &r->verb, &r->identity, &r->key,
		&r->request, &r->reason, &r->user, &r->host, &r->tty, &r->outcome, &r->answer,
		&r->overlap };
	size_t i;

	for (i = 0; i < ARRAY_LEN(texts); i++)
		free(*texts[i]);
}

static void actions_clear(struct actions *a)
{
	while (a->n)
		record_release(&a->at[--a->n]);
	a->error[0] = '\0';
	a->broken = 0;
}

void actions_release(struct actions *a)
{
	actions_clear(a);
	free(a->at);
	*a = (struct actions){ 0 };
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void take(void *arg, const struct audit_act *act)
{
	struct actions *a = arg;

	MEM_GROW(a->at, a->n, a->cap);
	a->at[a->n++] = (struct action_record){
		.n = act->n,
		.at = copy(act->at),
		.outcome_at = copy(act->outcome_at),
		.id = copy(act->id),
		.verb = copy(act->verb),
		.identity = copy(act->identity),
		.key = copy(act->key),
		.request = copy(act->request),
		.reason = copy(act->reason),
		.user = copy(act->user),
		.host = copy(act->host),
		.tty = copy(act->tty),
		.outcome = copy(act->outcome),
		.answer = copy(act->answer),
		.overlap = copy(act->overlap),
	};
}

/* What tells one state of the file from another, without reading it. */
static void file_stamp(const struct audit *audit, int64_t *ret_ns, int64_t *ret_size)
{
	struct str path;
	struct stat st;

	*ret_ns = *ret_size = 0;
	if (!audit->folder)
		return;
	str_init(&path, 8192);
	str_addf(&path, "%s/audit.jsonl", audit->folder);
	if (stat(path.s, &st) == 0) {
		*ret_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		*ret_size = (int64_t)st.st_size;
	}
	str_release(&path);
}

bool actions_refresh(struct actions *a, const char *folder, bool sim)
{
	struct audit audit;
	struct err err = { 0 };
	int64_t stamp_ns, size;
	bool anew;

	if (sim)
		audit_init_sim(&audit, folder);
	else
		audit_init(&audit, folder);
	file_stamp(&audit, &stamp_ns, &size);
	anew = !a->read || stamp_ns != a->stamp_ns || size != a->size;
	if (anew) {
		actions_clear(a);
		if (audit_acts(&audit, ACTIONS_MOST, take, a, &a->broken, &err) < 0)
			snprintf(a->error, sizeof(a->error), "%s", err.text);
		a->stamp_ns = stamp_ns;
		a->size = size;
		a->read = true;
	}
	audit_release(&audit);
	return anew;
}

bool actions_refresh_past(struct actions *a, struct fleet *fleet)
{
	int64_t n = (int64_t)fleet_recorded_acts(fleet);
	const char *none = "Nothing was done with baton up to this moment of the record, on the "
			   "machine where it was made.";

	if (a->read && n == a->size)
		return false;
	actions_clear(a);
	if (!fleet_each_recorded_act(fleet, ACTIONS_MOST, take, a))
		none = "Names were replaced in this record (--redact), and what was done is left "
		       "out.";
	if (!a->n)
		snprintf(a->error, sizeof(a->error), "%s", none);
	a->size = n;
	a->read = true;
	return true;
}
