/*
 * Parses files of /proc/PID.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define PROC_COMM_MAX    64   /* bytes, with escapes; user threads have 16 */
#define PROC_UNIT_MAX    256  /* NAME_MAX and a NUL */
#define PROC_GROUP_MAX   1024 /* bytes of the path of a control group */
#define PROC_CMDLINE_MAX 4096 /* bytes kept of a command line */

/* Reads from /proc/PID/stat the name in parentheses, which may contain any
 * bytes; false if there is none. */
bool proc_parse_comm(const char *text, char comm[PROC_COMM_MAX]);
/*
 * Reads the same name, and the start time in clock ticks since boot.
 *   Errors   -EINVAL
 *   Source   proc(5), field 22
 */
MUST_CHECK int proc_parse_stat(const char *text, char comm[PROC_COMM_MAX],
                               uint64_t *out_start);
/*
 * Reads from /proc/PID/stat the CPU time of all threads in clock ticks, and the
 * memory in pages.
 *   Errors   -EINVAL
 *   Source   proc(5), fields 14, 15 and 24
 */
MUST_CHECK int
proc_parse_usage(const char *text, uint64_t *out_ticks, uint64_t *out_pages);
/*
 * Reads from /proc/PID/statm the sizes of the address space and of resident
 * anonymous memory, in pages.
 *   Errors   -EINVAL
 *   Source   proc(5): resident less shared
 */
MUST_CHECK int proc_parse_memory(const char *text, uint64_t *out_mapped,
                                 uint64_t *out_anonymous);
/* True if, by /proc/PID/statm, the process has memory, but no code: its
 * execve(2) has not mapped the program yet. */
bool proc_has_no_code(const char *text);
/* Reads the state from /proc/PID/stat, 'R' for a process that runs or could
 * run; '\0' if the text has none. */
char proc_parse_state(const char *text);
/* True if, by /proc/PID/stat, a signal or a debugger stopped the process. */
bool proc_is_halted(const char *text);
/* True if, by /proc/PID/stat and /proc/PID/wchan, the process was frozen with
 * its control group. Source: Linux kernel/freezer.c (version 1); kernel/
 * signal.c, do_freezer_trap(), which compilers may inline (version 2) */
bool proc_is_frozen(const char *stat, const char *wchan);
/*
 * Finds from /proc/PID/cgroup the directory of the process's control group:
 * that of the controller cpu, or that of version 2. Returns false if the path
 * does not fit, or belongs to another namespace.
 *   Shape    out[n], at least "/sys/fs/cgroup"
 *   Source   cgroups(7)
 */
bool proc_parse_cpu_group(const char *text, char *out, size_t n);
/* Reads from cpu.stat for how long a quota held the group back, in us. */
uint64_t proc_parse_throttled(const char *text);
/* How long a thread has run, how long it has waited for a CPU, and how often it
 * was put on one. */
struct proc_schedstat {
	uint64_t ran_ns, waited_ns, runs;
};
/*
 * Reads /proc/PID/task/TID/schedstat.
 *   Errors   -EINVAL; *out untouched
 *   Source   Linux Documentation/scheduler/sched-stats.rst
 */
MUST_CHECK int
proc_parse_schedstat(const char *text, struct proc_schedstat *out);
/*
 * Reads from /proc/PID/stat the parent's pid, 0 for a process without a parent.
 *   Errors   -EINVAL
 *   Source   proc(5), field 4
 */
MUST_CHECK int proc_parse_parent(const char *text, int32_t *out);
/*
 * Reads from /proc/PID/stat the pids of the parent and of the session's leader;
 * 0 for a process outside this PID namespace.
 *   Errors   -EINVAL
 *   Source   proc(5), fields 4 and 6
 */
MUST_CHECK int
proc_parse_kin(const char *text, int32_t *out_parent, int32_t *out_session);
/*
 * Returns the text after a key of /proc/PID/status, such as "Uid", up to the
 * end of the text, or NULL. The target controls only the first line, Name, in
 * which newlines are escaped.
 */
const char *proc_status_field(const char *text, const char *key);
/* Reads the state from /proc/PID/status; '\0' if the text has none. */
char proc_status_state(const char *text);
/* True if, by /proc/TID/status, a process traces the thread. */
bool proc_is_traced(const char *text);
/*
 * True if, by /proc/TID/stat, the thread runs only in the kernel, like those of
 * io_uring. Source: proc(5), field 9; Linux include/linux/sched.h
 */
bool proc_is_kernel_thread(const char *text);
/* Reads from a thread's /proc/TID/status the pid of its process; -EINVAL. */
MUST_CHECK int proc_parse_process(const char *text, int32_t *out);
/* Reads from /proc/PID/status the process's pid in its own namespace, the last
 * of NSpid; -EINVAL. */
MUST_CHECK int proc_parse_inner(const char *text, int32_t *out);
/* Reads from /proc/PID/status the real user id; -EINVAL. */
MUST_CHECK int proc_parse_uid(const char *text, uint32_t *out);
/* Reads from /proc/PID/status the user and the group by which the kernel
 * decides about files; -EINVAL. */
MUST_CHECK int
proc_parse_fs_ids(const char *text, uint32_t *out_uid, uint32_t *out_gid);
/*
 * Reads from /proc/PID/cgroup, version 1 (name=systemd) or 2 (0::), the unit of
 * the process, "" if it has none. The unit is the first component that ends in
 * .service or .scope, since cgroups that a user's manager nests below
 * user@UID.service may have any name.
 *   Source   cgroups(7); systemd's cg_path_get_unit()
 */
void proc_parse_unit(const char *text, char out[PROC_UNIT_MAX]);
/* Joins the words of /proc/PID/cmdline in place: n bytes with a NUL after each
 * word become text with spaces, without control characters. */
void proc_join_cmdline(char *text, size_t n);
