#include "config.h"

#include "../unit/unit.h"
#include "base/fs.h"
#include "base/str.h"
#include "compare.h"

#include <stdlib.h>
#include <string.h>

void golden_compare(const char *name, const struct str *made)
{
	struct str path, there;

	str_init(&path, 4096);
	str_init(&there, 1024 * 1024);
	str_addf(&path, "%s/%s.txt", TEST_SCREENS, name);
	if (getenv("BATON_UPDATE_GOLDEN"))
		assert_int_equal(fs_write_atomic(path.s, made->s, made->len, NULL), 0);
	if (fs_read(path.s, &there, NULL) < 0)
		fail_msg("%s is missing: make update-golden", path.s);
	if (strcmp(there.s, made->s) != 0)
		fail_msg("%s differs; it was\n%s\nand is now\n%s", name, there.s, made->s);
	str_release(&path);
	str_release(&there);
}
