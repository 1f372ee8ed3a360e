#include "targets.h"

#include "base/hash.h"
#include "store/session.h"

#include <errno.h>
#include <string.h>

static void
target_done(struct target *t)
{
	free(t->tenant);
	free(t->service);
	if (t->valid)
		match_done(&t->match);
}

static void
free_targets(struct target *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		target_done(&items[i]);
	free(items);
}

void
targets_done(struct targets *t)
{
	free_targets(t->items, t->n);
	t->items = NULL;
	t->n = 0;
}

struct target *
targets_find(const struct targets *t, const char *tenant, const char *service)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->items[i].service, service) &&
		    !strcmp(t->items[i].tenant, tenant))
			return &t->items[i];
	return NULL;
}

/* --- services ----------------------------------------------------------------
 */

static enum snapshot_of
of_kind(const char *kind)
{
	if (!strcmp(kind, "go"))
		return SNAPSHOT_GOROUTINES;
	return strcmp(kind, "native") ? SNAPSHOT_ANY : SNAPSHOT_THREADS;
}

static int
target_init(struct target *t, const struct service *v)
{
	int rc = match_init(v->match_kind, v->match_value, &t->match);

	t->valid = !rc;
	t->of = of_kind(v->kind);
	t->created_ms = v->created_ms;
	t->tenant = strdup(v->tenant);
	t->service = strdup(v->name);
	return t->tenant && t->service && rc != -ENOMEM ? 0 : -ENOMEM;
}

static void
keep_slots(struct target *t, const struct targets *before)
{
	const struct target *old = targets_find(before, t->tenant, t->service);

	if (!old)
		return;
	memcpy(t->now, old->now, sizeof(t->now));
	/* one made anew under its name has no rows yet */
	if (t->created_ms == old->created_ms)
		memcpy(t->shown, old->shown, sizeof(t->shown));
}

static uint64_t
stamp_of(const struct service_list *l)
{
	uint64_t h = l->n;

	for (size_t i = 0; i < l->n; i++) {
		const struct service *v = &l->items[i];

		h = hash_pair(h, hash_bytes(v->tenant, strlen(v->tenant)));
		h = hash_pair(h, hash_bytes(v->name, strlen(v->name)));
		h = hash_pair(h, (uint64_t)v->updated_ms);
	}
	return h;
}

int
targets_load(struct targets *t, struct store *s)
{
	CLEANUP_SERVICES struct service_list l = {0};
	int rc = service_list_host(s, t->host, &l);
	struct target *items;

	if (rc)
		return rc;
	items = calloc(l.n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < l.n && !rc; i++) {
		rc = target_init(&items[i], &l.items[i]);
		if (!rc)
			keep_slots(&items[i], t);
	}
	if (rc) {
		free_targets(items, l.n);
		return rc;
	}
	targets_done(t);
	t->items = items;
	t->n = l.n;
	t->stamp = stamp_of(&l);
	return 0;
}

/* --- ordinals ----------------------------------------------------------------
 */

static struct slot
slot_of(const struct proc *p)
{
	return (struct slot){p->pid, p->start_time,
	                     hash_bytes(p->cmdline, strlen(p->cmdline))};
}

static bool
is_in_slot(const struct target *t, const struct proc *p)
{
	for (int i = 0; i < TARGET_SLOTS; i++)
		if (t->now[i].pid == p->pid &&
		    t->now[i].start_time == p->start_time)
			return true;
	return false;
}

static bool
belongs(const struct target *t, const struct conf_scope *scope,
        const struct proc *p)
{
	return match_process(&t->match, p) && match_scope(scope, p);
}

/* Frees the slots of those that are gone, or became something else. */
static void
clear_slots(struct target *t, const struct conf_scope *scope,
            const struct proc_table *procs)
{
	for (int i = 0; i < TARGET_SLOTS; i++) {
		struct slot *s = &t->now[i];
		const struct proc *p = s->pid ? proc_table_find(procs, s->pid)
		                              : NULL;

		if (t->valid && p && p->start_time == s->start_time &&
		    belongs(t, scope, p))
			*s = slot_of(p);
		else
			*s = (struct slot){0};
	}
}

static const struct proc *
oldest_new(const struct target *t, const struct conf_scope *scope,
           const struct proc_table *procs)
{
	const struct proc *best = NULL;

	for (size_t i = 0; i < procs->n; i++) {
		const struct proc *p = &procs->items[i];

		/* by pid already: the lower of two of one tick wins */
		if ((!best || p->start_time < best->start_time) &&
		    belongs(t, scope, p) && !is_in_slot(t, p))
			best = p;
	}
	return best;
}

static void
fill_slots(struct target *t, const struct conf_scope *scope,
           const struct proc_table *procs)
{
	const struct proc *p;

	for (int i = 0; i < TARGET_SLOTS; i++) {
		if (t->now[i].pid)
			continue;
		p = oldest_new(t, scope, procs);
		if (!p)
			return;
		t->now[i] = slot_of(p);
	}
}

void
targets_match(struct targets *t, const struct conf *conf,
              const struct proc_table *procs)
{
	for (size_t i = 0; i < t->n; i++) {
		struct target *v = &t->items[i];
		const struct conf_scope *scope = conf_scope(conf, v->tenant);

		if (v->valid)
			match_refresh(&v->match);
		clear_slots(v, scope, procs);
		if (v->valid)
			fill_slots(v, scope, procs);
	}
}

enum snapshot_of
targets_of(const struct targets *t, const char *tenant, const char *service)
{
	const struct target *v = targets_find(t, tenant, service);

	return v ? v->of : SNAPSHOT_ANY;
}

size_t
targets_pids(const struct targets *t, const char *tenant, const char *service,
             int64_t ordinal, int32_t *out, size_t max)
{
	const struct target *v = targets_find(t, tenant, service);
	size_t n = 0;

	for (int i = 0; v && i < TARGET_SLOTS && n < max; i++)
		if (v->now[i].pid &&
		    (ordinal == SESSION_ALL_ORDINALS || ordinal == i))
			out[n++] = v->now[i].pid;
	return n;
}
