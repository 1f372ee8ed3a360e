/*
 * Walks stacks with libunwind's remote interface, as perf does, to compare with
 * ours in tests and the benchmark. libunwind 1.6 asks for registers, memory and
 * tables through callbacks that serve a corpus.
 */
#pragma once

#include "lib/corpus.h"

#define RIVAL_CACHE_ROWS 4096 /* the default of 128 takes twice the time */

struct rival;

struct rival *rival_new(const struct corpus *c); /* or NULL */
void rival_free(struct rival *r);
DEFINE_CLEANUP(struct rival *, rival_free)
#define CLEANUP_RIVAL CLEANUP(rival_free_ptr)

/* Walks a stack like unwind(). */
enum unwind_end rival_unwind(struct rival *r, const struct corpus_sample *s,
                             uint64_t *pcs, size_t max, size_t *n);
