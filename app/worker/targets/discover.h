/*
 * Makes services from containers and units that start on this host, as
 * [discover] in stoker.conf requests.
 *
 * A process is looked at while it is young, since a container gets its name,
 * and a child its unit, shortly after the start. Owners of containers choose
 * their names, so only those within the tenant's scope count, and the number of
 * services is bounded.
 */
#pragma once

#include "base/table.h"
#include "process_table.h"
#include "store/store.h"

#define DISCOVER_MAX 4096 /* values of matches that are remembered */

struct discover {
	const struct conf *conf;
	const char *host;
	char **seen; /* values of matches that were handled */
	uint32_t n, cap;
	struct table table;
	uint64_t key;           /* of the table's hashes */
	bool containers, units; /* words of auto */
	bool begun;             /* processes of all ages were looked at */
	bool is_full;           /* the limit was reached, and logged */
};

/*
 * Reads [discover]. conf and host are borrowed.
 *   Errors   -EINVAL: auto has an unknown word, or the tenant has no scope; why
 *            says which
 */
MUST_CHECK int discover_init(struct discover *d, const struct conf *conf,
                             const char *host, struct buf *why);
void discover_done(struct discover *d);
static inline bool
discover_is_on(const struct discover *d)
{
	return d->containers || d->units;
}
/*
 * Makes services of containers and units that are new.
 *   Shape    returns the number of services made
 *   Errors   -ENOMEM; errors of the store; the next call tries again
 */
MUST_CHECK int discover_step(struct discover *d, struct store *s,
                             const struct proc_table *procs, int64_t now_ns);
