#include "profile/goroutine.h"
#include "profile/merge.h"
#include "pull_read.h"

#include <errno.h>
#include <string.h>

#define MAX_MEMORY ((size_t)512 << 20)

/* The same type of value, so that both can be added up. */
static int
take_type(const struct profile *all, struct profile *leaked)
{
	struct value_type *t = &leaked->types[0];
	const char *name;
	size_t n;

	if (all->ntypes != 1 || leaked->ntypes != 1)
		return -EINVAL;
	name = strings_get(leaked->strings, t->type, &n);
	if (strcmp(name, "goroutineleak") != 0)
		return -EINVAL;
	name = strings_get(all->strings, all->types[0].type, &n);
	return strings_add(leaked->strings, name, n, &t->type);
}

static int
negate(struct profile *p)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		if (p->values[i] == INT64_MIN)
			return -EINVAL;
		p->values[i] = -p->values[i];
	}
	return 0;
}

/* One that leaked after all were told is among those that leaked alone. */
static void
drop_empty(struct profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		if (p->values[i] <= 0)
			continue;
		p->samples[n] = p->samples[i];
		p->values[n++] = p->values[i];
	}
	p->nsamples = n;
}

int
pull_mark_leaked(const struct profile *all, struct profile *leaked,
                 struct profile **out)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = take_type(all, leaked) ?: merge_new(MAX_MEMORY, &m);

	/* They are taken out of all and put in again with their label. */
	rc = rc ?: merge_add(m, all);
	rc = rc ?: negate(leaked);
	rc = rc ?: merge_add(m, leaked);
	rc = rc ?: negate(leaked);
	rc = rc ?: merge_label(m, goroutine_keys[GOROUTINE_LEAKED], "yes");
	rc = rc ?: merge_add(m, leaked);
	rc = rc ?: merge_end(m, &p);
	if (rc)
		return rc;
	drop_empty(p);
	*out = TAKE(p);
	return 0;
}
