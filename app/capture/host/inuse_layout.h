/*
 * The memory that the reader of samples shares with the BPF programs that
 * follow allocations until their release.
 *
 * A sampled allocation has a row while it is in use. The row of an address is
 * one of INUSE_WAYS in its set, which is found by a hash. Each sample contains
 * its row and its id: if the row still has this id at the end, the allocation
 * is still in use.
 */
#pragma once

#include "emit_layout.h"

#define INUSE_WAYS     8
#define INUSE_SET_BITS 13
#define INUSE_SETS     (1u << INUSE_SET_BITS)
#define INUSE_ROWS     (INUSE_SETS * INUSE_WAYS)

struct inuse_row {
	uint64_t key; /* INUSE_KEY; 0: the row is unused */
	uint64_t id;  /* of the sample */
};

struct inuse_set {
	struct inuse_row rows[INUSE_WAYS];
};

/* User addresses on x86-64 have at most 56 bits; higher ones, if a program
 * passes something else, must not select another slot.
 *   Source   linux/Documentation/arch/x86/x86_64/5level-paging.rst */
#define INUSE_ADDRESS ((UINT64_C(1) << 56) - 1)
#define INUSE_KEY(slot, address) \
	((uint64_t)(slot) << 56 | ((address)&INUSE_ADDRESS))
#define INUSE_SLOT(key) ((uint32_t)((key) >> 56))
#define INUSE_SET(key)                                    \
	((uint32_t)((key)*UINT64_C(0x9e3779b97f4a7c15) >> \
	            (64 - INUSE_SET_BITS)))

enum inuse_state {
	INUSE_UNUSED,
	INUSE_WATCHED,
	INUSE_COSTLY, /* watching cost too much and ended; its rows stay */
	INUSE_ENDED,  /* the process ended; its rows stay */
};

/* A process: the value of a map, by slot. */
struct inuse_slot {
	uint64_t mean;      /* bytes */
	uint64_t untracked; /* samples for which there was no row */
	uint32_t state;     /* enum inuse_state */
	int32_t pid;
	/* If INUSE_COSTLY: what watching it cost at the end, in thousandths of
	 * a CPU. */
	uint64_t cost;
	uint64_t began_ns; /* when watching it began; CLOCK_MONOTONIC */
};
