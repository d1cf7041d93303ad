#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

struct str;

/* Adds the bytes in base64 (RFC 4648, section 4: the alphabet with + and /, padded). */
void base64_encode(struct str *out, const void *bytes, size_t len);

/*
 * Adds what a text in base64 stands for; line ends in it are passed over, as most decoders do.
 * Returns 0, or ERR_PROTO when it is none: another character, wrong padding, or a rest (out holds
 * garbage).
 */
int base64_decode(struct str *out, const char *text);

#endif
