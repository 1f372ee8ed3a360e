/*
 * The door to what a capture needs from the host but may not take itself.
 *
 * The process that analyses samples parses data of targets, so it has no
 * capability and opens no path: it sends a question, which is one fixed struct,
 * and gets a descriptor or a line of text. host.def lists all questions. In the
 * worker, the opener answers them over a socket.
 *
 *	struct host_ask ask = {.op = HOST_MAPS, .pid = pid};
 *	CLEANUP_FD int fd = -1;
 *	int rc = host_fd(host, &ask, &fd);
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>
#include <sys/types.h>

#define HOST_MAX_PATH   4096
#define HOST_MAX_MEMORY ((size_t)64 << 10)
#define HOST_MAX_FILE   ((int64_t)4 << 30) /* bytes of a target's file */
#define HOST_MAX_SOURCE ((int64_t)4 << 20) /* bytes of a file of source text */
#define HOST_BUILD_ID   20                 /* longest that perf reports */
#define HOST_MAX_FDS    11
#define HOST_EXPECT     256  /* stack bytes that must match */
#define HOST_MAX_LIST   1000 /* numbers in one question */
/* Limit of threads in one answer of TASKS and NAMES; the answer for a process
 * with more is -E2BIG. */
#define HOST_MAX_THREADS ((size_t)1 << 18)

enum host_op {
	HOST_NONE,
#define HOST_OP(op, handler, whose, by, doc) HOST_##op,
#include "capture/host.def"
#undef HOST_OP
	HOST_OPS
};

/* The processes that a question may be about. */
enum host_whose {
	HOST_OF_NOBODY,
	HOST_OF_PROCESS,
	HOST_OF_ALLOWED,
	HOST_OF_THREAD,
	HOST_OF_LIST,
	HOST_OF_SCHEDULER,
};

/* Which process answers. */
enum host_by {
	HOST_BY_OPENER,
	HOST_BY_READER,
	HOST_BY_LOADER,
};

/* Unused fields are zero. Texts are NUL-terminated within their array. */
struct host_ask {
	uint32_t op;
	int32_t pid;
	uint32_t cpu;
	uint32_t stack_bytes;
	uint64_t period_ns;
	uint64_t address;
	uint32_t size;  /* bytes of memory, of a stack, or of build_id */
	uint32_t count; /* numbers in list */
	uint8_t build_id[HOST_BUILD_ID];
	uint8_t expect[HOST_EXPECT];
	union {
		char path[HOST_MAX_PATH];
		int32_t list[HOST_MAX_LIST];
	};
};

#define HOST_COMM_MAX 16 /* a thread's name and a NUL: TASK_COMM_LEN */

struct host_thread {
	int32_t tid;
	int32_t inner; /* tid in its pid namespace, if the question asks */
	char name[HOST_COMM_MAX]; /* NUL-terminated; any bytes */
};

/* The program of a process. Its link and the start of its command line, as
 * /proc has them, follow. */
struct host_program {
	int32_t pid;
	uint32_t link, command; /* bytes; link 0: it cannot be read */
};

#define HOST_MAX_PROGRAMS  64 /* in one answer */
#define HOST_PROGRAM_BYTES (sizeof(struct host_program) + 2 * HOST_MAX_PATH)

/* Resources that a process has used since it started. */
struct host_usage {
	uint64_t rss_bytes;
	uint64_t anonymous_bytes; /* part of rss_bytes: heap and stacks */
	uint64_t mapped_bytes;    /* all of its mappings */
	uint64_t cpu_us;          /* user and system, of all its threads */
	uint64_t began_ns;        /* CLOCK_BOOTTIME, precise to a clock tick;
	                             exec(2) does not change it */
	int32_t pid;
	int32_t halt; /* enum host_halt */
	/* Time for which a CPU quota has held back the process: that of its
	 * control group, or of the one above it that was held back most, since
	 * that group was created; summed over CPUs. Zeros: none. */
	uint64_t quota_us, quota_group;
	/* How long the threads that are alive have run, and how long they were
	 * ready to run but waited for a CPU. */
	uint64_t ran_ns, waited_ns;
};

enum host_halt {
	HOST_NOT_HALTED,
	HOST_STOPPED, /* by a signal or a debugger */
	HOST_FROZEN,  /* with its control group */
};

#define HOST_MAX_USAGE 48 /* in one answer */

/* The facts that USAGE reads about each process. */
enum host_use {
	HOST_USE_TIME,      /* memory, CPU time, when it began, if it is
	                       halted; */
	HOST_USE_ALL,       /* and what else keeps it from running */
	HOST_USE_HINDRANCE, /* its CPU quota, and waits for a CPU, alone */
};

/* In the answer of ALIVE: the analyser does not answer. */
#define HOST_NO_ANALYSER (UINT32_C(1) << 16)

/* The time for which RATE keeps a program counting: the question's count. */
enum host_keep {
	HOST_KEEP_NOT,   /* until the process that asked is gone */
	HOST_KEEP_BLOCK, /* while blocking is profiled continuously, */
	HOST_KEEP_MUTEX, /* or mutexes are */
};

struct host_reply {
	int32_t error; /* 0 or -errno */
	uint32_t value;
	union {
		char text[HOST_MAX_PATH];
		struct host_usage usage[HOST_MAX_USAGE];
	};
};

#define HOST_MAX_DEBUG 128 /* debug files in one profile's list */

enum host_debug_state {
	HOST_DEBUG_NONE,    /* this host has no such file */
	HOST_DEBUG_REFUSED, /* the host's file is damaged or of another build */
	HOST_DEBUG_USED,
};

struct host_debug {
	uint8_t state; /* enum host_debug_state */
	uint8_t size;  /* of build_id */
	uint8_t build_id[HOST_BUILD_ID];
};

/* The debug files that a profile needed, and whether the host had them. */
struct host_debugs {
	uint32_t n;
	struct host_debug rows[HOST_MAX_DEBUG];
};

struct host {
	/*
	 * Shape: fds[*nfds] go with the question, and then hold the answer's.
	 * Owns: both are the caller's. Errors: those of the transport; the
	 * request's are in reply->error.
	 */
	int (*ask)(void *arg, const struct host_ask *ask,
	           struct host_reply *reply, int fds[HOST_MAX_FDS],
	           size_t *nfds);
	void *arg;
	struct host_debugs *debugs; /* NULL: not recorded */
	dev_t device; /* st_dev of this program's own file; 0: not known */
};

/* Records a debug file once; does nothing past HOST_MAX_DEBUG. */
void host_debug_note(const struct host *h, const uint8_t *build_id,
                     uint32_t size, enum host_debug_state state);
/*
 * Asks for one descriptor.
 *   Owns     *fd is the caller's
 *   Errors   -errno of the request or the transport; *fd untouched
 */
MUST_CHECK int
host_fd(const struct host *h, const struct host_ask *ask, int *fd);
/* Asks for one descriptor and the number that comes with it. */
MUST_CHECK int host_fd_value(const struct host *h, const struct host_ask *ask,
                             int *fd, uint32_t *value);
/* Asks for a number. */
MUST_CHECK int
host_value(const struct host *h, const struct host_ask *ask, uint32_t *value);
/* Asks for data that the reply itself holds. */
MUST_CHECK int host_answer(const struct host *h, const struct host_ask *ask,
                           struct host_reply *out);
