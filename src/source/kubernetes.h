#ifndef SOURCE_KUBERNETES_H
#define SOURCE_KUBERNETES_H

#include "io/json-read.h"
#include "io/kubeconfig.h"
#include "io/rest.h"
#include "source/act.h"
#include "source/kubernetes-store.h"
#include "source/source.h"

/*
 * The state of one Kubernetes source, shared by the files that make it: kubernetes.c (options,
 * poll, wait), kubernetes-stream.c (lists and watches), kubernetes-ask.c (single questions:
 * version, identity, signs of life, heartbeats), kubernetes-look.c (pods and candidates of Leases,
 * events), kubernetes-tell.c (singletons), kubernetes-examine.c (doctor). Objects and what they
 * mean: kubernetes-object.c, kubernetes-store.c.
 */
enum {
	KUBE_PAGE = 500,            /* objects in one answer of a list */
	KUBE_OBJECT_MAX = 8 << 20,  /* the largest object, as text; etcd takes 1.5 MiB */
	KUBE_ANSWER_MAX = 16 << 20, /* of a single question */
	KUBE_NAMESPACES_MAX = 50,   /* each is a list and a watch of every kind */
	KUBE_QUIET_MS = 5000,       /* silence after which the server is asked for a sign of life */
	KUBE_PATIENCE_MS = 4000,    /* ... and how long it may take */
	KUBE_NARROW_EVERY_MS =
		5 * 60 * 1000,        /* so often what only one namespace shows is asked of all */
	KUBE_DENIED_EVERY_MS = 60000, /* what was refused is tried again */
	KUBE_UNWATCHED_EVERY_MS = 30000, /* what may be listed and not watched is listed again */
	KUBE_AHEAD_EVERY_MS = 1000,      /* ... unless a look after an act has seen what it lacks */
	KUBE_WATCHES_FEW = 5,            /* where each takes a connection, of which there are few */
	KUBE_DOUBT_MS = 15000, /* so long a refusal of what was allowed is taken for a failure */
	KUBE_SHORT_WATCH_MS = 1000,  /* a watch that ended so soon is not begun at once again */
	KUBE_WATCH_S = 300,          /* the server is asked to end a watch after so long */
	KUBE_HUNG_WATCH_MS = 330000, /* ... and one that is silent for longer hangs */
	KUBE_GATHER_MS = 30,         /* what belongs together comes within so much */
	KUBE_TOLD_EVERY_MS = 100,    /* in a storm of changes */
	KUBE_FRESH_WATCH_MS = 2000,  /* a new watch may tell of the past first */
	KUBE_CENSUS_EVERY_MS = 5 * 60 * 1000,
	KUBE_BEAT_OLD_S = 3600, /* a heartbeat that is older than this, by the server's clock */
	KUBE_MADE = 16,
	KUBE_JOB_NAME = 64, /* a Job's name is its pods' label, of at most 63 bytes */
	KUBE_LOOKS = 8,     /* single questions in flight */
};

/* How a kind of object is listed and watched; kubernetes-stream.c has the table. */
struct kube_resource {
	enum kube_kind kind;
	const char *word;        /* "CronJobs" */
	const char *plural;      /* in paths, and in a Role */
	const char *group;       /* the API group; "": core */
	const char *versions[3]; /* of the API, the best first; NULL ends them */
	const char *selector;    /* more of the query, encoded; NULL */
	const char *accept;      /* NULL: JSON */
	const char *list;        /* the member with the objects */
	bool cluster;            /* it has no namespace */
};

enum kube_stream_state {
	STREAM_IDLE,    /* to be listed */
	STREAM_LISTING, /* a page is on its way */
	STREAM_LISTED,  /* to be watched */
	STREAM_WATCHING,
	STREAM_DENIED,
	STREAM_ABSENT /* the API server has no such objects */
};

struct kube;

