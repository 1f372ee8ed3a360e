/*
 * Steps of starting a capture that several endpoints share.
 */
#pragma once

#include "endpoint/call.h"
#include "store/service.h"
#include "store/session.h"
#include "store/worker.h"

/* Each of these checks one thing, and returns 0, or -1 with the reply. */

/* Checks that an engine can take this type of profile of the service. */
MUST_CHECK int start_check_type(struct call *c, const char *type,
                                const struct service *service);
/* Parameters of a capture that say where it is taken. */
struct start_ask {
	const struct service *service;
	const char *host; /* requested; "": none, "*": all */
	int64_t ordinal;
	bool outside; /* a capture of processes; else of an endpoint, which
	                 counts as one process even if no worker sees it */
};

/* The state of a service's processes. */
enum start_running {
	START_RUNS, /* also if no worker answered in time; the worker then
	               decides */
	START_NOTHING_RUNS,
	START_OUT_OF_SCOPE, /* the tenant may not profile those running */
	START_NO_SUCH_ORDINAL,
};
#define START_EVERYWHERE "*"
#define START_HOSTS_MAX  50 /* hosts of one start */
/*
 * Finds the hosts of a capture: the host requested or named by the service, or
 * else the one where the service runs; for "*", all where it runs. If no
 * process is known, waits for the workers of the hosts to look again, so that a
 * program that was just started or registered is found.
 *
 *   Shape    out has a host only if *running is START_RUNS, and only one
 *            unless "*" was asked for
 *   Errors   -1 with the reply, as call_begin(). Sets details for an error that
 *            follows.
 */
MUST_CHECK int
start_find_hosts(struct call *c, const struct start_ask *ask,
                 enum start_running *running, struct serving_list *out);
/*
 * Asks the workers of the hosts to look at the processes, and waits for all of
 * them. No transaction may be open, or they could not answer.
 *
 *   Shape    *out_looked_ms is when the first host looked
 *
 *   Errors   -ETIMEDOUT: a host did not look in time, or too many calls wait;
 *            -ECANCELED: the client is gone; those of the store
 */
MUST_CHECK int start_look(struct call *c, const struct serving_list *hosts,
                          int64_t *out_looked_ms);
/* Fails with UnknownOrdinal; always -1. */
int start_no_ordinal(struct call *c, const char *service, int64_t ordinal);
/*
 * Queues a capture, with its line in the audit log.
 *   Errors   as job_enqueue(); the caller makes the reply
 */
MUST_CHECK int start_enqueue(struct call *c, const struct session_ask *ask,
                             const char *host, char id[static ID_MAX]);
