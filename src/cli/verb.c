#include "config.h"

#include "cli/verb.h"
#include "base/nearest.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
	TICK_MS = 10,
	SHOWN_MOST = 400,
};

static int unknown_verb(const char *word, bool built_in)
{
	char shown[CLI_SHOWN_MAX];
	struct nearest nearest;
	struct str help;
	int i;

	nearest_init(&nearest, word);
	str_init(&help, SHOWN_MOST);
	for (i = 0; i < VERB_COUNT; i++) {
		if (verb_word((enum verb)i)->where == WHERE_BUILT_IN && !built_in)
			continue;
		nearest_offer(&nearest, verb_word((enum verb)i)->word);
		str_addf(&help, "%s%s", i ? ", " : "", verb_word((enum verb)i)->word);
	}
	nearest_tell(&nearest, 1, &help);
	cli_complain("there is no verb '%s'; the verbs are %s", cli_shown(shown, word), help.s);
	str_release(&help);
	return EXIT_CODE_USAGE;
}

static bool answered(const struct snapshot *snap)
{
	return snap->state == SOURCE_OK || snap->state == SOURCE_DEGRADED;
}

/* The source of the id, by its name. */
static const struct snapshot *source_of(const struct board *board, const char *id)
{
	size_t len = strcspn(id, "/"), i;

	for (i = 0; i < board->n_snapshots; i++)
		if (strlen(board->snapshots[i]->source) == len &&
			memcmp(board->snapshots[i]->source, id, len) == 0)
			return board->snapshots[i];
	return NULL;
}

/* A role of the config: what can be acted on are its witnesses, each in its own source. */
static const struct role *role_called(const struct settings *settings, const char *word)
{
	char id[ROLE_ID_MAX];
	size_t i;

	for (i = 0; i < settings->n_roles; i++)
		if (strcmp(role_id(id, &settings->roles[i]), word) == 0)
			return &settings->roles[i];
	return NULL;
}

static int refuse_role(const struct role *role)
{
	char id[ROLE_ID_MAX], shown[CLI_SHOWN_MAX];
	struct str witnesses;
	size_t i;

	str_init(&witnesses, SHOWN_MOST);
	for (i = 0; i < role->n_witnesses; i++)
		str_addf(&witnesses, "%s%s", i ? ", " : "", cli_shown(shown, role->witnesses[i]));
	cli_complain("'%s' is a role: name one of its witnesses instead: %s", role_id(id, role),
		witnesses.s);
	str_release(&witnesses);
	return EXIT_CODE_USAGE;
}

static int verb_look(struct verb_call *call, const struct cli *cli)
{
	const char *word = cli->args[1];
	int code = look_open(&call->look, cli, false, false, NULL);
	const struct role *role;

	if (code)
		return code;
	role = role_called(call->look.settings, word);
	if (role)
		return refuse_role(role);
	call->id = ids_escaped(word);
	fleet_want(call->look.fleet, (const char *[]){ word, call->id }, 2);
	look_start(&call->look);
	call->board = look_wait(&call->look);
	call->row = ids_find(call->board, word, &call->snap);
	if (call->row) {
		free(call->id);
		call->id = strdup(call->row->s->id);
	}
	if (!call->snap)
		call->snap = source_of(call->board, call->id);
	if (!call->snap)
		return ids_complain(call->board, word);
	if (!answered(call->snap)) {
		look_complain(&call->look, call->board, false);
		cli_complain("%s did not answer: nothing was sent", call->snap->source);
		return EXIT_CODE_NO_SOURCE;
	}
	return 0;
}

int verb_begin(
	struct verb_call *call, const struct cli *cli, bool forecast_only, const char *agreed)
{
	int verb = verb_from_word(cli->args[0]), code;
	struct gate_options options = {
		.way = GATE_WAY_COMMAND,
		.agreed = agreed,
		.forecast_only = forecast_only,
		.settle_ms = cli->timeout_ms,
		.read_ms = cli->timeout_ms,
	};
	struct gate_want want;

	if (verb < 0 || (verb_word((enum verb)verb)->where == WHERE_BUILT_IN && !cli->sim))
		return unknown_verb(cli->args[0], cli->sim);
	call->verb = (enum verb)verb;
	code = verb_look(call, cli);
	if (code)
		return code;
	want = (struct gate_want){
		.verb = call->verb,
		.id = call->id,
		.expect = cli->expect,
		.has_token = cli->has_token,
		.token = cli->token,
	};
	call->gate = gate_begin(call->look.fleet, call->board, &want, 1, &options);
	return 0;
}

void verb_hold_signals(struct verb_call *call)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	call->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool verb_interrupted(const struct verb_call *call)
{
	struct signalfd_siginfo info;

	return call->signals >= 0 && read(call->signals, &info, sizeof(info)) > 0;
}

/* Leaves it where that is still possible; what was sent goes on to its outcome. */
static void verb_leave(const struct verb_call *call)
{
	if (!gate_cancel(call->gate))
		cli_complain("it was confirmed and can't be called back: waiting for its outcome");
}

struct gate_view *verb_wait(const struct verb_call *call, enum gate_phase phase)
{
	if (call->look.drive)
		return drive_gate(call->look.drive, call->gate, phase);
	for (;;) {
		struct gate_view *view = gate_look(call->gate);

		if (view->phase >= phase)
			return view;
		gate_view_free(view);
		if (verb_interrupted(call))
			verb_leave(call);
		poll(NULL, 0, TICK_MS);
	}
}

void verb_close(struct verb_call *call)
{
	gate_close(call->gate);
	board_unref(call->board);
	free(call->id);
	look_close(&call->look);
	if (call->signals >= 0)
		close(call->signals);
}
