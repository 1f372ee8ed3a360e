/* Hooks for tests: a failure on purpose, and another time. */
#pragma once

#include "store/db/db.h"

/* The nth statement from now fails with -EIO; 0: none does. */
void db_fail_after(struct db *db, int n);
/* Moves this connection's clock, now_ms(). */
void db_skew_clock(struct db *db, int64_t ms);
