#include "config.h"

#include "io/kubeconfig-decode.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
	SHOWN_MAX = 200
};

/* What client-go refuses (tools/clientcmd validation.go, transport), and what we do not do. */

static int check_readable(const char *path, const char *field, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	struct str shown;
	int fd, rc;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	rc = errno;
	str_init(&shown, SHOWN_MAX * 4 + 4);
	text_escape_cut(&shown, path, strlen(path), SHOWN_MAX);
	rc = kube_fail(err, file, yaml_get(map, field), "%s: can't open %s: %s", field, shown.s,
		strerror(rc));
	str_release(&shown);
	return rc;
}

static int check_both(const struct kube_data *data, const char *path, const char *field,
	const struct kube_file *file, const struct yaml_node *map, struct err *err)
{
	if (!data->s || !path)
		return 0;
	return kube_fail(err, file, yaml_get(map, field),
		"%s and %s-data are both given: leave one of them out", field, field);
}

static int check_proxy(const struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	static const char *const schemes[] = { "http://", "https://", "socks5://" };
	size_t i;

	if (!a->proxy_url)
		return 0;
	for (i = 0; i < ARRAY_LEN(schemes); i++)
		if (strncasecmp(a->proxy_url, schemes[i], strlen(schemes[i])) == 0)
			return 0;
	return kube_fail(err, file, yaml_get(map, "proxy-url"),
		"proxy-url must begin with http://, https:// or socks5://");
}

int kube_check_cluster(const struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, const struct yaml_node *at, struct err *err)
{
	int rc;

	if (!a->server)
		return kube_fail(err, file, at, "this cluster has no server");
	rc = check_both(&a->ca, a->ca_file, "certificate-authority", file, map, err);
	if (!rc && a->insecure && (a->ca.s || a->ca_file))
		rc = kube_fail(err, file, yaml_get(map, "insecure-skip-tls-verify"),
			"insecure-skip-tls-verify and a certificate-authority are both given: "
			"leave one of them out");
	if (!rc)
		rc = check_proxy(a, file, map, err);
	if (!rc)
		rc = check_readable(a->ca_file, "certificate-authority", file, map, err);
	return rc;
}

static int check_certificate(const struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	bool cert = a->cert.s || a->cert_file, key = a->key.s || a->key_file;
	int rc;

	/* A key alone is nothing to client-go. */
	if (!cert)
		return 0;
	if (!key)
		return kube_fail(err, file, map,
			"a client-certificate without client-key or client-key-data");
	rc = check_both(&a->cert, a->cert_file, "client-certificate", file, map, err);
	if (!rc)
		rc = check_both(&a->key, a->key_file, "client-key", file, map, err);
	if (!rc)
		rc = check_readable(a->cert_file, "client-certificate", file, map, err);
	if (!rc)
		rc = check_readable(a->key_file, "client-key", file, map, err);
	return rc;
}

static bool is_line(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

/* What goes into a header must be one line. */
static int check_lines(const struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	size_t i;

	if (!is_line(a->token))
		return kube_fail(err, file, yaml_get(map, "token"),
			"token holds a line end or another control character");
	for (i = 0; i < a->as_groups.n; i++)
		if (!is_line(a->as_groups.items[i]))
			return kube_fail(err, file, yaml_get(map, "as-groups"),
				"a group holds a control character");
	for (i = 0; i < a->as_extra.n; i++)
		if (!is_line(a->as_extra.items[i].value))
			return kube_fail(err, file, yaml_get(map, "as-user-extra"),
				"a value holds a control character");
	if (!is_line(a->as) || !is_line(a->as_uid))
		return kube_fail(err, file, map, "as or as-uid holds a control character");
	return 0;
}

static int check_impersonation(const struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	if (!a->as && (a->as_uid || a->as_groups.n || a->as_extra.n))
		return kube_fail(err, file, map,
			"as-uid, as-groups and as-user-extra need as, the user to be");
	return check_lines(a, file, map, err);
}

static int check_exec_version(struct kube_exec *exec, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	const char *version = kube_text(map, "apiVersion");

	if (!version)
		return kube_fail(err, file, map, "exec: no apiVersion");
	if (strcmp(version, "client.authentication.k8s.io/v1") == 0)
		exec->version = KUBE_EXEC_V1;
	else if (strcmp(version, "client.authentication.k8s.io/v1beta1") == 0)
		exec->version = KUBE_EXEC_V1BETA1;
	else
		return kube_fail(err, file, yaml_get(map, "apiVersion"),
			"exec: apiVersion must be client.authentication.k8s.io/v1 or .../v1beta1; "
			"a newer plugin may know one of them");
	return 0;
}

static int check_exec_mode(const struct kube_exec *exec, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	const char *mode = kube_text(map, "interactiveMode");
	const struct yaml_node *at = yaml_get(map, "interactiveMode");

	if (!mode && exec->version == KUBE_EXEC_V1)
		return kube_fail(err, file, map,
			"exec: no interactiveMode, which v1 asks for: Never or IfAvailable");
	if (!mode || strcmp(mode, "Never") == 0 || strcmp(mode, "IfAvailable") == 0)
		return 0;
	if (strcmp(mode, "Always") == 0)
		return kube_fail(err, file, at,
			"exec: interactiveMode Always: the plugin wants to ask something at the "
			"terminal, which is in use here. Log in by its own command first, and "
			"set IfAvailable if it can do without asking");
	return kube_fail(
		err, file, at, "exec: interactiveMode must be Never, IfAvailable or Always");
}

static int check_exec(struct kube_exec *exec, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	size_t i;
	int rc;

	if (!exec->command)
		return kube_fail(err, file, map, "exec: no command");
	rc = check_exec_version(exec, file, map, err);
	for (i = 0; i < exec->env.n && !rc; i++)
		if (!exec->env.items[i].name[0])
			rc = kube_fail(err, file, yaml_get(map, "env"),
				"exec: a variable of env without a name");
	return rc ? rc : check_exec_mode(exec, file, map, err);
}

static bool is_given(const struct yaml_node *map, const char *field)
{
	const struct yaml_node *node = yaml_get(map, field);

	return node && yaml_type_of(node) != YAML_TYPE_NULL;
}

static int check_refused(const struct kube_file *file, const struct yaml_node *map, struct err *err)
{
	const char *field = kube_text(map, "username") ? "username" : "password";

	if (kube_text(map, field))
		return kube_fail(err, file, yaml_get(map, field),
			"user and password (basic auth) are not used: no API server since 1.19 "
			"takes them. Use a token, a client certificate or an exec plugin");
	if (is_given(map, "auth-provider"))
		return kube_fail(err, file, yaml_get(map, "auth-provider"),
			"auth-provider is not used, and most of its kinds left kubectl in 1.26: "
			"use "
			"a plugin under exec");
	return 0;
}

int kube_check_user(struct kube_access *a, const struct kube_file *file,
	const struct yaml_node *map, struct err *err)
{
	int rc = check_refused(file, map, err);

	if (!rc)
		rc = check_certificate(a, file, map, err);
	if (!rc && a->exec)
		rc = check_exec(a->exec, file, yaml_get(map, "exec"), err);
	if (!rc)
		rc = check_impersonation(a, file, map, err);
	if (!rc && !a->token)
		rc = check_readable(a->token_file, "tokenFile", file, map, err);
	return rc;
}
