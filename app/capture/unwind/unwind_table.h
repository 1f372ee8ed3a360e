/* The unwind tables of one image, as the walk asks them. */
#pragma once

#include "unwind_arch.h"
#include "unwind_index.h"

#define UNWIND_TABLE_CACHE 2048  /* addresses remembered per image */
#define UNWIND_CODE_CACHE  16384 /* and of those without tables */

/*
 * The rule of the instruction at vaddr. A function's rows are compiled when
 * one of its addresses is first asked for, and kept.
 *
 *   Shape    returns: vaddr is the last byte of a call, so that the code it
 *            returns to begins at vaddr + 1
 */
struct unwind_rule
unwind_table_rule(struct unwind_table *t, uint64_t vaddr, bool returns);
/* Returns the row behind unwind_table_rule(), for code whose rule is CFA_FULL.
 *   Errors   -ENOENT nothing describes it, -EBADMSG */
MUST_CHECK int unwind_table_row(const struct unwind_table *t, uint64_t vaddr,
                                const struct cfi_section **section,
                                struct cfi_entry *entry, struct cfi_row *row);
/* Bytes of code. False: not in the image. */
MUST_CHECK bool unwind_table_code(const struct unwind_table *t, uint64_t vaddr,
                                  void *out, size_t n);
/* Whether a call that returns to vaddr is of the code that a program or a
 * thread begins with. */
bool unwind_table_begins(const struct unwind_table *t, uint64_t vaddr);
/* The name of code that nothing calls, but that is returned to, at its begin:
 * what ends handlers and contexts. Few have a symbol for it. NULL: it is other
 * code. */
const char *unwind_table_uncalled(const struct unwind_table *t, uint64_t vaddr);
/* Where the function around vaddr begins. False: nothing describes it. */
MUST_CHECK bool unwind_table_function(const struct unwind_table *t,
                                      uint64_t vaddr, uint64_t *start);
/* Narrows a gap around vaddr, of which no entry is, to what lies between the
 * entries beside it. */
void unwind_table_gap(const struct unwind_table *t, uint64_t vaddr,
                      uint64_t *begin, uint64_t *end);
const struct unwind_arch *unwind_table_arch(const struct unwind_table *t);
