#include "config.h"

#include "source/kubernetes-object.h"
#include "base/civil.h"
#include "base/mem.h"
#include "io/json-read.h"

#include <stdlib.h>
#include <string.h>

/*
 * Where a field goes: one row for each that is kept. What a table does not name is walked over.
 * FUNC reads what is not one value, from the cursor that stands before it.
 */
enum field_type {
	FIELD_TEXT,
	FIELD_INT,
	FIELD_BOOL,
	FIELD_TIME,
	FIELD_FUNC
};

struct reading {
	struct json_read json;
	struct kube_reader *reader;
	const char *owner_kind; /* which owner matters; "": the first; NULL: none */
};

struct field {
	const char *name;
	enum field_type type;
	size_t at;
	void (*func)(struct reading *r, void *object);
};

#define TEXT(n, s, member)                                                         \
	{                                                                          \
		.name = (n), .type = FIELD_TEXT, .at = offsetof(struct s, member), \
	}
#define INT(n, s, member)                                                         \
	{                                                                         \
		.name = (n), .type = FIELD_INT, .at = offsetof(struct s, member), \
	}
#define BOOL(n, s, member)                                                         \
	{                                                                          \
		.name = (n), .type = FIELD_BOOL, .at = offsetof(struct s, member), \
	}
#define TIME(n, s, member)                                                         \
	{                                                                          \
		.name = (n), .type = FIELD_TIME, .at = offsetof(struct s, member), \
	}
#define FUNC(n, f)                                            \
	{                                                     \
		.name = (n), .type = FIELD_FUNC, .func = (f), \
	}
#define FIELDS_END           \
	{                    \
		.name = NULL \
	}

/* ---- texts ---- */

void kube_reader_release(struct kube_reader *r)
{
	free(r->texts);
	*r = (struct kube_reader){ 0 };
}

/* No text is longer decoded than as it stands there with its quotes, and none is read twice. */
static void reader_begin(struct kube_reader *r, size_t len)
{
	r->used = 0;
	if (r->size >= len + 1)
		return;
	r->size = len + len / 4 + 1024;
	free(r->texts);
	r->texts = xmalloc(r->size);
}

static struct kube_text reader_add(struct kube_reader *r, const struct json_text *text)
{
	struct kube_text ret = { 0 };
	char *to = r->texts + r->used;

	if (text->len >= r->size - r->used)
		return ret;
	ret.s = to;
	ret.len = (uint32_t)json_decode(to, text);
	to[ret.len] = '\0';
	r->used += ret.len + 1;
	return ret;
}

bool kube_text_eq(const struct kube_text *a, const struct kube_text *b)
{
	if (!a->s || !b->s)
		return !a->s && !b->s;
	return a->len == b->len && (a->s == b->s || memcmp(a->s, b->s, a->len) == 0);
}

bool kube_text_is(const struct kube_text *a, const char *word)
{
	return a->s && a->len == strlen(word) && memcmp(a->s, word, a->len) == 0;
}

/* ---- times ---- */

static bool time_digits(const char **at, const char *end, int n, int64_t *ret)
{
	int64_t value = 0;

	for (; n > 0; n--, (*at)++) {
		if (*at == end || **at < '0' || **at > '9')
			return false;
		value = value * 10 + (**at - '0');
	}
	*ret = value;
	return true;
}

static bool time_char(const char **at, const char *end, char c)
{
	if (*at == end || **at != c)
		return false;
	(*at)++;
	return true;
}

/* A fraction of a second, to microseconds. */
static bool time_fraction(const char **at, const char *end, int64_t *ret)
{
	int64_t scale = 100000, value = 0;
	const char *start;

	*ret = 0;
	if (!time_char(at, end, '.'))
		return true;
	for (start = *at; *at < end && **at >= '0' && **at <= '9'; (*at)++, scale /= 10)
		value += (**at - '0') * scale;
	*ret = value;
	return *at > start;
}

/* "Z" or "+01:00". */
static bool time_offset(const char **at, const char *end, int64_t *ret_s)
{
	int64_t hours, minutes;
	bool west;

	*ret_s = 0;
	if (time_char(at, end, 'Z'))
		return true;
	west = *at < end && **at == '-';
	if (!west && (*at == end || **at != '+'))
		return false;
	(*at)++;
	if (!time_digits(at, end, 2, &hours) || !time_char(at, end, ':') ||
		!time_digits(at, end, 2, &minutes))
		return false;
	*ret_s = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
	return true;
}

