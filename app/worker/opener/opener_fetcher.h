/*
 * Starts the fetcher when it is needed, and the courier.
 */
#pragma once

#include "base/conf.h"
#include "opener_ended.h"
#include "worker/ipc/fetch.h"
#include "sandbox/privilege.h"

/* The type of fetcher_run() and courier_run(), which the child calls. */
typedef int
fetcher_child_run(const struct conf *conf, const char *own, int socket,
                  int alive, const struct fetch_secrets *secrets);

struct fetcher_child {
	pid_t pid; /* 0: none */
	int alive; /* eventfd to which the child adds; valid if pid is set */
	uint32_t type; /* of the message that announces it */
};

/* The child's program: one is set. */
struct fetcher_program {
	fetcher_child_run *fetcher;
	fetcher_child_run *courier;
};

/* Ends a running fetcher, starts another, and sends the answer to events
 * (messages.h). */
void fetcher_child_start(struct fetcher_child *c, struct fetcher_program run,
                         const struct conf *conf, const struct identity *who,
                         struct ended *ended, int events);
/* True if the child has given a sign of life since the last call. */
bool fetcher_child_heard(const struct fetcher_child *c);
/* Kills a child, and sends to events that there is none. */
void
fetcher_child_end(struct fetcher_child *c, struct ended *ended, int events);
/* Handles the end of the child's process. */
void fetcher_child_died(struct fetcher_child *c, int status);
/* Returns "fetcher" or "courier". */
const char *fetcher_child_name(const struct fetcher_child *c);
