/*
 * Translates a goroutine's state and wait reason to the words of goroutine.def,
 * for text dumps and for goroutines read from a program's memory.
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

/* Translates the runtime's word to "running", "runnable", "syscall" or
 * "waiting". */
const char *goroutine_state(const char *raw, size_t n);
/* Returns what a waiting goroutine waits for; NULL if goroutine.def has no row
 * for raw, which should then be shown as it is. */
const char *goroutine_reason(const char *raw, size_t n);
/* Returns the kind of lock that a function acquires, or NULL. */
const char *goroutine_lock(const char *function);
