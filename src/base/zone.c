#include "config.h"

#include "base/zone.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/zone-rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ZONE_FILE_MAX = 1 << 20, /* the largest real one has 4 kB */
	ZONE_TYPES_MAX = 256,    /* a transition names its type in one byte */
	ZONE_OFFSET_MAX =
		7 * 86400, /* none is beyond 16 hours; more breaks no sum, and is no zone */
	TZIF_HEADER = 44,
};

struct zone_type {
	int32_t offset_s;
	bool dst;
	uint8_t abbr; /* where it starts in abbrs */
};

struct zone {
	char *name;
	size_t n_times; /* transitions, strictly ascending */
	int64_t *times;
	uint8_t *kinds; /* the type that a transition starts */
	size_t n_types;
	struct zone_type *types;
	size_t first; /* the type before the first transition */
	char *abbrs;
	bool has_rule;
	struct zone_rule rule;
};

static const struct zone_type utc_type;
static const struct zone utc = {
	.name = (char *)"UTC",
	.n_types = 1,
	.types = (struct zone_type *)&utc_type,
	.abbrs = (char *)"UTC",
};

const struct zone *zone_utc(void)
{
	return &utc;
}

void zone_free(struct zone *zone)
{
	if (!zone || zone == &utc)
		return;
	free(zone->name);
	free(zone->times);
	free(zone->kinds);
	free(zone->types);
	free(zone->abbrs);
	free(zone);
}

const char *zone_name(const struct zone *zone)
{
	return zone->name;
}

/* --- the file --- */

struct reader {
	const char *name;
	const unsigned char *p;
	size_t left;
	struct err *err;
};

/* The counts of a header, in the order in which it has them (RFC 9636, 3.1). */
enum tzif_count {
	TZIF_ISUT,
	TZIF_ISSTD,
	TZIF_LEAP,
	TZIF_TIME,
	TZIF_TYPE,
	TZIF_CHAR,
	TZIF_N
};

struct header {
	int version;
	uint32_t n[TZIF_N];
};

static int bad_file(struct reader *in, const char *what)
{
	struct str name;
	int rc;

	str_init(&name, 4 * ZONE_NAME_MAX);
	text_escape_cut(&name, in->name, strlen(in->name), ZONE_NAME_MAX);
	rc = err_set(
		in->err, ERR_PROTO, "the file of the time zone %s is damaged: %s", name.s, what);
	str_release(&name);
	return rc;
}

static int64_t big_endian(const unsigned char *p, size_t size)
{
	uint64_t n = 0;

	for (size_t i = 0; i < size; i++)
		n = n << 8 | p[i];
	return size == 4 ? (int32_t)(uint32_t)n : (int64_t)n;
}

/* Takes len bytes: the pointer to them, or NULL when they are not there. */
static const unsigned char *take(struct reader *in, uint64_t len)
{
	const unsigned char *p = in->p;

	if (len > in->left)
		return NULL;
	in->p += len;
	in->left -= (size_t)len;
	return p;
}

static int read_header(struct reader *in, struct header *ret)
{
	const unsigned char *p = take(in, TZIF_HEADER);

	if (!p || memcmp(p, "TZif", 4) != 0)
		return bad_file(in, "it does not start as a TZif file");
	if (p[4] != 0 && (p[4] < '2' || p[4] > '4'))
		return bad_file(in, "its version is none of 1 to 4");
	ret->version = p[4] ? p[4] - '0' : 1;
	for (size_t i = 0; i < TZIF_N; i++)
		ret->n[i] = (uint32_t)big_endian(p + 20 + 4 * i, 4);
	return 0;
}

/* The length of a data block whose times have time_size bytes; 32-bit counts can't overflow it. */
static uint64_t block_size(const struct header *header, uint64_t time_size)
{
	const uint32_t *n = header->n;

	return n[TZIF_TIME] * (time_size + 1) + n[TZIF_TYPE] * UINT64_C(6) + n[TZIF_CHAR] +
	       n[TZIF_LEAP] * (time_size + 4) + n[TZIF_ISSTD] + (uint64_t)n[TZIF_ISUT];
}