/* One kind in one namespace, or in all. */
struct kube_stream {
	struct kube *k;
	const struct kube_resource *resource;
	const char *ns; /* NULL: all */
	enum kube_stream_state state;
	size_t api; /* which of the resource's versions */
	struct rest_call *call;
	struct json_list list;
	bool listing; /* list is to be released */
	size_t n_bad; /* objects that could not be read since the last list began */
	char *version, *next;
	uint32_t generation;
	int64_t begun_ms;      /* the call */
	int64_t list_ms;       /* the first page of the last list was asked for */
	int64_t seen_ms;       /* up to when changes were seen, where no watch stands */
	int64_t not_before_ms; /* nothing is begun before */
	int64_t denied_ms;     /* when it was last refused, or its watch was */
	bool told;             /* it was listed whole at least once */
	bool fresh;            /* listed or begun in this poll */
	bool narrowed;         /* all was denied: only this namespace is seen */
	bool starved;          /* there is no connection for its watch */
	bool unwatched;        /* it may not be watched */
	bool gone;             /* the watch said that its past is forgotten */
	bool broken;           /* the watch told of another error */
	bool late;        /* this list follows such a loss: changes are not seen as they happened */
	bool refused;     /* it is denied or absent, and that was told */
	unsigned tries;   /* lists begun anew in a row */
	unsigned lost;    /* watches in a row that only told that their past is forgotten */
	bool watched;     /* a watch of it was established once */
	int64_t doubt_ms; /* since when it is refused though it was allowed; 0: it is not */
	struct err why;   /* ... or why nothing is begun before not_before_ms */
};

enum kube_ask {
	ASK_VERSION,
	ASK_IDENTITY,
	ASK_READY,
	ASK_BEATS,   /* the nodes' heartbeats */
	ASK_SERVERS, /* the API servers' */
	ASKS
};

struct kube_question {
	struct rest_call *call;
	int64_t asked_ms; /* TIME_UNKNOWN: never */
	bool answered, denied;
	bool busy; /* the answer was that it has no time now */
	bool sent; /* anything of it may have reached the server */
};

enum kube_look_kind {
	LOOK_POD,
	LOOK_HOST, /* running pods of the host that an identity names */
	LOOK_CANDIDATES,
	LOOK_EVENTS
};

/* One question about a Lease, or of an object's events. */
struct kube_looking {
	struct rest_call *call;
	enum kube_look_kind kind;
	char *path;   /* the row's */
	char *holder; /* whose pod */
	size_t holder_len;
};

/* An object as a look after an act has found it: ahead of what the watches tell. */
struct kube_ahead {
	enum kube_kind kind;
	char *uid;     /* owned */
	char *version; /* its resourceVersion, owned; NULL: it is not there */
};

/* The name of a Job that is to be made by hand, and what it was shown with. */
struct kube_made {
	const void *order; /* only compared */
	char *uid;         /* of its CronJob; owned */
	uint64_t digest;   /* of the jobTemplate */
	char name[KUBE_JOB_NAME];
};

/*
 * Whom single questions and acts go to where there is no network: the built-in world's API server.
 * Answers as rest_do does; ret_sent: whether anything of it may have reached the server.
 */
typedef int kube_serve(struct kube *k, const struct rest_request *request, struct rest_answer *ret,
	bool *ret_sent, struct err *err);

struct kube {
	const struct source_config *config;
	struct round *r; /* while polling or waiting */
	struct kube_access access;
	struct rest_client *client; /* NULL: serve answers */
	kube_serve *serve;
	void *server; /* what serve needs */
	struct kube_store *store;
	struct kube_reader reader;
	struct kube_stream *streams;
	size_t n_streams;
	bool told_all;
	bool unread; /* this poll saw nothing of what it waits for */
	bool hidden; /* what is hidden has changed */
	int64_t told_ms, changed_ms;
	size_t n_objects; /* read by the lists of this first picture */

	struct kube_question asks[ASKS];
	struct json_list beats;
	bool counting;
	int64_t n_beats, n_beats_old; /* the last census; -1: none */
	int64_t n_counted, n_counted_old;
	char *server_version, *platform;
	uint64_t identity; /* 64 bits of the uid of the namespace kube-system; 0: not known */
	bool unready;
	int64_t server_us, server_read_us, server_trip_ms; /* its clock as last told */
	bool self_changed;
	struct str key; /* of a claim, while it is told; it keeps its memory */

	struct kube_looking looks[KUBE_LOOKS];
	int64_t late_ms; /* no Lease that is merely late is looked at before */
	size_t late_pos; /* where the round over them stands */
	/* None is late before, as far as renewals alone change them from late_changes on. */
	int64_t late_from_ms;
	uint64_t late_changes; /* kube_store_lease_changes then */
	int64_t acted_ms; /* our monotonic clock when a request that changes something was sent;
			     TIME_UNKNOWN */
	struct kube_ahead *ahead; /* of the last look, until all of them are told */
	size_t n_ahead, cap_ahead;
	struct kube_made made[KUBE_MADE]; /* a ring by n_made */
	size_t n_made;
	char *events_of; /* the one row whose events are looked at; NULL: none */
	int64_t events_ms;
	struct map events; /* that were told, of all rows that were ever looked at: by their keys */
	char **events_told; /* the same keys as a ring, by n_events */
	size_t n_events;
};

