#include "config.h"

#include "source/postgres-tools.h"
#include "base/mem.h"

#include <string.h>
#include <zlib.h>

/* Keys that are the same everywhere. */
struct fixed {
	const char *tool;
	int64_t key;
};

static const struct fixed fixed[] = {
	/* prisma/prisma-engines, schema-engine/connectors/sql-schema-connector: acquire_lock */
	{ "Prisma Migrate", 72707369 },
};

const char *postgres_tool(const char *database, size_t len, struct pg_key key)
{
	size_t i;

	if (key.objsubid != KEY_BIGINT)
		return NULL;
	for (i = 0; i < ARRAY_LEN(fixed); i++)
		if (fixed[i].key == pg_key_value(key))
			return fixed[i].tool;
	/* rails/rails, activerecord/lib/active_record/migration.rb: MIGRATOR_SALT *
	 * Zlib.crc32(database) */
	if (pg_key_value(key) ==
		INT64_C(2053462845) *
			(int64_t)crc32(0, (const unsigned char *)database, (unsigned)len))
		return "Active Record migrations";
	return NULL;
}
