#ifndef CONTROL_SAMPLE_H
#define CONTROL_SAMPLE_H

struct str;

/*
 * Writes a config to start from, made of the option tables: what discovery finds is filled in, all
 * other keys stand there as comments with their help. It is a valid config as it stands. No secret
 * is ever written; a password in the environment is named by its variable.
 */
void sample_write(struct str *out);

#endif
