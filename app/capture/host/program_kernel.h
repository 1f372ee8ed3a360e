/*
 * What BPF programs must know of the running kernel, in a constant array of
 * theirs.
 */
#pragma once

enum {
	PROGRAM_NS_DEV, /* device of the file system of namespaces */
	PROGRAM_PARENT, /* offset of task_struct.real_parent; 0: not known, or
	                   the kernel's memory may not be read */
	PROGRAM_TGID,   /* offsets of task_struct.tgid and pid */
	PROGRAM_PID,
	PROGRAM_KERNEL
};
