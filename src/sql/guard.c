// SPDX-License-Identifier: MIT
/*
 * What statements may do: read the capture's tables, and keep temporary tables and views of their
 * own. The guard refuses whatever could touch a file before it runs, with a clearer message than
 * SQLite's.
 */
#include "sql/private.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sql_why(struct sql *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(s->why);
	s->why = mem_strdup(text);
}

/* Pragmas that only report. */
static bool harmless_pragma(const char *name)
{
	static const char *const names[] = {"table_info",    "table_xinfo",	"table_list",
					    "function_list", "compile_options", "collation_list"};

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (!sqlite3_stricmp(name, names[i]))
			return true;
	return false;
}

static bool is_temp(const char *db)
{
	return db && !strcmp(db, "temp");
}

static int guard_refuse(struct sql *s, const char *what)
{
	sql_why(s,
		"%s is refused: thaw sql only reads the capture. Temporary tables and views are "
		"allowed (CREATE TEMP TABLE x AS SELECT ...)",
		what);
	return SQLITE_DENY;
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *db,
		     const char *trigger)
{
	struct sql *s = arg;

	if (s->own)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_READ:
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
	case SQLITE_CREATE_TEMP_TABLE:
	case SQLITE_CREATE_TEMP_VIEW:
	case SQLITE_CREATE_TEMP_INDEX:
	case SQLITE_DROP_TEMP_TABLE:
	case SQLITE_DROP_TEMP_VIEW:
	case SQLITE_DROP_TEMP_INDEX:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !sqlite3_stricmp(b, "load_extension")
			       ? guard_refuse(s, "load_extension")
			       : SQLITE_OK;
	case SQLITE_PRAGMA:
		return harmless_pragma(a) ? SQLITE_OK : guard_refuse(s, "this PRAGMA");
	case SQLITE_ATTACH:
		return guard_refuse(s, "ATTACH (and VACUUM)");
	case SQLITE_DETACH:
		return guard_refuse(s, "DETACH");
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
	case SQLITE_REINDEX:
	case SQLITE_ANALYZE:
		return is_temp(db) ? SQLITE_OK : guard_refuse(s, "writing");
	case SQLITE_ALTER_TABLE:
		return is_temp(a) ? SQLITE_OK : guard_refuse(s, "ALTER TABLE");
	default:
		return guard_refuse(s, "this statement");
	}
}

void guard_install(struct sql *s)
{
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_set_authorizer(s->db, authorize, s);
}
