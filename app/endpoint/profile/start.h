/* Starting a capture: what every family's way to do it shares. */
#pragma once

#include "endpoint/call.h"
#include "store/service.h"
#include "store/session.h"

/* Each checks one thing: 0, or -1 with the reply. */

/* That some engine takes this type of profile of the service. */
MUST_CHECK int start_check_type(struct call *c, const char *type,
                                const struct service *service);
/* The host whose worker does it; *out is the caller's, free() it. */
MUST_CHECK int
start_find_host(struct call *c, const struct service *service, char **out);

/* The processes of a service. */
enum start_running {
	START_RUNS, /* or the worker could not be asked in time: it decides */
	START_NOTHING_RUNS,
	START_OUT_OF_SCOPE, /* what runs is not the tenant's to profile */
	START_NO_SUCH_ORDINAL,
};
/*
 * Tells what runs of a service. Where the process table has nothing, the
 * host's worker looks anew and is waited for: a program that has just been
 * started, or just been registered, is no error.
 *
 *   Errors   0; 1 where the reply is one from before, as call_begin() says;
 *            -1 with the reply. Details of an error that follows are set.
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
 * Queues it, with its line in the audit log.
 *   Errors   as job_enqueue(): the reply is the caller's to make
 */
MUST_CHECK int start_enqueue(struct call *c, const struct session_ask *ask,
                             const char *host, char id[static ID_MAX]);
