#include "config.h"

#include "io/kube-creds.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	TOKEN_MAX = 1024 * 1024,
	TOKEN_FILE_MS = 50000, /* client-go's: a minute, and 10 s before it */
	PLUGIN_MS = 60000,
	OUT_MAX = 1024 * 1024,
	SHOWN_MAX = 150
};

struct kube_creds {
	const struct kube_access *access;
	const struct clock_source *clock;
	bool tls;
	unsigned generation;
	/* token file */
	char *read_token;
	int64_t read_ms; /* our monotonic clock; valid where read_token is */
	/* plugin */
	struct kube_run *run;
	struct kube_grant grant;
	bool granted;
};

static bool uses_plugin(const struct kube_creds *c)
{
	const struct kube_access *a = c->access;

	return c->tls && a->exec && !a->token && !a->token_file &&
	       !((a->cert.s || a->cert_file) && (a->key.s || a->key_file));
}

struct kube_creds *kube_creds_new(
	const struct kube_access *access, bool tls, const struct clock_source *clock)
{
	struct kube_creds *c = xcalloc(1, sizeof(*c));

	c->access = access;
	c->tls = tls;
	c->clock = clock;
	return c;
}

static void forget_token(struct kube_creds *c)
{
	if (c->read_token)
		explicit_bzero(c->read_token, strlen(c->read_token));
	free(c->read_token);
	c->read_token = NULL;
}

void kube_creds_free(struct kube_creds *c)
{
	if (!c)
		return;
	forget_token(c);
	kube_run_free(c->run);
	kube_grant_release(&c->grant);
	free(c);
}

/* ---- a token file ---- */

static void trim(struct str *text)
{
	size_t lead = strspn(text->s, " \t\r\n");

	while (text->len && strchr(" \t\r\n", text->s[text->len - 1]))
		str_truncate(text, text->len - 1);
	if (lead && lead <= text->len) {
		memmove(text->s, text->s + lead, text->len - lead);
		str_truncate(text, text->len - lead);
	}
}

static int check_token(const struct str *token, const char *path, struct err *err)
{
	struct str shown;
	int rc = 0;
	size_t i;

	str_init(&shown, SHOWN_MAX * 4 + 8);
	text_escape_cut(&shown, path, strlen(path), SHOWN_MAX);
	if (!token->len)
		rc = err_set(err, ERR_AUTH, "the token file %s is empty", shown.s);
	for (i = 0; i < token->len && !rc; i++)
		if ((unsigned char)token->s[i] <= ' ' || token->s[i] == 0x7f)
			rc = err_set(err, ERR_AUTH,
				"the token file %s holds more than one word: it must be the token "
				"alone",
				shown.s);
	str_release(&shown);
	return rc;
}

/* Reads it; what can't be read now leaves the one from before. */
static int read_token_file(struct kube_creds *c, struct err *err)
{
	const char *path = c->access->token_file;
	struct str token;
	int rc;

	str_init(&token, TOKEN_MAX);
	rc = fs_read(path, &token, err);
	if (!rc) {
		trim(&token);
		rc = check_token(&token, path, err);
	}
	if (!rc && !str_eq(c->read_token, token.s)) {
		forget_token(c);
		c->read_token = xstrdup(token.s);
		c->generation++;
	}
	if (token.len)
		explicit_bzero(token.s, token.len);
	str_release(&token);
	c->read_ms = clock_mono_ms(c->clock);
	if (rc && (c->read_token || c->access->token)) {
		err_clear(err);
		return 0;
	}
	if (rc && err && err->code != ERR_AUTH)
		err->code = ERR_AUTH;
	return rc ? ERR_AUTH : 0;
}

static int step_token_file(struct kube_creds *c, struct err *err)
{
	int rc = 0;

	if (!c->read_token || clock_mono_ms(c->clock) - c->read_ms >= TOKEN_FILE_MS)
		rc = read_token_file(c, err);
	return rc ? rc : 1;
}

/* ---- a plugin ---- */

static int plugin_start(struct kube_creds *c, struct err *err)
{
	char *info = kube_exec_info(c->access, err);
	int rc;

	if (!info)
		return err ? (int)err->code : ERR_IO;
	rc = kube_run_start(c->access->exec, info, c->clock, PLUGIN_MS, &c->run, err);
	free(info);
	return rc;
}

