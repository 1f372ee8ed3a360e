/*
 * The counts that libstoker-heap.so keeps in the memory of a program, which the
 * worker reads from outside. They are the program's own: a reader trusts no
 * number and no address in them.
 *
 * The library exports one variable, HEAP_SYMBOL: struct heap_head. All counts
 * are estimates for everything that was allocated, made of samples.
 */
#pragma once

#include <stdint.h>

#define HEAP_LIBRARY "libstoker-heap.so"
#define HEAP_SYMBOL  "stoker_heap"
#define HEAP_MAGIC   UINT64_C(0x31706165686b7473) /* "stkheap1" */
#define HEAP_STACKS  (1u << 16)
#define HEAP_FRAMES  (1u << 20)
#define HEAP_DEPTH   128 /* frames of a stack; outer ones are left out */
#define HEAP_OBJECT  256 /* objects are counted in 256ths */

/* One stack. Counts only grow, and wrap around. */
struct heap_stack {
	uint64_t hash;
	uint32_t frame0, n; /* within frames; none: the stack is not known */
	uint64_t samples;
	uint64_t objects, bytes; /* allocated */
	uint64_t freed_samples, freed_objects, freed_bytes;
};

struct heap_head {
	uint64_t magic;  /* 0 until the library counts */
	uint64_t stacks; /* address of struct heap_stack[HEAP_STACKS] */
	/* Address of uint64_t[HEAP_FRAMES]: addresses within calls, innermost
	 * first. */
	uint64_t frames;
	uint32_t nstacks, nframes; /* in use, or more when there is no room */
	uint64_t mean;             /* bytes between two samples */
	/* 1: the process began as a copy of another one, whose counts up to
	 * then it has. */
	uint64_t forked;
	/* Samples whose release would not be noticed, so that they count as
	 * freed at once. */
	uint64_t untracked;
};
