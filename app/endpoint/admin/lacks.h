/*
 * Types of profiles that a service lacks: because of its settings, or because
 * of what the workers of its host found.
 *
 *	lacks_read(store, tenant, &l)
 *	lacks_put(&l, service, out)	of each
 *	lacks_done(&l)
 */
#pragma once

#include "store/service.h"
#include "store/worker.h"

#include <jansson.h>

struct lacks {
	struct worker_list workers;
	json_t *findings; /* a list of the findings of each worker */
};

MUST_CHECK int
lacks_read(struct store *s, const char *tenant, struct lacks *out);
void lacks_done(struct lacks *l);
#define CLEANUP_LACKS CLEANUP(lacks_done)
/* Writes the member unsupported. */
void lacks_put(const struct lacks *l, const struct service *s, struct buf *out);
