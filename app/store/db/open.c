#include "driver.h"

#include <string.h>

bool
db_is_remote(const char *url)
{
	return url && (!strncmp(url, "postgres://", 11) ||
	               !strncmp(url, "postgresql://", 13));
}

static void
close_db(struct db **db)
{
	db_close(*db);
}

int
db_open(const struct db_options *o, struct db **out, struct buf *why)
{
	const struct db_driver *driver = db_is_remote(o->url) ? &db_postgres
	                                                      : &db_sqlite;
	CLEANUP(close_db) struct db *db = NULL;
	int rc = driver->open(o, &db);

	if (rc)
		buf_addf(why, "%s: %s", db ? db->name : "the database",
		         db && *db->why ? db->why : strerror(-rc));
	if (!rc)
		rc = db_check_schema(db, o->migrate, why);
	if (rc)
		return rc;
	*out = TAKE(db);
	return 0;
}
