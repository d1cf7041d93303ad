#include "config.h"

#include "base/cron.h"

#include <string.h>

enum {
	MINUTE_S = 60,
	HOUR_S = 3600,
	DAY_S = 86400,
	YEARS_MAX = 5,
	LOOK_BACK_BITS = 28, /* 2^28 s are eight and a half years */
	SPAN_LEAST_S = 64,
	REPEAT_MAX_S = 26 * HOUR_S, /* a day that is repeated, and its hours before and after */
};

#define SECOND_US INT64_C(1000000)
#define NO_DAY    (INT64_MIN / 2)

static bool has(uint64_t bits, int n)
{
	return bits >> n & 1;
}

static int64_t floor_s(int64_t us)
{
	return us / SECOND_US - (us % SECOND_US < 0);
}

/* False where the slot is beyond what microseconds hold. */
static bool to_us(int64_t s, int64_t *ret_us)
{
	if (s > INT64_MAX / SECOND_US || s < INT64_MIN / SECOND_US)
		return false;
	*ret_us = s * SECOND_US;
	return true;
}

/* --- the search for the next slot --- */

/*
 * A time that moves forward until every field matches. The steps, and what is reset when, are the
 * library's, because its answers near a change of the clock follow from them.
 */
struct walk {
	const struct cron *cron;
	const struct zone *zone;
	int64_t s;
	struct zone_at at;
	struct civil now;
	int64_t day_s; /* local seconds at the last midnight before now */
	bool moved;    /* the smaller fields have been reset already */
};

/* Seconds since midnight. */
static int64_t day_seconds(const struct civil *now)
{
	return (int64_t)now->hour * HOUR_S + now->minute * MINUTE_S + now->second;
}

static void go_to(struct walk *walk, int64_t s)
{
	int64_t local_s, rest;

	walk->s = s;
	if (s < walk->at.since_s || s >= walk->at.until_s)
		zone_at(walk->zone, s, &walk->at);
	local_s = s + walk->at.offset_s;
	rest = local_s - walk->day_s;
	if (rest < 0 || rest >= DAY_S) {
		civil_from_seconds(local_s, &walk->now);
		walk->day_s = local_s - day_seconds(&walk->now);
		return;
	}
	/* Most steps stay within a day. */
	walk->now.hour = (int)rest / HOUR_S;
	walk->now.minute = (int)rest / MINUTE_S % 60;
	walk->now.second = (int)rest % MINUTE_S;
}

/* Once in a search: clears the fields below the one that is to be moved. */
static void reset_below(struct walk *walk, int day, int hour)
{
	struct civil start = { walk->now.year, walk->now.month, day, hour, 0, 0, 0 };

	if (!walk->moved)
		go_to(walk, zone_instant(walk->zone, &start));
	walk->moved = true;
}

static bool day_matches(const struct cron *cron, const struct civil *now)
{
	bool day = has(cron->days, now->day), weekday = has(cron->weekdays, now->weekday);

	/* Where one of the two is a star the other decides; else either is enough. */
	if ((cron->days | cron->weekdays) & CRON_STAR)
		return day && weekday;
	return day || weekday;
}

/* Each find_ function moves to where its field matches; false when a larger field has turned. */
static bool find_month(struct walk *walk)
{
	while (!has(walk->cron->months, walk->now.month)) {
		struct civil next;

		reset_below(walk, 1, 0);
		next = walk->now;
		next.month++;
		go_to(walk, zone_instant(walk->zone, &next));
		if (walk->now.month == 1)
			return false;
	}
	return true;
}

static void next_day(struct walk *walk)
{
	struct civil next = walk->now;
	int64_t before = walk->s;

	next.day++;
	go_to(walk, zone_instant(walk->zone, &next));
	/* A midnight that the clock skips comes out as 23:00 or 01:00. */
	if (walk->now.hour > 12)
		go_to(walk, walk->s + (int64_t)(24 - walk->now.hour) * HOUR_S);
	else if (walk->now.hour > 0)
		go_to(walk, walk->s - (int64_t)walk->now.hour * HOUR_S);
	/* A skipped day comes out as the day before it, again and again. */
	if (walk->s <= before)
		go_to(walk, before + DAY_S);
}

static bool find_day(struct walk *walk)
{
	while (!day_matches(walk->cron, &walk->now)) {
		reset_below(walk, walk->now.day, 0);
		next_day(walk);
		if (walk->now.day == 1)
			return false;
	}
	return true;
}

/*
 * From a value of a field to the next that is meant, or to the field's end, in one go: the steps
 * between would find nothing. Where the clock changes on the way, one step of unit_s.
 */
static void step(struct walk *walk, uint64_t bits, int value, int end, int unit_s)
{
	int next = value + 1;
	int64_t s;

	while (next < end && !has(bits, next))
		next++;
	s = walk->s + (int64_t)(next - value) * unit_s;
	go_to(walk, s < walk->at.until_s ? s : walk->s + unit_s);
}

