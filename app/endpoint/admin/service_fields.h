/*
 * The fields of a service, as PUT and POST carry them alike: the rows of
 * params.def for one are those for the other.
 */
#pragma once

#include "endpoint/call.h"
#include "store/service.h"

/* Where an operation's rows start; the order is that of SERVICE_FIELDS. */
struct service_rows {
	enum param kind, host, match, pprof_url, source, allow, labels,
		description;
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
	})

/*
 * Checks what the rows can't, and fills a service of the caller's tenant.
 *   Owns     *out is the caller's; service_done() it
 *   Errors   0, or -1 with the reply
 */
MUST_CHECK int
service_read(struct call *c, const char *name, const struct service_rows *rows,
             struct service *out);
/* Writes its members. */
void service_put(struct buf *out, const struct service *s);
