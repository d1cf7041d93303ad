#include "config.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/zone.h"
#include "tests/unit/unit.h"

#define ZONEINFO TESTS_DIR "/oracle/cron/zoneinfo"

/* --- files made by hand --- */

struct type {
	int32_t offset_s;
	int dst, abbr;
};

/* A TZif file's content; what is left 0 is absent. */
struct content {
	char version; /* 0, or '2' and later: then the first block is empty */
	size_t n_times;
	int64_t times[4];
	uint8_t kinds[4];
	size_t n_types;
	struct type types[3];
	const char *chars; /* with n_chars bytes */
	size_t n_chars;
	uint32_t n_isstd, n_isut, n_leap;
	const char *footer;
};

/* UTC+1, an hour more between two transitions, then the rule. */
static const struct content good = {
	.version = '2',
	.n_times = 2,
	.times = { 1000000, 2000000 },
	.kinds = { 1, 0 },
	.n_types = 2,
	.types = { { 3600, 0, 0 }, { 7200, 1, 4 } },
	.chars = "CET\0CEST",
	.n_chars = 9,
	.footer = "\nCET-1CEST,M3.5.0,M10.5.0/3\n",
};

static void add_number(struct str *out, int64_t n, int size)
{
	while (size-- > 0)
		str_add_char(out, (char)((uint64_t)n >> (8 * size)));
}

static void add_header(struct str *out, char version, const struct content *c)
{
	str_add(out, "TZif");
	str_add_char(out, version);
	for (int i = 0; i < 15; i++)
		str_add_char(out, 0);
	add_number(out, c ? c->n_isut : 0, 4);
	add_number(out, c ? c->n_isstd : 0, 4);
	add_number(out, c ? c->n_leap : 0, 4);
	add_number(out, c ? (int64_t)c->n_times : 0, 4);
	add_number(out, c ? (int64_t)c->n_types : 0, 4);
	add_number(out, c ? (int64_t)c->n_chars : 0, 4);
}

static void add_block(struct str *out, const struct content *c, int size)
{
	for (size_t i = 0; i < c->n_times; i++)
		add_number(out, c->times[i], size);
	for (size_t i = 0; i < c->n_times; i++)
		str_add_char(out, (char)c->kinds[i]);
	for (size_t i = 0; i < c->n_types; i++) {
		add_number(out, c->types[i].offset_s, 4);
		str_add_char(out, (char)c->types[i].dst);
		str_add_char(out, (char)c->types[i].abbr);
	}
	str_add_mem(out, c->chars, c->n_chars);
	for (uint32_t i = 0; i < c->n_leap * (uint32_t)(size + 4) + c->n_isstd + c->n_isut; i++)
		str_add_char(out, 0);
}

static void build(struct str *out, const struct content *c)
{
	str_init(out, 1 << 20);
	if (c->version) {
		add_header(out, c->version, NULL);
		add_header(out, c->version, c);
		add_block(out, c, 8);
		if (c->footer)
			str_add(out, c->footer);
	} else {
		add_header(out, 0, c);
		add_block(out, c, 4);
	}
}

static struct zone *taken(const struct content *c)
{
	struct zone *zone = NULL;
	struct err err = { 0 };
	struct str bytes;

	build(&bytes, c);
	if (zone_parse("Test/Zone", bytes.s, bytes.len, &zone, &err) != 0)
		fail_msg("%s", err.text);
	str_release(&bytes);
	return zone;
}

