#include "exports.h"
#include "profile/pprof.h"

int
export_pprof(const struct tree *t, const struct export_meta *meta,
             struct buf *out)
{
	(void)meta;
	return pprof_encode(t->profile, out);
}
