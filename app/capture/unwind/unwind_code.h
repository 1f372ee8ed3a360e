/*
 * Rules derived from the code itself, for code that no table describes: mostly
 * hand-written assembly. The code is followed from an instruction to a return,
 * and the bytes that are popped on the way are counted: they are the distance
 * to the return address.
 *
 * This holds for code that pops on every way out as much as it has pushed;
 * called functions are trusted to do so. It is a guess all the same, since some
 * branches are never taken: a rule from here is believed only if the return
 * address that it finds follows a call.
 */
#pragma once

#include "capture/elf/elf.h"
#include "unwind_arch.h"

/*
 * Finds the rule that holds before the instruction at vaddr; false: no return
 * was found.
 *   Shape    rule->cfa is CFA_CODE
 */
MUST_CHECK bool
unwind_code_rule(const struct elf_image *elf, const struct unwind_arch *arch,
                 uint64_t vaddr, struct unwind_rule *rule);

/*
 * Counts the bytes of stack below the return address before the instruction at
 * vaddr, in a function that begins at start; false: no path was found, or the
 * function takes room whose size the code does not show, as alloca() does.
 */
MUST_CHECK bool
unwind_code_pushed(const struct elf_image *elf, const struct unwind_arch *arch,
                   uint64_t start, uint64_t vaddr, int64_t *bytes);
