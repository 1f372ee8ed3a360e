/*
 * Where a Go runtime keeps its memory, block and mutex profiles. No symbol is
 * needed: the functions that keep them have their names in every program, and
 * their code names the variables.
 */
#pragma once

#include "capture/buckets.h"
#include "capture/gobin/gobin.h"
#include "capture/host/memory.h"

/* Lists of buckets. */
enum go_list { GO_LIST_MEMORY, GO_LIST_BLOCK, GO_LIST_MUTEX, GO_LISTS };

struct go_profiles {
	const struct memory *mem;
	struct gobin *bin;
	const struct elf_image *elf;
	uint64_t bias;            /* address - bias: vaddr */
	unsigned minor;           /* of the version of Go */
	uint64_t lists[GO_LISTS]; /* addresses of the lists' heads */
#define BUCKET_VARIABLE(name, f, fuse, g, guse, how) uint64_t name;
#include "bucket_variable.def" /* addresses */
#undef BUCKET_VARIABLE
};

/*
 * Finds them. A program whose profile is off can be told so though the rest is
 * not made out: each address that is not found is 0.
 *
 *   Shape    mem, bin, elf, bias are set, the rest is filled in
 *   Errors   -EPROTO another machine's, or a version of Go that is too old;
 *            -ENOMEM
 */
MUST_CHECK int go_profiles_find(struct go_profiles *p);
