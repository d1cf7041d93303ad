#include "config.h"

#include "control/audit.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "control/audit-file.h"

#include <errno.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

enum {
	REQUEST_MOST = 18 * 1024, /* of each text; escaped, they all fit into a line */
	ANSWER_MOST = 3 * 1024,
	TEXT_MOST = 1024,
	WHO_MOST = 256,
	FOLDER_MOST = 8192,
	OUTCOME_BYTES = AUDIT_LINE_MAX, /* set aside for the outcome with the intent */
};

void audit_init(struct audit *audit, const char *folder)
{
	*audit = (struct audit){ .file_max = AUDIT_FILE_MAX };
	if (folder)
		audit->folder = xstrdup(folder);
	else if (fs_state_dir(&audit->folder, NULL))
		audit->folder = NULL;
}

void audit_init_sim(struct audit *audit, const char *folder)
{
	struct str own;

	audit_init(audit, folder);
	audit->sim = true;
	if (!audit->folder)
		return;
	str_init(&own, FOLDER_MOST);
	str_addf(&own, "%s/sim", audit->folder);
	free(audit->folder);
	audit->folder = str_take(&own);
}

void audit_release(struct audit *audit)
{
	free(audit->folder);
	audit->folder = NULL;
}

/* ---- a line ---- */

/* A text, cut; what is not plain text by now (a user's name, a variable of the environment) is
 * escaped. */
static json_t *text_json(const char *text, size_t most)
{
	struct str clean;
	json_t *json;

	if (!text)
		return json_null();
	json = json_string(text_make_plain(&clean, text, most));
	str_release(&clean);
	return json ? json : json_null();
}

static json_t *user_json(void)
{
	char buf[4096], number[24];
	struct passwd entry, *found = NULL;

	if (getpwuid_r(geteuid(), &entry, buf, sizeof(buf), &found) == 0 && found)
		return text_json(found->pw_name, WHO_MOST);
	snprintf(number, sizeof(number), "%lu", (unsigned long)geteuid());
	return json_string(number);
}

static json_t *who_json(void)
{
	char host[WHO_MOST] = "", tty[WHO_MOST] = "";
	json_t *who = json_object();

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	if (ttyname_r(STDIN_FILENO, tty, sizeof(tty)) != 0 &&
		ttyname_r(STDERR_FILENO, tty, sizeof(tty)) != 0)
		tty[0] = '\0';
	json_object_set_new(who, "user", user_json());
	/* Who became that user, as sudo says it; what a shell may set is only a hint. */
	if (getenv("SUDO_USER"))
		json_object_set_new(who, "sudo_user", text_json(getenv("SUDO_USER"), WHO_MOST));
	json_object_set_new(who, "host", text_json(host[0] ? host : NULL, WHO_MOST));
	json_object_set_new(who, "tty", text_json(tty[0] ? tty : NULL, WHO_MOST));
	return who;
}

static json_t *target_json(const struct audit_entry *e)
{
	json_t *target = json_object();
	char token[24];

	snprintf(token, sizeof(token), "%lld", (long long)e->token);
	json_object_set_new(target, "identity", text_json(e->identity, TEXT_MOST));
	json_object_set_new(target, "key", text_json(e->key, TEXT_MOST));
	json_object_set_new(target, "token", e->has_token ? json_string(token) : json_null());
	return target;
}

/* What the operator was shown. */
static json_t *evidence_json(const struct forecast *f)
{
	json_t *evidence, *codes;
	char digest[FORECAST_DIGEST_MAX];
	size_t i;

	if (!f)
		return json_null();
	evidence = json_object();
	codes = json_array();
	for (i = 0; i < f->warnings.n && i < 40; i++)
		json_array_append_new(codes, json_string(f->warnings.items[i].what));
	json_object_set_new(evidence, "forecast", json_string(forecast_digest(f, digest)));
	json_object_set_new(evidence, "warnings", codes);
	json_object_set_new(
		evidence, "destroys", json_integer((json_int_t)(f->destroys.n + f->destroys.cut)));
	json_object_set_new(evidence, "permission", json_string(permission_word(f->permission)));
	return evidence;
}

struct line_of {
	const struct audit *audit;
	const struct audit_entry *entry;
	int64_t now_us;
};

static void make_line(void *arg, uint64_t n, struct str *line)
{
	const struct line_of *of = arg;
	const struct audit_entry *e = of->entry;
	json_t *json = json_object();
	char at[CLOCK_TEXT_MAX], *text;

	clock_format_utc(at, of->now_us, 3);
	json_object_set_new(json, "schema", json_string("baton/1"));
	if (of->audit->sim)
		json_object_set_new(json, "sim", json_true());
	json_object_set_new(json, "at", json_string(at));
	json_object_set_new(json, "n", json_integer((json_int_t)n));
	json_object_set_new(json, "phase", json_string(e->outcome ? "outcome" : "intent"));
	json_object_set_new(json, "id", text_json(e->id, TEXT_MOST));
	json_object_set_new(json, "verb", json_string(verb_word(e->verb)->word));
	json_object_set_new(json, "target", target_json(e));
	json_object_set_new(json, "request", text_json(e->request, REQUEST_MOST));
	json_object_set_new(json, "reason", text_json(e->reason, TEXT_MOST));
	json_object_set_new(json, "who", who_json());
	json_object_set_new(json, "outcome", text_json(e->outcome, TEXT_MOST));
	json_object_set_new(json, "answer", text_json(e->answer, ANSWER_MOST));
	json_object_set_new(json, "overlap", text_json(e->overlap, TEXT_MOST));
	json_object_set_new(json, "evidence", evidence_json(e->forecast));
	text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER);
	str_add(line, text ? text : "");
	free(text);
	json_decref(json);
}

/* ---- writing ---- */

static int audit_write(struct audit *audit, const struct audit_entry *entry, int64_t now_us,
	uint64_t n, uint64_t *ret_n, struct audit_copy *copy, struct err *err)
{
	struct line_of of = { audit, entry, now_us };
	struct str line;
	int rc;

	*copy = (struct audit_copy){ .pid = 0 };
	str_init(&line, AUDIT_LINE_MAX);
	rc = audit_append(
		audit, n, entry->outcome ? 0 : OUTCOME_BYTES, make_line, &of, ret_n, &line, err);
	if (!rc && audit->program)
		audit_copy_start(copy, audit->program, line.s, line.len);
	if (!rc && audit->syslog)
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "baton audit: %s", line.s);
	str_release(&line);
	return rc;
}

int audit_intent(struct audit *audit, const struct audit_entry *entry, int64_t now_us,
	uint64_t *ret_n, struct audit_copy *copy, struct err *err)
{
	struct audit_entry intent = *entry;

	intent.outcome = intent.answer = intent.overlap = NULL;
	return audit_write(audit, &intent, now_us, 0, ret_n, copy, err);
}

int audit_outcome(struct audit *audit, const struct audit_entry *entry, int64_t now_us, uint64_t n,
	struct audit_copy *copy, struct err *err)
{
	uint64_t same;

	return audit_write(audit, entry, now_us, n, &same, copy, err);
}
