/*
 * One worker per host, which is alive while it sends heartbeats.
 */
#pragma once

#include "base/conf.h"
#include "store/store.h"

#define BOOT_ID_LEN 37 /* a UUID and a NUL */

struct worker_self {
	char host[CONF_HOST_MAX];
	char boot_id[BOOT_ID_LEN];
	int lock_fd; /* held while this process is the host's worker */
	int64_t lease_ms;
	int64_t next_ns; /* when the next heartbeat is due */
	bool has_rival;  /* a host of a fleet has a key for this name */
};

/*
 * Becomes the worker of this host.
 *
 *   Owns     worker_self_done(out)
 *   Errors   -errno, with one line in *why; -EEXIST another worker runs
 */
MUST_CHECK int worker_self_init(const struct conf *conf,
                                struct worker_self *out, struct buf *why);
void worker_self_done(struct worker_self *w);
/* True when a heartbeat is due: three per lease. */
static inline bool
worker_beat_due(const struct worker_self *w, int64_t now_ns)
{
	return now_ns >= w->next_ns;
}
/* Sends a heartbeat; capabilities is a JSON object. */
MUST_CHECK int worker_beat(struct worker_self *w, struct store *s,
                           const char *capabilities, int64_t now_ns);
