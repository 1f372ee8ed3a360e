/*
 * The static probes (USDT) of a program that samples its own allocations, as
 * libstoker-heap.so does, and other samplers that keep to the same contract.
 *
 * At each sampled allocation the program passes its address, its bytes, and the
 * bytes of all allocations that it stands for; at the release of such an
 * allocation its address. A static probe is a nop: it costs a program nothing
 * while nobody listens, and whoever listens sees samples only.
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
 *   Errors   -ENOENT it has none at allocations, or one whose arguments this
 *            does not understand; -E2BIG there are too many, -EIO, -ENOMEM;
 *            *out untouched
 */
MUST_CHECK int
memory_sampler_find(const struct elf_image *e, struct memory_sampler *out);
