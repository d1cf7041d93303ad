#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "control/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every option of every source can be read with its own type, and every message is plain text. */
static void check_source(const struct source_config *config)
{
	const struct option_def *def;

	for (def = config->ops->options; def->name; def++) {
		source_option_set(config, def->name);
		if (def->type == OPTION_MAPS)
			source_option_map(config, def->name, 0);
		else if (def->type == OPTION_LIST)
			source_option_item(config, def->name, 0);
		else if (def->type == OPTION_INT || def->type == OPTION_BOOL ||
			 def->type == OPTION_DURATION)
			source_option_int(config, def->name);
		else
			source_option_text(config, def->name);
	}
	if (config->interval_ms < 1 || config->timeout_ms < 1)
		abort();
}

static void check(const char *path)
{
	struct settings *s = NULL;
	struct err err = { 0 };
	const char *const nobody[] = { "nobody" };
	size_t i;

	if (settings_load(path, 0, &s, &err)) {
		for (i = 0; err.text[i]; i++)
			if ((unsigned char)err.text[i] < 0x20)
				abort();
		return;
	}
	for (i = 0; i < s->n_sources; i++)
		check_source(&s->sources[i]);
	settings_choose(s, nobody, 1, &err);
	settings_choose(s, nobody, 0, &err);
	settings_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[64];

	if (fd < 0) {
		text_init_locale();
		unsetenv("BATON_CONFIG");
		fd = memfd_create("config", MFD_CLOEXEC);
	}
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(path);
	return 0;
}