int64_t kube_time(const char *s, size_t len)
{
	const char *at = s, *end = s + len;
	int64_t year, month, day, hour, minute, second, us, offset_s;
	struct civil civil;

	if (!time_digits(&at, end, 4, &year) || !time_char(&at, end, '-') ||
		!time_digits(&at, end, 2, &month) || !time_char(&at, end, '-') ||
		!time_digits(&at, end, 2, &day) || !time_char(&at, end, 'T') ||
		!time_digits(&at, end, 2, &hour) || !time_char(&at, end, ':') ||
		!time_digits(&at, end, 2, &minute) || !time_char(&at, end, ':') ||
		!time_digits(&at, end, 2, &second) || !time_fraction(&at, end, &us) ||
		!time_offset(&at, end, &offset_s) || at != end)
		return TIME_UNKNOWN;
	/* As Go's time.Parse has it, which wrote these: no 24:00, no leap second. */
	if (month < 1 || month > 12 || day < 1 || day > civil_month_days(year, (int)month) ||
		hour > 23 || minute > 59 || second > 59)
		return TIME_UNKNOWN;
	civil = (struct civil){
		.year = year,
		.month = (int)month,
		.day = (int)day,
		.hour = (int)hour,
		.minute = (int)minute,
		.second = (int)second,
	};
	return (civil_seconds(&civil) - offset_s) * 1000000 + us;
}

/* ---- fields ---- */

static void read_field(struct reading *r, void *object, const struct field *f)
{
	void *to = (char *)object + f->at;
	struct json_text text;

	switch (f->type) {
	case FIELD_TEXT:
		if (json_read_string(&r->json, &text))
			*(struct kube_text *)to = reader_add(r->reader, &text);
		break;
	case FIELD_INT:
		json_read_int(&r->json, to);
		break;
	case FIELD_BOOL:
		json_read_bool(&r->json, to);
		break;
	case FIELD_TIME:
		if (json_read_string(&r->json, &text))
			*(int64_t *)to = kube_time(text.s, text.len);
		break;
	case FIELD_FUNC:
		f->func(r, object);
		break;
	}
}

/* Reads an object by a table. */
static void read_fields(struct reading *r, void *object, const struct field *fields)
{
	const struct field *f;
	struct json_text name;

	if (!json_read_object(&r->json))
		return;
	while (json_read_member(&r->json, &name)) {
		for (f = fields; f->name && !json_is(&name, f->name); f++)
			continue;
		if (f->name)
			read_field(r, object, f);
		else
			json_skip(&r->json);
	}
}

static struct reading reading_begin(
	struct kube_reader *reader, const char *json, size_t len, const char *owner_kind)
{
	struct reading r = { .reader = reader, .owner_kind = owner_kind };

	reader_begin(reader, len);
	json_read_init(&r.json, json, len);
	return r;
}

/* ---- metadata ---- */

struct owner {
	struct kube_text kind, name, uid;
};

static const struct field owner_fields[] = {
	TEXT("kind", owner, kind),
	TEXT("name", owner, name),
	TEXT("uid", owner, uid),
	FIELDS_END,
};

static void read_owners(struct reading *r, void *object)
{
	struct kube_head *head = object;

	if (!json_read_array(&r->json))
		return;
	while (json_read_item(&r->json)) {
		struct owner owner = { 0 };

		read_fields(r, &owner, owner_fields);
		if (!r->owner_kind || head->owner_uid.s ||
			(*r->owner_kind && !kube_text_is(&owner.kind, r->owner_kind)))
			continue;
		head->owner_name = owner.name;
		head->owner_uid = owner.uid;
	}
}

static void read_finalizers(struct reading *r, void *object)
{
	struct kube_head *head = object;
	const char *start = r->reader->texts + r->reader->used;
	struct json_text text;
	size_t n = 0;

	if (!json_read_array(&r->json))
		return;
	while (json_read_item(&r->json))
		if (json_read_string(&r->json, &text) && n < KUBE_FINALIZERS_MAX) {
			reader_add(r->reader, &text);
			n++;
		}
	head->finalizers = (struct kube_text){ .s = start,
		.len = (uint32_t)(r->reader->texts + r->reader->used - start) };
}

static const struct field head_fields[] = {
	TEXT("name", kube_head, name),
	TEXT("namespace", kube_head, ns),
	TEXT("uid", kube_head, uid),
	TEXT("resourceVersion", kube_head, version),
	TIME("creationTimestamp", kube_head, created_us),
	TIME("deletionTimestamp", kube_head, deleted_us),
	INT("generation", kube_head, generation),
	FUNC("ownerReferences", read_owners),
	FUNC("finalizers", read_finalizers),
	FIELDS_END,
};

static void read_head(struct reading *r, void *object)
{
	read_fields(r, object, head_fields);
}

