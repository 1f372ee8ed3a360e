/*
 * BPF programs, written instruction by instruction: they are too short to
 * justify a compiler for BPF at build time or run time.
 *
 *   Source   Linux Documentation/bpf/standardization/instruction-set.rst
 */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#define BPF_CODE_MAX 160

struct bpf_code {
	struct bpf_insn insns[BPF_CODE_MAX];
	size_t n;
};

static inline size_t
code_put(struct bpf_code *c, unsigned code, unsigned dst, unsigned src, int off,
         int32_t imm)
{
	c->insns[c->n] = (struct bpf_insn){.code = (uint8_t)code,
	                                   .dst_reg = dst & 15,
	                                   .src_reg = src & 15,
	                                   .off = (int16_t)off,
	                                   .imm = imm};
	return c->n++;
}

/* dst = dst OP imm, with 64 bits. */
static inline void
code_imm(struct bpf_code *c, unsigned op, unsigned dst, int32_t imm)
{
	code_put(c, BPF_ALU64 | op | BPF_K, dst, 0, 0, imm);
}

static inline void
code_reg(struct bpf_code *c, unsigned op, unsigned dst, unsigned src)
{
	code_put(c, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}

/* size: BPF_B, BPF_H, BPF_W, BPF_DW */
static inline void
code_load(struct bpf_code *c, unsigned size, unsigned dst, unsigned src,
          int off)
{
	code_put(c, BPF_LDX | BPF_MEM | size, dst, src, off, 0);
}

static inline void
code_store(struct bpf_code *c, unsigned size, unsigned dst, int off,
           unsigned src)
{
	code_put(c, BPF_STX | BPF_MEM | size, dst, src, off, 0);
}

static inline void
code_call(struct bpf_code *c, int32_t function)
{
	code_put(c, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

static inline void
code_exit(struct bpf_code *c)
{
	code_put(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* dst = a map or, with BPF_PSEUDO_MAP_VALUE, an address in its value. */
static inline void
code_map(struct bpf_code *c, unsigned dst, unsigned kind, int fd, uint32_t at)
{
	code_put(c, BPF_LD | BPF_DW | BPF_IMM, dst, kind, 0, fd);
	code_put(c, 0, 0, 0, 0, (int32_t)at);
}

/* Jumps ahead to the place where code_land() is called with this function's
 * result. */
static inline size_t
code_jump(struct bpf_code *c, unsigned op, unsigned reg, int32_t imm)
{
	return code_put(c, BPF_JMP | op | BPF_K, reg, 0, 0, imm);
}

static inline void
code_land(struct bpf_code *c, size_t jump)
{
	c->insns[jump].off = (int16_t)(c->n - jump - 1);
}

static inline void
code_back(struct bpf_code *c, size_t to)
{
	code_put(c, BPF_JMP | BPF_JA, 0, 0, (int)to - (int)c->n - 1, 0);
}
