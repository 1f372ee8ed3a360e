/*
 * The opener: holds the capabilities, serves the rows of host.def, keeps the
 * other processes alive. It parses nothing that a target wrote.
 */
#pragma once

#include "base/conf.h"
#include "opener_fetcher.h"
#include "opener_grants.h"
#include "opener_java.h"
#include "opener_rates.h"
#include "opener_readers.h"
#include "worker/ipc/messages.h"
#include "worker/ipc/privilege.h"

#define OPENER_MAX_RESTARTS 20 /* of analysers within a minute */

/*
 * What the opener's children run, each in a process of its own without
 * privileges. The opener knows them by these functions only.
 */
struct opener_children {
	/* The scheduler asks for captures; --once stands in its stead.
	 * A result other than 0 makes the worker fail. */
	int (*scheduler)(void *arg, const struct conf *conf,
	                 const struct worker_sockets *sockets);
	void *arg;
	int keep_fd; /* one more descriptor that the scheduler needs, or -1 */
	/* analyser_run() and fetcher_run() */
	int (*analyser)(const struct conf *conf, int ask, int socket,
	                int blame_fd);
	fetcher_child_run *fetcher;
};

/*
 * Runs until the scheduler's process ends; SIGTERM and SIGINT are passed on to
 * it as SIGTERM.
 *   Errors   the status to exit with
 */
int opener_run(const struct conf *conf, const struct opener_children *children);

struct opener {
	const struct conf *conf;
	const struct opener_children *children;
	struct identity who;
	pid_t self, analyser;
	pid_t scheduler; /* or --once in its stead */
	struct fetcher_child fetcher;
	struct grants grants;
	struct rates rates;
	struct java java;
	struct readers readers;
	/* Of a reader: bytes of targets' files that it may copy, and has. */
	uint64_t copy_room, copied;
	int signals;
	int ask, events; /* to it */
	int clients[OPENER_MAX_CLIENTS];
	size_t nclients;
	uint32_t generation;
	uint64_t refused;   /* questions about processes of no capture */
	int64_t refused_ns; /* when the last was logged; 0: none */
	unsigned restarts;  /* since window_ns */
	int64_t window_ns;
	bool done;
	int status; /* to leave with */
};

/* --- answers, one per row of host.def --------------------------------------
 */

struct answer {
	int client; /* the socket that the question came by */
	int in;     /* what came with the question, or -1 */
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds;
};

/*
 * Answers one question, whose fields are checked here.
 *
 *   Shape    in: the descriptor that came with it, or -1
 *   Owns     in stays the caller's, out->fds[out->nfds] become it
 */
void opener_answer(struct opener *o, const struct host_ask *ask, int client,
                   int in, struct answer *out);
/* The parts of that: whether a client may ask, whether the answer may have to
 * wait for a target, and the answer. check() may change the question. */
MUST_CHECK int opener_check(struct opener *o, struct host_ask *ask, int client);
const char *opener_name(uint32_t op);
bool opener_may_wait(const struct host_ask *ask);
void opener_handle(struct opener *o, const struct host_ask *ask, int client,
                   int in, struct answer *out);
/*
 * Adds a socket to those that questions come by.
 *   Owns     fd becomes the opener's, unless it fails
 *   Errors   -EMFILE as many as can be are there
 */
MUST_CHECK int opener_add_client(struct opener *o, int fd);
/* Handlers return 0 or -errno and put descriptors into out. */
#define HOST_OP(op, handler, whose, by, doc)                                 \
	MUST_CHECK int handler(struct opener *o, const struct host_ask *ask, \
	                       struct answer *out);
#include "capture/host.def"
#undef HOST_OP
