#include "config.h"

#include "model/redact.h"
#include "base/map.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PATH_MAX_BYTES = 1024 * 1024,
	VERSION_MAX = 60,
	DIGEST_MAX = sizeof("name-x") + 16,
};

struct redact {
	struct map names; /* keys and values are owned */
	size_t bytes;     /* of the keys */
	uint64_t key[2];  /* for what is not kept */
	char digest[DIGEST_MAX];
	struct str path;
	struct str part;
	char version[VERSION_MAX];
};

struct redact *redact_new(void)
{
	struct redact *r = xcalloc(1, sizeof(*r));

	map_init(&r->names);
	map_draw_key(r->key);
	str_init(&r->path, PATH_MAX_BYTES);
	str_init(&r->part, PATH_MAX_BYTES);
	return r;
}

void redact_free(struct redact *r)
{
	struct map_entry *e;
	size_t pos = 0;

	if (!r)
		return;
	while ((e = map_next(&r->names, &pos)) != NULL) {
		free((char *)(uintptr_t)e->key);
		free(e->value);
	}
	map_release(&r->names);
	str_release(&r->path);
	str_release(&r->part);
	free(r);
}

static bool is_number(const char *s)
{
	const char *digits = s + (*s == '-');

	return digits[strspn(digits, "0123456789")] == '\0';
}

const char *redact_name(struct redact *r, const char *name)
{
	struct str made;
	char *known, *own;
	size_t len;

	if (is_number(name))
		return name;
	len = strlen(name);
	known = map_get(&r->names, name, len);
	if (known)
		return known;
	if (r->names.n >= REDACT_NAMES_MOST || r->bytes >= REDACT_BYTES_MOST) {
		snprintf(r->digest, sizeof(r->digest), "name-x%016" PRIx64,
			map_siphash(r->key, name, len));
		return r->digest;
	}
	str_init(&made, 64);
	str_addf(&made, "name-%zu", r->names.n + 1);
	known = str_take(&made);
	own = xstrdup(name);
	map_put(&r->names, own, len, known);
	r->bytes += len + 1;
	return known;
}

static bool is_one_of(const char *const *words, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

static const char *redact_part(struct redact *r, const char *part)
{
	static const char *const words[] = { "lease", "cronjob", "uid", "rev", "prepared", "local",
		"role" };

	return is_one_of(words, ARRAY_LEN(words), part) ? part : redact_name(r, part);
}

/* What stands between the parts of a path. */
static const char between[] = "/:,()@";

bool redact_cuts_name(const char *start)
{
	return *start && !strchr(between, start[strlen(start) - 1]);
}

static void add_parts(struct redact *r, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, between);

		if (n) {
			str_clear(&r->part);
			str_add_mem(&r->part, path, n);
			str_add(&r->path, redact_part(r, r->part.s));
		}
		path += n;
		if (*path)
			str_add_char(&r->path, *path++);
	}
}

const char *redact_path(struct redact *r, const char *path)
{
	str_clear(&r->path);
	add_parts(r, path);
	return r->path.s;
}

const char *redact_id(struct redact *r, const char *id)
{
	size_t n = strcspn(id, "/");

	str_clear(&r->path);
	str_clear(&r->part);
	str_add_mem(&r->part, id, n);
	str_add(&r->path, redact_name(r, r->part.s));
	add_parts(r, id + n);
	return r->path.s;
}

/* Details whose text is a word of the system, not of the operator. */
static bool is_plain_detail(enum detail_id id)
{
	switch (id) {
	case DETAIL_MODE:
	case DETAIL_STATE:
	case DETAIL_WAIT_EVENT:
	case DETAIL_BACKEND_TYPE:
	case DETAIL_ALARM:
	case DETAIL_STRATEGY:
	case DETAIL_POD_PHASE:
	case DETAIL_SCHEDULE:
	case DETAIL_TIME_ZONE:
	case DETAIL_POLICY:
	case DETAIL_RESTART_POLICY:
	case DETAIL_REPLACEMENT_POLICY:
	case DETAIL_SLOT_FROM:
	case DETAIL_BATCH_VERSION:
		return true;
	default:
		return false;
	}
}

static bool is_path_detail(enum detail_id id)
{
	return id == DETAIL_KEY || id == DETAIL_OTHER_KEY || id == DETAIL_OWNER;
}

const char *redact_detail(struct redact *r, enum detail_id id, const char *text)
{
	if (is_plain_detail(id))
		return text;
	if (id == DETAIL_VERSION || id == DETAIL_SERVER_TEXT || id == DETAIL_PLATFORM)
		return redact_version(r, text);
	if (id == DETAIL_CLIENT && strcmp(text, "local") == 0)
		return text;
	return is_path_detail(id) ? redact_path(r, text) : redact_name(r, text);
}

const char *redact_word(struct redact *r, const char *word)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	if (!word[strspn(word, letters)] || strcmp(word, "hand-over") == 0)
		return word;
	return redact_name(r, word);
}

const char *redact_version(struct redact *r, const char *text)
{
	static const char *const products[] = { "PostgreSQL ", "etcd ", "Kubernetes " };
	size_t i, len = 0;

	for (i = 0; i < ARRAY_LEN(products); i++)
		if (strncmp(text, products[i], strlen(products[i])) == 0)
			len = strlen(products[i]);
	len += text[len] == 'v';
	len += strspn(text + len, "0123456789.");
	if (len >= VERSION_MAX)
		len = VERSION_MAX - 1;
	memcpy(r->version, text, len);
	r->version[len] = '\0';
	return r->version;
}

const char *redact_environment(struct redact *r, const char *word)
{
	static const char *const words[] = { "prod", "production", "live", "staging", "stage",
		"test", "dev", "lab", "sim" };

	return is_one_of(words, ARRAY_LEN(words), word) ? word : redact_name(r, word);
}
