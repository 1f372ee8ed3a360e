/*
 * The processes of this host, as far as services are matched with them.
 *
 * A scan reads one small file per process; the rest is read when a process
 * is new or has a new name, and again every PROC_FRESH_NS, because a program
 * that starts itself anew keeps pid, start time and name.
 */
#pragma once

#include "proc_text.h"

#include <stddef.h>
#include <sys/types.h>

#define PROC_MAX      32768 /* processes that are looked at */
#define PROC_FRESH_NS INT64_C(10000000000)

struct proc {
	int32_t pid;
	uint32_t uid;
	uint64_t start_time;
	char comm[PROC_COMM_MAX];
	char *exe;     /* "" when it can't be had */
	char *cmdline; /* words joined by spaces; "" for kernel threads */
	char *argv0;
	char *unit;      /* "" outside of systemd's units */
	int64_t read_ns; /* when these were read */
};

struct proc_table {
	int proc_fd; /* directory of /proc */
	/* Where /proc/PID/exe points, for whoever may not look. */
	int (*exe_link)(void *arg, int32_t pid, char *out);
	void *arg;
	struct proc *items; /* by pid */
	size_t n;
};

void proc_table_done(struct proc_table *t);
/* -errno; the table stays as it was. */
MUST_CHECK int proc_table_scan(struct proc_table *t, int64_t now_ns);
const struct proc *proc_table_find(const struct proc_table *t, int32_t pid);
