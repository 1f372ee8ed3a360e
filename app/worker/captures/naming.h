/*
 * Finds names of frames that were pushed without one (store/names.h): one
 * module at a time. The analyser gets a profile of its addresses, and names
 * them as it does those of an upload: from files that the service's processes
 * run, and from debug files of the host.
 */
#pragma once

#include "pushed.h"
#include "store/names.h"
#include "worker/ipc/messages.h"
#include "worker/targets/targets.h"

struct naming {
	struct names_module asked;   /* id is NULL when there is none */
	char last[STORE_TENANT_MAX]; /* tenant that was served last */
	struct pushed pushed;
	uint64_t *addresses;
	uint32_t n;
	int made; /* the profile with names; -1: none */
	int64_t deadline_ns;
	const int *events; /* socket to the opener; NULL: nothing is granted */
	uint64_t fetched; /* debug files, when modules were last queued again */
	int64_t again_ns; /* when they are queued again in any case */
};

struct runs;

/* Starts the next module that waits, unless one is in progress; errors as
 * symbolizing_step(). */
MUST_CHECK int naming_step(struct runs *c, const struct targets *targets,
                           const char *host, int64_t now_ns);
/* Queues modules that lack names again: when debug files have been fetched,
 * and periodically, since files may have been installed. */
void naming_again(struct naming *g, struct store *s, const char *host,
                  uint64_t fetched, bool busy, int64_t now_ns);
/* Takes a DONE; false when it is not about a module. */
bool
naming_take(struct naming *g, struct store *s, const struct msg_done *done);
/* Queues the module again, since the analyser is gone. */
void naming_drop(struct naming *g, struct store *s, const char *host);
void naming_done(struct naming *g);
