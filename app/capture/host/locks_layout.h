/* What locks.bpf.c writes for a thread whose memory is locked. */
#pragma once

#include <linux/types.h>

struct locks_row {
	__u64 mm;    /* its address */
	__u64 count; /* of mmap_lock: who holds it and who waits */
	__u64 owner; /* the last thread that took the lock */
	__s32 pid;   /* in the initial namespace */
	__u32 reserved;
};
