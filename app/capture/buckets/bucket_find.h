/*
 * Finds the variables in which a Go runtime keeps its memory, block and mutex
 * profiles. No symbol is needed: the functions that use them have names in
 * every program, and their code refers to the variables.
 */
#pragma once

#include "capture/buckets.h"
#include "capture/gobin/gobin.h"
#include "capture/host/memory.h"

/* The runtime's lists of buckets. */
enum go_list { GO_LIST_MEMORY, GO_LIST_BLOCK, GO_LIST_MUTEX, GO_LISTS };

struct go_profiles {
	const struct memory *mem;
	struct gobin *bin;
	const struct elf_image *elf;
	uint64_t bias;            /* address - bias: vaddr */
	unsigned minor;           /* Go's minor version */
	uint64_t lists[GO_LISTS]; /* addresses of the lists' heads */
#define BUCKET_VARIABLE(name, f, fuse, g, guse, how) uint64_t name;
#include "bucket_variable.def" /* addresses */
#undef BUCKET_VARIABLE
};

/*
 * Finds the variables. Each address that is not found is 0, so that a profile
 * which is off can be reported even if other variables are unknown.
 *
 *   Shape    the caller sets mem, bin, elf and bias
 *   Errors   -EPROTO another machine, or a version of Go that is too old;
 *            -ENOMEM
 */
MUST_CHECK int go_profiles_find(struct go_profiles *p);
