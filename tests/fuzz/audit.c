#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every text that is told is whole, and long enough to be read to its end. */
static void take_text(size_t *sum, const char *text)
{
	if (text)
		*sum += strlen(text);
}

static void take_act(void *arg, const struct audit_act *act)
{
	take_text(arg, act->at);
	take_text(arg, act->outcome_at);
	take_text(arg, act->id);
	take_text(arg, act->verb);
	take_text(arg, act->identity);
	take_text(arg, act->key);
	take_text(arg, act->request);
	take_text(arg, act->reason);
	take_text(arg, act->user);
	take_text(arg, act->host);
	take_text(arg, act->tty);
	take_text(arg, act->outcome);
	take_text(arg, act->answer);
	take_text(arg, act->overlap);
}

static void take_line(void *arg, const char *line)
{
	take_text(arg, line);
}

static bool put(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* An audit that somebody else wrote, or half of one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/tmp/baton-fuzz-audit-XXXXXX", path[sizeof(folder) + 32];
	size_t sum = 0, broken = 0;
	struct audit audit;

	if (!mkdtemp(folder))
		return 0;
	snprintf(path, sizeof(path), "%s/audit.jsonl", folder);
	audit_init(&audit, folder);
	if (put(path, data, size)) {
		audit_acts(&audit, 20, take_act, &sum, &broken, NULL);
		audit_lines(&audit, take_line, &sum, &broken, NULL);
	}
	audit_release(&audit);
	unlink(path);
	rmdir(folder);
	return 0;
}
