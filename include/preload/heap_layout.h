/*
 * The counts that libstoker-heap.so keeps in the memory of a program, where the
 * worker reads them. The program can change them: a reader trusts no number and
 * no address in them.
 *
 * The library exports one variable, HEAP_SYMBOL: struct heap_head. All counts
 * are estimates of everything that was allocated, made from samples.
 */
#pragma once

#include <stdint.h>

#define HEAP_LIBRARY "libstoker-heap.so"
#define HEAP_SYMBOL  "stoker_heap"
#define HEAP_MAGIC   UINT64_C(0x31706165686b7473) /* "stkheap1" */
#define HEAP_STACKS  (1u << 16)
#define HEAP_FRAMES  (1u << 20)
#define HEAP_DEPTH   128 /* frames of a stack; frames further out are left out \
	                  */
#define HEAP_OBJECT 256  /* objects are counted in 256ths */

/* One stack. Counts only grow; they may wrap around. */
struct heap_stack {
	uint64_t hash;
	uint32_t frame0,
		n; /* range in frames; n is 0 if the stack is not known */
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
	uint32_t nstacks,
		nframes; /* entries used; exceeds the table once it is full */
	uint64_t mean;   /* mean number of bytes between samples */
	/* 1: the process is a fork, and its counts include those of its parent
	 * up to that moment. */
	uint64_t forked;
	/* Samples that could not be tracked; they are counted as freed at
	 * once. */
	uint64_t untracked;
};
