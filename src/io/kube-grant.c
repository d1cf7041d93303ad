#include "config.h"

#include "io/kube-exec.h"
#include "base/base64.h"
#include "base/civil.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CA_MAX = 4 * 1024 * 1024,
	NAME_SHOWN = 100
};

static const char *const versions[] = {
	[KUBE_EXEC_V1BETA1] = "client.authentication.k8s.io/v1beta1",
	[KUBE_EXEC_V1] = "client.authentication.k8s.io/v1",
};

/* ---- what a plugin is told ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static int set_ca(json_t *cluster, const struct kube_access *a, struct err *err)
{
	struct str ca, text;
	int rc = 0;

	str_init(&ca, CA_MAX);
	str_init(&text, CA_MAX * 2);
	if (a->ca.s)
		str_add_mem(&ca, a->ca.s, a->ca.len);
	else if (a->ca_file)
		rc = fs_read(a->ca_file, &ca, err);
	if (!rc && ca.len) {
		base64_encode(&text, ca.s, ca.len);
		set_text(cluster, "certificate-authority-data", text.s);
	}
	str_release(&ca);
	str_release(&text);
	return rc;
}

static json_t *cluster_info(const struct kube_access *a, struct err *err)
{
	json_t *cluster = json_object();

	set_text(cluster, "server", a->server);
	set_text(cluster, "tls-server-name", a->server_name);
	if (a->insecure)
		json_object_set_new(cluster, "insecure-skip-tls-verify", json_true());
	set_text(cluster, "proxy-url", a->proxy_url);
	if (a->no_compression)
		json_object_set_new(cluster, "disable-compression", json_true());
	json_object_set_new(cluster, "config",
		a->exec->cluster_config ? json_loads(a->exec->cluster_config, JSON_DECODE_ANY, NULL)
					: json_null());
	if (set_ca(cluster, a, err)) {
		json_decref(cluster);
		return NULL;
	}
	return cluster;
}

char *kube_exec_info(const struct kube_access *a, struct err *err)
{
	json_t *info, *spec = json_object(), *cluster;
	char *text, *copy;

	if (a->exec->cluster_info) {
		cluster = cluster_info(a, err);
		if (!cluster) {
			json_decref(spec);
			return NULL;
		}
		json_object_set_new(spec, "cluster", cluster);
	}
	json_object_set_new(spec, "interactive", json_false());
	info = json_object();
	set_text(info, "kind", "ExecCredential");
	set_text(info, "apiVersion", versions[a->exec->version]);
	json_object_set_new(info, "spec", spec);
	text = json_dumps(info, JSON_COMPACT);
	json_decref(info);
	copy = xstrdup(text ? text : "{}");
	free(text);
	return copy;
}

/* ---- what it gives ---- */

static void take_data(struct kube_data *to, const char *text)
{
	if (!text || !*text)
		return;
	to->s = xstrdup(text);
	to->len = strlen(text);
}

/* RFC 3339, as metav1.Time writes it: in UTC, or with an offset. */
static bool read_time(const char *text, int64_t *ret_us)
{
	struct civil c = { 0 };
	int year, month, day, hour, minute, second, used = 0, off_hour, off_minute;
	int64_t offset = 0;
	char sign[2];

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second,
		    &used) != 6 ||
		!used)
		return false;
	text += used;
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if (sscanf(text, "%1[+-]%2d:%2d", sign, &off_hour, &off_minute) == 3)
		offset = (sign[0] == '-' ? -1 : 1) * (off_hour * 3600 + off_minute * 60);
	else if (strcmp(text, "Z") != 0 && strcmp(text, "z") != 0)
		return false;
	c.year = year;
	c.month = month;
	c.day = day;
	c.hour = hour;
	c.minute = minute;
	c.second = second;
	*ret_us = (civil_seconds(&c) - offset) * 1000000;
	return true;
}

static int read_status(struct kube_grant *grant, json_t *status, const char *name, struct err *err)
{
	const char *token = json_string_value(json_object_get(status, "token"));
	const char *cert = json_string_value(json_object_get(status, "clientCertificateData"));
	const char *key = json_string_value(json_object_get(status, "clientKeyData"));
	const char *expires = json_string_value(json_object_get(status, "expirationTimestamp"));

	if (!json_is_object(status))
		return err_set(err, ERR_AUTH, "the credential plugin %s gave no status", name);
	take_data(&grant->cert, cert);
	take_data(&grant->key, key);
	if (!grant->cert.s != !grant->key.s)
		return err_set(err, ERR_AUTH,
			"the credential plugin %s gave only one of certificate and key", name);
	if ((!token || !*token) && !grant->cert.s)
		return err_set(err, ERR_AUTH,
			"the credential plugin %s gave neither a token nor a certificate", name);
	if (token && token[strcspn(token, "\r\n")])
		return err_set(err, ERR_AUTH,
			"the credential plugin %s gave a token with a line end in it", name);
	if (token && *token)
		grant->token = xstrdup(token);
	if (expires && !read_time(expires, &grant->expires_us))
		return err_set(err, ERR_AUTH,
			"the credential plugin %s gave an expirationTimestamp that is no time",
			name);
	return 0;
}

static int read_version(
	const json_t *root, const struct kube_exec *exec, const char *name, struct err *err)
{
	const char *kind = json_string_value(json_object_get(root, "kind"));
	const char *version = json_string_value(json_object_get(root, "apiVersion"));
	struct str shown;
	int rc;

	if (!str_eq(kind, "ExecCredential"))
		return err_set(err, ERR_AUTH,
			"the credential plugin %s printed no ExecCredential in JSON", name);
	if (str_eq(version, versions[exec->version]))
		return 0;
	str_init(&shown, NAME_SHOWN * 4 + 8);
	if (version)
		text_escape_cut(&shown, version, strlen(version), NAME_SHOWN);
	rc = err_set(err, ERR_AUTH,
		"the credential plugin %s answers in version '%s', and the kubeconfig asks for %s",
		name, shown.s, versions[exec->version]);
	str_release(&shown);
	return rc;
}

int kube_grant_parse(struct kube_grant *ret, const struct kube_exec *exec, const char *text,
	size_t len, struct err *err)
{
	struct kube_grant grant = { .expires_us = INT64_MAX };
	json_t *root = json_loadb(text, len, 0, NULL);
	struct str name;
	int rc;

	str_init(&name, NAME_SHOWN * 4 + 8);
	text_escape_cut(&name, exec->command, strlen(exec->command), NAME_SHOWN);
	rc = read_version(root, exec, name.s, err);
	if (!rc)
		rc = read_status(&grant, json_object_get(root, "status"), name.s, err);
	json_decref(root);
	str_release(&name);
	if (rc) {
		kube_grant_release(&grant);
		return rc;
	}
	*ret = grant;
	return 0;
}

void kube_grant_release(struct kube_grant *grant)
{
	if (grant->token)
		explicit_bzero(grant->token, strlen(grant->token));
	if (grant->key.s)
		explicit_bzero(grant->key.s, grant->key.len);
	free(grant->token);
	free(grant->cert.s);
	free(grant->key.s);
	memset(grant, 0, sizeof(*grant));
}
