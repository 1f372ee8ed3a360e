/*
 * Hooks for tests: injected failures, and a shifted clock.
 */
#pragma once

#include "store/db/db.h"

/* Makes the nth statement from now fail with -EIO; 0: none. */
void db_fail_after(struct db *db, int n);
/* The time in which a PostgreSQL server must answer a statement. */
extern int64_t db_answer_max_ns;
/* The interval between looks at the schema of an open database. */
extern int64_t db_look_ns;
/* Moves this connection's clock, now_ms(). */
void db_skew_clock(struct db *db, int64_t ms);