static void refused_bytes(const char *bytes, size_t len, const char *why)
{
	struct zone *zone = (struct zone *)&zone;
	struct err err = { 0 };

	assert_int_equal(zone_parse("Test/Zone", bytes, len, &zone, &err), ERR_PROTO);
	assert_int_equal(err.code, ERR_PROTO);
	assert_ptr_equal(zone, &zone);
	assert_non_null(strstr(err.text, "Test/Zone"));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void refused(const struct content *c, const char *why)
{
	struct str bytes;

	build(&bytes, c);
	refused_bytes(bytes.s, bytes.len, why);
	str_release(&bytes);
}

static void expect(const struct zone *zone, int64_t unix_s, int offset_s, const char *abbr)
{
	struct zone_at at;

	zone_at(zone, unix_s, &at);
	if (at.offset_s != offset_s || strcmp(at.abbr, abbr) != 0)
		fail_msg("at %lld: %d %s", (long long)unix_s, at.offset_s, at.abbr);
	assert_true(at.since_s <= unix_s && unix_s < at.until_s);
}

/* --- reading --- */

static void every_version_is_read(void **state)
{
	(void)state;
	for (const char *version = "234"; *version; version++) {
		struct content c = good;
		struct zone *zone;

		c.version = *version;
		c.times[0] = -INT64_C(5000000000);
		zone = taken(&c);
		assert_string_equal(zone_name(zone), "Test/Zone");
		expect(zone, -INT64_C(5000000001), 3600, "CET");
		expect(zone, -INT64_C(5000000000), 7200, "CEST");
		expect(zone, 2000000, 3600, "CET");
		/* Summer by the rule. */
		expect(zone, 20000000, 7200, "CEST");
		zone_free(zone);
	}
}

static void version_1_has_32_bits_and_no_rule(void **state)
{
	struct content c = good;
	struct zone *zone;

	(void)state;
	c.version = 0;
	c.times[0] = -2000000000;
	zone = taken(&c);
	expect(zone, -2000000001, 3600, "CET");
	expect(zone, -2000000000, 7200, "CEST");
	expect(zone, 20000000, 3600, "CET");
	zone_free(zone);
}

static void the_first_block_of_later_versions_is_skipped(void **state)
{
	struct content old = good;
	struct zone *zone = NULL;
	struct str bytes;

	(void)state;
	old.types[0].offset_s = 42;
	old.n_leap = 2;
	old.n_isstd = old.n_isut = 2;
	str_init(&bytes, 1 << 20);
	add_header(&bytes, '2', &old);
	add_block(&bytes, &old, 4);
	add_header(&bytes, '2', &good);
	add_block(&bytes, &good, 8);
	str_add(&bytes, good.footer);
	assert_int_equal(zone_parse("Test/Zone", bytes.s, bytes.len, &zone, NULL), 0);
	expect(zone, 0, 3600, "CET");
	zone_free(zone);
	str_release(&bytes);
}

static void leap_seconds_and_indicators_are_passed_over(void **state)
{
	struct content c = good;
	struct zone *zone;

	(void)state;
	c.n_leap = 27;
	c.n_isstd = c.n_isut = 2;
	zone = taken(&c);
	expect(zone, 20000000, 7200, "CEST");
	zone_free(zone);
}

static void a_file_without_transitions_has_its_rule(void **state)
{
	struct content c = good;
	struct zone *zone;

	(void)state;
	c.n_times = 0;
	zone = taken(&c);
	expect(zone, 20000000, 7200, "CEST");
	expect(zone, -30000000, 3600, "CET");
	zone_free(zone);
	c.footer = "\n\n";
	zone = taken(&c);
	expect(zone, 20000000, 3600, "CET");
	zone_free(zone);
}

static void the_time_before_the_table_is_guessed_as_go_does(void **state)
{
	struct content c = good;
	struct zone *zone;

	(void)state;
	c.n_types = 3;
	c.chars = "CET\0CEST\0LMT";
	c.n_chars = 13;
	c.types[2] = (struct type){ 600, 0, 9 };
	/* Type 0 is used by no transition: it. */
	c.kinds[0] = 1;
	c.kinds[1] = 2;
	zone = taken(&c);
	expect(zone, 0, 3600, "CET");
	zone_free(zone);
	/* Type 0 is summer time and used: the first standard time. */
	c.types[0].dst = 1;
	c.kinds[0] = 2;
	c.kinds[1] = 0;
	zone = taken(&c);
	expect(zone, 0, 600, "LMT");
	zone_free(zone);
	/* Summer time comes first: the standard time before it in the table. */
	c.types[0] = (struct type){ 3600, 0, 0 };
	c.types[1] = (struct type){ 600, 0, 9 };
	c.types[2] = (struct type){ 7200, 1, 4 };
	c.kinds[0] = 2;
	c.kinds[1] = 0;
	zone = taken(&c);
	expect(zone, 0, 600, "LMT");
	zone_free(zone);
}

/* --- damage --- */

static void damaged_files_are_refused_with_the_reason(void **state)
{
	struct content c;

	(void)state;
	refused_bytes("", 0, "does not start");
	refused_bytes("TZif2", 5, "does not start");
	refused_bytes("TZjf2000000000000000000000000000000000000000000000", 50, "does not start");
	c = good, c.version = '5';
	refused(&c, "version");
	c = good, c.version = '1';
	refused(&c, "version");
	c = good, c.n_types = 0, c.n_times = 0;
	refused(&c, "contradict");
	c = good, c.n_chars = 0;
	refused(&c, "contradict");
	c = good, c.n_isstd = 1;
	refused(&c, "contradict");
	c = good, c.n_isut = 3;
	refused(&c, "contradict");
	c = good, c.times[1] = c.times[0];
	refused(&c, "not in order");
	c = good, c.times[1] = INT64_MIN;
	refused(&c, "not in order");
	c = good, c.types[1].offset_s = 604801;
	refused(&c, "beyond a week");
	c = good, c.types[1].offset_s = INT32_MIN;
	refused(&c, "beyond a week");
	c = good, c.types[1].abbr = 9;
	refused(&c, "outside its table");
	c = good, c.kinds[1] = 2;
	refused(&c, "type that is not there");
	c = good, c.chars = "CET\0\033[31m";
	refused(&c, "holds what none has");
	c = good, c.chars = "CET\0CESTX";
	refused(&c, "has no end");
	c = good, c.chars = "CET\0ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", c.n_chars = 37;
	refused(&c, "holds what none has");
	c = good, c.footer = "";
	refused(&c, "footer");
	c = good, c.footer = "\n";
	refused(&c, "footer");
	c = good, c.footer = "\nCET-1";
	refused(&c, "footer");
	c = good, c.footer = "xCET-1\n";
	refused(&c, "footer");
	c = good, c.footer = "\nCET-1CEST,M13.1.1,5\n";
	refused(&c, "rule");
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	struct str bytes;

	(void)state;
	build(&bytes, &good);
	for (size_t len = 0; len < bytes.len; len++) {
		/* A copy of its own, so that a byte too far is seen by the sanitizer. */
		char *copy = malloc(len ? len : 1);

		memcpy(copy, bytes.s, len);
		refused_bytes(copy, len, "Test/Zone");
		free(copy);
	}
	str_release(&bytes);
}

/* Counts that promise more than memory has, in either block. */
static void hostile_counts_are_refused(void **state)
{
	struct str bytes;

	(void)state;
	build(&bytes, &good);
	for (size_t block = 0; block < 2; block++) {
		for (size_t i = 0; i < 6; i++) {
			char *copy = malloc(bytes.len);
			struct zone *zone;

			memcpy(copy, bytes.s, bytes.len);
			memset(copy + 44 * block + 20 + 4 * i, 0xff, 4);
			assert_int_equal(zone_parse("x", copy, bytes.len, &zone, NULL), ERR_PROTO);
			free(copy);
		}
	}
	str_release(&bytes);
}

/* --- names --- */

static void load(const char *name, struct zone **ret)
{
	struct err err = { 0 };

	if (zone_load(name, ret, &err) != 0)
		fail_msg("%s", err.text);
}

static void not_loaded(const char *name, enum err_code code, const char *why)
{
	struct zone *zone = (struct zone *)&zone;
	struct err err = { 0 };

	assert_int_equal(zone_load(name, &zone, &err), code);
	assert_int_equal(err.code, code);
	assert_ptr_equal(zone, &zone);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void utc_needs_no_file(void **state)
{
	struct zone *zone;

	(void)state;
	setenv("TZDIR", "/nowhere", 1);
	load("UTC", &zone);
	assert_ptr_equal(zone, zone_utc());
	load("", &zone);
	assert_ptr_equal(zone, zone_utc());
	expect(zone, 0, 0, "UTC");
	expect(zone, INT64_MIN, 0, "UTC");
	assert_string_equal(zone_name(zone), "UTC");
	zone_free(zone);
	zone_free(NULL);
	setenv("TZDIR", ZONEINFO, 1);
}

static void names_that_are_paths_are_refused(void **state)
{
	char name[400];

	(void)state;
	not_loaded("/etc/localtime", ERR_USAGE, "is a path");
	not_loaded("../zoneinfo/Europe/Berlin", ERR_USAGE, "is a path");
	not_loaded("Europe/../Europe/Berlin", ERR_USAGE, "is a path");
	not_loaded("Europe/Berlin..", ERR_USAGE, "is a path");
	not_loaded("\\Europe", ERR_USAGE, "is a path");
	not_loaded("Europe/Ber lin", ERR_USAGE, "characters");
	not_loaded("Europe/\033[2J", ERR_USAGE, "\"Europe/\\x1b[2J\"");
	not_loaded("\xff", ERR_USAGE, "characters");
	not_loaded("\xe2\x80\xae", ERR_USAGE, "\\xe2\\x80\\xae");
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	not_loaded(name, ERR_USAGE, "longer");
	name[ZONE_NAME_MAX] = '\0';
	not_loaded(name, ERR_NOTFOUND, "no time zone");
}

static void what_is_not_there_is_said(void **state)
{
	(void)state;
	not_loaded("Europe/Atlantis", ERR_NOTFOUND,
		"no time zone \"Europe/Atlantis\" under " ZONEINFO);
	not_loaded("utc", ERR_NOTFOUND, "\"utc\"");
	not_loaded("local", ERR_NOTFOUND, "\"local\"");
	not_loaded("Europe", ERR_IO, "directory");
	not_loaded("Europe/Berlin/", ERR_IO, "Berlin/");
	assert_int_equal(
		zone_load("Europe/Atlantis", &(struct zone *){ NULL }, NULL), ERR_NOTFOUND);
}

static void the_folder_is_tzdir_or_the_systems(void **state)
{
	char dir[] = "/tmp/baton-zone-XXXXXX", path[64];
	struct zone *zone;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("TZDIR", dir, 1);
	not_loaded("Europe/Berlin", ERR_NOTFOUND, dir);
	snprintf(path, sizeof(path), "%s/Junk", dir);
	file = fopen(path, "w");
	fputs("no zone", file);
	fclose(file);
	not_loaded("Junk", ERR_PROTO, "Junk is damaged");
	file = fopen(path, "w");
	for (int i = 0; i < (1 << 20) + 1; i++)
		putc('x', file);
	fclose(file);
	not_loaded("Junk", ERR_LIMIT, "larger than");
	unlink(path);
	rmdir(dir);
	setenv("TZDIR", "", 1);
	not_loaded("Europe/Atlantis", ERR_NOTFOUND, "under /usr/share/zoneinfo");
	setenv("TZDIR", ZONEINFO, 1);
	load("Europe/Berlin", &zone);
	zone_free(zone);
}

static void local_is(const char *tz, const char *name, int offset_s, const char *abbr)
{
	struct zone *zone;

	setenv("TZ", tz, 1);
	load("Local", &zone);
	assert_string_equal(zone_name(zone), name);
	/* 1 July 2020. */
	expect(zone, 1593561600, offset_s, abbr);
	zone_free(zone);
	unsetenv("TZ");
}

static void local_is_what_the_environment_says(void **state)
{
	struct zone *zone;

	(void)state;
	local_is("", "UTC", 0, "UTC");
	local_is(":", "UTC", 0, "UTC");
	local_is("UTC", "UTC", 0, "UTC");
	local_is("Europe/Berlin", "Europe/Berlin", 7200, "CEST");
	local_is(":Europe/Berlin", "Europe/Berlin", 7200, "CEST");
	local_is(ZONEINFO "/Asia/Kolkata", "Local", 19800, "IST");
	local_is("NZST-12NZDT,M9.5.0,M4.1.0/3", "Local", 43200, "NZST");
	local_is("<+0330>-3:30", "Local", 12600, "+0330");
	setenv("TZ", "Europe/Atlantis", 1);
	not_loaded("Local", ERR_NOTFOUND, "Europe/Atlantis");
	setenv("TZ", "../../etc/passwd", 1);
	not_loaded("Local", ERR_USAGE, "is a path");
	setenv("TZ", "/nowhere/at/all", 1);
	not_loaded("Local", ERR_NOTFOUND, "/nowhere/at/all");
	unsetenv("TZ");
	/* /etc/localtime, or UTC where the machine has none. */
	load("Local", &zone);
	zone_free(zone);
}

/* --- the whole database --- */

static int load_tree(const char *dir, const char *below, void (*visit)(const char *, struct zone *))
{
	char path[512];
	struct dirent *entry;
	int n = 0;
	DIR *tree;

	snprintf(path, sizeof(path), "%s/%s", dir, below);
	tree = opendir(path);
	while (tree && (entry = readdir(tree))) {
		char name[300], magic[5] = "";
		struct stat st;
		FILE *file;

		snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "", entry->d_name);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (entry->d_name[0] == '.' || stat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			n += load_tree(dir, name, visit);
			continue;
		}
		file = fopen(path, "r");
		if (file && fread(magic, 1, 4, file) == 4 && strcmp(magic, "TZif") == 0) {
			struct zone *zone;

			load(name, &zone);
			visit(path, zone);
			zone_free(zone);
			n++;
		}
		if (file)
			fclose(file);
	}
	if (tree)
		closedir(tree);
	return n;
}

/* glibc takes summer time's name from elsewhere in the file at times, so only offsets count. */
static void compare_with_libc(const char *path, struct zone *zone)
{
	uint64_t seed = 5;
	char tz[520];

	/* It counts leap seconds in "right/", which nobody else wants. */
	if (strstr(path, "/right/"))
		return;
	snprintf(tz, sizeof(tz), ":%s", path);
	setenv("TZ", tz, 1);
	tzset();
	for (int i = 0; i < 400; i++) {
		time_t t = (time_t)unit_pick(&seed, (size_t)330 * 365 * 86400) -
			   (time_t)100 * 365 * 86400;
		struct zone_at at;
		struct tm tm;

		localtime_r(&t, &tm);
		zone_at(zone, t, &at);
		if (at.offset_s != tm.tm_gmtoff)
			fail_msg("%s at %lld: %d, libc %ld", path, (long long)t, at.offset_s,
				tm.tm_gmtoff);
	}
	unsetenv("TZ");
}

static void the_shipped_zones_agree_with_libc(void **state)
{
	(void)state;
	assert_int_equal(load_tree(ZONEINFO, "", compare_with_libc), 32);
}

static void the_systems_zones_agree_with_libc(void **state)
{
	struct stat st;
	int n;

	(void)state;
	if (stat("/usr/share/zoneinfo/Europe", &st) != 0) {
		print_message("no tzdata on this machine\n");
		skip();
	}
	unsetenv("TZDIR");
	n = load_tree("/usr/share/zoneinfo", "", compare_with_libc);
	setenv("TZDIR", ZONEINFO, 1);
	print_message("%d zones\n", n);
	assert_true(n > 100);
}

/* --- dates --- */

static int64_t instant(const struct zone *zone, int y, int mo, int d, int h, int mi)
{
	struct civil civil = { y, mo, d, h, mi, 0, 0 };

	return zone_instant(zone, &civil);
}

static void wall(const struct zone *zone, int64_t unix_s, const char *expected)
{
	struct civil c;
	char got[64];

	zone_civil(zone, unix_s, &c);
	snprintf(got, sizeof(got), "%d-%02d-%02d %02d:%02d:%02d", (int)c.year, c.month, c.day,
		c.hour, c.minute, c.second);
	assert_string_equal(got, expected);
}

static void skipped_times_come_out_as_documented(void **state)
{
	struct zone *berlin, *new_york, *london, *apia;

	(void)state;
	load("Europe/Berlin", &berlin);
	load("America/New_York", &new_york);
	load("Europe/London", &london);
	load("Pacific/Apia", &apia);
	wall(berlin, instant(berlin, 2024, 3, 31, 2, 30), "2024-03-31 03:30:00");
	wall(london, instant(london, 2024, 3, 31, 1, 30), "2024-03-31 02:30:00");
	wall(new_york, instant(new_york, 2024, 3, 10, 2, 30), "2024-03-10 01:30:00");
	/* From ten hours west to fourteen east, at 10:00 UTC. */
	wall(apia, instant(apia, 2011, 12, 30, 9, 59), "2011-12-29 09:59:00");
	wall(apia, instant(apia, 2011, 12, 30, 10, 0), "2011-12-31 10:00:00");
	zone_free(berlin);
	zone_free(new_york);
	zone_free(london);
	zone_free(apia);
}

static void repeated_times_come_out_as_documented(void **state)
{
	struct zone *berlin, *new_york;

	(void)state;
	load("Europe/Berlin", &berlin);
	load("America/New_York", &new_york);
	/* East: the second pass, 01:30 UTC; west: the first, 05:30 UTC. */
	assert_int_equal(instant(berlin, 2024, 10, 27, 2, 30), 1729992600);
	assert_int_equal(instant(new_york, 2024, 11, 3, 1, 30), 1730611800);
	zone_free(berlin);
	zone_free(new_york);
}

/* Where the clock doesn't jump, the two directions are each other's inverse. */
static void wall_and_instant_are_inverse(const char *path, struct zone *zone)
{
	uint64_t seed = 3;

	for (int i = 0; i < 300; i++) {
		int64_t s = (int64_t)unit_pick(&seed, (size_t)300 * 365 * 86400) -
			    INT64_C(100) * 365 * 86400;
		struct zone_at before, after;
		struct civil civil;

		zone_at(zone, s - 2 * 86400, &before);
		zone_at(zone, s + 2 * 86400, &after);
		if (before.offset_s != after.offset_s || before.until_s < s)
			continue;
		zone_civil(zone, s, &civil);
		if (zone_instant(zone, &civil) != s)
			fail_msg("%s: %lld", path, (long long)s);
	}
}

static void wall_and_instant_agree(void **state)
{
	(void)state;
	load_tree(ZONEINFO, "", wall_and_instant_are_inverse);
}

static void the_ends_of_time_are_defined(void **state)
{
	const int64_t ends[] = { INT64_MIN, INT64_MAX };
	struct zone *zone;

	(void)state;
	load("Europe/Berlin", &zone);
	for (size_t i = 0; i < 2; i++) {
		struct civil civil;

		zone_civil(zone, ends[i], &civil);
		zone_instant(zone, &civil);
	}
	zone_free(zone);
}

/* --- threads --- */

struct reading {
	const struct zone *zone;
	int64_t sum;
};

static void *read_zone(void *arg)
{
	struct reading *reading = arg;
	struct zone *own = NULL;

	for (int64_t s = -2000000000; s < 4000000000; s += 999983) {
		struct zone_at at;

		zone_at(reading->zone, s, &at);
		reading->sum += at.offset_s * (s % 7);
	}
	zone_load("America/Havana", &own, NULL);
	zone_free(own);
	return NULL;
}

static void threads_share_a_zone(void **state)
{
	struct reading readings[4];
	pthread_t threads[4];
	struct zone *zone;

	(void)state;
	load("Europe/Berlin", &zone);
	for (size_t i = 0; i < 4; i++) {
		readings[i] = (struct reading){ zone, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, read_zone, &readings[i]), 0);
	}
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(readings[i].sum, readings[0].sum);
	zone_free(zone);
}

