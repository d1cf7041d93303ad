#ifndef MODEL_IDENTITY_H
#define MODEL_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Names of processes as they differ between systems: "node-b", "node-b.example.net:8080",
 * "billing-7d9f8b6c5-x2x4z_0b1c...".
 */

/*
 * Whether two names can be those of one process: equal without regard to case, or after a domain, a
 * port, a trailing UUID (client-go appends "_UUID" to the host's name) and a leading "PID@" that
 * only one of them has are left away.
 */
bool identity_same_process(const char *a, const char *b);

/*
 * Whether two names can be those of one application: as above, and also without what tells its
 * instances apart (trailing numbers, the generated parts of Kubernetes pod names).
 */
bool identity_same_application(const char *a, const char *b);

/*
 * The length of a Lease holder's identity without the "_UUID" that client-go appends anew at each
 * start (leaderelection in k8s.io/client-go): what is before it is the pod's name, or the host's.
 * All of it where there is no such end: anything else may be part of a name.
 */
size_t identity_stem(const char *identity);

/*
 * Whether a name looks like one that Kubernetes made for a pod: it ends in five characters that its
 * generator uses (apimachinery, util/rand), a letter among them. A guess: names of hosts may look
 * so.
 */
bool identity_is_pod(const char *name);

#endif
