/*
 * Samples of allocations, taken by a BPF program that is attached to the
 * allocation functions of some processes.
 *
 * A watched call costs the process half a microsecond, or several under a
 * hypervisor. A process that allocates often is therefore watched only part of
 * the time: allocs_run() measures how often it allocates, and keeps the cost
 * within a budget.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/host/allocs_layout.h"
#include "capture/host/emit_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOCS_MAX_PLACES 64
/* Wait before probing a process that has just begun: it may end soon. */
#define ALLOCS_LATE_NS INT64_C(200000000)

/* One function of a file, or a static probe. */
struct allocs_place {
	uint64_t offset;   /* of the probe in the file */
	uint64_t counter;  /* of a 16-bit number in the file that counts the
	                      listeners of a static probe; 0: none */
	uint8_t size;      /* number of the register with the size */
	uint8_t count;     /* number of the register to multiply size by, */
	uint8_t has_count; /* if there is one */
	/* The register with the memory to replace, if has_old. has_unless: a
	 * call with NULL there is passed on to another watched function, so
	 * ignore it. */
	uint8_t old, has_old, has_unless;
	uint8_t to, has_to; /* register with the address of the result */
	/* Nothing is allocated: the memory in the register size is released. */
	uint8_t releases;
	uint8_t throws; /* throws an exception on failure; else returns */
	/* The return address is not on top of the stack. */
	uint8_t moved;
	/* A static probe, which has arguments instead of registers:
	 * capture/probes/memory_sampler.h. */
	uint8_t is_static;
	struct allocs_sampled sampled;
	uint32_t reserved;
};
/* A place travels as numbers of a question to the opener. */
#define ALLOCS_PLACE_NUMBERS (sizeof(struct allocs_place) / sizeof(int32_t))
_Static_assert(sizeof(struct allocs_place) == 56, "no holes");

/* Asks to watch a process; the file with its allocation functions comes along
 * as a descriptor. n == 0: stop watching the process. */
struct allocs_of {
	int32_t pid;
	uint32_t n;
	uint32_t late;  /* 1: start a moment later, if the process still
	                   exists */
	uint32_t group; /* of the capture; below ALLOCS_GROUPS */
	struct allocs_place places[ALLOCS_MAX_PLACES]; /* n are sent */
};
#define ALLOCS_GROUPS 64
/* Returns the bytes of a message with n places. */
static inline size_t
allocs_of_bytes(uint32_t n)
{
	return offsetof(struct allocs_of, places) +
	       n * sizeof(struct allocs_place);
}

struct allocs {
	int slots_fd;   /* a map to be mapped shared: struct emit_slot, with
	                   the scale and mean of samples */
	int outputs_fd; /* the array of events that samples are written to */
	int interps_fd; /* as in struct waits */
	int calls_fd, arguments_fd;
	int prog_fd, sampled_fd; /* the programs */
	int locks_fd;            /* lists processes that lock their memory */
};

/*
 * Loads the program; nobody is watched yet.
 *
 *   Owns     the descriptors are the caller's
 *   Errors   -EPERM without CAP_BPF and CAP_PERFMON; -EOPNOTSUPP before Linux
 *            6.6; -errno of bpf(2)
 */
MUST_CHECK int allocs_open(struct allocs *out);
void allocs_close(struct allocs *a);
/*
 * Watches the processes named by messages on socket, until the other end of
 * socket or of hold is closed. A message is a struct allocs_of, with a
 * descriptor if it has places. The probes last as long as this process.
 *
 * To insert or remove a probe, the kernel looks at each process of the host
 * that maps the file, while no process can fork. Doing so takes a fifth of a
 * CPU at most, and groups of processes take turns at it, and at the slots.
 * While any process of the host keeps its memory locked, no probe is inserted
 * or removed.
 *
 *   Units    budget: cost per process, in thousandths of its CPU time
 */
void allocs_run(const struct allocs *a, int socket, int hold, unsigned budget);
/*
 * Removes breakpoints that a killed process left at a place of a file, in all
 * processes that map the file: inserts a probe that none of them hits, and
 * removes it. The kernel then restores the instruction wherever no other probe
 * needs the breakpoint, and decrements the counter.
 *
 *   Source   Linux 6.18, kernel/events/uprobes.c, register_for_each_vma()
 *   Errors   -EBUSY a process keeps its memory locked; -errno of bpf(2)
 */
MUST_CHECK int allocs_repair(const struct allocs *a, int file, uint64_t offset,
                             uint64_t counter);
