/* doctor: the memory that the configuration lets the units use, and the units'
 * limits. */
#include "base/memory.h"
#include "doctor.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

static const struct unit {
	const char *name, *part, *keys; /* keys that lower the sum */
	double (*most)(const struct conf *c);
} units[] = {
	{"stoker-api", "API", "heavy, request_memory or kept_bytes in [api]",
         memory_most_api},
	{"stoker-keeper", "keeper", NULL, memory_most_keeper},
	{"stoker-worker", "worker", "memory or max_captures in [worker]",
         memory_most_worker},
};
enum { API, KEEPER };

static double
mib(double bytes)
{
	return bytes / (1 << 20);
}

/* Returns the limit of the unit's control group in MiB; 0: none, or unknown. */
static double
unit_limit(const struct doctor *d, const char *name)
{
	static const struct {
		const char *group, *file;
	} versions[] = {
		{"sys/fs/cgroup", "memory.max"},
		{"sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	};

	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		CLEANUP_BUF struct buf path = BUF_INIT(128);
		CLEANUP_BUF struct buf text = BUF_INIT(64);
		int64_t bytes;

		buf_addf(&path, "%s/system.slice/%s.service/%s",
		         versions[i].group, name, versions[i].file);
		if (doctor_read(d, buf_str(&path), &text))
			continue;
		bytes = strtoll(buf_str(&text), NULL, 10); /* "max": 0 */
		return bytes < INT64_MAX / 2 ? mib((double)bytes) : 0;
	}
	return 0;
}

/* Compares the most memory that a unit takes with its limit. */
static enum verdict
judge(struct doctor *d, const struct unit *u)
{
	double most = mib(u->most(&d->conf)), limit = unit_limit(d, u->name);

	if (!limit || most <= limit)
		return FINE;
	found(d, "; %s.service may take %.0f MiB", u->name, limit);
	fix(d, "%ssystemctl set-property %s MemoryMax=%.0fM",
	    d->fix.len ? "; " : "", u->name, ceil(most));
	if (u->keys)
		fix(d, ", or lower %s of %s", u->keys, d->conf_file);
	return WARNING;
}

/* True if the unit runs on this host. */
static bool
is_used(const struct doctor *d, size_t unit)
{
	if (unit == API)
		return !d->no_api;
	return unit != KEEPER || db_is_remote(d->conf.store_database);
}

enum verdict
probe_memory(struct doctor *d)
{
	enum verdict v = FINE;
	double all = 0;

	found(d, "at most");
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		double most = mib(units[i].most(&d->conf));

		if (!is_used(d, i))
			continue;
		found(d, "%s %.0f MiB for the %s", all ? "," : "", most,
		      units[i].part);
		all += most;
	}
	found(d, ": %.0f MiB together", all);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (is_used(d, i) && judge(d, &units[i]) != FINE)
			v = WARNING;
	return v;
}
