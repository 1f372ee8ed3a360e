/* What capture.c and finish.c share. */
#pragma once

#include "capture/capture.h"
#include "capture/proc.h"

/* One rate: a sampler, its processes, and the captures that share them. */
struct rate {
	struct recorder *all;
	struct sampler *sampler;
	struct procs *procs;
	uint64_t period_ns;
	size_t ring_bytes;
	uint64_t slots; /* of its captures, as bits */
};

struct capture {
	uint32_t slot;
	struct rate *rate;
	struct modules *modules;
	struct trie trie;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t drained_ns;       /* samples up to here are in */
	int64_t start_ms;
	uint32_t alive; /* processes */
	struct quality quality;
};
