/*
 * A table of this host's processes, with the facts that matches use.
 *
 * Processes rarely change their program except while they are young, and
 * otherwise the table changes only when the kernel assigns or frees a pid. If
 * neither is possible, a scan reads one small file in all. Otherwise it reads
 * the directory and one small file of each new or young process, and every
 * PROC_CALM_NS one of each process. The other files of a process are read when
 * it has a new name. They are also read again, since a program that restarts
 * itself keeps pid, start time and name: in each scan during its first
 * PROC_NEW_NS, since a child has its parent's unit and user until both are
 * changed, then every PROC_CALM_NS while it is young, and every PROC_FRESH_NS
 * later.
 *
 * The context that a process publishes is read when the process is PROC_NEW_NS
 * old, and once it was found, every PROC_FRESH_NS. One without is asked less
 * and less often, the older it gets: SDKs publish soon after the start. A read
 * that hangs holds up the scheduler for seconds, so none is read for
 * PROC_FRESH_NS afterwards.
 */
#pragma once

#include "base/buf.h"
#include "base/proc_text.h"
#include "worker/containers/containers.h"
#include "worker/contexts/context.h"

#include <stddef.h>
#include <sys/types.h>

#define PROC_MAX      32768                /* most processes in the table */
#define PROC_NEW_NS   INT64_C(2000000000)  /* since it was first seen */
#define PROC_YOUNG_NS INT64_C(30000000000) /* since it was first seen */
#define PROC_CALM_NS  INT64_C(10000000000)
#define PROC_FRESH_NS INT64_C(60000000000)
#define PROC_RARE_NS  INT64_C(600000000000)
#define PROC_TASKS    32

struct proc {
	int32_t pid;
	int32_t parent; /* when its name was last read */
	uint32_t uid;
	uint64_t start_time;
	char comm[PROC_COMM_MAX];
	char *exe;     /* "" when unknown */
	char *cmdline; /* words joined by spaces; "" for kernel threads */
	char *argv0;
	char *unit;                  /* "" outside of systemd's units */
	struct container *container; /* in which it runs, or NULL */
	struct context context;
	int64_t context_ns;         /* when it was last read */
	int context_error;          /* and how that failed, or 0 */
	int64_t read_ns;            /* when exe, cmdline and unit were read */
	int64_t looked_ns, seen_ns; /* when its name was last read; when it
	                               was first seen */
};

struct proc_table {
	int proc_fd; /* directory of /proc */
	/* Reads programs: this process may not read the links, and would wait
	 * for command lines while memory is locked. As worker_programs(). */
	int (*programs)(void *arg, const int32_t *pids, size_t n,
	                struct buf *out);
	void *arg;
	const struct host *host; /* to read contexts; NULL: none is read */
	int64_t hung_ns;         /* when a read of one hung last; 0: never */
	struct containers containers;
	struct proc *items; /* by pid */
	size_t n;
	/* The number of threads and the last pid, from the last scan. */
	char tasks[PROC_TASKS];
	int64_t scanned_ns; /* when the directory was read */
	bool young;         /* some processes are young */
};

void proc_table_done(struct proc_table *t);
/* Scans. Returns 1, 0 if nothing is new, or -errno: the table is unchanged. */
MUST_CHECK int proc_table_scan(struct proc_table *t, int64_t now_ns);
/* Returns a fact about the container of a process, or about the process, or
 * "". */
const char *proc_fact(const struct proc *p, enum container_fact fact);
/* True if a match selects a process or its container. */
bool proc_matches(const struct proc *p, const struct container_match *m);
/* Returns label i of profiles of a process and sets its key, or NULL: it has
 * none. Labels of its container come first. */
#define PROC_LABELS (CONTAINER_PROFILE_LABELS + (size_t)CONTEXT_ATTRIBUTES)
const char *proc_label(const struct proc *p, size_t i, const char **key);
/* Reads the CPU time of a process, in clock ticks; 0 if that fails. */
uint64_t proc_table_ticks(const struct proc_table *t, int32_t pid);
const struct proc *proc_table_find(const struct proc_table *t, int32_t pid);
