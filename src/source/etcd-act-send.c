#include "config.h"

#include "source/etcd-act.h"
#include "base/mem.h"
#include "base/text.h"
#include "source/etcd-write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The requests that change something, each sent once, on the connection that is there. */

static int say(struct effect *effect, enum effect_kind kind, const char *text)
{
	effect->kind = kind;
	str_clear(&effect->answer);
	str_add(&effect->answer, text);
	return 0;
}

/*
 * Whether etcd's answer says that nothing was done. What it says with UNAVAILABLE,
 * DEADLINE_EXCEEDED or an unknown error may have been proposed to the cluster, and be done later;
 * but without a leader nothing is even proposed (rpctypes/error.go).
 */
static bool is_refusal(const struct etcd_unary *u)
{
	switch (u->code) {
	case GRPC_INVALID_ARGUMENT:
	case GRPC_NOT_FOUND:
	case GRPC_PERMISSION_DENIED:
	case GRPC_RESOURCE_EXHAUSTED:
	case GRPC_FAILED_PRECONDITION:
	case GRPC_UNIMPLEMENTED:
	case GRPC_UNAUTHENTICATED:
	case GRPC_DATA_LOSS: /* "corrupt cluster": every change is refused (apply.go) */
		return true;
	case GRPC_UNAVAILABLE:
		return strstr(u->err.text, "no leader") != NULL;
	default:
		return false;
	}
}

/*
 * Drives the one call to its end. Returns 0 when etcd answered it with OK; else the effect is set,
 * and *ret is what the caller returns.
 */
static bool run_once(struct etcd *e, struct etcd_unary *u, int started, struct effect *effect,
	int *ret, struct err *err)
{
	int rc = started;

	if (!rc)
		rc = etcd_run(e, &u->done, round_deadline_ms(e->r), err);
	if (rc) {
		bool sent = u->sent;

		/* The call may be in flight, and u is about to go. */
		etcd_disconnect(e, false);
		say(effect, sent ? EFFECT_UNKNOWN : EFFECT_UNSENT, err->text);
		*ret = rc;
		return false;
	}
	if (u->code == GRPC_OK)
		return true;
	*err = u->err;
	*ret = 0;
	if (is_refusal(u)) {
		say(effect, EFFECT_REFUSED, u->err.text);
	} else {
		say(effect, u->sent ? EFFECT_UNKNOWN : EFFECT_UNSENT, u->err.text);
		*ret = u->err.code ? (int)u->err.code : ERR_IO;
	}
	return false;
}

/* ---- one key ---- */

/* A key as a shell takes it, whatever bytes it has: bash's $'...' knows the escapes. */
static void shell_key(struct str *out, const struct str *key)
{
	struct str escaped;
	const char *at;

	str_init(&escaped, 64 * 1024);
	text_escape(&escaped, key->s, key->len);
	str_add(out, "$'");
	for (at = escaped.s; *at; at++) {
		if (*at == '\'')
			str_add_char(out, '\\');
		str_add_char(out, *at);
	}
	str_add_char(out, '\'');
	str_release(&escaped);
}

static void key_find_out(struct effect *effect, const struct etcd_target *t)
{
	str_clear(&effect->find_out);
	str_add(&effect->find_out, "etcdctl get ");
	shell_key(&effect->find_out, &t->key);
	str_addf(&effect->find_out,
		" -w fields  # \"CreateRevision\" : %" PRId64
		": still there; another one or nothing: it is gone",
		t->create_revision);
}

void etcd_say_deleted(const struct etcd_deleted *d, struct effect *effect)
{
	str_clear(&effect->answer);
	effect->kind = d->succeeded ? EFFECT_DONE : EFFECT_CHANGED;
	if (d->succeeded)
		str_addf(&effect->answer, "the key was deleted at revision %" PRId64, d->revision);
	else if (d->there)
		str_addf(&effect->answer,
			"the key is another one now (create_revision %" PRId64 ", lease %" PRIx64
			") or has another value: nothing was deleted",
			d->create_revision, (uint64_t)d->lease);
	else
		str_add(&effect->answer, "the key is not there any more: nothing was deleted");
}

static int take_deleted(const struct etcd_unary *u, struct effect *effect, struct err *err)
{
	struct etcd_deleted d;
	int rc = etcd_delete_read(u, &d, err);

	if (rc) {
		say(effect, EFFECT_UNKNOWN, err->text);
		return rc;
	}
	etcd_say_deleted(&d, effect);
	return 0;
}

