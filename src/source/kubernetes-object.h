#ifndef SOURCE_KUBERNETES_OBJECT_H
#define SOURCE_KUBERNETES_OBJECT_H

#include "model/singleton.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The facts that are kept of the API's objects, and how they are read from their JSON. Pure: the
 * fields are those of the API reference (batch/v1 and v1beta1 CronJob, batch/v1 Job, core/v1 Pod
 * and Event, coordination.k8s.io/v1 Lease and v1beta1 LeaseCandidate, meta/v1 Table, Status and
 * WatchEvent). All else of an object is walked over.
 *
 * Texts are raw bytes of the server, ended by a NUL that is not counted. Times are microseconds of
 * the wall clock of whoever wrote them, TIME_UNKNOWN where there is none.
 */
struct kube_text {
	const char *s; /* NULL: not there */
	uint32_t len;
};

enum {
	KUBE_TEXTS_MAX = 20,     /* in one kind of object */
	KUBE_LIST_MAX = 512,     /* entries that are kept of one list */
	KUBE_FINALIZERS_MAX = 8, /* ... of the finalizers */
	KUBE_GRACE_S =
		30 /* terminationGracePeriodSeconds where it is not set (the API's PodSpec) */
};

/* metadata */
struct kube_head {
	struct kube_text name, ns, uid, version; /* version: resourceVersion */
	struct kube_text owner_name, owner_uid; /* the controlling owner of the kind that matters */
	struct kube_text finalizers;            /* several, each ended by a NUL */
	int64_t created_us, deleted_us;
	int64_t generation; /* -1: not said */
};

struct kube_cronjob {
	struct kube_head head;
	struct kube_text schedule, zone, policy;
	struct kube_text
		active;     /* uid, name, uid, name ... of status.active, each ended by a NUL */
	int64_t n_active;   /* how many it lists */
	int64_t deadline_s; /* startingDeadlineSeconds; TIME_UNKNOWN: none */
	int64_t last_schedule_us, last_success_us;
	bool suspended;
};

struct kube_job {
	struct kube_head head; /* its owner is a CronJob */
	struct kube_text slot; /* the annotation of the scheduled time */
	struct kube_text reason;
	struct kube_text restart_policy, replacement_policy;
	int64_t start_us, end_us, deadline_s;
	int64_t grace_s; /* terminationGracePeriodSeconds of its pods */
	/* -1: not said */
	int64_t parallelism, completions, backoff_limit, active, succeeded, failed, terminating;
	enum run_state state;
	bool manual, suspended;
};

struct kube_pod {
	struct kube_head head; /* its owner is a Job */
	struct kube_text node, reason;
	int64_t start_us, end_us;
	int64_t containers_started_us; /* when a container of it last started */
	int64_t running_since_us;      /* when the first of those that run now started */
	int32_t containers_running, restarts;
	enum pod_phase phase;
	bool host_network;
};

struct kube_lease {
	struct kube_head head;
	struct kube_text holder, strategy, preferred; /* holder: "" is vacant, as absent is */
	int64_t renew_us, acquire_us;
	int64_t duration_s;  /* TIME_UNKNOWN: none */
	int64_t transitions; /* absent counts as 0, as the API's clients count it */
	bool heartbeat;      /* of a node or an API server: no election */
};

struct kube_node {
	struct kube_text name;
	enum tristate ready;
};

/* An Event about an object. */
struct kube_event {
	struct kube_head head;
	struct kube_text reason, message, type;
	int64_t at_us; /* when it last happened */
	int64_t count;
};

struct kube_candidate {
	struct kube_head head;
	struct kube_text lease;
	int64_t renew_us;
};

/*
 * Reads objects one after the other: its memory serves all. What is read lives until the next
 * object is read. Each returns false where the text is no such object: no JSON, cut, or without a
 * name and a uid.
 */
struct kube_reader {
	char *texts;
	size_t used, size;
};

void kube_reader_release(struct kube_reader *r);

bool kube_read_cronjob(
	struct kube_reader *r, const char *json, size_t len, struct kube_cronjob *ret);
bool kube_read_job(struct kube_reader *r, const char *json, size_t len, struct kube_job *ret);
bool kube_read_pod(struct kube_reader *r, const char *json, size_t len, struct kube_pod *ret);
/* The same, of whatever owner. */
bool kube_read_any_pod(struct kube_reader *r, const char *json, size_t len, struct kube_pod *ret);
bool kube_read_lease(struct kube_reader *r, const char *json, size_t len, struct kube_lease *ret);
/* A row of a Table of nodes: its first cell is the name, its second the status. */
bool kube_read_node(struct kube_reader *r, const char *json, size_t len, struct kube_node *ret);
bool kube_read_event(struct kube_reader *r, const char *json, size_t len, struct kube_event *ret);
bool kube_read_candidate(
	struct kube_reader *r, const char *json, size_t len, struct kube_candidate *ret);

/* metadata of a list, or of an object: its resourceVersion and what continues it; "" where it has
 * none. Only the metadata's own text. */
void kube_read_list_meta(struct kube_reader *r, const char *json, size_t len,
	struct kube_text *ret_version, struct kube_text *ret_continue);
/* The uid in a metadata; absent where there is none. */
void kube_read_uid(struct kube_reader *r, const char *json, size_t len, struct kube_text *ret_uid);
/* The version of an object, which its metadata has. */
bool kube_read_version(
	struct kube_reader *r, const char *json, size_t len, struct kube_text *ret_version);

enum kube_event_type {
	KUBE_ADDED,
	KUBE_MODIFIED,
	KUBE_DELETED,
	KUBE_BOOKMARK,
	KUBE_ERROR,
	KUBE_OTHER
};

/* One line of a watch: its type, and where its object stands in the line. False: no such line. */
bool kube_read_watch(const char *json, size_t len, enum kube_event_type *ret_type,
	const char **ret_object, size_t *ret_len);

/* A Status: its code, reason and message. */
struct kube_status {
	int64_t code;
	struct kube_text reason, message;
	int64_t retry_after_s; /* -1: not said */
};
bool kube_read_status(struct kube_reader *r, const char *json, size_t len, struct kube_status *ret);

/* RFC 3339 as the API writes it, with or without a fraction; TIME_UNKNOWN for anything else. */
int64_t kube_time(const char *s, size_t len);

/*
 * The slot of a Job that its CronJob made: from the annotation, else from the end of its name
 * (minutes since the epoch, from 1.21 on; seconds, from older servers). from tells which, in the
 * words of DETAIL_SLOT_FROM; NULL and TIME_UNKNOWN where it can't be told.
 */
int64_t kube_job_slot(const struct kube_job *job, const char **ret_from);

/* Whether two texts are the same; two that are not there are. */
bool kube_text_eq(const struct kube_text *a, const struct kube_text *b);
/* The same as a literal; absent is never. */
bool kube_text_is(const struct kube_text *a, const char *word);

#endif
