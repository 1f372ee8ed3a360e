/*
 * Jumps of the clock. One reading of a clock is no reason to delete anything: a
 * dead battery, a resumed virtual machine or a wrong time server would remove
 * every profile at once. After the database's clock went forward by more than
 * CLOCK_JUMP_MS between two looks, deletion by age waits for as long. A server
 * that was off that long waits, too.
 */
#pragma once

#include "store/store.h"

#define CLOCK_JUMP_MS INT64_C(86400000)

/* Looks at the clock, and records its time. *held_ms is how long nothing may be
 * deleted by age; 0 if deletion need not wait. */
MUST_CHECK int clock_jump_look(struct store *s, int64_t *held_ms);
/* Returns the same without recording the clock's time. */
MUST_CHECK int clock_jump_held(struct store *s, int64_t *held_ms);