/* Moves in to the data block that counts: the 64-bit one where there is one. */
static int find_block(struct reader *in, struct header *ret)
{
	if (read_header(in, ret) != 0)
		return ERR_PROTO;
	if (ret->version == 1)
		return 0;
	if (!take(in, block_size(ret, 4)))
		return bad_file(in, "it ends within its first part");
	return read_header(in, ret);
}

static bool counts_fit(const struct header *header)
{
	const uint32_t *n = header->n;

	return n[TZIF_TYPE] >= 1 && n[TZIF_TYPE] <= ZONE_TYPES_MAX && n[TZIF_CHAR] >= 1 &&
	       (n[TZIF_ISSTD] == 0 || n[TZIF_ISSTD] == n[TZIF_TYPE]) &&
	       (n[TZIF_ISUT] == 0 || n[TZIF_ISUT] == n[TZIF_TYPE]);
}

static int read_times(struct reader *in, struct zone *zone, size_t n, size_t size)
{
	const unsigned char *times = take(in, (uint64_t)n * size);
	const unsigned char *kinds = take(in, n);

	if (!n)
		return 0;
	zone->n_times = n;
	zone->times = xcalloc(n, sizeof(*zone->times));
	zone->kinds = xcalloc(n, 1);
	memcpy(zone->kinds, kinds, n);
	for (size_t i = 0; i < n; i++) {
		zone->times[i] = big_endian(times + i * size, size);
		if (i && zone->times[i] <= zone->times[i - 1])
			return bad_file(in, "its transitions are not in order");
	}
	return 0;
}

static int read_types(struct reader *in, struct zone *zone, size_t n, size_t n_chars)
{
	const unsigned char *p = take(in, n * 6);

	zone->n_types = n;
	zone->types = xcalloc(n, sizeof(*zone->types));
	for (size_t i = 0; i < n; i++, p += 6) {
		zone->types[i].offset_s = (int32_t)big_endian(p, 4);
		zone->types[i].dst = p[4] != 0;
		zone->types[i].abbr = p[5];
		if (zone->types[i].offset_s > ZONE_OFFSET_MAX ||
			zone->types[i].offset_s < -ZONE_OFFSET_MAX)
			return bad_file(in, "an offset from UTC is beyond a week");
		if (p[5] >= n_chars)
			return bad_file(in, "an abbreviation lies outside its table");
	}
	for (size_t i = 0; i < zone->n_times; i++)
		if (zone->kinds[i] >= n)
			return bad_file(in, "a transition names a type that is not there");
	return 0;
}

static bool is_name_char(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '-';
}

static int read_abbrs(struct reader *in, struct zone *zone, size_t n)
{
	const unsigned char *p = take(in, n);

	for (size_t i = 0, len = 0; i < n; i++) {
		len = p[i] ? len + 1 : 0;
		if ((p[i] && !is_name_char(p[i])) || len > ZONE_ABBR_MAX)
			return bad_file(in, "an abbreviation holds what none has");
	}
	if (p[n - 1] != 0)
		return bad_file(in, "its last abbreviation has no end");
	zone->abbrs = xmalloc(n);
	memcpy(zone->abbrs, p, n);
	return 0;
}

/* "\n", the POSIX TZ string or nothing, "\n". */
static int read_footer(struct reader *in, struct zone *zone)
{
	const unsigned char *start = take(in, 1);
	const unsigned char *end = start ? memchr(in->p, '\n', in->left) : NULL;
	size_t len;

	if (!end || *start != '\n')
		return bad_file(in, "its footer is cut off");
	len = (size_t)(end - in->p);
	if (len && zone_rule_parse((const char *)in->p, len, &zone->rule) != 0)
		return bad_file(in, "its rule for the years after its table is not understood");
	zone->has_rule = len != 0;
	return 0;
}