static bool find_hour(struct walk *walk)
{
	while (!has(walk->cron->hours, walk->now.hour)) {
		reset_below(walk, walk->now.day, walk->now.hour);
		step(walk, walk->cron->hours, walk->now.hour, 24, HOUR_S);
		if (walk->now.hour == 0)
			return false;
	}
	return true;
}

static bool find_minute(struct walk *walk)
{
	while (!has(walk->cron->minutes, walk->now.minute)) {
		if (!walk->moved)
			go_to(walk, walk->s - ((walk->s % MINUTE_S) + MINUTE_S) % MINUTE_S);
		walk->moved = true;
		step(walk, walk->cron->minutes, walk->now.minute, 60, MINUTE_S);
		if (walk->now.minute == 0)
			return false;
	}
	return true;
}

static bool find_second(struct walk *walk)
{
	while (walk->now.second != 0) {
		walk->moved = true;
		step(walk, 1, walk->now.second, 60, 1);
		if (walk->now.second == 0)
			return false;
	}
	return true;
}

/* A field without a value ("," alone) never matches; the library finds that out by walking. */
static bool can_match(const struct cron *cron)
{
	return cron->minutes && cron->hours && cron->months && (cron->days | cron->weekdays);
}

/* The library's answer. */
static bool search(
	const struct cron *cron, const struct zone *zone, int64_t after_s, int64_t *ret_s)
{
	struct walk walk = { .cron = cron, .zone = zone, .day_s = NO_DAY };
	int64_t last_year;

	zone_at(zone, after_s + 1, &walk.at);
	go_to(&walk, after_s + 1);
	last_year = walk.now.year + YEARS_MAX;
	while (walk.now.year <= last_year) {
		if (find_month(&walk) && find_day(&walk) && find_hour(&walk) &&
			find_minute(&walk) && find_second(&walk)) {
			*ret_s = walk.s;
			return true;
		}
	}
	return false;
}

/* The first whole minute on the wall, in the span of a repeated time, that matches. */
static bool search_wall(
	const struct cron *cron, const struct zone *zone, int64_t after_s, int64_t *ret_s)
{
	struct walk walk = { .cron = cron, .zone = zone, .day_s = NO_DAY };
	int64_t s = after_s + 1;

	zone_at(zone, s, &walk.at);
	for (go_to(&walk, s); s <= after_s + REPEAT_MAX_S; go_to(&walk, s)) {
		const struct civil *now = &walk.now;

		if (now->second == 0 && has(cron->minutes, now->minute) &&
			has(cron->hours, now->hour) && has(cron->months, now->month) &&
			day_matches(cron, now)) {
			*ret_s = s;
			return true;
		}
		s += MINUTE_S - now->second;
	}
	return false;
}

/* The first slot after a whole second. */
static bool next_slot(
	const struct cron *cron, const struct zone *zone, int64_t after_s, int64_t *ret_s)
{
	int64_t s = after_s;

	if (cron->every_s) {
		*ret_s = after_s + cron->every_s;
		return true;
	}
	if (!can_match(cron) || !search(cron, zone, after_s, &s))
		return false;
	/* In a repeated hour the search may begin in its first pass, and end there. */
	if (s <= after_s && !search_wall(cron, zone, after_s, &s) &&
		(!search(cron, zone, after_s + REPEAT_MAX_S, &s) || s <= after_s))
		return false;
	*ret_s = s;
	return true;
}

bool cron_next(const struct cron *cron, const struct zone *zone, int64_t after_us, int64_t *ret_us)
{
	int64_t s;

	return next_slot(cron, zone, floor_s(after_us), &s) && to_us(s, ret_us);
}

/* --- looking back --- */

/* The first slot after from_s, if it lies before before_s. */
static bool slot_between(const struct cron *cron, const struct zone *zone, int64_t from_s,
	int64_t before_s, int64_t *ret_s)
{
	int64_t s;

	if (!next_slot(cron, zone, from_s, &s) || s >= before_s)
		return false;
	*ret_s = s;
	return true;
}

/* Back in doubling steps until a slot lies between, then halving: some 60 searches at most. */
static bool slot_before(
	const struct cron *cron, const struct zone *zone, int64_t before_s, int64_t *ret_s)
{
	int64_t low = before_s, high, found, s;
	int bits = 1;

	do {
		if (bits > LOOK_BACK_BITS)
			return false;
		high = low;
		low = before_s - (INT64_C(1) << bits++);
	} while (!slot_between(cron, zone, low, before_s, &found));
	/* found is a slot, and none later is found from high on. */
	low = found;
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (slot_between(cron, zone, middle, before_s, &s))
			low = found = s;
		else
			high = middle;
	}
	*ret_s = found;
	return true;
}

/* The first whole second at or after a time: a slot is before the one if it is before the other. */
static int64_t ceil_s(int64_t us)
{
	return us / SECOND_US + (us % SECOND_US > 0);
}

static void reverse(int64_t *slots, size_t n)
{
	size_t i;

	for (i = 0; i < n / 2; i++) {
		int64_t keep = slots[i];

		slots[i] = slots[n - 1 - i];
		slots[n - 1 - i] = keep;
	}
}

