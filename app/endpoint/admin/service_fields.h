/*
 * The fields of a service, which PUT and POST share: their rows in params.def
 * are equal.
 */
#pragma once

#include "endpoint/call.h"
#include "store/service.h"

/* First rows of an operation, in the order of SERVICE_FIELDS. */
struct service_rows {
	enum param kind, host, match, pprof_url, source, allow, labels,
		description, source_link, trace_link, collector, metrics;
};
#define SERVICE_ROWS(op)              \
	((struct service_rows){       \
		P_##op##_kind,        \
		P_##op##_host,        \
		P_##op##_match,       \
		P_##op##_pprofUrl,    \
		P_##op##_source,      \
		P_##op##_allow,       \
		P_##op##_labels,      \
		P_##op##_description, \
		P_##op##_sourceLink,  \
		P_##op##_traceLink,   \
		P_##op##_collector,   \
		P_##op##_metrics,     \
	})

/*
 * Checks what rows can't express, and fills a service of the caller's tenant.
 *   Owns     *out is the caller's; service_done() it
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
service_read(struct call *c, const char *name, const struct service_rows *rows,
             struct service *out);
/* Writes the members of a service; whole: with the path of its collector, which
 * may be a secret. */
void service_put(struct buf *out, const struct service *s, bool whole);
