/*
 * A goroutine's state and wait reason in our words (goroutine.def), for dumps
 * as text and for goroutines that are read from outside.
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

/* Returns "running", "runnable", "syscall" or "waiting" for the runtime's
 * words. */
const char *goroutine_state(const char *raw, size_t n);
/* Returns what a waiting goroutine waits for; NULL when no row has it, and raw
 * is to be shown. */
const char *goroutine_reason(const char *raw, size_t n);
/* Returns the kind of lock that a function waits for, or NULL. */
const char *goroutine_lock(const char *function);
