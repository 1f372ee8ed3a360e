/* The opener's care for the fetcher: there when wanted, else not. */
#pragma once

#include "base/conf.h"
#include "worker/ipc/privilege.h"

/* fetcher_run(), for the child. */
typedef int
fetcher_child_run(const struct conf *conf, const char *own, int socket);

struct fetcher_child {
	pid_t pid; /* 0: none */
};

/* Ends one that runs, starts another, and answers to events (proto.h). */
void fetcher_child_start(struct fetcher_child *c, fetcher_child_run *run,
                         const struct conf *conf, const struct identity *who,
                         int events);
/* Its process was waited for. */
void fetcher_child_died(struct fetcher_child *c, int status);
