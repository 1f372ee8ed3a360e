/* This machine, asked by the opener's handlers without a socket between. */
#pragma once

#include "capture/host.h"

/* Answers like host.ask; arg is the struct conf of the opener. */
int
host_ask_here(void *arg, const struct host_ask *ask, struct host_reply *reply,
              int fds[HOST_MAX_FDS], size_t *nfds);
/* An opener without debug files. */
extern const struct host here;
