/* What locks.bpf.c writes for a thread whose memory is locked. */
#pragma once

#include <linux/types.h>

struct locks_row {
	__u64 mm;     /* its address */
	__u64 writer; /* the thread that holds the lock to write; 0: readers do */
	__s32 pid;    /* in the initial namespace */
	__u32 reserved;
};
