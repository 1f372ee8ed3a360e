/*
 * Finds out from its stack what a thread in futex(2) waits for.
 */
#pragma once

#include "profile/profile.h"

struct futex_wait {
	const char *reason; /* "mutex"; "futex" when no function is known */
	bool lock;
	bool hidden; /* possibly a lock: the Java thread parks in an interpreted
	                method, which has no name */
};

/* Shape: stack[n] are locations of p, leaf first; only the innermost count. */
struct futex_wait
futex_wait_of(const struct profile *p, const uint32_t *stack, uint32_t n);
/* Returns the reason for a wait that is for no lock although its word has a
 * lock's value; NULL if the functions show no such wait. Shape: as above. */
const char *
futex_word_of(const struct profile *p, const uint32_t *stack, uint32_t n);
/*
 * Adds a location for what a thread waits for, "[monitor]", beside that of the
 * wait itself.
 *   Errors   of profile_location()
 */
MUST_CHECK int futex_location(struct profile *p, uint32_t wait,
                              const char *reason, uint32_t *out);
