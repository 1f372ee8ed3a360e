/* Asks the opener's handlers about this machine by calling them, without a
 * socket. */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"

#include <sys/types.h>

struct profile;

/* Answers as host.ask does; arg is the struct conf of the opener. */
int
host_ask_here(void *arg, const struct host_ask *ask, struct host_reply *reply,
              int fds[HOST_MAX_FDS], size_t *nfds);
/* A host whose opener has no debug files. */
extern const struct host here;

/*
 * Takes a snapshot of a process.
 *   Owns     *p is the caller's; profile_free() it
 *   Errors   as struct engine (capture/engine.h)
 */
int here_snapshot(pid_t pid, struct profile **p, struct quality *q);
