/*
 * Where functions begin in code that neither a symbol of known size nor an
 * unwind table tells of: hand-written assembly, mostly. Instructions are read
 * from the gap's begin on; one ends where they return, jump or trap and no
 * branch has led further, and the next begins behind the padding.
 *
 * Of functions with several ends some are taken for more than one, and those
 * that jump into each other for one: it is still the same row for the same
 * address, whichever instruction of a loop was sampled.
 */
#pragma once

#include "capture/elf/elf.h"

#define CODE_RUNS_MAX_GAP ((uint64_t)64 << 20) /* bytes that are read */

struct code_gap {
	uint64_t begin, end; /* vaddr */
};

/* Remembers the gaps that were looked through last. */
struct code_runs;
struct code_runs *code_runs_new(void); /* NULL: no memory */
void code_runs_free(struct code_runs *r);

/*
 * Where the function around vaddr begins, which lies in the gap; its begin
 * when that can't be told.
 *   Owns     e is borrowed as long as r lives
 */
uint64_t code_runs_find(struct code_runs *r, const struct elf_image *e,
                        struct code_gap gap, uint64_t vaddr);
