/*
 * Readers: children of the opener, with its capabilities and a filter of system
 * calls (sandbox_enter_reader()), that answer questions for which they may have
 * to wait for a target. A page of memory may never arrive (userfaultfd(2)), nor
 * may a file whose file system is a process (FUSE) or another machine (NFS).
 *
 * A reader works on one question at a time, for one client, which waits; the
 * opener serves others meanwhile. A reader that takes too long is killed, its
 * client gets -ETIMEDOUT, and nothing is read from that process for a while, so
 * that captures of other processes wait only once; for twice as long if it
 * happens again soon after. If the read survives even the kill, nothing is read
 * from the process until the reader has ended. A reader that is runnable waits
 * for a CPU, not for the target, and has more time. If several processes of one
 * user in one unit or container are not read, none of that group is: a hostile
 * user can start any number of them.
 *
 * A loader is such a child, too, but for one question, and with the opener's
 * own filter: it may load programs into the kernel.
 */
#pragma once

#include "base/memory.h"
#include "capture/host.h"
#include "worker/ipc/messages.h"

#include <poll.h>
#include <stdbool.h>

#define OPENER_MAX_CLIENTS 80 /* analyser, scheduler, finishers */
#define READERS_WAIT_S     5  /* for one answer */
#define READERS_SLOW_S     60 /* for one answer when CPUs are busy */
#define READERS_LIST_S     1  /* for the programs of a list of processes, */
#define READERS_PROGRAM_S  3  /* and for that of one */
#define READERS_HELD       64 /* subjects that are not read for a while */
#define READERS_GROUP      3  /* held processes, after which their group is */
#define READERS_HELD_S     60 /* at first; twice as long if again soon after */
#define READERS_HELD_MAX_S 3600
/* Limits of copies of targets' files (opener_files.c): one file, one hour. */
#define READERS_COPY_BYTES     ((uint64_t)64 << 20)
#define READERS_COPY_BYTES_ALL ((uint64_t)MEMORY_COPIES)

struct opener;

/* The subject of a question: a process, or a path of the host; or a group of
 * processes. Zeros: none. */
struct reader_of {
	uint64_t start_time; /* of the process; else the hash of the subject */
	int32_t pid;         /* 0: the subject is no process */
};

struct reader {
	pid_t pid;  /* 0: unused */
	int socket; /* to the reader */
	int client; /* client that waits; -1: it has gone */
	bool busy;
	uint32_t op; /* of its last question */
	int64_t since_ns;
	struct reader_of of;
};

struct reader_held {
	struct reader_of of;
	uint64_t group; /* of the process, or the subject itself; 0: none */
	int64_t until_ns;
	int seconds;  /* how long it is held this time; 0: unused */
	pid_t reader; /* killed reader that has not ended; 0: none */
};

struct readers {
	struct reader rows[OPENER_MAX_CLIENTS];
	struct reader_held held[READERS_HELD];
	int64_t hour_ns; /* when the current hour began */
	uint64_t copied; /* bytes, in this hour */
};

/*
 * Has a reader answer later; the client's next question is not read until then.
 * The question must have been checked. Of a list of processes, those that are
 * held are left out.
 *   Owns     in stays the caller's
 *   Errors   -ETIMEDOUT a reader has just waited for the same subject; -errno:
 *            the caller answers
 */
MUST_CHECK int
readers_ask(struct opener *o, int client, const struct host_ask *ask, int in);
/* True while a reader works for the client. */
bool readers_busy(const struct readers *r, int client);
/* Notes that the client is gone: it gets no answer. */
void readers_leave(struct readers *r, int client);
/* Lists the sockets to wait for, and returns their number; call
 * readers_answer() for each that is ready. */
size_t readers_poll(const struct readers *r,
                    struct pollfd out[static OPENER_MAX_CLIENTS]);
void readers_answer(struct opener *o, int socket);
/* Kills readers that take too long. Returns ms until the next deadline, or
 * -1. */
int readers_expire(struct opener *o);
/* Handles the end of a child, if it is a reader. */
void readers_child_ended(struct readers *r, pid_t pid);
