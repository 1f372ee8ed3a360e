/*
 * Services: programs that may be profiled, and rules that find their processes.
 */
#pragma once

#include "store/store.h"

struct service {
	char *tenant, *name, *kind, *host, *match_kind, *match_value;
	char *pprof_url, *source, *allow, *labels, *description;
	char *source_link; /* a template of addresses; "": none */
	char *trace_link;  /* likewise */
	char *collector;   /* address that profiles are sent to; "": none */
	char *metrics; /* array of functions and packages that are metrics */
	int64_t created_ms, updated_ms;
};
#define CLEANUP_SERVICE CLEANUP(service_done)

#define SERVICE_NO_METRICS  "[]"
#define SERVICE_MAX_METRICS 32 /* names: params.def */

struct service_list {
	struct service *items;
	size_t n;
	char *next;
};
#define CLEANUP_SERVICES CLEANUP(service_list_done)

/* Counts of everything that is deleted with a service. */
struct service_contents {
	int64_t sessions, windows, baselines, triggers, bytes;
};

/*
 * Returns the kind of a service for the functions of base/ways.h: its own, or
 * WAYS_HOST for the match of every program.
 */
const char *service_ways_kind(const struct service *s);
void service_done(struct service *s);
void service_list_done(struct service_list *l);

/*
 * Adds a service. The store sets times; every string must be set, except
 * source_link, trace_link and collector, of which NULL is "", and metrics, of
 * which NULL is none.
 *   Errors   -EEXIST
 */
MUST_CHECK int service_add(struct store *s, const struct service *v);
MUST_CHECK int service_replace(struct store *s, const struct service *v);
MUST_CHECK int service_get(struct store *s, const char *tenant,
                           const char *name, struct service *out);
/* Lists a tenant's services by name. */
MUST_CHECK int service_list(struct store *s, const char *tenant,
                            struct page page, struct service_list *out);
/* The present state of a service, and its newest session. */
struct service_state {
	char *service;
	int64_t processes, hosts;
	char *host;                            /* the first of them, or "" */
	char *session, *type, *status, *error; /* error: its code, or "" */
	int64_t started_ms;
};
struct service_state_list {
	struct service_state *items;
	size_t n;
};
void service_state_list_done(struct service_state_list *l);
/* Reads the states of services, by name, from one name to another. */
MUST_CHECK int
service_states(struct store *s, const char *tenant, const char *from,
               const char *to, struct service_state_list *out);
/* Lists services of all tenants that a host's worker looks for: those of the
 * host, and those that name no host. */
MUST_CHECK int
service_list_host(struct store *s, const char *host, struct service_list *out);
/* Lists the first 1000 services that have metrics, of a tenant, or of all for
 * "". */
MUST_CHECK int service_list_metrics(struct store *s, const char *tenant,
                                    struct service_list *out);
/* Counts contents; all are zero for a service that does not exist. */
MUST_CHECK int service_contents(struct store *s, const char *tenant,
                                const char *name, struct service_contents *out);
/* Deletes a service with its sessions, jobs and processes; the worker removes
 * its blobs later. */
MUST_CHECK int
service_delete(struct store *s, const char *tenant, const char *name);