static int use_shipped_zones(void **state)
{
	(void)state;
	return setenv("TZDIR", ZONEINFO, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_is_read),
		cmocka_unit_test(version_1_has_32_bits_and_no_rule),
		cmocka_unit_test(the_first_block_of_later_versions_is_skipped),
		cmocka_unit_test(leap_seconds_and_indicators_are_passed_over),
		cmocka_unit_test(a_file_without_transitions_has_its_rule),
		cmocka_unit_test(the_time_before_the_table_is_guessed_as_go_does),
		cmocka_unit_test(damaged_files_are_refused_with_the_reason),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(hostile_counts_are_refused),
		cmocka_unit_test(utc_needs_no_file),
		cmocka_unit_test(names_that_are_paths_are_refused),
		cmocka_unit_test(what_is_not_there_is_said),
		cmocka_unit_test(the_folder_is_tzdir_or_the_systems),
		cmocka_unit_test(local_is_what_the_environment_says),
		cmocka_unit_test(the_shipped_zones_agree_with_libc),
		cmocka_unit_test(the_systems_zones_agree_with_libc),
		cmocka_unit_test(skipped_times_come_out_as_documented),
		cmocka_unit_test(repeated_times_come_out_as_documented),
		cmocka_unit_test(wall_and_instant_agree),
		cmocka_unit_test(the_ends_of_time_are_defined),
		cmocka_unit_test(threads_share_a_zone),
	};

	return cmocka_run_group_tests(tests, use_shipped_zones, NULL);
}
