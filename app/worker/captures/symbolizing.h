/*
 * Symbolizes stored profiles again, one at a time: the analyser gets the old
 * profile and an empty file for the new one, which replaces the old in one
 * transaction. If the worker dies meanwhile, the old one stays.
 *
 * For an upload, the analyser also reads the files of its service's processes.
 * An upload that lacks names is symbolized again when debug files have been
 * fetched.
 */
#pragma once

#include "pushed.h"
#include "store/symbolize.h"
#include "worker/ipc/messages.h"
#include "worker/targets/targets.h"

#define SYMBOLIZING_WAITING 32 /* uploads that wait for debug files */
/* How long after the answer the analyser may still ask for debug files. */
#define SYMBOLIZING_ASKS_NS INT64_C(2000000000)

struct symbolizing {
	struct symbolize asked; /* session is NULL when none is being
	                               symbolized */
	struct pushed pushed;
	struct blob_writer profile; /* the new one */
	int64_t deadline_ns;
	int64_t next_ns;   /* when to ask a busy analyser again */
	const int *events; /* socket to the opener; NULL: nothing is granted */
	struct symbolizing_wait {
		char session[ID_MAX], *tenant; /* tenant is NULL: unused */
		uint64_t fetched; /* debug files that the host had fetched */
		int64_t since_ns;
	} waiting[SYMBOLIZING_WAITING];
	uint64_t fetched; /* debug files, as last passed to
	                     symbolizing_again() */
};

struct runs;

/*
 * Starts the oldest request, unless one is in progress.
 *   Errors   those of the store, and of msg_send() to the analyser
 */
MUST_CHECK int symbolizing_step(struct runs *c, const struct targets *targets,
                                const char *host, int64_t now_ns);
/*
 * Once all debug files have been fetched, requeues the uploads that wait for
 * them.
 *   Shape    fetched: the number of files since the worker started; busy: more
 *            are to come
 */
void symbolizing_again(struct symbolizing *y, struct store *s, const char *host,
                       uint64_t fetched, bool busy, int64_t now_ns);
/* Takes a DONE; false when it is not about symbolizing. */
bool symbolizing_take(struct symbolizing *y, struct store *s,
                      const struct msg_done *done, int summary_fd);
/* Leaves the request to the next worker. */
void symbolizing_forget(struct symbolizing *y);
void symbolizing_done(struct symbolizing *y);
/* Queues the request again, since the analyser is gone. */
void symbolizing_drop(struct symbolizing *y, struct store *s, const char *host);
