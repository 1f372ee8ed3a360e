#include "profile/goroutine.h"

#include "base/cleanup.h"
#include "profile/profile.h"

#include <string.h>

#define NEAR 8 /* frames between a semaphore and its lock */

struct words {
	const char *raw, *ours;
};

const char *const goroutine_keys[GOROUTINE_LABELS] = {
#define GOROUTINE_LABEL(id, key, doc) key,
#include "goroutine.def"
#undef GOROUTINE_LABEL
};

static const struct words states[] = {
#define GOROUTINE_STATE(raw, state) {raw, #state},
#include "goroutine.def"
#undef GOROUTINE_STATE
};

static const struct words reasons[] = {
#define GOROUTINE_REASON(raw, reason) {raw, reason},
#include "goroutine.def"
#undef GOROUTINE_REASON
};

static const struct words locks[] = {
#define GOROUTINE_LOCK(function, reason) {function, reason},
#include "goroutine.def"
#undef GOROUTINE_LOCK
};

static const char *
find(const struct words *rows, size_t nrows, const char *raw, size_t n)
{
	for (size_t i = 0; i < nrows; i++)
		if (strlen(rows[i].raw) == n && !memcmp(rows[i].raw, raw, n))
			return rows[i].ours;
	return NULL;
}

const char *
goroutine_state(const char *raw, size_t n)
{
	const char *state = find(states, ARRAY_LEN(states), raw, n);

	return state ? state : "waiting";
}

const char *
goroutine_reason(const char *raw, size_t n)
{
	return find(reasons, ARRAY_LEN(reasons), raw, n);
}

const char *
goroutine_lock(const char *function)
{
	return find(locks, ARRAY_LEN(locks), function, strlen(function));
}

const char *
goroutine_stack_lock(const struct profile *p, const uint32_t *stack, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < NEAR; i++) {
		const struct location *at = &p->locations[stack[i]];

		for (uint32_t k = 0; k < at->nlines; k++) {
			uint32_t f = p->lines[at->line0 + k].function;
			const char *lock = goroutine_lock(
				profile_text(p, p->functions[f].name));

			if (lock)
				return lock;
		}
	}
	return NULL;
}

bool
goroutine_has_key(const char *key)
{
	for (size_t i = 0; i < GOROUTINE_LABELS; i++)
		if (!strcmp(key, goroutine_keys[i]))
			return true;
	return false;
}
