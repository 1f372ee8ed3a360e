/*
 * What services allow the opener to do to their processes beyond looking.
 *
 * The scheduler says which processes, and for how long (MSG_MAY): nobody
 * else's wish counts. A process is known by its number and its start, so that
 * a later one of the same number is granted nothing.
 */
#pragma once

#include "worker/ipc/messages.h"

#include <stdbool.h>

/* What fifty services with twenty processes each take up, of every kind. */
#define GRANTS_MAX 4096

struct grant {
	uint64_t start_time; /* of the process, ticks since boot */
	int64_t until_ns;
	int32_t pid;
	uint32_t what; /* one enum worker_may */
};

struct grants {
	struct grant rows[GRANTS_MAX];
};

/* When a process started; 0: there is none. */
uint64_t proc_start_time(int32_t pid);
/* Adds to what is granted, or prolongs it; where there is no room the grant
 * that ends first makes some. */
void grants_add(struct grants *g, const struct msg_may *m);
bool grants_has(const struct grants *g, enum worker_may what, int32_t pid,
                uint64_t start_time);
