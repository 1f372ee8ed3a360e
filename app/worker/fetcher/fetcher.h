/*
 * The fetcher: the part of the worker that has the network and nothing else.
 * It answers what fetch.h asks; it looks into no body.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/fetch.h"

#define FETCHER_NAME   "stoker-fetcher"   /* as ps shows it */
#define FETCHER_MEMORY ((int64_t)1 << 30) /* address space, libraries too */
/* Of bodies that are coming in, all together. */
#define FETCHER_MAX_HELD ((uint64_t)256 << 20)

/*
 * The whole life of the process, privileges dropped already.
 *   Shape    own: this host's name, for the word "self" of lists
 *   Errors   -errno when it could not start; -EPIPE: nobody asks any more
 */
MUST_CHECK int
fetcher_run(const struct conf *conf, const char *own, int socket);
