#ifndef TESTS_GOLDEN_ACTS_H
#define TESTS_GOLDEN_ACTS_H

#include "control/gate.h"

/*
 * Acts made by hand for tests of their window: constant data, no gate behind them.
 *
 * "release": an etcd election in prod that waits for its confirmation; "reversible": a CronJob's
 * suspend in a lab; "forecast": the first, only to be looked at; "reading"; "acting"; "done";
 * "changed"; "unknown"; "refused"; "set": two of three done, the third changed. NULL for another
 * name.
 */
const struct gate_view *acts_view(const char *name);

#define ACTS_NOW_US INT64_C(1767362570000000) /* 2026-01-02T14:02:50Z */

#endif
