/*
 * Facts about the running kernel that BPF programs need, in a constant array.
 */
#pragma once

enum {
	PROGRAM_NS_DEV, /* device of the file system of namespaces */
	PROGRAM_PARENT, /* offset of task_struct.real_parent; 0: not known, or
	                   the kernel's memory may not be read */
	PROGRAM_TGID,   /* offsets of task_struct.tgid and pid */
	PROGRAM_PID,
	PROGRAM_THREAD, /* offset in task_struct of the thread pointer that a
	                   program has set; 0: as above */
	PROGRAM_STACK,  /* offset of task_struct.stack; 0: as above */
	PROGRAM_KERNEL
};
