#include "config.h"

#include "acts.h"

#include <string.h>

#define TEXT(s) ((char *)(uintptr_t)(s))
#define LIST(...)                                                                           \
	{                                                                                   \
		.items = (struct plan_item[]){ __VA_ARGS__ },                               \
		.n = sizeof((struct plan_item[]){ __VA_ARGS__ }) / sizeof(struct plan_item) \
	}

static const struct forecast release = {
	.refs = 1,
	.verb = VERB_RELEASE,
	.id = TEXT("ctl/elections/billing"),
	.identity = TEXT("node-b"),
	.key = TEXT("rev:1482"),
	.environment = TEXT("prod"),
	.has_token = true,
	.token = 1482,
	.at_us = ACTS_NOW_US,
	.verdict = PLAN_READY,
	.allowed = true,
	.warnings =
		LIST({ TEXT("unfenced-harmful"), TEXT("The work is harmful, and nothing refuses a "
						      "late writer. Stop node-b's process "
						      "first.") }),
	.destroys = LIST({ TEXT("key"), TEXT("elections/billing/694d7f2a") }),
	.keeps = LIST({ TEXT("key on the same lease"), TEXT("services/billing/node-b") }),
	.request =
		TEXT("txn: if create_revision(elections/billing/694d7f2a) = 1482 then delete it, "
		     "else nothing"),
	.guarded_by = TEXT("create_revision"),
	.successor = TEXT("node-c"),
	.gap_min_ms = 0,
	.gap_max_ms = 1000,
	.gap_why = TEXT("node-c watches the key before its own"),
	.alone = TEXT("etcd revokes the lease when it can; it is 9s past its end"),
	.overlap = TRI_YES,
	.last_sign_us = ACTS_NOW_US - 24000000,
	.last_sign = TEXT("it renewed its lease"),
	.overlap_text = TEXT("node-b is not asked, and may still work until it is seen to stop"),
	.permission = TRI_YES,
};

static const struct forecast suspend = {
	.refs = 1,
	.verb = VERB_SUSPEND,
	.id = TEXT("kube/cronjob/billing/close"),
	.environment = TEXT("lab"),
	.at_us = ACTS_NOW_US,
	.verdict = PLAN_READY,
	.allowed = true,
	.keeps = LIST({ TEXT("run that is active"), TEXT("close-29456520") }),
	.request = TEXT("PATCH /apis/batch/v1/namespaces/billing/cronjobs/close "
			"{\"spec\":{\"suspend\":true}}"),
	.guarded_by = TEXT("uid and resourceVersion"),
	.gap_min_ms = TIME_UNKNOWN,
	.gap_max_ms = TIME_UNKNOWN,
	.last_sign_us = TIME_UNKNOWN,
	.overlap = TRI_NO,
	.overlap_text = TEXT("runs that are active go on"),
	.permission = TRI_YES,
};

#define NOTHING_RUNS "it executes nothing, so a cancel does nothing: release ends the session"
static const struct forecast cancel = {
	.refs = 1,
	.verb = VERB_CANCEL,
	.id = TEXT("orders/app:-42"),
	.identity = TEXT("worker-1"),
	.key = TEXT("4711@1767323045000000"),
	.environment = TEXT("lab"),
	.at_us = ACTS_NOW_US,
	.verdict = PLAN_REFUSED,
	.reasons = LIST({ TEXT(NOTHING_RUNS), NULL }),
	.gap_min_ms = TIME_UNKNOWN,
	.gap_max_ms = TIME_UNKNOWN,
	.last_sign_us = TIME_UNKNOWN,
	.overlap = TRI_NO,
	.overlap_text = TEXT("none: the session keeps its locks"),
	.permission = TRI_YES,
};

static const struct gate_step refused_steps[] = {
	{ "read", ACTS_NOW_US, NOTHING_RUNS, 0 },
};

static const struct gate_step steps[] = {
	{ "read", ACTS_NOW_US, "node-b still holds it: rev:1482", 0 },
	{ "confirm", ACTS_NOW_US + 4100000, "confirmed: node-b's host is down", 0 },
	{ "record", ACTS_NOW_US + 4102000, "intent 17 is in the audit", 0 },
	{ "send", ACTS_NOW_US + 4103000, "sent to etcd", 0 },
	{ "answer", ACTS_NOW_US + 4107000, "the guard held: 1 key deleted", 0 },
	{ "verify", ACTS_NOW_US + 4130000, "node-c leads, token 1490", 0 },
};

#define ITEM_RELEASE                                                            \
	.forecast = &release, .id = "ctl/elections/billing", .key = "rev:1482", \
	.identity = "node-b", .verb = VERB_RELEASE
