/*
 * The common part of the programs for allocation functions and static probes:
 * reads from registers how much a call asks for, and chooses the calls that
 * become samples.
 */
#pragma once

#include "allocs_cookie.h"
#include "allocs_layout.h"
#include "emit_layout.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#define REGS 16
#define RDI  7 /* the first argument, mostly the size */

/* The offset of each register in struct pt_regs of x86-64, in words; the index
 * is the register's number in instructions.
 *   Source   linux/arch/x86/include/asm/ptrace.h, struct pt_regs */
static const volatile uint8_t places[REGS] = {10, 11, 12, 5, 19, 4, 13, 14,
                                              9,  8,  7,  6, 3,  2, 1,  0};

static __always_inline uint64_t
read_reg(const void *regs, uint32_t number)
{
	uint64_t value = 0;

	/* A plain load costs less than a call. It is written in assembly
	 * because the verifier requires the offset to be a constant in the
	 * instruction. */
	if (number == RDI) {
		asm volatile("%0 = *(u64 *)(%1 + 112)"
		             : "=r"(value)
		             : "r"(regs));
		return value;
	}
	bpf_probe_read_kernel(&value, sizeof(value),
	                      (const uint64_t *)regs + places[number % REGS]);
	return value;
}

/* The most bytes that a call can get: the part of the address space that is not
 * the kernel's, unless the loader of the program sets less. */
const volatile uint64_t most = UINT64_C(1) << 47;

/* Returns the bytes that a call asks for, or 0 if it is bound to fail. */
static __always_inline uint64_t
bytes_of(const void *r, uint64_t cookie)
{
	uint64_t n = read_reg(r, ALLOCS_SIZE(cookie)), times = 1;

	if (ALLOCS_HAS_COUNT(cookie))
		times = read_reg(r, ALLOCS_COUNT(cookie));
	if (times && n > most / times)
		return 0;
	return n * times ? n * times : 1;
}

/* True with the probability size / mean; mean is below 2^32. */
static bool
is_kept(uint64_t size, uint64_t mean)
{
	return size >= mean || bpf_get_prandom_u32() * mean < size << 32;
}

/* --- static probes -------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct allocs_sampled);
	__uint(max_entries, EMIT_SLOTS *ALLOCS_MOST_STATIC);
} arguments SEC(".maps");

static __always_inline const struct allocs_sampled *
arguments_of(uint64_t cookie)
{
	uint32_t at = ALLOCS_STATIC_OF(cookie);

	return bpf_map_lookup_elem(&arguments, &at);
}

static __always_inline uint64_t
read_argument(const void *regs, const struct allocs_argument *a)
{
	uint64_t value = (uint64_t)(int64_t)a->plus;
	uint32_t unused = 64 - 8 * a->bytes;

	if (a->from != ALLOCS_CONSTANT)
		value += read_reg(regs, a->reg);
	if (a->from == ALLOCS_MEMORY &&
	    bpf_probe_read_user(&value, sizeof(value), (const void *)value))
		return 0;
	value <<= unused & 63;
	return a->is_signed ? (uint64_t)((int64_t)value >> (unused & 63))
	                    : value >> (unused & 63);
}

/* An allocation, as a static probe reports it. */
struct sampled {
	uint64_t size;   /* bytes, at least 1 */
	uint64_t weight; /* bytes that it stands for, at least size */
};

static __always_inline struct sampled
sampled_of(const void *regs, const struct allocs_sampled *a)
{
	struct sampled of = {read_argument(regs, &a->bytes),
	                     read_argument(regs, &a->weight)};

	if (!of.size || of.size > most)
		of.size = 1;
	if (of.weight < of.size)
		of.weight = of.size;
	if (of.weight > most)
		of.weight = most;
	return of;
}
