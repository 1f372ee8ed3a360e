/*
 * Moves a store from SQLite to a database on a server, with the bytes of its
 * windows, and those of its profiles unless they stay in files.
 *
 * Everything is one transaction on the server: either all of it has moved, or
 * nothing has, and the move may be repeated. Objects are stored before, under
 * the same names. The old store is only read, and locked against writers
 * meanwhile.
 */
#pragma once

#include "base/conf.h"
#include "store/store.h"

#define MOVE_TABLES_MAX 40

struct move_count {
	const char *table;
	int64_t before, after; /* rows */
};
struct move_report {
	struct move_count counts[MOVE_TABLES_MAX];
	size_t n;
	int64_t profiles; /* whose bytes were copied */
	int64_t profile_bytes;
	int64_t window_bytes;
};

/*
 * Moves the store in SQLite that is in the dir of conf to the database that
 * conf names, which has the schema of this release and no rows. Checksums of
 * all bytes that are copied are verified, before and after.
 *
 *   Errors   -ENOENT there is no such store; -EBUSY a process has it open;
 *            -EEXIST the database has rows; -EPERM the store is that of a host
 *            of a fleet; -EUCLEAN bytes are missing or damaged, or the counts
 *            differ; as db_open(), -errno. *why gets one line; the database is
 *            then unchanged
 */
MUST_CHECK int
store_move(const struct conf *conf, struct move_report *out, struct buf *why);
