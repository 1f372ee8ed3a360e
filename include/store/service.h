/* Services: what may be profiled, and how its processes are known. */
#pragma once

#include "store/store.h"

struct service {
	char *tenant, *name, *kind, *host, *match_kind, *match_value;
	char *pprof_url, *source, *allow, *labels, *description;
	int64_t created_ms, updated_ms;
};
#define CLEANUP_SERVICE CLEANUP(service_done)

struct service_list {
	struct service *items;
	size_t n;
	char *next;
};
#define CLEANUP_SERVICES CLEANUP(service_list_done)

/* What goes when a service is deleted. */
struct service_contents {
	int64_t sessions, windows, baselines, triggers, bytes;
};

void service_done(struct service *s);
void service_list_done(struct service_list *l);

/* Times are the store's to fill; every other string must be set.
 *   Errors   -EEXIST */
MUST_CHECK int service_add(struct store *s, const struct service *v);
MUST_CHECK int service_replace(struct store *s, const struct service *v);
MUST_CHECK int service_get(struct store *s, const char *tenant,
                           const char *name, struct service *out);
/* By name. */
MUST_CHECK int service_list(struct store *s, const char *tenant,
                            struct page page, struct service_list *out);
/* Of every tenant, that host's worker looks for: its own and host ''. */
MUST_CHECK int
service_list_host(struct store *s, const char *host, struct service_list *out);
/* All zero of a service that does not exist. */
MUST_CHECK int service_contents(struct store *s, const char *tenant,
                                const char *name, struct service_contents *out);
/* With its sessions, jobs and processes; blobs are left to the worker. */
MUST_CHECK int
service_delete(struct store *s, const char *tenant, const char *name);
