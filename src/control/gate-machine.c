#include "config.h"

#include "control/gate-machine.h"

enum {
	GATE_KEEP = -1
};

struct move {
	bool there;
	enum gate_state to;
	int outcome; /* GATE_KEEP, or an enum gate_outcome */
};

static const struct gate_word states[GATE_STATE_COUNT] = {
#define GATE_STATE(id, word, help) [GATE_STATE_##id] = { word, help },
#include "control/gate-machine.def"
};

static const struct gate_word events[GATE_EVENT_COUNT] = {
#define GATE_EVENT(id, word, help) [GATE_EVENT_##id] = { word, help },
#include "control/gate-machine.def"
};

static const struct move moves[GATE_STATE_COUNT][GATE_EVENT_COUNT] = {
#define GATE_MOVE(from, event, to, outcome) \
	[GATE_STATE_##from][GATE_EVENT_##event] = { true, GATE_STATE_##to, GATE_##outcome },
#include "control/gate-machine.def"
};

const struct gate_word *gate_state_word(enum gate_state state)
{
	return &states[state];
}

const struct gate_word *gate_event_word(enum gate_event event)
{
	return &events[event];
}

int gate_machine_next(enum gate_state state, enum gate_event event, enum gate_outcome *outcome)
{
	const struct move *move = &moves[state][event];

	if (!move->there)
		return -1;
	if (move->outcome != GATE_KEEP)
		*outcome = (enum gate_outcome)move->outcome;
	return move->to;
}