static const struct kube_head head_unknown = {
	.created_us = TIME_UNKNOWN, .deleted_us = TIME_UNKNOWN, .generation = -1
};

static bool head_is_whole(const struct reading *r, const struct kube_head *head)
{
	return !r->json.bad && head->name.s && head->name.len && head->uid.s && head->uid.len;
}

/* A namespaced object has a namespace as well. */
static bool object_is_whole(const struct reading *r, const struct kube_head *head)
{
	return head_is_whole(r, head) && head->ns.s && head->ns.len;
}

/* ---- CronJob ---- */

static void read_active(struct reading *r, void *object)
{
	struct kube_cronjob *c = object;
	const char *start = r->reader->texts + r->reader->used;

	if (!json_read_array(&r->json))
		return;
	while (json_read_item(&r->json)) {
		struct owner one = { 0 };
		size_t used = r->reader->used;
		struct kube_text uid, name;

		read_fields(r, &one, owner_fields);
		uid = one.uid;
		name = one.name;
		if (c->n_active++ >= KUBE_LIST_MAX || !uid.s || !name.s) {
			r->reader->used = used;
			continue;
		}
		/* Their order in the text is the server's: put the two in ours, closely. */
		if (uid.len + name.len + 2 <= r->reader->used - used) {
			char pair[1024];

			if (uid.len + name.len + 2 > sizeof(pair)) {
				r->reader->used = used;
				continue;
			}
			memcpy(pair, uid.s, uid.len + 1);
			memcpy(pair + uid.len + 1, name.s, name.len + 1);
			memcpy(r->reader->texts + used, pair, uid.len + name.len + 2);
			r->reader->used = used + uid.len + name.len + 2;
		}
	}
	c->active = (struct kube_text){ .s = start,
		.len = (uint32_t)(r->reader->texts + r->reader->used - start) };
}

static const struct field cronjob_spec[] = {
	TEXT("schedule", kube_cronjob, schedule),
	TEXT("timeZone", kube_cronjob, zone),
	TEXT("concurrencyPolicy", kube_cronjob, policy),
	BOOL("suspend", kube_cronjob, suspended),
	INT("startingDeadlineSeconds", kube_cronjob, deadline_s),
	FIELDS_END,
};

static const struct field cronjob_status[] = {
	TIME("lastScheduleTime", kube_cronjob, last_schedule_us),
	TIME("lastSuccessfulTime", kube_cronjob, last_success_us),
	FUNC("active", read_active),
	FIELDS_END,
};

static void read_cronjob_spec(struct reading *r, void *object)
{
	read_fields(r, object, cronjob_spec);
}

static void read_cronjob_status(struct reading *r, void *object)
{
	read_fields(r, object, cronjob_status);
}

static const struct field cronjob_fields[] = {
	FUNC("metadata", read_head),
	FUNC("spec", read_cronjob_spec),
	FUNC("status", read_cronjob_status),
	FIELDS_END,
};

bool kube_read_cronjob(
	struct kube_reader *reader, const char *json, size_t len, struct kube_cronjob *ret)
{
	struct reading r = reading_begin(reader, json, len, NULL);

	*ret = (struct kube_cronjob){
		.head = head_unknown,
		.deadline_s = TIME_UNKNOWN,
		.last_schedule_us = TIME_UNKNOWN,
		.last_success_us = TIME_UNKNOWN,
	};
	read_fields(&r, ret, cronjob_fields);
	return object_is_whole(&r, &ret->head);
}

/* ---- Job ---- */

struct condition {
	struct kube_text type, status, reason;
	int64_t at_us;
};

static const struct field condition_fields[] = {
	TEXT("type", condition, type),
	TEXT("status", condition, status),
	TEXT("reason", condition, reason),
	TIME("lastTransitionTime", condition, at_us),
	FIELDS_END,
};

/* FailureTarget and SuccessCriteriaMet only announce: the Job is over with Failed or Complete. */
static void read_job_conditions(struct reading *r, void *object)
{
	struct kube_job *job = object;

	if (!json_read_array(&r->json))
		return;
	while (json_read_item(&r->json)) {
		struct condition c = { .at_us = TIME_UNKNOWN };
		bool complete;

		read_fields(r, &c, condition_fields);
		complete = kube_text_is(&c.type, "Complete");
		if (!kube_text_is(&c.status, "True") ||
			(!complete && !kube_text_is(&c.type, "Failed")))
			continue;
		job->state = complete ? RUN_SUCCEEDED : RUN_FAILED;
		if (!complete)
			job->reason = c.reason;
		if (job->end_us == TIME_UNKNOWN)
			job->end_us = c.at_us;
	}
}

