/*
 * Stacks of a running process, recorded to be walked repeatedly: registers and
 * a copy of the stack as from a sampler, but taken by ptrace, which may always
 * trace a child.
 */
#pragma once

#include "capture/unwind/unwind.h"

#include <sys/types.h>

#define CORPUS_MAX_MAPS 256
#define CORPUS_STACK    (32 << 10) /* bytes of each stack */

struct corpus_map {
	struct unwind_mapping m;
	struct elf_image *elf; /* NULL for memory without a file */
	struct unwind_table *table;
	char name[64]; /* last part of its path */
};

struct corpus_sample {
	uint64_t regs[UNWIND_REGS];
	size_t stack_len;
	uint8_t *stack;
};

struct corpus {
	struct corpus_map maps[CORPUS_MAX_MAPS]; /* executable */
	size_t nmaps;
	struct corpus_sample *samples;
	size_t n;
};

/*
 * Runs a program with several threads, takes n samples once they exist, one
 * thread after another, and kills the program.
 *
 *   Shape    argv[0] is its path; it inherits our output
 *   Owns     *out is the caller's; corpus_free() it
 *   Errors   -errno, -ESRCH it ended early; *out untouched
 */
MUST_CHECK int corpus_record(char *const argv[], size_t n, struct corpus **out);
/*
 * Records a program with one thread from its first instruction until it stops
 * itself: one sample per `every` instructions, at most n. Samples are
 * everywhere: in prologues and epilogues, the dynamic linker, handlers.
 */
MUST_CHECK int corpus_record_steps(char *const argv[], size_t n, unsigned every,
                                   struct corpus **out);
void corpus_free(struct corpus *c);
DEFINE_CLEANUP(struct corpus *, corpus_free)
#define CLEANUP_CORPUS CLEANUP(corpus_free_ptr)

/* A callback for unwinder_new(); arg is the corpus. */
bool corpus_find(void *arg, uint64_t addr, struct unwind_mapping *out);
const struct corpus_map *corpus_map(const struct corpus *c, uint64_t addr);
/* Returns the path of tests/targets/NAME as built, beside this program. */
void corpus_target(const char *name, char out[], size_t size);