/* Those of [from_s, before_s), the newest first; of more than max the newest. */
static size_t slots_in(const struct cron *cron, const struct zone *zone, int64_t from_s,
	int64_t before_s, int64_t *slots, size_t max)
{
	int64_t s = from_s - 1;
	size_t n = 0, oldest;

	while (slot_between(cron, zone, s, before_s, &s))
		slots[n++ % max] = s;
	if (n <= max) {
		reverse(slots, n);
		return n;
	}
	/* They went round: the oldest stands where the next would. */
	oldest = n % max;
	reverse(slots, oldest);
	reverse(slots + oldest, max - oldest);
	return max;
}

size_t cron_before(const struct cron *cron, const struct zone *zone, int64_t before_us,
	int64_t since_us, int64_t *slots, size_t max)
{
	int64_t high = ceil_s(before_us), since_s = ceil_s(since_us), span = SPAN_LEAST_S, low;
	size_t n = 0, i;

	if (since_s < high - (INT64_C(1) << LOOK_BACK_BITS))
		since_s = high - (INT64_C(1) << LOOK_BACK_BITS);
	if (cron->every_s)
		return 0;
	for (; n < max && high > since_s; high = low, span *= 2) {
		low = high - since_s > span ? high - span : since_s;
		n += slots_in(cron, zone, low, high, slots + n, max - n);
	}
	/* The oldest may lie before what microseconds hold. */
	for (i = 0; i < n && to_us(slots[i], &slots[i]); i++)
		;
	return i;
}

/* The last slot of (after_s, until_s]. */
static bool latest_slot(const struct cron *cron, const struct zone *zone, int64_t after_s,
	int64_t until_s, int64_t *ret_s)
{
	int64_t s;

	if (until_s <= after_s)
		return false;
	if (cron->every_s)
		s = until_s - (until_s - after_s) % cron->every_s;
	else if (!slot_before(cron, zone, until_s + 1, &s))
		return false;
	if (s <= after_s)
		return false;
	*ret_s = s;
	return true;
}

bool cron_latest(const struct cron *cron, const struct zone *zone, int64_t after_us,
	int64_t until_us, int64_t *ret_us)
{
	int64_t s;

	return latest_slot(cron, zone, floor_s(after_us), floor_s(until_us), &s) &&
	       to_us(s, ret_us);
}

static int64_t count_slots(const struct cron *cron, const struct zone *zone, int64_t after_s,
	int64_t until_s, int64_t max)
{
	int64_t n = 0;

	if (until_s <= after_s)
		return 0;
	if (cron->every_s) {
		n = (until_s - after_s) / cron->every_s;
		return n < max ? n : max;
	}
	while (n < max && next_slot(cron, zone, after_s, &after_s) && after_s <= until_s)
		n++;
	return n;
}

int64_t cron_count(const struct cron *cron, const struct zone *zone, int64_t after_us,
	int64_t until_us, int64_t max)
{
	return count_slots(cron, zone, floor_s(after_us), floor_s(until_us), max);
}

/* --- missed slots --- */

/* Two slots or more have passed. */
static void estimate_missed(const struct cron *cron, const struct zone *zone, int64_t first_s,
	int64_t second_s, int64_t now_s, struct cron_missed *ret)
{
	int64_t distance = second_s - first_s, from_s, latest_s;

	ret->estimate = (now_s - first_s) / distance + 1;
	ret->kind = ret->estimate > CRON_MISSED_LIMIT ? CRON_MISSED_MANY : CRON_MISSED_FEW;
	/* Where slots lie unevenly there may be none in the last two distances: nothing starts. */
	from_s = first_s + (ret->estimate - 2) * distance;
	ret->has_latest = latest_slot(cron, zone, from_s, now_s, &latest_s) &&
			  to_us(latest_s, &ret->latest_us);
}

static int64_t earliest(int64_t since_s, int64_t deadline_s, int64_t now_s)
{
	/* The API has 63 bits for it; longer than a thousand years is no deadline. */
	if (deadline_s < 0 || deadline_s > INT64_C(1) << 35 || since_s > now_s - deadline_s)
		return since_s;
	return now_s - deadline_s;
}

void cron_missed(const struct cron *cron, const struct zone *zone, int64_t since_us,
	int64_t deadline_s, int64_t now_us, struct cron_missed *ret)
{
	int64_t now_s = floor_s(now_us);
	int64_t since_s = earliest(floor_s(since_us), deadline_s, now_s);
	int64_t first_s, second_s;

	memset(ret, 0, sizeof(*ret));
	ret->counted = count_slots(cron, zone, since_s, now_s, CRON_MISSED_LIMIT + 1);
	if (!next_slot(cron, zone, since_s, &first_s)) {
		ret->kind = CRON_MISSED_NEVER;
		return;
	}
	if (first_s > now_s)
		return;
	if (!next_slot(cron, zone, first_s, &second_s))
		ret->kind = CRON_MISSED_NEVER;
	else if (second_s > now_s)
		ret->has_latest = to_us(first_s, &ret->latest_us);
	else
		estimate_missed(cron, zone, first_s, second_s, now_s, ret);
}