#define ITEM_SUSPEND .forecast = &suspend, .id = "kube/cronjob/billing/close", .verb = VERB_SUSPEND

static const struct gate_item waiting[] = { { ITEM_RELEASE, .text = "" } };
static const struct gate_item reversible[] = { { ITEM_SUSPEND, .text = "" } };
static const struct gate_item reading[] = {
	{ .id = "ctl/elections/billing", .verb = VERB_RELEASE, .text = "" }
};
static const struct gate_item done[] = { { ITEM_RELEASE, .outcome = GATE_DONE,
	.text = "node-c leads, token 1490", .overlap = OVERLAP_OPEN, .n = 17 } };
static const struct gate_item changed[] = { { ITEM_RELEASE, .outcome = GATE_CHANGED,
	.text = "node-c holds it now (rev:1490): nothing was sent" } };
static const struct gate_item unknown[] = { { ITEM_RELEASE, .outcome = GATE_UNKNOWN,
	.text = "it was sent, and the connection ended before an answer came",
	.find_out = "etcdctl get --prefix elections/billing/ -w fields", .overlap = OVERLAP_OPEN,
	.n = 17 } };
static const struct gate_item refused[] = { { .forecast = &cancel,
	.id = "orders/app:-42",
	.key = "4711@1767323045000000",
	.identity = "worker-1",
	.verb = VERB_CANCEL,
	.outcome = GATE_REFUSED,
	.text = NOTHING_RUNS } };
static const struct gate_item only[] = { { ITEM_RELEASE, .outcome = GATE_CANCELLED, .text = "" } };
static const struct gate_item set[] = {
	{ ITEM_RELEASE, .outcome = GATE_DONE, .text = "node-c leads, token 1490", .n = 17 },
	{ ITEM_SUSPEND, .outcome = GATE_DONE, .text = "it is suspended", .n = 18 },
	{ ITEM_RELEASE, .outcome = GATE_CHANGED, .text = "somebody else holds it now" },
};

#define ASKS_NAME                                                                       \
	.ask = GATE_ASK_NAME, .to_type = "ctl/elections/billing", .or_type = "billing", \
	.needs_reason = true, .prod = true
#define STEPS(n) .steps = steps, .n_steps = (n)

static const struct {
	const char *name;
	struct gate_view view;
} views[] = {
	{ "release", { .phase = GATE_PHASE_ASKING,
			     .text = "",
			     ASKS_NAME,
			     .items = waiting,
			     .n_items = 1,
			     STEPS(1) } },
	{ "reversible", { .phase = GATE_PHASE_ASKING,
				.text = "",
				.ask = GATE_ASK_YES,
				.to_type = "y",
				.items = reversible,
				.n_items = 1 } },
	{ "forecast", { .phase = GATE_PHASE_OVER,
			      .outcome = GATE_CANCELLED,
			      .text = "",
			      .forecast_only = true,
			      .items = only,
			      .n_items = 1,
			      STEPS(1) } },
	{ "reading", { .phase = GATE_PHASE_READING, .text = "", .items = reading, .n_items = 1 } },
	{ "acting", { .phase = GATE_PHASE_ACTING,
			    .text = "",
			    ASKS_NAME,
			    .items = waiting,
			    .n_items = 1,
			    STEPS(4),
			    .settle_left_ms = 9000 } },
	{ "done", { .phase = GATE_PHASE_OVER,
			  .outcome = GATE_DONE,
			  .text = "node-c leads, token 1490",
			  ASKS_NAME,
			  .items = done,
			  .n_items = 1,
			  STEPS(6) } },
	{ "changed", { .phase = GATE_PHASE_OVER,
			     .outcome = GATE_CHANGED,
			     .text = "node-c holds it now: nothing was sent",
			     ASKS_NAME,
			     .items = changed,
			     .n_items = 1,
			     STEPS(1) } },
	{ "unknown", { .phase = GATE_PHASE_OVER,
			     .outcome = GATE_UNKNOWN,
			     .text = "whether it was done is not known",
			     ASKS_NAME,
			     .items = unknown,
			     .n_items = 1,
			     STEPS(4) } },
	{ "refused", { .phase = GATE_PHASE_OVER,
			     .outcome = GATE_REFUSED,
			     .text = NOTHING_RUNS,
			     .items = refused,
			     .n_items = 1,
			     .steps = refused_steps,
			     .n_steps = 1 } },
	{ "set", { .phase = GATE_PHASE_OVER,
			 .outcome = GATE_PARTIAL,
			 .text = "2 of 3 are done; the third was changed",
			 ASKS_NAME,
			 .items = set,
			 .n_items = 3,
			 STEPS(6) } },
};

const struct gate_view *acts_view(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i].view;
	return NULL;
}
