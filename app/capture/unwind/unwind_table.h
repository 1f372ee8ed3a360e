/* The unwind tables of one image, as the walk uses them. */
#pragma once

#include "unwind_arch.h"
#include "unwind_index.h"

#define UNWIND_TABLE_CACHE 2048  /* addresses remembered per image */
#define UNWIND_CODE_CACHE  16384 /* addresses in code without tables */

/*
 * Returns the rule of the instruction at vaddr. A function's rows are compiled
 * at the first look-up of one of its addresses, and kept.
 *
 *   Shape    returns: vaddr is the last byte of a call, and the code it
 *            returns to begins at vaddr + 1
 */
struct unwind_rule
unwind_table_rule(struct unwind_table *t, uint64_t vaddr, bool returns);
/* Returns the row from which unwind_table_rule() makes a rule, for code whose
 * rule is CFA_FULL.
 *   Errors   -ENOENT nothing describes it, -EBADMSG */
MUST_CHECK int unwind_table_row(const struct unwind_table *t, uint64_t vaddr,
                                const struct cfi_section **section,
                                struct cfi_entry *entry, struct cfi_row *row);
/* Copies bytes of code. False: they are not in the image. */
MUST_CHECK bool unwind_table_code(const struct unwind_table *t, uint64_t vaddr,
                                  void *out, size_t n);
/* True if a call that returns to vaddr is in the code that a program or a
 * thread begins with. */
bool unwind_table_begins(const struct unwind_table *t, uint64_t vaddr);
/*
 * True if code without tables goes on to the first frame of a thread: what
 * follows the system call that creates one, where parent and child part.
 *   Source   glibc 2.36, sysdeps/unix/sysv/linux/x86_64/clone3.S; musl 1.2.3,
 *            src/thread/x86_64/clone.s
 */
bool unwind_table_starts(struct unwind_table *t, uint64_t vaddr);
/* Returns the name of code that nothing calls, but to whose first instruction
 * functions return: code that ends handlers and contexts. Few images have a
 * symbol for it. NULL: other code. */
const char *unwind_table_uncalled(const struct unwind_table *t, uint64_t vaddr);
/* Finds the start of the function around vaddr. False: nothing describes it. */
MUST_CHECK bool unwind_table_function(const struct unwind_table *t,
                                      uint64_t vaddr, uint64_t *start);
/*
 * Finds the frame of a function that keeps a frame pointer, by what its code
 * has pushed: the distance from the stack pointer to the frame pointer. False:
 * the function keeps none at vaddr, or its code does not show it.
 *   Shape    returns: a call returns to vaddr
 */
MUST_CHECK bool unwind_table_pointer(struct unwind_table *t, uint64_t vaddr,
                                     bool returns, int64_t *bytes);
/* Narrows a gap around vaddr, for which there is no entry, to the range between
 * the neighbouring entries. */
void unwind_table_gap(const struct unwind_table *t, uint64_t vaddr,
                      uint64_t *begin, uint64_t *end);
const struct unwind_arch *unwind_table_arch(const struct unwind_table *t);
