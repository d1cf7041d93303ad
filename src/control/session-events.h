#ifndef CONTROL_SESSION_EVENTS_H
#define CONTROL_SESSION_EVENTS_H

struct observed;
struct remembered;
struct row;
struct session;
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
/* What is remembered of a singleton from earlier runs, and of this one's look at it. */
void session_event_past(struct session *s, const struct remembered *r);
/* A row left the picture. */
void session_event_gone(struct session *s, const char *id, const struct observed *observed);
/* Findings that came and went; id NULL: of the source. before may be NULL. */
void session_event_findings(struct session *s, const char *id, const struct verdict *before,
	const struct verdict *after);

#endif
