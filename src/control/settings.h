#ifndef CONTROL_SETTINGS_H
#define CONTROL_SETTINGS_H

#include "model/role.h"
#include "model/thresholds.h"
#include "source/source.h"

struct err;
struct options_check;
struct yaml_node;

enum {
	SETTINGS_PAST_MB = 32, /* past_mb where it is not said */
	PAST_NOTHING = -1,     /* past_mb: nothing is kept */
};

/*
 * The configuration, read and checked. (The header is not called config.h, which is autoconf's.)
 * Everything it points to is its own until settings_free.
 */
struct settings {
	char *path; /* of the file; NULL when the sources were discovered */
	bool discovered;
	bool past;      /* of a record: what was, which no act can reach */
	bool read_only; /* the config forbids every act */
	bool sim;       /* the sources show the built-in fleet (scenario.h) */
	struct source_config *sources;
	size_t n_sources;
	struct role *roles;
	size_t n_roles;
	struct thresholds thresholds;
	const char *const *audit_program; /* argv of the audit's second copy, ended by NULL; NULL */
	bool audit_syslog;
	int64_t past_mb;   /* what the console keeps of the past; 0: not said; PAST_NOTHING */
	const char *theme; /* NULL: fitted to the terminal */
	struct settings_store *store; /* what the pointers above point into */
	char *note;       /* what discovery leaves out of what the environment says; NULL */
	char *looked_for; /* without sources: what discovery looked for, as sentences; else NULL */
};

/*
 * Reads the config: path, else BATON_CONFIG, else baton/config.yaml in the XDG config folder, else
 * discovers the sources from the environment (contract.md "Ids and identities": PGHOST, PGHOSTADDR,
 * PGSERVICE, PGDATABASE or PGPORT; ETCDCTL_ENDPOINTS). A named file that is absent is an error; an
 * absent default file is not. A config without
 * `sources:` leaves them to discovery. timeout_ms overrides each source's where > 0. Errors:
 * ERR_CONFIG, with file, line, column and the nearest right key.
 */
int settings_load(const char *path, int64_t timeout_ms, struct settings **ret, struct err *err);
/*
 * The settings under which a record is looked at: its sources, its roles, its thresholds. The
 * record must live as long. Never fails.
 */
struct replay;
struct settings *settings_of_replay(const struct replay *replay);
void settings_free(struct settings *settings);
/* How many bytes the console keeps of what it showed before, at most; 0: nothing. */
size_t settings_past_bytes(const struct settings *settings);

/*
 * For the built-in fleet: settings of n sources that were made elsewhere (the array is taken over,
 * with free; what it points to lives as long as the settings), with the names, roles and thresholds
 * that stand in root, a checked map that outlives the settings.
 */
int settings_of_sources(const struct options_check *check, struct yaml_node *root,
	struct source_config *sources, size_t n, struct settings **ret);

/* Whether a key may be the name of a source or role (`what`). ERR_CONFIG with its place. */
int settings_check_name(
	const struct options_check *check, const struct yaml_node *key, const char *what);

/* Where the config is by default; the caller frees. NULL when neither XDG_CONFIG_HOME nor HOME is
 * set. */
char *settings_default_path(void);

/* Keeps only the sources of those names; ERR_CONFIG names one that is not there, and those that
 * are. */
int settings_choose(struct settings *settings, const char *const *names, size_t n, struct err *err);

#endif
