/*
 * The opener holds the capabilities, answers the questions of host.def, and
 * keeps the other processes alive. It parses no data of targets.
 */
#pragma once

#include "base/conf.h"
#include "opener_ended.h"
#include "opener_fetcher.h"
#include "opener_grants.h"
#include "opener_java.h"
#include "opener_prober.h"
#include "opener_rates.h"
#include "opener_readers.h"
#include "opener_watchdog.h"
#include "sandbox/privilege.h"
#include "worker/ipc/messages.h"

#define OPENER_MAX_RESTARTS 20 /* of the analyser, within a minute */

/*
 * The programs of the opener's children, which are separate processes without
 * privileges. The opener knows them only by these functions.
 */
struct opener_children {
	/* The scheduler, or --once in its place. The worker fails if the
	 * result is not 0. */
	int (*scheduler)(void *arg, const struct conf *conf,
	                 const struct worker_sockets *sockets);
	void *arg;
	int keep_fd; /* one more descriptor that the scheduler needs, or -1 */
	/* analyser_run() and fetcher_run() */
	int (*analyser)(const struct conf *conf, int ask, int socket,
	                int blame_fd);
	fetcher_child_run *fetcher;
	fetcher_child_run *courier; /* courier_run(); NULL: never wanted */
};

/*
 * Runs until the scheduler's process ends; SIGTERM and SIGINT are passed on to
 * it as SIGTERM.
 *   Errors   returns the exit status
 */
int opener_run(const struct conf *conf, const struct opener_children *children);

struct opener {
	const struct conf *conf;
	const struct opener_children *children;
	struct identity who;
	pid_t self, analyser;
	pid_t scheduler; /* or --once in its place */
	struct fetcher_child fetcher, courier;
	struct grants grants;
	struct rates rates;
	struct java java;
	struct readers readers;
	struct watchdog watchdog;
	struct ended ended;
	struct probers probers;
	/* In a reader: bytes of targets' files that it may still copy, and has
	 * copied. */
	uint64_t copy_room, copied;
	/* In a container that sees the host's processes: the nearest ancestor
	 * outside, and its root, which is the host's; host 0: that is "/". */
	pid_t host;
	int host_root;
	int signals;
	int ask, events;  /* sockets to the scheduler */
	int ask_analyser; /* socket to the analyser */
	int clients[OPENER_MAX_CLIENTS];
	size_t nclients;
	uint32_t generation;
	uint64_t refused;   /* questions about processes without a grant */
	int64_t refused_ns; /* when that was last logged; 0: never */
	unsigned restarts;  /* since window_ns */
	int64_t window_ns;
	bool done;
	int status; /* exit status */
};

/* --- answers, one per row of host.def ------------------------------------- */

struct answer {
	int client; /* the socket from which the question came */
	int in;     /* the descriptor that came with it, or -1 */
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds;
};

/* Passes a question on to a process that may wait for a target, like
 * readers_ask(). Returns 0 or -errno. */
typedef int opener_pass_on(struct opener *o, int client,
                           const struct host_ask *ask, int in);
/*
 * Answers one question, after checking that the client may ask it. If the
 * answer may have to wait for a target, the question is passed on; if pass_on
 * is NULL, this process waits.
 *
 *   Shape    in is the descriptor that came with it, or -1
 *   Owns     in stays the caller's; out->fds[out->nfds] become the caller's
 *   Errors   in out->reply; returns false if the question was passed on: *out
 *            is not an answer then
 */
bool opener_answer(struct opener *o, const struct host_ask *ask, int client,
                   int in, opener_pass_on *pass_on, struct answer *out);
const char *opener_name(uint32_t op);
/* True if a loader answers. */
bool opener_loads(uint32_t op);
/* Answers a question that has been checked. */
void opener_handle(struct opener *o, const struct host_ask *ask, int client,
                   int in, struct answer *out);
/* Does what only the opener can do for an answer, whoever gave it: programs for
 * probes are passed on to a prober. */
void
opener_complete(struct opener *o, uint32_t op, int client, struct answer *out);
/*
 * Adds a socket for questions.
 *   Owns     fd becomes the opener's, unless it fails
 *   Errors   -EMFILE the maximum is reached
 */
MUST_CHECK int opener_add_client(struct opener *o, int fd);
/* True for a process or thread that has memory. */
bool opener_has_program(int32_t tid);
/* Returns a thread through which the memory and files of a process can be read.
 * If the first thread ends, they can't be read through it, even while other
 * threads go on. */
int32_t opener_thread(int32_t pid);
/* Hands out a copy of bytes, in a memfd. Errors: -errno */
MUST_CHECK int answer_give(const void *p, size_t n, struct answer *out);
/* Handlers return 0 or -errno and put descriptors into out. */
#define HOST_OP(op, handler, whose, by, doc)                                 \
	MUST_CHECK int handler(struct opener *o, const struct host_ask *ask, \
	                       struct answer *out);
#include "capture/host.def"
#undef HOST_OP
