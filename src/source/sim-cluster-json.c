#include "config.h"

#include "source/sim-cluster.h"
#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The fields are those of the API reference, as far as anything here reads them. */
enum {
	TIME_TEXT_MAX = 40,
	NUMBER_MAX = 24
};

/* Absent where it is not known. digits: of the fraction, 0 or 6 (MicroTime). */
static void set_time(json_t *to, const char *name, int64_t us, int digits)
{
	char text[TIME_TEXT_MAX];

	if (us == TIME_UNKNOWN)
		return;
	clock_format_utc(text, us, digits);
	json_object_set_new(to, name, json_string(text));
}

static void set_text(json_t *to, const char *name, const char *text)
{
	if (text)
		json_object_set_new(to, name, json_string(text));
}

static void set_count(json_t *to, const char *name, int64_t n)
{
	if (n)
		json_object_set_new(to, name, json_integer(n));
}

static json_t *owner_json(const char *api, const char *kind, const char *name, const char *uid)
{
	return json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", api, "kind", kind,
		"name", name, "uid", uid, "controller", 1, "blockOwnerDeletion", 1);
}

static json_t *metadata_json(const struct cluster_object *o)
{
	json_t *meta = json_object(), *held;
	char version[NUMBER_MAX];
	size_t i;

	set_text(meta, "name", o->name);
	set_text(meta, "namespace", o->ns);
	set_text(meta, "uid", o->uid);
	snprintf(version, sizeof(version), "%" PRId64, o->version);
	set_text(meta, "resourceVersion", version);
	set_count(meta, "generation", o->generation);
	set_time(meta, "creationTimestamp", o->created_us, 0);
	set_time(meta, "deletionTimestamp", o->deleted_us, 0);
	if (!cluster_has_finalizers(o))
		return meta;
	held = json_array();
	for (i = 0; i < CLUSTER_FINALIZERS && o->finalizers[i]; i++)
		json_array_append_new(held, json_string(o->finalizers[i]));
	json_object_set_new(meta, "finalizers", held);
	return meta;
}

static json_t *object_json(const char *api, const char *kind, const struct cluster_object *o)
{
	json_t *json = json_object();

	set_text(json, "apiVersion", api);
	set_text(json, "kind", kind);
	json_object_set_new(json, "metadata", metadata_json(o));
	return json;
}

json_t *sim_lease_json(const struct cluster_lease *lease)
{
	const struct lease_record *r = &lease->record;
	json_t *json = object_json("coordination.k8s.io/v1", "Lease", &lease->o);
	json_t *spec = json_object();

	set_text(spec, "holderIdentity", cluster_identity_text(lease->o.cluster, r->holder));
	json_object_set_new(spec, "leaseDurationSeconds", json_integer(r->duration_s));
	set_time(spec, "acquireTime", r->acquire_us, 6);
	set_time(spec, "renewTime", r->renew_us, 6);
	json_object_set_new(spec, "leaseTransitions", json_integer(r->transitions));
	json_object_set_new(json, "spec", spec);
	return json;
}

/* ---- work ---- */

static json_t *template_json(const struct cluster_work *work)
{
	json_t *pod = json_pack("{s:[{s:s, s:s}], s:s, s:I}", "containers", "name", "work", "image",
		"registry.example/work:1", "restartPolicy", work->restarts ? "OnFailure" : "Never",
		"terminationGracePeriodSeconds", (json_int_t)work->grace_s);
	json_t *spec = json_pack("{s:{s:o}, s:i, s:i, s:i}", "template", "spec", pod, "parallelism",
		(int)work->parallelism, "completions", (int)work->completions, "backoffLimit",
		(int)work->backoff_limit);

	if (work->deadline_s != TIME_UNKNOWN)
		json_object_set_new(spec, "activeDeadlineSeconds", json_integer(work->deadline_s));
	return spec;
}

static const char *policy_word(enum cron_policy policy)
{
	return policy == CRON_FORBID ? "Forbid" : policy == CRON_REPLACE ? "Replace" : "Allow";
}

json_t *sim_cronjob_json(const struct cluster_cronjob *cron)
{
	json_t *json = object_json("batch/v1", "CronJob", &cron->o);
	json_t *spec = json_object(), *status = json_object(), *active = json_array();
	size_t i;

	set_text(spec, "schedule", cron->text);
	set_text(spec, "timeZone", cron->zone);
	set_text(spec, "concurrencyPolicy", policy_word(cron->policy));
	json_object_set_new(spec, "suspend", json_boolean(cron->suspended));
	if (cron->deadline_s >= 0)
		json_object_set_new(
			spec, "startingDeadlineSeconds", json_integer(cron->deadline_s));
	json_object_set_new(spec, "successfulJobsHistoryLimit", json_integer(cron->keep_succeeded));
	json_object_set_new(spec, "failedJobsHistoryLimit", json_integer(cron->keep_failed));
	json_object_set_new(
		spec, "jobTemplate", json_pack("{s:o}", "spec", template_json(&cron->work)));
	for (i = 0; i < cron->n_active; i++)
		json_array_append_new(
			active, json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion", "batch/v1",
					"kind", "Job", "namespace", cron->o.ns, "name",
					cron->active[i].name, "uid", cron->active[i].uid));
	if (cron->n_active)
		json_object_set(status, "active", active);
	json_decref(active);
	set_time(status, "lastScheduleTime", cron->last_schedule_us, 0);
	set_time(status, "lastSuccessfulTime", cron->last_success_us, 0);
	json_object_set_new(json, "spec", spec);
	json_object_set_new(json, "status", status);
	return json;
}

