/*
 * Translates a goroutine's state and wait reason to the words of goroutine.def,
 * for text dumps and for goroutines read from a program's memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
struct profile;
/* Returns the kind of lock that a goroutine waits for by its innermost frames,
 * or NULL. */
const char *goroutine_stack_lock(const struct profile *p, const uint32_t *stack,
                                 uint32_t n);
/* True for a key of goroutine_keys. */
bool goroutine_has_key(const char *key);
