#include "config.h"

#include "tests/unit/io/json-twin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever it is, it is read as jansson reads it, or is no JSON to either. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct json_tree tree;
	bool valid;

	if (!twin_agree(&tree, (const char *)data, size, &valid))
		abort();
	return 0;
}