static int read_block(struct reader *in, const struct header *header, struct zone *zone)
{
	size_t size = header->version == 1 ? 4 : 8;
	const uint32_t *n = header->n;

	if (!counts_fit(header))
		return bad_file(in, "its counts contradict each other");
	if (block_size(header, size) > in->left)
		return bad_file(in, "it ends within its data");
	if (read_times(in, zone, n[TZIF_TIME], size) != 0 ||
		read_types(in, zone, n[TZIF_TYPE], n[TZIF_CHAR]) != 0 ||
		read_abbrs(in, zone, n[TZIF_CHAR]) != 0)
		return ERR_PROTO;
	take(in, n[TZIF_LEAP] * ((uint64_t)size + 4) + n[TZIF_ISSTD] + (uint64_t)n[TZIF_ISUT]);
	return header->version == 1 ? 0 : read_footer(in, zone);
}

static bool type_is_used(const struct zone *zone, size_t type)
{
	return zone->n_times && memchr(zone->kinds, (int)type, zone->n_times) != NULL;
}

/*
 * RFC 9636 says type 0. tzcode before 2018f, and Go to this day, guess where a transition uses
 * type 0 too: the last standard time before a summer time that comes first, else the first
 * standard time of the table.
 */
static size_t first_type(const struct zone *zone)
{
	if (!type_is_used(zone, 0))
		return 0;
	if (zone->types[zone->kinds[0]].dst)
		for (size_t i = zone->kinds[0]; i-- > 0;)
			if (!zone->types[i].dst)
				return i;
	for (size_t i = 0; i < zone->n_types; i++)
		if (!zone->types[i].dst)
			return i;
	return 0;
}

int zone_parse(const char *name, const void *bytes, size_t len, struct zone **ret, struct err *err)
{
	struct reader in = { .name = name, .p = bytes, .left = len, .err = err };
	struct zone *zone = xcalloc(1, sizeof(*zone));
	struct header header;

	zone->name = xstrdup(name);
	if (find_block(&in, &header) != 0 || read_block(&in, &header, zone) != 0) {
		zone_free(zone);
		return ERR_PROTO;
	}
	zone->first = first_type(zone);
	*ret = zone;
	return 0;
}

/* --- finding it --- */

static int bad_name(const char *name, const char *what, enum err_code code, struct err *err)
{
	struct str shown;

	str_init(&shown, 4 * ZONE_NAME_MAX);
	text_escape_cut(&shown, name, strlen(name), 64);
	err_set(err, code, "the time zone \"%s\" %s", shown.s, what);
	str_release(&shown);
	return code;
}

static int check_name(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len > ZONE_NAME_MAX)
		return bad_name(name, "has a name longer than any zone's", ERR_USAGE, err);
	if (name[0] == '/' || name[0] == '\\' || strstr(name, ".."))
		return bad_name(name, "is a path, not a name like Europe/Berlin", ERR_USAGE, err);
	for (size_t i = 0; i < len; i++)
		if (!is_name_char((unsigned char)name[i]) && !strchr("/_.", name[i]))
			return bad_name(
				name, "has characters that no zone's name has", ERR_USAGE, err);
	return 0;
}

static int load_file(const char *name, const char *path, struct zone **ret, struct err *err)
{
	struct str bytes;
	int rc;

	str_init(&bytes, ZONE_FILE_MAX);
	rc = fs_read(path, &bytes, err);
	if (rc == 0)
		rc = zone_parse(name, bytes.s, bytes.len, ret, err);
	str_release(&bytes);
	return rc;
}