int etcd_send_delete(struct etcd *e, const struct etcd_target *t, const struct plan *plan,
	struct effect *effect, struct err *err)
{
	struct etcd_delete d = { .key = t->key.s,
		.key_len = t->key.len,
		.create_revision = t->create_revision,
		.lease = t->lease };
	struct etcd_unary u;
	struct str value;
	int rc, started;

	/* Of a key that names its holder by its value, the value must be the one that was read. */
	if (t->single && !plan->guard)
		return err_set(err, ERR_USAGE, "the value that the key must have is not known");
	str_init(&value, ETCD_FIELD_MAX);
	if (t->single && text_unescape(&value, plan->guard)) {
		str_release(&value);
		return err_set(err, ERR_USAGE, "the value that the key must have can't be read");
	}
	if (t->single) {
		d.value = value.len ? value.s : "";
		d.value_len = value.len;
	}
	etcd_unary_init(&u, e->loop);
	started = etcd_delete_start(&u, etcd_channel(e), &d, round_deadline_ms(e->r), err);
	if (run_once(e, &u, started, effect, &rc, err))
		rc = take_deleted(&u, effect, err);
	if (effect->kind == EFFECT_UNKNOWN)
		key_find_out(effect, t);
	etcd_unary_release(&u);
	str_release(&value);
	return rc;
}

/* ---- the lease ---- */

bool etcd_revoke_holds(const struct etcd_target *t, const struct plan *plan,
	const struct etcd_now *now, const struct etcd_lease_now *lease, struct effect *effect)
{
	const struct etcd_candidate *c = etcd_now_find(now, t);
	char guard[64];

	if (!c || c->create_revision != t->create_revision || c->lease != t->lease) {
		say(effect, EFFECT_CHANGED,
			"the key is not there any more, or another one: nothing was revoked");
		return false;
	}
	etcd_revoke_guard(lease, guard, sizeof(guard));
	if (str_eq(guard, plan->guard))
		return true;
	say(effect, EFFECT_CHANGED,
		"other keys are on the lease than the forecast told, or it is gone: nothing "
		"was revoked");
	return false;
}

void etcd_say_revoked(int64_t revision, struct effect *effect)
{
	str_clear(&effect->answer);
	effect->kind = EFFECT_DONE;
	str_addf(&effect->answer, "the lease was revoked; etcd is at revision %" PRId64, revision);
}

static int revoke_compare(struct etcd *e, const struct etcd_target *t, const struct plan *plan,
	struct effect *effect, struct err *err)
{
	struct etcd_now now;
	struct etcd_lease_now lease;
	int rc = etcd_now_read(e, t, &now, err);

	if (rc)
		return rc;
	rc = etcd_lease_now_read(e, t->lease, true, &lease, err);
	if (!rc)
		etcd_revoke_holds(t, plan, &now, &lease, effect);
	etcd_now_release(&now);
	etcd_lease_now_release(&lease);
	return rc;
}

static int take_revoked(const struct etcd_unary *u, struct effect *effect)
{
	struct etcd_header header = { 0 };
	struct wire_field f;
	struct wire w;

	wire_init(&w, u->answer.s, u->answer.len);
	while (wire_next(&w, &f))
		if (f.number == 1 && f.type == WIRE_BYTES)
			etcd_header_read(f.bytes, f.len, &header);
	etcd_say_revoked(header.revision, effect);
	return 0;
}

int etcd_send_revoke(struct etcd *e, const struct etcd_target *t, const struct plan *plan,
	struct effect *effect, struct err *err)
{
	struct etcd_unary u;
	int rc = 0, started;

	if (!t->lease || !plan->guard)
		return err_set(err, ERR_USAGE, "the key's lease is not known");
	rc = revoke_compare(e, t, plan, effect, err);
	if (rc || effect->kind == EFFECT_CHANGED)
		return rc;
	etcd_unary_init(&u, e->loop);
	started = etcd_revoke_start(&u, etcd_channel(e), t->lease, round_deadline_ms(e->r), err);
	if (run_once(e, &u, started, effect, &rc, err))
		rc = take_revoked(&u, effect);
	else if (u.code == GRPC_NOT_FOUND && effect->kind == EFFECT_REFUSED)
		say(effect, EFFECT_CHANGED,
			"etcd knows no such lease any more: nothing was revoked");
	if (effect->kind == EFFECT_UNKNOWN) {
		str_clear(&effect->find_out);
		str_addf(&effect->find_out,
			"etcdctl lease timetolive %s%" PRIx64
			"  # \"already expired\": it is revoked; a remaining time: it is not",
			t->lease < 0 ? "-- -" : "",
			t->lease < 0 ? 0 - (uint64_t)t->lease : (uint64_t)t->lease);
	}
	etcd_unary_release(&u);
	return rc;
}
