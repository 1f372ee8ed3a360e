/*
 * The static probes (USDT) of a program that samples its own allocations, as
 * libstoker-heap.so does, and other samplers that keep to the same contract.
 *
 * For each sampled allocation, the program passes to a probe its address, its
 * size, and how many bytes of all allocations the sample stands for; when it
 * releases such an allocation, it passes the address to another probe. A static
 * probe is a nop instruction: it costs nothing while nobody listens, and a
 * listener is called for samples only.
 *
 *   Source   OpenTelemetry eBPF profiler, design-docs/00003-memory-profiling,
 *            "USDT contract": otel_memory:alloc(user, size, weighted_bytes),
 *            otel_memory:free(ptr); the notes: systemtap's sys/sdt.h
 */
#pragma once

#include "capture/allocs.h"
#include "capture/elf/elf.h"

struct memory_sampler {
	uint32_t n; /* several: a compiler may copy a function */
	struct allocs_place places[ALLOCS_MOST_STATIC];
	bool releases; /* it also reports what is released */
};

/*
 * Finds the probes by the image's notes.
 *   Errors   -ENOENT no probe for allocations, or one with arguments that are
 *            not understood; -E2BIG there are too many, -EIO, -ENOMEM; *out
 *            untouched
 */
MUST_CHECK int
memory_sampler_find(const struct elf_image *e, struct memory_sampler *out);