static void read_job_annotations(struct reading *r, void *object)
{
	struct kube_job *job = object;
	struct json_text name, text;

	if (!json_read_object(&r->json))
		return;
	while (json_read_member(&r->json, &name)) {
		if (json_is(&name, "batch.kubernetes.io/cronjob-scheduled-timestamp")) {
			if (json_read_string(&r->json, &text))
				job->slot = reader_add(r->reader, &text);
		} else if (json_is(&name, "cronjob.kubernetes.io/instantiate")) {
			if (json_read_string(&r->json, &text))
				job->manual = json_is(&text, "manual");
		} else {
			json_skip(&r->json);
		}
	}
}

static void read_job_pod_spec(struct reading *r, void *object)
{
	static const struct field fields[] = {
		TEXT("restartPolicy", kube_job, restart_policy),
		INT("terminationGracePeriodSeconds", kube_job, grace_s),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_job_template(struct reading *r, void *object)
{
	static const struct field fields[] = {
		FUNC("spec", read_job_pod_spec),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_job_head(struct reading *r, void *object)
{
	static const struct field fields[] = {
		TEXT("name", kube_head, name),
		TEXT("namespace", kube_head, ns),
		TEXT("uid", kube_head, uid),
		TEXT("resourceVersion", kube_head, version),
		TIME("creationTimestamp", kube_head, created_us),
		TIME("deletionTimestamp", kube_head, deleted_us),
		INT("generation", kube_head, generation),
		FUNC("ownerReferences", read_owners),
		FUNC("finalizers", read_finalizers),
		/* A Job begins with its head, so that both are one object here. */
		FUNC("annotations", read_job_annotations),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_job_spec(struct reading *r, void *object)
{
	static const struct field fields[] = {
		INT("parallelism", kube_job, parallelism),
		INT("completions", kube_job, completions),
		INT("backoffLimit", kube_job, backoff_limit),
		INT("activeDeadlineSeconds", kube_job, deadline_s),
		BOOL("suspend", kube_job, suspended),
		TEXT("podReplacementPolicy", kube_job, replacement_policy),
		FUNC("template", read_job_template),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_job_status(struct reading *r, void *object)
{
	static const struct field fields[] = {
		INT("active", kube_job, active),
		INT("succeeded", kube_job, succeeded),
		INT("failed", kube_job, failed),
		INT("terminating", kube_job, terminating),
		TIME("startTime", kube_job, start_us),
		TIME("completionTime", kube_job, end_us),
		FUNC("conditions", read_job_conditions),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

_Static_assert(offsetof(struct kube_job, head) == 0, "read_job_head reads both as one");

bool kube_read_job(struct kube_reader *reader, const char *json, size_t len, struct kube_job *ret)
{
	static const struct field fields[] = {
		FUNC("metadata", read_job_head),
		FUNC("spec", read_job_spec),
		FUNC("status", read_job_status),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, "CronJob");

	*ret = (struct kube_job){
		.head = head_unknown,
		.start_us = TIME_UNKNOWN,
		.end_us = TIME_UNKNOWN,
		.deadline_s = TIME_UNKNOWN,
		.grace_s = KUBE_GRACE_S,
		.parallelism = -1,
		.completions = -1,
		.backoff_limit = -1,
		.active = -1,
		.succeeded = -1,
		.failed = -1,
		.terminating = -1,
		.state = RUN_RUNNING,
	};
	read_fields(&r, ret, fields);
	return object_is_whole(&r, &ret->head);
}

/* ---- Pod ---- */

/* What of a pod's parts makes its one reason: the first that is there, from the top. */
enum why {
	WHY_POD,         /* status.reason: Evicted, NodeLost */
	WHY_WAITING,     /* a container that can't start: ImagePullBackOff */
	WHY_UNSCHEDULED, /* the scheduler's word */
	WHY_ENDED,       /* a container that ended badly: OOMKilled, Error */
	WHY_STARTING,    /* ContainerCreating, PodInitializing */
	WHY_COUNT
};

struct pod_reading {
	struct kube_pod *pod;
	struct kube_text why[WHY_COUNT];
	int64_t restarts;
	int64_t n_containers, n_waiting, n_running;
	int64_t end_us;
};

/* One state of a container: running, waiting, terminated. */
struct container_state {
	struct kube_text reason;
	int64_t started_us, finished_us, exit_code;
};

static const struct field container_state_fields[] = {
	TEXT("reason", container_state, reason),
	TIME("startedAt", container_state, started_us),
	TIME("finishedAt", container_state, finished_us),
	INT("exitCode", container_state, exit_code),
	FIELDS_END,
};

static struct container_state read_container_state(struct reading *r)
{
	struct container_state s = { .started_us = TIME_UNKNOWN, .finished_us = TIME_UNKNOWN };

	read_fields(r, &s, container_state_fields);
	return s;
}

static void pod_why(struct pod_reading *p, enum why why, const struct kube_text *reason)
{
	if (!p->why[why].s && reason->s && reason->len)
		p->why[why] = *reason;
}

static void read_running(struct reading *r, void *object)
{
	struct pod_reading *p = object;
	struct container_state s = read_container_state(r);

	p->n_running++;
	if (s.started_us != TIME_UNKNOWN && (p->pod->running_since_us == TIME_UNKNOWN ||
						    s.started_us < p->pod->running_since_us))
		p->pod->running_since_us = s.started_us;
	if (s.started_us > p->pod->containers_started_us)
		p->pod->containers_started_us = s.started_us;
}

static void read_waiting(struct reading *r, void *object)
{
	struct pod_reading *p = object;
	struct container_state s = read_container_state(r);
	bool starting = kube_text_is(&s.reason, "ContainerCreating") ||
			kube_text_is(&s.reason, "PodInitializing");

	p->n_waiting++;
	pod_why(p, starting ? WHY_STARTING : WHY_WAITING, &s.reason);
}

static void read_terminated(struct reading *r, void *object)
{
	struct pod_reading *p = object;
	struct container_state s = read_container_state(r);

	if (s.exit_code)
		pod_why(p, WHY_ENDED, &s.reason);
	if (s.finished_us > p->end_us)
		p->end_us = s.finished_us;
	if (s.started_us > p->pod->containers_started_us)
		p->pod->containers_started_us = s.started_us;
}

static void read_container_now(struct reading *r, void *object)
{
	static const struct field fields[] = {
		FUNC("running", read_running),
		FUNC("waiting", read_waiting),
		FUNC("terminated", read_terminated),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_containers(struct reading *r, void *object)
{
	static const struct field fields[] = {
		INT("restartCount", pod_reading, restarts),
		FUNC("state", read_container_now),
		FIELDS_END,
	};
	struct pod_reading *p = object;

	if (!json_read_array(&r->json))
		return;
	while (json_read_item(&r->json)) {
		int64_t before = p->restarts;

		p->restarts = 0;
		read_fields(r, p, fields);
		p->n_containers++;
		if (p->restarts < 0 || __builtin_add_overflow(before, p->restarts, &p->restarts) ||
			p->restarts > INT32_MAX)
			p->restarts = before;
	}
}

static void read_pod_conditions(struct reading *r, void *object)
{
	struct pod_reading *p = object;

	if (!json_read_array(&r->json))
		return;
	while (json_read_item(&r->json)) {
		struct condition c = { .at_us = TIME_UNKNOWN };

		read_fields(r, &c, condition_fields);
		if (kube_text_is(&c.type, "PodScheduled") && kube_text_is(&c.status, "False"))
			pod_why(p, WHY_UNSCHEDULED, &c.reason);
	}
}

static void read_pod_phase(struct reading *r, void *object)
{
	struct pod_reading *p = object;
	struct json_text text;
	char word[16];

	if (!json_read_string(&r->json, &text) || text.len >= sizeof(word))
		return;
	word[json_decode(word, &text)] = '\0';
	p->pod->phase = pod_phase_from_word(word);
}

static void read_pod_start(struct reading *r, void *object)
{
	struct pod_reading *p = object;
	struct json_text text;

	if (json_read_string(&r->json, &text))
		p->pod->start_us = kube_time(text.s, text.len);
}

static void read_pod_reason(struct reading *r, void *object)
{
	struct pod_reading *p = object;
	struct json_text text;

	if (json_read_string(&r->json, &text))
		p->why[WHY_POD] = reader_add(r->reader, &text);
}

static void read_pod_status(struct reading *r, void *object)
{
	static const struct field fields[] = {
		FUNC("phase", read_pod_phase),
		FUNC("reason", read_pod_reason),
		FUNC("startTime", read_pod_start),
		FUNC("conditions", read_pod_conditions),
		FUNC("initContainerStatuses", read_containers),
		FUNC("containerStatuses", read_containers),
		FUNC("ephemeralContainerStatuses", read_containers),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_pod_spec(struct reading *r, void *object)
{
	static const struct field fields[] = {
		TEXT("nodeName", kube_pod, node),
		BOOL("hostNetwork", kube_pod, host_network),
		FIELDS_END,
	};

	read_fields(r, ((struct pod_reading *)object)->pod, fields);
}

static void read_pod_head(struct reading *r, void *object)
{
	read_head(r, &((struct pod_reading *)object)->pod->head);
}

static void pod_settle(struct pod_reading *p)
{
	struct kube_pod *pod = p->pod;
	int why;

	for (why = 0; why < WHY_COUNT && !pod->reason.s; why++)
		pod->reason = p->why[why];
	if (p->n_containers) {
		pod->containers_running = (int32_t)p->n_running;
		pod->restarts = (int32_t)p->restarts;
	}
	if (!p->n_running && !p->n_waiting)
		pod->end_us = p->end_us;
	if (pod->start_us == TIME_UNKNOWN)
		pod->start_us = pod->head.created_us;
}

static bool read_pod(struct kube_reader *reader, const char *json, size_t len,
	const char *owner_kind, struct kube_pod *ret)
{
	static const struct field fields[] = {
		FUNC("metadata", read_pod_head),
		FUNC("spec", read_pod_spec),
		FUNC("status", read_pod_status),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, owner_kind);
	struct pod_reading p = { .pod = ret, .end_us = TIME_UNKNOWN };

	*ret = (struct kube_pod){
		.head = head_unknown,
		.start_us = TIME_UNKNOWN,
		.end_us = TIME_UNKNOWN,
		.containers_started_us = TIME_UNKNOWN,
		.running_since_us = TIME_UNKNOWN,
		.containers_running = -1,
		.restarts = -1,
	};
	read_fields(&r, &p, fields);
	pod_settle(&p);
	return object_is_whole(&r, &ret->head);
}

bool kube_read_pod(struct kube_reader *reader, const char *json, size_t len, struct kube_pod *ret)
{
	return read_pod(reader, json, len, "Job", ret);
}

bool kube_read_any_pod(
	struct kube_reader *reader, const char *json, size_t len, struct kube_pod *ret)
{
	return read_pod(reader, json, len, "", ret);
}

/* ---- Lease ---- */

/*
 * What API servers and nodes renew to be seen, without an election: nodes' Leases are in
 * kube-node-lease; an API server's have a label (apiserver.kubernetes.io/identity since 1.26,
 * k8s.io/component before).
 */
static void read_lease_labels(struct reading *r, void *object)
{
	struct kube_lease *lease = object;
	struct json_text name, text;

	if (!json_read_object(&r->json))
		return;
	while (json_read_member(&r->json, &name)) {
		bool component = json_is(&name, "k8s.io/component");

		if (json_is(&name, "apiserver.kubernetes.io/identity"))
			lease->heartbeat = true;
		if (!component)
			json_skip(&r->json);
		else if (json_read_string(&r->json, &text) && json_is(&text, "kube-apiserver"))
			lease->heartbeat = true;
	}
}

static void read_lease_head(struct reading *r, void *object)
{
	static const struct field fields[] = {
		TEXT("name", kube_head, name),
		TEXT("namespace", kube_head, ns),
		TEXT("uid", kube_head, uid),
		TEXT("resourceVersion", kube_head, version),
		TIME("creationTimestamp", kube_head, created_us),
		TIME("deletionTimestamp", kube_head, deleted_us),
		FUNC("finalizers", read_finalizers),
		FUNC("labels", read_lease_labels),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

static void read_lease_spec(struct reading *r, void *object)
{
	static const struct field fields[] = {
		TEXT("holderIdentity", kube_lease, holder),
		TEXT("strategy", kube_lease, strategy),
		TEXT("preferredHolder", kube_lease, preferred),
		TIME("renewTime", kube_lease, renew_us),
		TIME("acquireTime", kube_lease, acquire_us),
		INT("leaseDurationSeconds", kube_lease, duration_s),
		INT("leaseTransitions", kube_lease, transitions),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

_Static_assert(offsetof(struct kube_lease, head) == 0, "read_lease_head reads both as one");

static bool text_starts(const struct kube_text *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return text->s && text->len >= len && memcmp(text->s, prefix, len) == 0;
}

bool kube_read_lease(
	struct kube_reader *reader, const char *json, size_t len, struct kube_lease *ret)
{
	static const struct field fields[] = {
		FUNC("metadata", read_lease_head),
		FUNC("spec", read_lease_spec),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, NULL);

	*ret = (struct kube_lease){
		.head = head_unknown,
		.renew_us = TIME_UNKNOWN,
		.acquire_us = TIME_UNKNOWN,
		.duration_s = TIME_UNKNOWN,
	};
	read_fields(&r, ret, fields);
	/* The API's type is an int32; others would only overflow. */
	if (ret->duration_s != TIME_UNKNOWN && ret->duration_s < 0)
		ret->duration_s = 0;
	if (ret->duration_s > INT32_MAX && ret->duration_s != TIME_UNKNOWN)
		ret->duration_s = INT32_MAX;
	if (kube_text_is(&ret->head.ns, "kube-node-lease") ||
		(kube_text_is(&ret->head.ns, "kube-system") &&
			text_starts(&ret->head.name, "kube-apiserver-")))
		ret->heartbeat = true;
	return object_is_whole(&r, &ret->head);
}

/* ---- a node, as a row of a Table ---- */

/* "Ready", "NotReady", "Ready,SchedulingDisabled". */
static void read_node_cells(struct reading *r, void *object)
{
	struct kube_node *node = object;
	struct json_text text;
	size_t i;

	if (!json_read_array(&r->json))
		return;
	for (i = 0; json_read_item(&r->json); i++) {
		if (i > 1 || !json_read_string(&r->json, &text)) {
			if (i > 1)
				json_skip(&r->json);
			continue;
		}
		if (i == 0) {
			node->name = reader_add(r->reader, &text);
			continue;
		}
		if (text.len >= 5 && memcmp(text.s, "Ready", 5) == 0)
			node->ready = TRI_YES;
		else if (text.len >= 8 && memcmp(text.s, "NotReady", 8) == 0)
			node->ready = TRI_NO;
	}
}

bool kube_read_node(struct kube_reader *reader, const char *json, size_t len, struct kube_node *ret)
{
	static const struct field fields[] = {
		FUNC("cells", read_node_cells),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, NULL);

	*ret = (struct kube_node){ .ready = TRI_UNKNOWN };
	read_fields(&r, ret, fields);
	return !r.json.bad && ret->name.s && ret->name.len;
}

/* ---- Event, LeaseCandidate ---- */

struct event_reading {
	struct kube_event event;
	int64_t first_us, event_us, last_us, series_us;
	int64_t series_count;
};

static void read_event_head(struct reading *r, void *object)
{
	read_head(r, &((struct event_reading *)object)->event.head);
}

static void read_event_series(struct reading *r, void *object)
{
	static const struct field fields[] = {
		INT("count", event_reading, series_count),
		TIME("lastObservedTime", event_reading, series_us),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

bool kube_read_event(
	struct kube_reader *reader, const char *json, size_t len, struct kube_event *ret)
{
	static const struct field fields[] = {
		FUNC("metadata", read_event_head),
		TEXT("reason", event_reading, event.reason),
		TEXT("message", event_reading, event.message),
		TEXT("type", event_reading, event.type),
		TIME("firstTimestamp", event_reading, first_us),
		TIME("lastTimestamp", event_reading, last_us),
		TIME("eventTime", event_reading, event_us),
		INT("count", event_reading, event.count),
		FUNC("series", read_event_series),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, NULL);
	struct event_reading e = {
		.event = { .head = head_unknown, .count = 0 },
		.first_us = TIME_UNKNOWN,
		.event_us = TIME_UNKNOWN,
		.last_us = TIME_UNKNOWN,
		.series_us = TIME_UNKNOWN,
	};
	int64_t at_us;

	read_fields(&r, &e, fields);
	at_us = e.series_us;
	at_us = at_us == TIME_UNKNOWN ? e.last_us : at_us;
	at_us = at_us == TIME_UNKNOWN ? e.event_us : at_us;
	at_us = at_us == TIME_UNKNOWN ? e.first_us : at_us;
	*ret = e.event;
	ret->at_us = at_us == TIME_UNKNOWN ? e.event.head.created_us : at_us;
	if (e.series_count > ret->count)
		ret->count = e.series_count;
	return object_is_whole(&r, &ret->head);
}

bool kube_read_candidate(
	struct kube_reader *reader, const char *json, size_t len, struct kube_candidate *ret)
{
	static const struct field spec[] = {
		TEXT("leaseName", kube_candidate, lease),
		TIME("renewTime", kube_candidate, renew_us),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, NULL);
	struct json_text name;

	*ret = (struct kube_candidate){ .head = head_unknown, .renew_us = TIME_UNKNOWN };
	if (!json_read_object(&r.json))
		return false;
	while (json_read_member(&r.json, &name)) {
		if (json_is(&name, "metadata"))
			read_head(&r, &ret->head);
		else if (json_is(&name, "spec"))
			read_fields(&r, ret, spec);
		else
			json_skip(&r.json);
	}
	return object_is_whole(&r, &ret->head);
}

/* ---- lists, watches, failures ---- */

struct list_meta {
	struct kube_text version, next;
};

static const struct field list_meta_fields[] = {
	TEXT("resourceVersion", list_meta, version),
	TEXT("continue", list_meta, next),
	FIELDS_END,
};

void kube_read_list_meta(struct kube_reader *reader, const char *json, size_t len,
	struct kube_text *ret_version, struct kube_text *ret_continue)
{
	struct reading r = reading_begin(reader, json, len, NULL);
	struct list_meta meta = { 0 };

	read_fields(&r, &meta, list_meta_fields);
	*ret_version = meta.version.s ? meta.version : (struct kube_text){ .s = "" };
	*ret_continue = meta.next.s ? meta.next : (struct kube_text){ .s = "" };
}

void kube_read_uid(
	struct kube_reader *reader, const char *json, size_t len, struct kube_text *ret_uid)
{
	struct reading r = reading_begin(reader, json, len, NULL);
	struct kube_head head = head_unknown;

	read_head(&r, &head);
	*ret_uid = head.uid;
}

static void read_list_meta(struct reading *r, void *object)
{
	read_fields(r, object, list_meta_fields);
}

bool kube_read_version(
	struct kube_reader *reader, const char *json, size_t len, struct kube_text *ret_version)
{
	static const struct field fields[] = {
		FUNC("metadata", read_list_meta),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, NULL);
	struct list_meta meta = { 0 };

	read_fields(&r, &meta, fields);
	if (r.json.bad || !meta.version.s || !meta.version.len)
		return false;
	*ret_version = meta.version;
	return true;
}

static enum kube_event_type event_type(const struct json_text *text)
{
	static const char *const words[] = {
		[KUBE_ADDED] = "ADDED",
		[KUBE_MODIFIED] = "MODIFIED",
		[KUBE_DELETED] = "DELETED",
		[KUBE_BOOKMARK] = "BOOKMARK",
		[KUBE_ERROR] = "ERROR",
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(words); i++)
		if (json_is(text, words[i]))
			return (enum kube_event_type)i;
	return KUBE_OTHER;
}

bool kube_read_watch(const char *json, size_t len, enum kube_event_type *ret_type,
	const char **ret_object, size_t *ret_len)
{
	struct json_text name, text, object = { .s = NULL };
	enum kube_event_type type = KUBE_OTHER;
	struct json_read r;

	json_read_init(&r, json, len);
	if (!json_read_object(&r))
		return false;
	while (json_read_member(&r, &name)) {
		if (json_is(&name, "object"))
			object = json_raw(&r);
		else if (!json_is(&name, "type"))
			json_skip(&r);
		else if (json_read_string(&r, &text))
			type = event_type(&text);
	}
	if (r.bad || !object.s || !object.len)
		return false;
	*ret_type = type;
	*ret_object = object.s;
	*ret_len = object.len;
	return true;
}

static void read_status_details(struct reading *r, void *object)
{
	static const struct field fields[] = {
		INT("retryAfterSeconds", kube_status, retry_after_s),
		FIELDS_END,
	};

	read_fields(r, object, fields);
}

bool kube_read_status(
	struct kube_reader *reader, const char *json, size_t len, struct kube_status *ret)
{
	static const struct field fields[] = {
		INT("code", kube_status, code),
		TEXT("reason", kube_status, reason),
		TEXT("message", kube_status, message),
		FUNC("details", read_status_details),
		FIELDS_END,
	};
	struct reading r = reading_begin(reader, json, len, NULL);

	*ret = (struct kube_status){ .retry_after_s = -1 };
	read_fields(&r, ret, fields);
	return !r.json.bad && ret->code;
}

/* ---- the slot of a run ---- */

/* Minutes since the epoch have eight digits from 1989 to 2160, seconds have ten from 2001 to 2286.
 */
static int64_t slot_of_suffix(const char *s, size_t len, const char **ret_from)
{
	int64_t value = 0;
	size_t i;

	if (len != 8 && len != 10)
		return TIME_UNKNOWN;
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return TIME_UNKNOWN;
		value = value * 10 + (s[i] - '0');
	}
	if (s[0] == '0')
		return TIME_UNKNOWN;
	*ret_from = len == 8 ? "name (minutes)" : "name (seconds)";
	return value * (len == 8 ? 60 : 1) * 1000000;
}

int64_t kube_job_slot(const struct kube_job *job, const char **ret_from)
{
	const struct kube_text *name = &job->head.name, *owner = &job->head.owner_name;
	int64_t slot_us;

	*ret_from = NULL;
	if (job->slot.s) {
		slot_us = kube_time(job->slot.s, job->slot.len);
		if (slot_us != TIME_UNKNOWN) {
			*ret_from = "annotation";
			return slot_us;
		}
	}
	if (job->manual || !owner->s || name->len <= owner->len + 1 ||
		memcmp(name->s, owner->s, owner->len) != 0 || name->s[owner->len] != '-')
		return TIME_UNKNOWN;
	return slot_of_suffix(name->s + owner->len + 1, name->len - owner->len - 1, ret_from);
}
