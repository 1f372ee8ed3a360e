/*
 * The processes of this host, as far as services are matched with them.
 *
 * Most that become another program do so when they are young, and nothing
 * happens unless the kernel gives out a pid or takes one back: while it has
 * not, and no process is young, a scan reads one small file in all. Else it
 * reads the directory, one small file of each that is new or young, and of
 * each every PROC_CALM_NS. The rest is read when a process has a new name, and
 * again, because a program that starts itself anew keeps pid, start time and
 * name: in its first PROC_NEW_NS with each scan, since a child belongs to its
 * parent's unit and user until both have been changed, then every PROC_CALM_NS
 * while it is young, and every PROC_FRESH_NS later.
 */
#pragma once

#include "worker/ipc/proc_text.h"

#include <stddef.h>
#include <sys/types.h>

#define PROC_MAX      32768                /* processes that are looked at */
#define PROC_NEW_NS   INT64_C(2000000000)  /* since it was first seen */
#define PROC_YOUNG_NS INT64_C(30000000000) /* the same */
#define PROC_CALM_NS  INT64_C(10000000000)
#define PROC_FRESH_NS INT64_C(60000000000)
#define PROC_TASKS    32

struct proc {
	int32_t pid;
	int32_t parent; /* as of the last look at its name */
	uint32_t uid;
	uint64_t start_time;
	char comm[PROC_COMM_MAX];
	char *exe;     /* "" when it can't be had */
	char *cmdline; /* words joined by spaces; "" for kernel threads */
	char *argv0;
	char *unit;                 /* "" outside of systemd's units */
	int64_t read_ns;            /* when these were read */
	int64_t looked_ns, seen_ns; /* at its name; at it, for the first time */
};

struct proc_table {
	int proc_fd; /* directory of /proc */
	/* Where /proc/PID/exe points, for whoever may not look. */
	int (*exe_link)(void *arg, int32_t pid, char *out);
	void *arg;
	struct proc *items; /* by pid */
	size_t n;
	/* As of the last scan: threads that there were, and the last pid. */
	char tasks[PROC_TASKS];
	int64_t scanned_ns; /* when the directory was read */
	bool young;         /* some are */
};

void proc_table_done(struct proc_table *t);
/* 1, or 0 when there is nothing new; -errno, the table stays as it was. */
MUST_CHECK int proc_table_scan(struct proc_table *t, int64_t now_ns);
const struct proc *proc_table_find(const struct proc_table *t, int32_t pid);
