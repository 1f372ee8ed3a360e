#include "targets_private.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

static void
target_done(struct target *t)
{
	free(t->tenant);
	free(t->service);
	free(t->members);
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

/* Until they are looked for anew, the members are those that there were. */
static void
keep_members(struct target *t, const struct targets *before)
{
	struct target *old = targets_find(before, t->tenant, t->service);

	if (!old)
		return;
	if (t->valid && old->valid)
		match_keep(&t->match, &old->match);
	t->members = TAKE(old->members);
	t->nmembers = old->nmembers;
	t->unslotted = old->unslotted;
	t->refused = old->refused;
	t->stamp = old->stamp;
	if (t->created_ms != old->created_ms)
		return;
	t->stamp_shown = old->stamp_shown;
	t->refused_shown = old->refused_shown;
	t->shown_ns = old->shown_ns;
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
	for (size_t i = 0; i < l.n; i++)
		keep_members(&items[i], t);
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

static enum matched
judge(const struct look *l, const struct proc *p)
{
	if (!l->target->valid || !match_process(&l->target->match, p))
		return MATCHED_NOT;
	return match_scope(l->scope, p) ? MATCHED_OURS : MATCHED_REFUSED;
}

static enum matched
matched_of(const struct look *l, const struct proc *p)
{
	return l->matched[p - l->family->procs->items];
}

/* Frees the slots of those that are gone, or became something else. */
static void
clear_slots(const struct look *l)
{
	for (int i = 0; i < TARGET_SLOTS; i++) {
		struct slot *s = &l->target->now[i];
		const struct proc *p =
			s->pid ? proc_table_find(l->family->procs, s->pid)
			       : NULL;

		if (p && p->start_time == s->start_time &&
		    matched_of(l, p) == MATCHED_OURS)
			*s = slot_of(p);
		else
			*s = (struct slot){0};
	}
}

static const struct proc *
oldest_new(const struct look *l)
{
	const struct proc_table *procs = l->family->procs;
	const struct proc *best = NULL;

	for (size_t i = 0; i < procs->n; i++) {
		const struct proc *p = &procs->items[i];

		/* by pid already: the lower of two of one tick wins */
		if (l->matched[i] == MATCHED_OURS &&
		    (!best || p->start_time < best->start_time) &&
		    !is_in_slot(l->target, p))
			best = p;
	}
	return best;
}

static void
fill_slots(const struct look *l)
{
	const struct proc *p;

	for (int i = 0; i < TARGET_SLOTS; i++) {
		if (l->target->now[i].pid)
			continue;
		p = oldest_new(l);
		if (!p)
			return;
		l->target->now[i] = slot_of(p);
	}
}

static int
look_for(const struct look *l)
{
	const struct proc_table *procs = l->family->procs;

	if (l->target->valid)
		match_refresh(&l->target->match, l->reader);
	for (size_t i = 0; i < procs->n; i++)
		l->matched[i] = (uint8_t)judge(l, &procs->items[i]);
	clear_slots(l);
	fill_slots(l);
	return target_members(l);
}

int
targets_match(struct targets *t, const struct conf *conf,
              const struct proc_table *procs)
{
	CLEANUP_FREE uint8_t *matched = malloc(procs->n + 1);
	CLEANUP_FAMILY struct family f = {0};
	int rc = matched ? family_init(procs, &f) : -ENOMEM;

	for (size_t i = 0; i < t->n && !rc; i++) {
		struct target *v = &t->items[i];
		const struct look l = {v, conf_scope(conf, v->tenant),
		                       &t->reader, &f, matched};

		rc = look_for(&l);
	}
	return rc;
}

enum snapshot_of
targets_of(const struct targets *t, const char *tenant, const char *service)
{
	const struct target *v = targets_find(t, tenant, service);

	return v ? v->of : SNAPSHOT_ANY;
}
