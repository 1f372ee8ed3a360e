/* Control groups with a CPU quota. */
#pragma once

#include "base/proc_text.h"
#include "capture/host.h"

#define GROUPS_DEPTH 16 /* levels; deeper ones are not looked at */

/*
 * The groups of the process that was read last, from the outermost inwards,
 * since the next process usually shares some. Zeros at first.
 */
struct opener_groups {
	char path[PROC_GROUP_MAX + 32];
	uint32_t n;
	struct {
		uint32_t length;    /* of the path to this level */
		uint64_t us, inode; /* us: time lost to its quota */
	} levels[GROUPS_DEPTH];
};

/*
 * Sets quota_group and quota_us of a process; zeros where no quota has held it
 * back.
 *   Errors   -errno of its list of groups
 */
MUST_CHECK int
groups_read(struct opener_groups *g, int32_t pid, struct host_usage *out);
