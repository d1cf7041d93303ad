#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/civil.h"

struct err;

/*
 * Time zones from the system's TZif files (RFC 9636: versions 1 to 4, the 64-bit data, the POSIX
 * TZ footer for times beyond the table). Neither setenv nor tzset is called: a zone is immutable
 * once it is loaded, and any number of threads may use it. Instants are seconds since
 * 1970-01-01T00:00:00Z, and everything is defined for every int64_t.
 *
 * Where the standard leaves room, this does what Go's time package does, because Kubernetes'
 * controllers are written in it, and a slot must be the controller's slot: the time before the
 * first transition, the corrections of "right/" files (ignored), and zone_instant's gaps and
 * repeats.
 */
struct zone;

enum {
	ZONE_NAME_MAX = 255,
	ZONE_ABBR_MAX = 31
};

struct zone_at {
	int32_t offset_s; /* east of UTC: add it to UTC to get local time */
	bool dst;
	const char *abbr; /* "CEST", "+0530"; printable ASCII; lives as long as the zone */
	/* The same offset holds in [since_s, until_s) at least; INT64_MIN and INT64_MAX: no end. */
	int64_t since_s, until_s;
};

/* UTC, without a file. Never freed (zone_free takes it and does nothing). */
const struct zone *zone_utc(void);

/*
 * Loads a zone by its name, "Europe/Berlin", from the folder in TZDIR, else /usr/share/zoneinfo.
 * "" and "UTC" are UTC without a file. "Local" is the machine's own as libc finds it: TZ
 * (a name, a path, or a POSIX TZ string, with or without a colon before it), else /etc/localtime,
 * else UTC. Names with "..", absolute names, and bytes that no name has are refused (as Go and
 * Kubernetes refuse them): a name may come from a stranger.
 *
 * Returns 0 and a zone that the caller frees with zone_free; or ERR_USAGE (not a name),
 * ERR_NOTFOUND (no such zone), ERR_IO, ERR_LIMIT or ERR_PROTO (the file is no TZif file), with a
 * sentence that names the zone and the file.
 */
int zone_load(const char *name, struct zone **ret, struct err *err);

/* Reads a TZif file's bytes; name is for messages and zone_name. Returns 0 or ERR_PROTO. */
int zone_parse(const char *name, const void *bytes, size_t len, struct zone **ret, struct err *err);

void zone_free(struct zone *zone);
const char *zone_name(const struct zone *zone);

/* What holds at an instant. */
void zone_at(const struct zone *zone, int64_t unix_s, struct zone_at *ret);

/* The date and the time on the wall at an instant. */
void zone_civil(const struct zone *zone, int64_t unix_s, struct civil *ret);

/*
 * The instant of a date and time on the wall; fields out of their range carry over (civil.h).
 * A change of the clock skips or repeats times; then the answer is right in one of the two offsets
 * involved, which Go documents as not guaranteed. What Go does, and this too: take the wall time
 * as if it were UTC, look up the offset there, apply it, and take the offset that holds at the
 * instant so found. For a transition at instant T from offset A to B that means:
 * - a skipped time is read with the new offset B (so it comes out before the change, earlier on
 *   the wall: 02:30 becomes 01:30) when the zone lies west of Greenwich, and with the old
 *   offset A (02:30 becomes 03:30) when it lies east;
 * - a repeated time is its first occurrence west of Greenwich, and its second east of it.
 * Of a whole day that is skipped (Pacific/Apia, 30 December 2011) a part comes out before the
 * change and the rest after it.
 */
int64_t zone_instant(const struct zone *zone, const struct civil *civil);

#endif
