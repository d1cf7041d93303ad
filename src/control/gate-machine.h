#ifndef CONTROL_GATE_MACHINE_H
#define CONTROL_GATE_MACHINE_H

#include "control/gate.h"

/* The machine of one act (gate-machine.def): a constant table, which prints itself into
 * doc/safety.md. */
enum gate_state {
#define GATE_STATE(id, word, help) GATE_STATE_##id,
#include "control/gate-machine.def"
	GATE_STATE_COUNT
};

enum gate_event {
#define GATE_EVENT(id, word, help) GATE_EVENT_##id,
#include "control/gate-machine.def"
	GATE_EVENT_COUNT
};

struct gate_word {
	const char *word;
	const char *help;
};

/* Never NULL for a valid one. */
const struct gate_word *gate_state_word(enum gate_state state);
const struct gate_word *gate_event_word(enum gate_event event);

/*
 * Where an event leads. Sets *outcome where the move has one, and leaves it else. -1: it can't come
 * in that state.
 */
int gate_machine_next(enum gate_state state, enum gate_event event, enum gate_outcome *outcome);

#endif
