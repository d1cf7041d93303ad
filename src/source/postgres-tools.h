#ifndef SOURCE_POSTGRES_TOOLS_H
#define SOURCE_POSTGRES_TOOLS_H

#include "source/postgres-key.h"

/*
 * The tool that is known to use this key in a database of that name (raw bytes), or NULL. Keys that
 * a tool makes anew for each job (a hash of the job's name) can't be known.
 */
const char *postgres_tool(const char *database, size_t len, struct pg_key key);

#endif
