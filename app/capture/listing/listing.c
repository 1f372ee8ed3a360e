#include "parts.h"

#include <errno.h>

int
listing_write(const struct listing_ask *ask, const struct profile *p,
              struct buf *out)
{
	CLEANUP_LISTING struct listing *l = listing_new();
	uint32_t type = profile_type_index(p, NULL);
	int rc = l ? 0 : -ENOMEM;

	if (type == PROFILE_NONE)
		return -ENODATA;
	rc = rc ?: list_source(ask, p, type, l);
	if (!rc && ask->namer)
		rc = list_code(ask->namer, p, type, l);
	if (!rc && !l->nfiles && !l->nfunctions)
		rc = -ENODATA;
	return rc ?: listing_encode(l, out);
}
