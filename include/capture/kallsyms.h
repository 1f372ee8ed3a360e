/*
 * The kernel's functions by address, from the text of /proc/kallsyms.
 *
 * The kernel shows zeros to those who may not know (kptr_restrict,
 * CAP_SYSLOG at the time the file was opened).
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define KALLSYMS_MAX_BYTES ((size_t)64 << 20)
#define KALLSYMS_MAX_ROWS  (1u << 21)

struct kallsyms;

struct kallsym {
	const char *name;   /* function */
	const char *module; /* "[kernel]", "[ext4]", ... */
	uint64_t start;
};

/*
 * Parses the whole text: "address type name[\t[module]]" per line; lines that
 * are not so, and symbols that are not code, are passed over.
 *
 *   Owns     on success the text is taken over and *out is the caller's
 *   Errors   -EACCES all addresses are zero, -ENODATA no function at all,
 *            -E2BIG past KALLSYMS_MAX_ROWS, -ENOMEM; text, *out untouched
 *   Source   kernel/kallsyms.c (s_show); nm(1) for the types
 */
MUST_CHECK int kallsyms_new(struct buf *text, struct kallsyms **out);
void kallsyms_free(struct kallsyms *k);
DEFINE_CLEANUP(struct kallsyms *, kallsyms_free)
#define CLEANUP_KALLSYMS CLEANUP(kallsyms_free_ptr)

/* The function that holds addr; false below the first or outside the kernel's
 * half. Texts live as long as k. */
MUST_CHECK bool
kallsyms_lookup(const struct kallsyms *k, uint64_t addr, struct kallsym *out);