static int plugin_take(struct kube_creds *c, const struct str *out, struct err *err)
{
	struct kube_grant grant;
	int rc = kube_grant_parse(&grant, c->access->exec, out->s, out->len, err);

	if (rc)
		return rc;
	kube_grant_release(&c->grant);
	c->grant = grant;
	c->granted = true;
	c->generation++;
	return 1;
}

static int step_plugin(struct kube_creds *c, struct err *err)
{
	struct str out;
	int rc = 0;

	if (c->granted && clock_wall_us(c->clock) <= c->grant.expires_us)
		return 1;
	c->granted = false;
	if (!c->run)
		rc = plugin_start(c, err);
	if (rc)
		return rc;
	str_init(&out, OUT_MAX + 1);
	rc = kube_run_poll(c->run, &out, err);
	if (rc) {
		kube_run_free(c->run);
		c->run = NULL;
	}
	if (rc > 0)
		rc = plugin_take(c, &out, err);
	if (out.len)
		explicit_bzero(out.s, out.len);
	str_release(&out);
	return rc;
}

enum kube_wait kube_creds_wait(struct kube_creds *c, int wake_fd, int64_t until_ms)
{
	return c->run ? kube_run_wait(c->run, wake_fd, until_ms) : KUBE_WAIT_ACTIVE;
}

int kube_creds_late(const struct kube_creds *c, double seconds, struct err *err)
{
	if (!c->run)
		return 1;
	kube_run_late(c->run, seconds, err);
	return 0;
}

/* ---- all ---- */

int kube_creds_step(struct kube_creds *c, struct err *err)
{
	if (!c->tls)
		return 1;
	if (c->access->token_file)
		return step_token_file(c, err);
	return uses_plugin(c) ? step_plugin(c, err) : 1;
}

bool kube_creds_any(const struct kube_creds *c)
{
	const struct kube_access *a = c->access;

	return c->tls && (a->token || a->token_file || a->cert.s || a->cert_file || a->exec);
}

const char *kube_creds_token(const struct kube_creds *c)
{
	if (!c->tls)
		return NULL;
	if (c->read_token)
		return c->read_token;
	return c->access->token ? c->access->token : c->grant.token;
}

const struct kube_grant *kube_creds_grant(const struct kube_creds *c)
{
	return &c->grant;
}

unsigned kube_creds_generation(const struct kube_creds *c)
{
	return c->generation;
}

bool kube_creds_refused(struct kube_creds *c, unsigned generation)
{
	if (c->generation != generation)
		return true;
	if (!c->tls)
		return false;
	if (c->access->token_file) {
		read_token_file(c, NULL);
		return c->generation != generation;
	}
	if (!uses_plugin(c))
		return false;
	c->granted = false;
	return true;
}

void kube_creds_explain(const struct kube_creds *c, const char *server, struct err *err)
{
	const struct kube_access *a = c->access;
	struct str name;

	str_init(&name, SHOWN_MAX * 4 + 8);
	if (!c->tls)
		err_set(err, ERR_AUTH,
			"%s asks who we are, and credentials are sent over TLS only: write the "
			"server with https://",
			server);
	else if (a->token_file || (!a->token && uses_plugin(c))) {
		const char *what = a->token_file ? a->token_file : a->exec->command;

		text_escape_cut(&name, what, strlen(what), SHOWN_MAX);
		err_set(err, ERR_AUTH,
			a->token_file ? "%s does not accept the token in %s: it may have expired"
				      : "%s does not accept the credentials of the plugin %s, "
					"which was asked again: log in by its own command",
			server, name.s);
	} else if (a->token || a->cert.s || a->cert_file) {
		if (a->user)
			text_escape_cut(&name, a->user, strlen(a->user), SHOWN_MAX);
		err_set(err, ERR_AUTH,
			"%s does not accept the %s of the kubeconfig's user '%s': it may have "
			"expired, or be another cluster's",
			server, a->token ? "token" : "client certificate", name.s);
	} else {
		err_set(err, ERR_AUTH,
			"%s asks who we are, and the kubeconfig's context has no credentials: "
			"give its user a token, a client certificate or an exec plugin",
			server);
	}
	str_release(&name);
}
