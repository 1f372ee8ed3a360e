/* The two halves of a listing. Each adds rows until a limit is reached. */
#pragma once

#include "capture/listing.h"
#include "profile/listing.h"

/* Adds the lines of source files. Returns 0 or -ENOMEM. */
MUST_CHECK int
list_source(const struct listing_ask *ask, const struct profile *p,
            uint32_t type, struct listing *l);
/* Adds instructions. Returns 0 or -ENOMEM. */
MUST_CHECK int list_code(struct namer *namer, const struct profile *p,
                         uint32_t type, struct listing *l);
/* Finds the module of a mapping, by build-id and path; MODULE_UNKNOWN: none has
 * been read. */
uint32_t
list_module(const struct namer *n, const struct profile *p, uint32_t mapping);
