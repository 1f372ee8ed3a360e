/*
 * Readers: children of the opener, with its capabilities and a filter of system
 * calls (sandbox_enter_reader()), that answer what may have to wait for a
 * target. A page may never arrive (userfaultfd(2)), nor a
 * file whose file system is a process (FUSE) or another machine (NFS).
 *
 * Each has one question at a time, of one client, which waits. The opener goes
 * on meanwhile. A reader that takes too long is killed, its client is told
 * -ETIMEDOUT, and nothing more is read of that process for a while: it costs
 * the captures of other processes that one wait and no more. A read that a kill
 * doesn't end, either, holds its process until it ends. One that could run does
 * not wait for the target, but for a CPU, and has longer.
 */
#pragma once

#include "capture/host.h"
#include "worker/ipc/messages.h"

#include <poll.h>
#include <stdbool.h>

#define OPENER_MAX_CLIENTS 80 /* analyser, scheduler, finishers */
#define READERS_WAIT_S     5  /* for one answer */
#define READERS_SLOW_S     60 /* for one, where the CPUs are busy */
#define READERS_HELD       64 /* processes that are not read for a while */
#define READERS_HELD_S     60
/* Copies of targets' files (opener_files.c): of one, and in an hour. */
#define READERS_COPY_BYTES     ((uint64_t)64 << 20)
#define READERS_COPY_BYTES_ALL ((uint64_t)1 << 30)

struct opener;

/* Whom a question is about: a process, or a path of the host by its hash. */
struct reader_of {
	uint64_t start_time;
	int32_t pid; /* 0: it is of a path */
};

struct reader {
	pid_t pid;  /* 0: unused */
	int socket; /* to it */
	int client; /* who waits; -1: nobody any more */
	bool busy;
	uint32_t op;
	int64_t since_ns;
	struct reader_of of;
};

struct reader_held {
	struct reader_of of;
	int64_t until_ns;
	pid_t reader; /* that was killed for it and has not ended; 0: none */
};

struct readers {
	struct reader rows[OPENER_MAX_CLIENTS];
	struct reader_held held[READERS_HELD];
	int64_t hour_ns; /* when it began, and what was copied in it */
	uint64_t copied;
};

/*
 * Has a reader answer, by and by; nothing more is taken of the client until
 * then. The question was checked.
 *   Owns     in stays the caller's
 *   Errors   -ETIMEDOUT what it is about has just made one wait; -errno: the
 *            caller answers
 */
MUST_CHECK int
readers_ask(struct opener *o, int client, const struct host_ask *ask, int in);
/* True while a reader works for the client. */
bool readers_busy(const struct readers *r, int client);
/* The client is gone, and will have no answer. */
void readers_leave(struct readers *r, int client);
/* Adds sockets to wait for; how many. readers_answer() each that is ready. */
size_t readers_poll(const struct readers *r,
                    struct pollfd out[static OPENER_MAX_CLIENTS]);
void readers_answer(struct opener *o, int socket);
/* Gives up those that take too long; ms until the next might, or -1. */
int readers_expire(struct opener *o);
/* Some child has ended, perhaps one of these. */
void readers_child_ended(struct readers *r, pid_t pid);
