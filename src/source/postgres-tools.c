#include "config.h"

#include "source/postgres-tools.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <zlib.h>

/*
 * Only keys whose making was read in the tool's own source. Left out, since they can't be told from
 * the key alone: GoodJob and River (a hash of each job or migration), Ecto (Erlang's phash2 of the
 * repository's name), pg-boss (SHA-224 of names).
 */

/* Keys that are the same in every database. */
struct fixed {
	const char *tool;
	int64_t key;
};

static const struct fixed fixed[] = {
	/* prisma/prisma-engines, schema-engine, postgres connector, acquire_lock: a number without
	   a meaning */
	{ "Prisma Migrate", 72707369 },
	/* sqitchers/sqitch, lib/App/Sqitch/Engine/pg.pm, try_lock */
	{ "Sqitch", 75474063 },
	/* salsita/node-pg-migrate, src/runner.ts, PG_MIGRATE_LOCK_ID */
	{ "node-pg-migrate", INT64_C(7241865325823964) },
	/* pressly/goose, lock/session_locker_options.go, DefaultLockID: crc32 of "goose"; before,
	   crc64 (ECMA) of it */
	{ "goose", INT64_C(4097083626) },
	{ "goose", INT64_C(5887940537704921958) },
	/* goauthentik/authentik, lifecycle/migrate.py, ADV_LOCK_UID: a number that others may
	   choose as well */
	{ "authentik, or another that chose 1000", 1000 },
};

static uint32_t crc_of(const void *bytes, size_t len)
{
	return (uint32_t)crc32(0, bytes, (unsigned)len);
}

/* rails/rails, activerecord/lib/active_record/migration.rb, generate_migrator_advisory_lock_id */
static bool is_active_record(const char *database, size_t len, int64_t key)
{
	return key == INT64_C(2053462845) * (int64_t)crc_of(database, len);
}

/* launchbadge/sqlx, sqlx-postgres/src/migrate.rs, generate_lock_id */
static bool is_sqlx(const char *database, size_t len, int64_t key)
{
	return key == INT64_C(0x3d32ad9e) * (int64_t)crc_of(database, len);
}

/*
 * golang-migrate/migrate, database/util.go, GenerateAdvisoryLockId, as database/postgres calls it:
 * schema, table and database joined by NULs, in arithmetic of 32 bits. Schema and table are those
 * of a default installation.
 */
static bool is_golang_migrate(const char *database, size_t len, int64_t key)
{
	static const char names[] =
		"public\0schema_migrations"; /* its last NUL stands before the database */
	uint32_t sum = (uint32_t)crc32(
		crc_of(names, sizeof(names)), (const unsigned char *)database, (unsigned)len);

	return key == (int64_t)(uint32_t)(sum * UINT32_C(1486364155));
}

/*
 * flyway/flyway, PostgreSQLAdvisoryLockTemplate.java: the letters "Flyway" as a number, and added
 * to it Java's 32-bit hash of the quoted name of the history table, which may be any.
 */
static bool is_flyway(const char *database, size_t len, int64_t key)
{
	static const int64_t magic = INT64_C(0x466c79776179);

	(void)database;
	(void)len;
	return key >= magic + INT32_MIN && key <= magic + INT32_MAX;
}

/* Keys that are made of the database's name. */
struct computed {
	const char *tool;
	bool (*is)(const char *database, size_t len, int64_t key);
};

static const struct computed computed[] = {
	{ "Active Record migrations", is_active_record },
	{ "sqlx", is_sqlx },
	{ "golang-migrate", is_golang_migrate },
	{ "Flyway", is_flyway },
};

/*
 * blagerweij/liquibase-sessionlock, PGLockService.java: a pair of Java's String.hashCode of the
 * lock table's and of the schema's name. liquibase's PostgresDatabase writes the table's name in
 * lower case.
 */
static const char *pair_tool(struct pg_key key)
{
	enum {
		HASH_DATABASECHANGELOGLOCK = -1497367772
	};

	return pg_key_first(key) == HASH_DATABASECHANGELOGLOCK ? "Liquibase session lock" : NULL;
}

const char *postgres_tool(const char *database, size_t len, struct pg_key key)
{
	int64_t value = pg_key_value(key);
	size_t i;

	if (key.objsubid == KEY_PAIR)
		return pair_tool(key);
	if (key.objsubid != KEY_BIGINT)
		return NULL;
	for (i = 0; i < ARRAY_LEN(fixed); i++)
		if (fixed[i].key == value)
			return fixed[i].tool;
	for (i = 0; i < ARRAY_LEN(computed); i++)
		if (computed[i].is(database, len, value))
			return computed[i].tool;
	return NULL;
}
