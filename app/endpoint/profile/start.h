/*
 * Steps of starting a capture that all families of paths share.
 */
#pragma once

#include "endpoint/call.h"
#include "store/service.h"
#include "store/session.h"

/* Each of these checks one thing, and returns 0, or -1 with the reply. */

/* Checks that an engine can take this type of profile of the service. */
MUST_CHECK int start_check_type(struct call *c, const char *type,
                                const struct service *service);
/* Finds the host whose worker serves the service; *out is the caller's, free()
 * it. */
MUST_CHECK int
start_find_host(struct call *c, const struct service *service, char **out);

/* The state of a service's processes. */
enum start_running {
	START_RUNS, /* also when the worker did not answer in time: the
	               worker then decides */
	START_NOTHING_RUNS,
	START_OUT_OF_SCOPE, /* the tenant may not profile those that run */
	START_NO_SUCH_ORDINAL,
};
/*
 * Finds whether a service runs. When the process table has no row, the host's
 * worker looks again, and we wait for it, so that a program that was just
 * started or registered is no error.
 *
 *   Errors   0; 1 with the reply of an earlier equal call, as call_begin(); -1
 *            with the reply. Sets details for an error that follows.
 */
MUST_CHECK int
start_running(struct call *c, const struct service *service, const char *host,
              int64_t ordinal, enum start_running *out);
/*
 * Has the host's worker look at the processes, and waits. Nothing may be
 * begun, or the worker could not answer.
 *
 *   Errors   -ETIMEDOUT: it did not look in time, or too many others wait;
 *            -ECANCELED: the client is gone; others of the store's
 */
MUST_CHECK int
start_look(struct call *c, const char *host, int64_t *out_looked_ms);
/* UnknownOrdinal; always -1. */
int start_no_ordinal(struct call *c, const char *service, int64_t ordinal);
/*
 * Queues a capture, with its line in the audit log.
 *   Errors   as job_enqueue(); the caller makes the reply
 */
MUST_CHECK int start_enqueue(struct call *c, const struct session_ask *ask,
                             const char *host, char id[static ID_MAX]);
