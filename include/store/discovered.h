/*
 * Services that a worker makes by itself, for containers and units that it sees
 * start. Each is made once: a service that was removed is not made again for 90
 * days.
 */
#pragma once

#include "store/service.h"

/*
 * Creates a service and writes a line of the audit log, unless the service was
 * created this way before, or the tenant has one of its name or match.
 *
 *   Shape    returns 1 if the service was created, otherwise 0
 *   Errors   -EXFULL past the tenant's quota; -EDQUOT if the tenant has `most`
 *            services that were created this way
 */
MUST_CHECK int
discovered_add(struct store *s, const struct service *v, int64_t most);
