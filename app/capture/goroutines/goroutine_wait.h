/* The channel or lock that a goroutine waits for. */
#pragma once

#include "goroutine_group.h"

#define GO_MAX_TARGETS 16384 /* goroutines that are asked for it */

/* A channel as it was. */
struct go_chan {
	uint64_t addr;
	uint64_t len, cap;
	bool closed;
	bool known; /* false: it is no channel, or could not be read */
};

/*
 * Sets the target of members: of those that wait to send, to receive, or,
 * from Go 1.26 on, for a semaphore. A select has many and none is told.
 *   Errors   of memory_read()
 */
MUST_CHECK int go_wait_targets(struct go_groups *s);
/* Looks at channels, by addr.
 *   Errors   of memory_read() */
MUST_CHECK int
go_wait_channels(const struct go_runtime *r, struct go_chan *c, size_t n);
