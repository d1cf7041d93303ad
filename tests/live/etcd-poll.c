#include "config.h"

#include "fake-round.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "io/yaml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * etcd-poll OPTIONS SECONDS [ID...]: polls an etcd for so long as a console would, with the rows ID
 * on its screen, and writes a line for each event and each poll. For live tests of what no command
 * prints: the past, and how many requests are spent.
 */

enum {
	TIMEOUT_MS = 5000
};

static int run(
	const struct source_config *config, struct round *r, int64_t until_ms, struct err *err)
{
	uint64_t before;
	void *state;
	int rc = config->ops->open(config, &state, err);

	if (rc)
		return rc;
	while (!rc && clock_mono_ms(&clock_system) < until_ms) {
		before = r->requests;
		fake_round_start(r, TIMEOUT_MS);
		rc = config->ops->poll(state, r, err);
		printf("poll\t%zu\t%" PRIu64 "\n", r->n_rows, r->requests - before);
		fflush(stdout);
		fake_round_start(r, 1000);
		if (!rc && config->ops->wait(state, r, err) < 0)
			break;
	}
	config->ops->close(state);
	return rc;
}

int main(int argc, char **argv)
{
	struct source_config config = { .ops = source_kind("etcd"),
		.name = "ctl",
		.timeout_ms = TIMEOUT_MS,
		.interval_ms = 1000 };
	struct yaml_node *options;
	struct err err = { 0 };
	struct round r;
	int rc;

	if (argc < 3)
		return 64;
	text_init_locale();
	if (yaml_parse(argv[1], strlen(argv[1]), "options", &options, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 78;
	}
	config.options = options;
	fake_round_init(&r);
	r.events = stdout;
	r.wanted = (const char *const *)argv + 3;
	rc = run(&config, &r, clock_mono_ms(&clock_system) + 1000 * atoi(argv[2]), &err);
	if (rc)
		fprintf(stderr, "%s\n", err.text);
	fake_round_release(&r);
	yaml_node_free(options);
	return rc ? 1 : 0;
}
