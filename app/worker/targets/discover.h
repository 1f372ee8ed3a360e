/*
 * Makes services of containers and units that start on this host, as [discover]
 * of stoker.conf asks.
 *
 * A process is looked at while it is young, since a container gets its name, and
 * a child its unit, shortly after the start. What a process is in has a name
 * that its owner chose: only names that the tenant's scope includes count, and
 * the number of services is bounded.
 */
#pragma once

#include "process_table.h"
#include "store/store.h"

#define DISCOVER_MAX 4096 /* names remembered */

struct discover {
	const struct conf *conf;
	const char *host;
	char **seen; /* matches that were handled, in order */
	size_t n;
	bool containers, units; /* what auto names */
	bool begun;             /* processes of all ages were looked at */
	bool is_full;           /* the log says so */
};

/*
 * Reads [discover]. conf and host are borrowed.
 *   Errors   -EINVAL: auto has a word that is none, or the tenant has no scope;
 *            why says which
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
 * Makes services of what is new.
 *   Shape    the number of services made
 *   Errors   -ENOMEM; errors of the store; the next call repeats what was not
 *            done
 */
MUST_CHECK int discover_step(struct discover *d, struct store *s,
                             const struct proc_table *procs, int64_t now_ns);
