/*
 * The kernel's functions by address, from the text of /proc/kallsyms.
 *
 * The kernel shows zeros to readers that may not see addresses (kptr_restrict,
 * CAP_SYSLOG at the time the file was opened).
 */
#pragma once

#include "base/buf.h"

#define KALLSYMS_MAX_BYTES ((size_t)64 << 20)
#define KALLSYMS_MAX_ROWS  (1u << 21)
/*
 * Largest size of a function, since the text has no sizes. A function that
 * would be longer is followed by a gap, where code may have been loaded since
 * the text was read.
 */
#define KALLSYMS_MAX_SIZE ((uint64_t)1 << 20)

/*
 * Parses the whole text: "address type name[\t[module]]" per line; malformed
 * lines, and symbols that are not code, are skipped. The output is a symbol
 * table: symtab_open() it.
 *
 *   Owns     text is modified, and stays the caller's
 *   Errors   -EACCES all addresses are zero, -ENODATA no function at all,
 *            -E2BIG past KALLSYMS_MAX_ROWS, -ENOMEM
 *   Source   kernel/kallsyms.c (s_show); nm(1) for the types
 */
MUST_CHECK int kallsyms_build(struct buf *text, struct buf *out);
