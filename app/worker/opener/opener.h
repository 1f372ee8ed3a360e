/*
 * The opener: holds the capabilities, serves the rows of host.def, keeps the
 * other processes alive. It parses nothing that a target wrote.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/privilege.h"
#include "worker/ipc/messages.h"

#define OPENER_MAX_CLIENTS  80 /* analyser, scheduler, finishers */
#define OPENER_MAX_RESTARTS 20 /* of analysers within a minute */

/* Who asks for captures: the scheduler, or --once in its stead. Runs in
 * a process of its own, without privileges; not 0 makes the worker fail. */
struct opener_client {
	int (*run)(void *arg, const struct conf *conf,
	           const struct worker_sockets *sockets);
	void *arg;
	int keep_fd; /* one more descriptor that it needs, or -1 */
};

/*
 * Runs until the client's process ends; SIGTERM and SIGINT are passed on to
 * it as SIGTERM.
 *   Errors   the status to exit with
 */
int opener_run(const struct conf *conf, const struct opener_client *client);

/* --- answers, one per row of host.def --------------------------------------
 */

struct answer {
	int in; /* what came with the question, or -1 */
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
void opener_answer(const struct conf *conf, const struct host_ask *ask, int in,
                   struct answer *out);
/* Handlers return 0 or -errno and put descriptors into out. */
#define HOST_OP(op, handler, doc)                          \
	MUST_CHECK int handler(const struct conf *conf,    \
	                       const struct host_ask *ask, \
	                       struct answer *out);
#include "capture/host.def"
#undef HOST_OP
