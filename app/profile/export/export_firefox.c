#include "exports.h"
#include "firefox.h"

int
export_firefox(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	const struct firefox_meta m = {
		.product = meta->title,
		.process = meta->service,
		.oscpu = "Linux",
		.time_ms = meta->time_ms,
		.duration_ms = meta->duration_ms,
		.cpus = meta->timeline ? (int)meta->timeline->cpus : 0,
	};

	return firefox_write(t->profile, t->type, meta->timeline, &m, out);
}
