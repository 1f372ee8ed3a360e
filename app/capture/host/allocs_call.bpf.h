/*
 * The common part of programs at allocation functions: reads from registers how
 * much a call asks for, and chooses the calls that become samples.
 */
#pragma once

#include "allocs_cookie.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#define REGS 16
#define RDI  7 /* the first argument, mostly the size */

/* The place of each register in struct pt_regs of x86-64: index by the
 * register's number in instructions; values in words.
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

/* True with the probability size / mean, which is below 2^32. */
static bool
is_kept(uint64_t size, uint64_t mean)
{
	return size >= mean || bpf_get_prandom_u32() * mean < size << 32;
}
