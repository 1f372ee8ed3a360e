/*
 * The allocation functions that a program or a library has, and the places at
 * which their calls can be watched.
 */
#pragma once

#include "capture/allocs.h"
#include "capture/elf/elf.h"
#include "capture/quality.h"

#define ALLOCATOR_NAMES    128
#define ALLOCATOR_NAMELESS (UINT32_C(1) << 31)

struct allocator {
	uint32_t n;
	struct allocs_place places[ALLOCS_MAX_PLACES];
	/* Each function's first address and the one past its last; vaddr. */
	struct allocator_function {
		uint64_t start, end;
	} functions[ALLOCS_MAX_PLACES];
	/* Names of functions without such a place, as many as there is room
	 * for; and whether one of them releases memory. */
	char unwatched[ALLOCATOR_NAMES];
	bool unreleased;
	/* Bits of enum quality_hidden: allocators that call none of these; and
	 * ALLOCATOR_NAMELESS: one whose functions have no names. collected:
	 * those whose releases, but not allocations, are hidden. */
	uint32_t hidden, collected;
	/* Where the address of PHP's heap is stored; the heap begins with a
	 * number other than 0 when PHP calls malloc instead; vaddr, 0:
	 * unknown. */
	uint64_t php_heap;
};

/*
 * Finds the functions by the image's symbols, allocators.def.
 *   Shape    out->n is 0 if only out->hidden is set
 *   Errors   -ENOENT the image is not an allocator, -EIO, -E2BIG, -ENOMEM; *out
 *            untouched
 */
MUST_CHECK int allocator_find(const struct elf_image *e, struct allocator *out);
/* True for an address in one of the functions. */
bool allocator_has(const struct allocator *a, uint64_t vaddr);
