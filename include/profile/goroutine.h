/*
 * A goroutine's state and wait reason in our words: goroutine.def. The same
 * for dumps as text and for what is read from outside.
 */
#pragma once

#include <stddef.h>

enum goroutine_label {
#define GOROUTINE_LABEL(id, key, doc) GOROUTINE_##id,
#include "profile/analysis/goroutine.def"
#undef GOROUTINE_LABEL
	GOROUTINE_LABELS
};
extern const char *const goroutine_keys[GOROUTINE_LABELS];

/* "running", "runnable", "syscall" or "waiting", from the runtime's words. */
const char *goroutine_state(const char *raw, size_t n);
/* What one that waits waits for; NULL: there is no row, say raw itself. */
const char *goroutine_reason(const char *raw, size_t n);
/* The lock that a function is made to wait for, or NULL. */
const char *goroutine_lock(const char *function);
