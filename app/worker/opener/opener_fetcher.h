/*
 * Starts the fetcher when it is needed.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/privilege.h"

/* The type of fetcher_run(), which the child calls. */
typedef int
fetcher_child_run(const struct conf *conf, const char *own, int socket);

struct fetcher_child {
	pid_t pid; /* 0: none */
};

/* Ends a running fetcher, starts another, and answers to
 * events (messages.h). */
void fetcher_child_start(struct fetcher_child *c, fetcher_child_run *run,
                         const struct conf *conf, const struct identity *who,
                         int events);
/* Handles the end of its process. */
void fetcher_child_died(struct fetcher_child *c, int status);