/* ---- kubernetes.c ---- */
/* Without a connection, and with no stream. */
struct kube *kube_new(const struct source_config *config);
void kube_close(void *state);
struct rest_wait kube_wait(const struct kube *k, int64_t until_ms);
struct kube_now kube_now(const struct kube *k);

/* ---- kubernetes-access.c ---- */
/* Reads the kubeconfig and makes the client. */
int kube_access_open(struct kube *k, struct err *err);
/*
 * After a failure that the kubeconfig may be the reason of (no connection, a certificate,
 * credentials): reads it again, the same context, and takes another client where it says something
 * new. Whatever is wrong with it now leaves the old one. Nothing may be in flight.
 */
void kube_access_renew(struct kube *k, int failure);

/* ---- kubernetes-stream.c ---- */
extern const struct kube_resource kube_resources[KUBE_KINDS];
/* Makes the streams: of the namespaces, or of all. */
void kube_streams_open(struct kube *k, const char *const *namespaces, size_t n);
void kube_streams_close(struct kube *k);
/* Ends what is in flight; the next steps go on from what is known. */
void kube_streams_stop(struct kube *k);
/* Takes what came and begins what is due. A failure of one is the source's. */
int kube_streams_step(struct kube *k, struct err *err);
/* Whether all are listed and watched, as far as may be. */
bool kube_streams_settled(const struct kube *k);
/* Whether any list is on its way. */
bool kube_streams_listing(const struct kube *k);
/* Whether anything of one came: one that waits for a connection sends nothing yet. */
bool kube_streams_sending(const struct kube *k);
/*
 * Where watches get no connection or stream while others did (a server or a proxy that takes few at
 * once), they are listed now and then instead. Whether there were any.
 */
bool kube_streams_starve(struct kube *k);
/* Why neither CronJobs nor Leases can be seen anywhere; 0 where some can. */
int kube_streams_blind(const struct kube *k, struct err *err);
/* Whether any has something to be taken. */
bool kube_streams_ended(const struct kube *k);
/* Whether that kind can be seen in a namespace; NULL: in all of them. */
bool kube_sees(const struct kube *k, enum kube_kind kind, const char *ns);
/* The path of a kind in a namespace: "/apis/batch/v1/namespaces/NS/jobs". */
void kube_path(struct str *path, const struct kube_resource *res, size_t api, const char *ns);

/* ---- kubernetes-ask.c ---- */
/* Takes the server's clock from an answer. */
void kube_server_time(struct kube *k, const struct rest_answer *answer);
int kube_asks_step(struct kube *k, struct err *err);
/* Whether what the first picture needs has come. */
bool kube_asks_settled(const struct kube *k);
void kube_asks_stop(struct kube *k);

/* ---- kubernetes-act-look.c ---- */
/* Tells the round whether the watches have yet to tell of what a look after an act has seen. */
void kube_tell_behind(struct kube *k);
/* The same of one kind. */
bool kube_is_ahead(const struct kube *k, enum kube_kind kind);
/* Forgets what the last look has found. */
void kube_ahead_clear(struct kube *k);

/* ---- kubernetes-look.c ---- */
/* Takes answers, and asks what is due. */
void kube_look_step(struct kube *k);
bool kube_look_busy(const struct kube *k);
bool kube_look_ended(const struct kube *k);
void kube_look_stop(struct kube *k);
/* At the end: what was told is forgotten. */
void kube_look_release(struct kube *k);
/* The path of the LeaseCandidates in a namespace. */
void kube_candidates_path(struct str *path, const char *ns);
/* The name of the pod that an identity may mean; false where it can be none. */
bool kube_pod_name(const char *holder, size_t len, struct str *ret);

/* ---- kubernetes-tell.c ---- */
void kube_tell(struct kube *k);
void kube_tell_self(struct kube *k);
void kube_tell_hidden(struct kube *k);

/* ---- kubernetes-examine.c ---- */
int kube_examine(void *state, struct round *r, struct report *report, struct err *err);
/* Whether a SelfSubjectAccessReview was answered with allowed. */
bool kube_is_allowed(const struct rest_answer *answer);

/* ---- kubernetes-act.c ---- */
enum {
	KUBE_ACTS = 8
};
extern const struct act_case kube_acts[KUBE_ACTS]; /* the rows of kubernetes-acts.def */
int kube_act_plan(void *state, struct round *r, const struct order *order, struct plan *plan,
	struct err *err);
int kube_act_send(void *state, struct round *r, const struct order *order, const struct plan *plan,
	struct effect *effect, struct err *err);
int kube_act_look(void *state, struct round *r, const struct order *order, const struct plan *plan,
	struct sight *sight, struct err *err);

#endif
