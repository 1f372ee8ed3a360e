/*
 * Services that a worker makes by itself, for containers and units that it sees
 * start. Each is made once: a service that was removed is not made again for 90
 * days.
 */
#pragma once

#include "store/service.h"

/*
 * Makes a service, with a line of the audit log, unless it was made before, or
 * the tenant has a service with its name or its match.
 *
 *   Shape    1: made; 0: not
 *   Errors   -EXFULL past the tenant's quota; -EDQUOT if the tenant has `most`
 *            services that were made this way
 */
MUST_CHECK int
discovered_add(struct store *s, const struct service *v, int64_t most);
