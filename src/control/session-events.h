#ifndef CONTROL_SESSION_EVENTS_H
#define CONTROL_SESSION_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct observed;
struct remembered;
struct row;
struct session;
struct singleton;
struct str;
struct verdict;

/*
 * What a session writes to the journal, by comparing what it judged with what it had judged before.
 * Private to control.
 */

/* About the source itself. */
void session_event_source(struct session *s, const char *what, const char *text);
/* A row was judged: before is its last row, or NULL when it is new. */
void session_event_row(struct session *s, const struct row *before, const struct row *after,
	const struct observed *observed);
/* An event of this moment, of this source; the caller's. And what an observation tells of a token,
 * behind a sentence. */
struct event *session_event_now(
	const struct session *s, const char *id, int64_t token, const char *what, const char *text);
void session_event_tokens(
	struct str *text, const struct singleton *s, const struct observed *observed);

/* session-past.c: the history of the last days. */
/* The first picture shows another holder than an earlier run had seen. */
void session_event_between(
	struct session *s, const struct row *row, const struct observed *observed);
/*
 * Who held it before lets go, or lost it: since when it was seen to hold it, where no event tells
 * that yet. Of what a first picture shows no events are told, and a chart of the holders would
 * begin with the second.
 */
void session_event_before(struct session *s, const char *id, const struct observed *observed);
/* The history was read: its events come before all others. */
void session_event_history(struct session *s);
/* The first picture was judged: findings that began or ended while nobody looked. complete: it has
 * all rows. */
void session_event_first(struct session *s, bool complete);
/* What is remembered of a singleton from earlier runs, and of this one's look at it. */
void session_event_past(struct session *s, const struct remembered *r);
/* A row left the picture. */
void session_event_gone(struct session *s, const char *id, const struct observed *observed);
/* To the journal and, what is worth it, to what is remembered for later runs; takes it over. */
void session_event_send(struct session *s, struct event *e);
/* Findings that came and went; id NULL: of the source. before may be NULL. */
void session_event_findings(struct session *s, const char *id, const struct verdict *before,
	const struct verdict *after);

#endif