/* ---- a Job ---- */

static void add_condition(json_t *conditions, const char *type, const char *reason, int64_t at_us)
{
	json_t *c = json_pack("{s:s, s:s}", "type", type, "status", "True");

	set_text(c, "reason", reason);
	set_time(c, "lastTransitionTime", at_us, 0);
	json_array_append_new(conditions, c);
}

static json_t *job_status_json(const struct cluster_job *job)
{
	json_t *status = json_object(), *conditions = json_array();

	set_count(status, "active", job->active);
	json_object_set_new(status, "ready", json_integer(job->ready));
	set_count(status, "succeeded", job->succeeded);
	set_count(status, "failed", job->failed);
	json_object_set_new(status, "terminating", json_integer(job->terminating));
	set_time(status, "startTime", job->start_us, 0);
	set_time(status, "completionTime", job->end_us, 0);
	if (job->met)
		add_condition(
			conditions, "SuccessCriteriaMet", "CompletionsReached", job->condition_us);
	if (job->target)
		add_condition(conditions, "FailureTarget", job->target, job->condition_us);
	if (job->complete)
		add_condition(conditions, "Complete", "CompletionsReached", job->condition_us);
	if (job->why)
		add_condition(conditions, "Failed", job->why, job->condition_us);
	if (json_array_size(conditions))
		json_object_set(status, "conditions", conditions);
	json_decref(conditions);
	return status;
}

json_t *sim_job_json(const struct cluster_job *job)
{
	json_t *json = object_json("batch/v1", "Job", &job->o);
	json_t *meta = json_object_get(json, "metadata"), *notes = json_object();
	json_t *spec = template_json(&job->work);

	if (job->owner_name)
		json_object_set_new(meta, "ownerReferences",
			owner_json("batch/v1", "CronJob", job->owner_name, job->owner_uid));
	if (job->manual)
		set_text(notes, "cronjob.kubernetes.io/instantiate", "manual");
	else
		set_time(notes, "batch.kubernetes.io/cronjob-scheduled-timestamp", job->slot_us, 0);
	json_object_set_new(meta, "annotations", notes);
	json_object_set_new(spec, "suspend", json_boolean(job->suspended));
	json_object_set_new(spec, "podReplacementPolicy", json_string("TerminatingOrFailed"));
	json_object_set_new(json, "spec", spec);
	json_object_set_new(json, "status", job_status_json(job));
	return json;
}

/* ---- a pod ---- */

static json_t *container_state(const struct cluster_pod *pod)
{
	json_t *in = json_object();

	if (pod->running > 0) {
		set_time(in, "startedAt", pod->running_us, 0);
		return json_pack("{s:o}", "running", in);
	}
	if (cluster_pod_over(pod) && pod->end_us != TIME_UNKNOWN) {
		json_object_set_new(in, "exitCode", json_integer(pod->exit_code));
		set_text(in, "reason", pod->exit_code ? "Error" : "Completed");
		set_time(in, "startedAt", pod->started_us, 0);
		set_time(in, "finishedAt", pod->end_us, 0);
		return json_pack("{s:o}", "terminated", in);
	}
	set_text(in, "reason", pod->reason ? pod->reason : "ContainerCreating");
	return json_pack("{s:o}", "waiting", in);
}

static json_t *pod_status_json(const struct cluster_pod *pod)
{
	json_t *status = json_object();

	set_text(status, "phase", pod_phase_word(pod->phase));
	set_time(status, "startTime", pod->start_us, 0);
	if (pod->node)
		json_object_set_new(status, "containerStatuses",
			json_pack("[{s:s, s:i, s:b, s:o}]", "name", "work", "restartCount",
				(int)pod->restarts, "ready", pod->running > 0, "state",
				container_state(pod)));
	else if (pod->reason)
		json_object_set_new(status, "conditions",
			json_pack("[{s:s, s:s, s:s}]", "type", "PodScheduled", "status", "False",
				"reason", pod->reason));
	return status;
}

json_t *sim_pod_json(const struct cluster_pod *pod)
{
	json_t *json = object_json("v1", "Pod", &pod->o);
	json_t *meta = json_object_get(json, "metadata"), *spec = json_object();

	if (pod->owner_name && pod->of_job)
		json_object_set_new(meta, "ownerReferences",
			owner_json("batch/v1", "Job", pod->owner_name, pod->owner_uid));
	if (pod->of_job)
		json_object_set_new(
			meta, "labels", json_pack("{s:s}", "job-name", pod->owner_name));
	if (pod->node)
		set_text(spec, "nodeName", pod->node->o.name);
	json_object_set_new(spec, "terminationGracePeriodSeconds", json_integer(pod->grace_s));
	json_object_set_new(json, "spec", spec);
	json_object_set_new(json, "status", pod_status_json(pod));
	return json;
}

json_t *sim_event_json(const struct cluster_object *o, const struct cluster_event *e)
{
	json_t *json = json_pack("{s:s, s:s, s:{s:s+, s:s, s:s}, s:s, s:s, s:s, s:I}", "apiVersion",
		"v1", "kind", "Event", "metadata", "name", o->name, ".event", "namespace",
		o->ns ? o->ns : "default", "uid", e->uid, "reason", e->reason, "message",
		e->message, "type", e->type, "count", (json_int_t)e->count);

	set_time(json, "firstTimestamp", e->first_us, 0);
	set_time(json, "lastTimestamp", e->last_us, 0);
	return json;
}
