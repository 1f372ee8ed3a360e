/*
 * Starts the fetcher when it is needed, and the courier.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/fetch.h"
#include "worker/ipc/privilege.h"

/* The type of fetcher_run(), which the child calls. */
typedef int
fetcher_child_run(const struct conf *conf, const char *own, int socket);

/* The type of courier_run(). */
typedef int courier_child_run(const struct conf *conf, const char *own,
                              int socket, const struct fetch_secrets *secrets);

struct fetcher_child {
	pid_t pid; /* 0: none */
};

/* The child's program: one is set. */
struct fetcher_program {
	fetcher_child_run *fetcher;
	courier_child_run *courier;
};

/* Ends a running fetcher, starts another, and sends the answer to events
 * (messages.h). */
void fetcher_child_start(struct fetcher_child *c, struct fetcher_program run,
                         const struct conf *conf, const struct identity *who,
                         int events);
/* Handles the end of the child's process. */
void fetcher_child_died(struct fetcher_child *c, const char *name, int status);
