/*
 * Samples of allocations: a program in the kernel at the allocation functions
 * of some processes.
 *
 * A call that is watched costs the process about a microsecond, so one that
 * allocates often is watched for a part of the time, such that this stays
 * within a budget: allocs_run() measures how often it does, and chooses.
 */
#pragma once

#include "base/cleanup.h"
#include "capture/host/emit_layout.h"

#include <stdbool.h>
#include <stdint.h>

#define ALLOCS_MAX_PLACES 32

/* One function of a file. */
struct allocs_place {
	uint64_t offset;   /* of the probe in the file */
	uint8_t size;      /* number of the register with the size */
	uint8_t count;     /* of the one that it is multiplied by, */
	uint8_t has_count; /* if there is one */
	/* The register with memory to be replaced, if there is one, and whether
	 * calls with 0 there are made again, of another function. */
	uint8_t old, has_old, has_unless;
	uint8_t to, has_to; /* of where the new address is written */
	/* Nothing is allocated: the memory in the register size is released. */
	uint8_t releases;
	uint8_t throws; /* when it fails; else it returns */
	/* The address that it returns to is not on top of the stack. */
	uint8_t moved;
	uint8_t reserved[3];
};

/* A process and the file with its allocation functions, which comes along as a
 * descriptor; without places it is not watched any more. */
struct allocs_of {
	int32_t pid;
	uint32_t n;
	uint32_t late; /* 1: in a moment, if it still lives */
	uint32_t reserved;
	struct allocs_place places[ALLOCS_MAX_PLACES];
};

struct allocs {
	int slots_fd;   /* a map to be mapped shared: struct emit_slot, of which
	                   the samples' scales and means are */
	int outputs_fd; /* the array of events that samples are written to */
	int interps_fd; /* as of struct waits */
	int calls_fd, prog_fd;
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
 * Watches the processes that it is told of, until one of the other ends is
 * closed:
 * struct allocs_of, each with a descriptor where it has places. Probes are gone
 * when this process is.
 *
 *   Units    budget: of a CPU's time, in thousandths, for each process
 */
void allocs_run(const struct allocs *a, int socket, int hold, unsigned budget);
