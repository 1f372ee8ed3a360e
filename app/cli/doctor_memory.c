/* doctor: the memory that the configuration lets the API use, and the limit of
 * its unit. */
#include "doctor.h"

#include <math.h>
#include <stdlib.h>

/* Most that an API process takes beside one heavy request: its code and caches,
 * a light request, and the inflated upload that waits for its turn. */
#define PROCESS_MIB 64

static double
mib(int64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* Returns the limit of the unit's control group in MiB; 0: none, or unknown. */
static double
unit_limit(const struct doctor *d)
{
	static const char *const paths[] = {
		"sys/fs/cgroup/system.slice/stoker-api.service/memory.max",
		"sys/fs/cgroup/memory/system.slice/stoker-api.service/"
		"memory.limit_in_bytes",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(64);
		int64_t bytes;

		if (doctor_read(d, paths[i], &text))
			continue;
		bytes = strtoll(buf_str(&text), NULL, 10); /* "max": 0 */
		return bytes < INT64_MAX / 2 ? mib(bytes) : 0;
	}
	return 0;
}

enum verdict
probe_memory(struct doctor *d)
{
	const struct conf *c = &d->conf;
	double most = (double)c->api_heavy * mib(c->api_request_memory) +
	              (double)(c->api_pool + c->api_heavy) * PROCESS_MIB +
	              mib(c->api_kept_bytes);
	double limit = unit_limit(d);

	if (d->no_api)
		return SKIPPED;
	found(d, "the API takes at most %.0f MiB", most);
	if (!limit)
		return FINE;
	found(d, "; stoker-api.service may take %.0f MiB", limit);
	if (most <= limit)
		return FINE;
	fix(d,
	    "systemctl set-property stoker-api MemoryMax=%.0fM, or lower "
	    "heavy, request_memory or kept_bytes in [api] of %s",
	    ceil(most), d->conf_file);
	return WARNING;
}