static int load_named(const char *name, struct zone **ret, struct err *err)
{
	const char *dir = getenv("TZDIR");
	struct err why;
	struct str path;
	int rc = check_name(name, err);

	if (rc != 0)
		return rc;
	if (!dir || !*dir)
		dir = "/usr/share/zoneinfo";
	str_init(&path, 1 << 16);
	str_addf(&path, "%s/%s", dir, name);
	rc = load_file(name, path.s, ret, &why);
	if (rc == ERR_NOTFOUND)
		err_set(err, rc, "there is no time zone \"%s\" under %.200s", name, dir);
	else if (rc != 0)
		err_set(err, rc, "%s", why.text);
	str_release(&path);
	return rc;
}

static struct zone *from_rule(const char *name, const struct zone_rule *rule)
{
	struct zone *zone = xcalloc(1, sizeof(*zone));

	zone->name = xstrdup(name);
	zone->has_rule = true;
	zone->rule = *rule;
	return zone;
}

static int load_utc(struct zone **ret)
{
	*ret = (struct zone *)&utc;
	return 0;
}

static int load_local(struct zone **ret, struct err *err)
{
	const char *tz = getenv("TZ");
	struct zone_rule rule;
	int rc;

	if (!tz) {
		rc = load_file("Local", "/etc/localtime", ret, err);
		return rc == ERR_NOTFOUND ? load_utc(ret) : rc;
	}
	if (*tz == ':')
		tz++;
	if (!*tz || strcmp(tz, "UTC") == 0)
		return load_utc(ret);
	if (*tz == '/')
		return load_file("Local", tz, ret, err);
	/* A name first: "EST5EDT" is a file and a rule. */
	rc = load_named(tz, ret, err);
	if (rc == 0 || zone_rule_parse(tz, strlen(tz), &rule) != 0)
		return rc;
	err_clear(err);
	*ret = from_rule("Local", &rule);
	return 0;
}

int zone_load(const char *name, struct zone **ret, struct err *err)
{
	if (!*name || strcmp(name, "UTC") == 0)
		return load_utc(ret);
	if (strcmp(name, "Local") == 0)
		return load_local(ret, err);
	return load_named(name, ret, err);
}

/* --- asking it --- */

static void at_type(const struct zone *zone, size_t type, struct zone_at *ret)
{
	ret->offset_s = zone->types[type].offset_s;
	ret->dst = zone->types[type].dst;
	ret->abbr = zone->abbrs + zone->types[type].abbr;
}

/* The number of transitions at or before an instant. */
static size_t times_until(const struct zone *zone, int64_t unix_s)
{
	size_t low = 0, high = zone->n_times;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (zone->times[middle] <= unix_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void zone_at(const struct zone *zone, int64_t unix_s, struct zone_at *ret)
{
	size_t past = times_until(zone, unix_s);
	int64_t since = past ? zone->times[past - 1] : INT64_MIN;

	/* The footer speaks from the last transition on, and for all time where there is none. */
	if (past == zone->n_times && zone->has_rule) {
		zone_rule_at(&zone->rule, unix_s, ret);
		if (ret->since_s < since)
			ret->since_s = since;
		return;
	}
	at_type(zone, past ? zone->kinds[past - 1] : zone->first, ret);
	ret->since_s = since;
	ret->until_s = past < zone->n_times ? zone->times[past] : INT64_MAX;
}

/* Sums that stay in range: the calendar ends long before (civil.h). */
static int64_t shift(int64_t s, int64_t by)
{
	if (by > 0 && s > INT64_MAX - by)
		return INT64_MAX;
	if (by < 0 && s < INT64_MIN - by)
		return INT64_MIN;
	return s + by;
}

void zone_civil(const struct zone *zone, int64_t unix_s, struct civil *ret)
{
	struct zone_at at;

	zone_at(zone, unix_s, &at);
	civil_from_seconds(shift(unix_s, at.offset_s), ret);
}

int64_t zone_instant(const struct zone *zone, const struct civil *civil)
{
	int64_t local = civil_seconds(civil);
	struct zone_at at;

	zone_at(zone, local, &at);
	zone_at(zone, local - at.offset_s, &at);
	return local - at.offset_s;
}
