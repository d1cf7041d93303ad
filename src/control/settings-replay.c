#include "config.h"

#include "base/mem.h"
#include "control/settings.h"
#include "control/settings-inside.h"
#include "source/replay.h"

#include <stdlib.h>

enum {
	POLL_TIMEOUT_MS = 60 * 1000, /* reading a very large picture */
};

static void add_source(struct settings *s, const struct replay *replay, size_t i)
{
	const struct replay_source *source = replay_source_at(replay, i);
	struct replay_given *given = settings_own(s, xcalloc(1, sizeof(*given)));

	*given = (struct replay_given){ .replay = replay, .source = i };
	s->sources[i] = (struct source_config){
		.ops = &source_replay,
		.name = source->name,
		.environment = source->environment,
		.protect = source->protect,
		.interval_ms = source_replay.interval_ms,
		.timeout_ms = POLL_TIMEOUT_MS,
		.given = given,
	};
}

struct settings *settings_of_replay(const struct replay *replay)
{
	struct settings *s = settings_new();
	const struct role *roles;
	size_t i;

	s->past = true;
	s->sim = replay_is_sim(replay);
	s->thresholds = *replay_thresholds(replay);
	s->n_sources = replay_n_sources(replay);
	s->sources = xcalloc(s->n_sources, sizeof(*s->sources));
	for (i = 0; i < s->n_sources; i++)
		add_source(s, replay, i);
	roles = replay_roles(replay, &s->n_roles);
	s->roles = xcalloc(s->n_roles, sizeof(*s->roles));
	for (i = 0; i < s->n_roles; i++)
		s->roles[i] = roles[i];
	return s;
}
