/*
 * Rules read from the code itself, for what no table describes: hand-written
 * assembly mostly. From an instruction on, the code is followed to where it
 * returns, and on the way counted what is taken off the stack: as much lies
 * there before the return address.
 *
 * That holds for code that gives back what it took on every way out; calls on
 * the way are trusted to do so. It is a guess all the same, since not every
 * branch is ever taken: a rule from here is believed only when what it finds
 * follows a call.
 */
#pragma once

#include "capture/elf/elf.h"
#include "unwind_arch.h"

/*
 * The rule before the instruction at vaddr; false: its way out is not found.
 *   Shape    rule->cfa is CFA_CODE
 */
MUST_CHECK bool
unwind_code_rule(const struct elf_image *elf, const struct unwind_arch *arch,
                 uint64_t vaddr, struct unwind_rule *rule);
