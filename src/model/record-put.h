#ifndef MODEL_RECORD_PUT_H
#define MODEL_RECORD_PUT_H

#include "model/record.h"

/*
 * Private to the record's writer: JSON values, appended to w->text. Commas are their own business.
 * key: of a member: our own, plain ASCII; NULL: the value is an element of a list, or its key was
 * put.
 */
void put_key(struct record_writer *w, const char *key);
void put_open(struct record_writer *w, const char *key, char bracket);
void put_close(struct record_writer *w, char bracket);
void put_null(struct record_writer *w, const char *key);
void put_bool(struct record_writer *w, const char *key, bool value);
void put_int(struct record_writer *w, const char *key, int64_t value);
/* As a string; hex unpadded. */
void put_big(struct record_writer *w, const char *key, int64_t value);
void put_hex(struct record_writer *w, const char *key, uint64_t value);
/* Sanitised text; NULL is null. What is no UTF-8 becomes U+FFFD. */
void put_text(struct record_writer *w, const char *key, const char *s);
/* A name, a path, an id: replaced where names are. */
void put_name(struct record_writer *w, const char *key, const char *s);
void put_path(struct record_writer *w, const char *key, const char *s);
void put_id(struct record_writer *w, const char *key, const char *s);
/* A word that another chose: it stays where it is no more than that. */
void put_word(struct record_writer *w, const char *key, const char *s);
/* RFC 3339 with microseconds; beyond the years 0 to 9999 those microseconds as a string. */
void put_time(struct record_writer *w, const char *key, int64_t wall_us);
/* A moment of our monotonic clock: milliseconds since the record began; TIME_UNKNOWN is null. */
void put_moment(struct record_writer *w, const char *key, int64_t mono_ms);
/* TIME_UNKNOWN is null. */
void put_number(struct record_writer *w, const char *key, int64_t value);
/* True, false, or null: not known. */
void put_tristate(struct record_writer *w, const char *key, enum tristate value);

/* Begins the line of that kind, with its time. */
void put_line(struct record_writer *w, const char *kind);
/* Hands the line over. False: it was too long, nothing was handed over. */
bool put_line_end(struct record_writer *w);

/* The members of a row, or those of them that differ from the row before (NULL: all). */
void put_row(struct record_writer *w, const struct row *row, const struct row *before);
/* Only what was judged. */
void put_verdict(struct record_writer *w, const struct row *row);

#endif
