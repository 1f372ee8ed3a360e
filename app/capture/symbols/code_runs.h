/*
 * Finds starts of functions in code without unwind tables or symbols of known
 * size, mostly hand-written assembly. Instructions are decoded from the gap's
 * begin on; a function ends where they return, jump or trap and no branch has
 * led further, and the next one begins after the padding.
 *
 * A function with several ends may be taken for several functions, and
 * functions that jump into each other for one; but an address always gets the
 * same result, whichever instruction of a loop was sampled.
 */
#pragma once

#include "capture/elf/elf.h"

#define CODE_RUNS_MAX_GAP ((uint64_t)64 << 20) /* bytes that are decoded */

struct code_gap {
	uint64_t begin, end; /* vaddr */
};

/* Remembers the gaps that were decoded last. */
struct code_runs;
struct code_runs *code_runs_new(void); /* NULL: no memory */
void code_runs_free(struct code_runs *r);

/*
 * Returns the start of the function around vaddr, which lies in the gap, or the
 * gap's begin when the start is unknown.
 *   Owns     e is borrowed as long as r lives
 */
uint64_t code_runs_find(struct code_runs *r, const struct elf_image *e,
                        struct code_gap gap, uint64_t vaddr);
