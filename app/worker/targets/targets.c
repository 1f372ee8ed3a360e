#include "targets.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "family.h"
#include "store/session.h"
#include "store/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANCESTORS_MAX 32 /* generations that are searched */

enum matched { MATCHED_NOT, MATCHED_OURS, MATCHED_REFUSED };

/* State while a service's processes are found in one look. */
struct look {
	struct target *target;
	const struct conf_tenant *scope;
	const struct match_reader *reader;
	struct family *family;
	uint8_t *matched; /* enum matched, by the family's rows */
};

static void
target_done(struct target *t)
{
	free(t->tenant);
	free(t->service);
	free(t->members);
	json_decref(t->labels);
	json_decref(t->start_labels);
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

static int
by_name(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return strcmp(x->tenant, y->tenant) ?: strcmp(x->service, y->service);
}

/* Items are in the order of service_list_host(). */
struct target *
targets_find(const struct targets *t, const char *tenant, const char *service)
{
	const struct target key = {.tenant = (char *)tenant,
	                           .service = (char *)service};

	return t->n ? bsearch(&key, t->items, t->n, sizeof(key), by_name)
	            : NULL;
}

/* --- services ------------------------------------------------------------- */

static int
target_init(struct target *t, const struct service *v)
{
	int rc = match_init(v->match_kind, v->match_value, &t->match);

	t->valid = !rc;
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
	t->late = old->late;
	/* a new service of the same name has no rows yet */
	if (t->created_ms == old->created_ms)
		memcpy(t->shown, old->shown, sizeof(t->shown));
}

/* Keeps the members of the last look until the next one. */
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
	t->labels = TAKE(old->labels);
	t->start_labels = TAKE(old->start_labels);
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

/* --- the processes of a service ------------------------------------------- */

struct gathering {
	const struct look *look;
	const struct proc *ancestor; /* the process with the ordinal */
	int16_t ordinal;
	struct member *members; /* room for all processes */
	size_t n;
	uint64_t stamp;
};

static void
gathering_done(struct gathering *g)
{
	free(g->members);
}

/* True unless the process is a zombie or a kernel thread. */
static bool
has_program(const struct proc *p)
{
	return *p->cmdline || *p->exe;
}

/* True if the program can't be read, since the process is just starting or
 * ending: the next look decides. */
static bool
is_unclear(const struct proc *p)
{
	return !has_program(p) ||
	       (!*p->exe && p->looked_ns - p->seen_ns < PROC_NEW_NS);
}

static void
add(struct gathering *g, const struct proc *p, unsigned how)
{
	g->members[g->n++] =
		(struct member){p->start_time, p->pid, g->ordinal, how};
	g->stamp = hash_pair(hash_pair(g->stamp, p->start_time),
	                     (uint64_t)p->pid << 32 |
	                             (uint64_t)g->ordinal << 8 | how);
}

static const struct proc *
in_slot(const struct look *l, int ordinal)
{
	int32_t pid = l->target->now[ordinal].pid;

	return pid ? proc_table_find(l->family->procs, pid) : NULL;
}

static bool
is_of_all(const struct target *t)
{
	return t->valid && t->match.kind == MATCH_EVERY;
}

static bool
has_ordinal(const struct target *t, const struct proc *p)
{
	for (int i = 0; i < TARGET_SLOTS; i++)
		if (t->now[i].pid == p->pid)
			return true;
	return false;
}

/* Takes a descendant, unless it counts under its own ordinal. */
static bool
take_descendant(void *arg, const struct proc *p)
{
	struct gathering *g = arg;

	if (has_ordinal(g->look->target, p))
		return false;
	if (is_unclear(p))
		return true;
	add(g, p,
	    strcmp(p->unit, g->ancestor->unit) ||
	                    p->container != g->ancestor->container
	            ? MEMBER_OTHER_UNIT
	    : !match_scope(g->look->scope, p) ? MEMBER_OUT_OF_SCOPE
	                                      : MEMBER_FOLLOWED);
	return true;
}

/* Takes all processes within the scope, besides the one with the ordinal. */
static void
gather_all(struct gathering *g)
{
	const struct look *l = g->look;

	g->ordinal = 0;
	for (size_t i = 0; i < l->family->procs->n; i++) {
		const struct proc *p = &l->family->procs->items[i];

		l->family->met[i] = true;
		if (l->matched[i] == MATCHED_OURS && !has_ordinal(l->target, p))
			add(g, p, MEMBER_FOLLOWED);
	}
}

static void
gather(struct gathering *g)
{
	const struct look *l = g->look;

	for (int16_t i = 0; i < TARGET_SLOTS; i++) {
		const struct proc *p = in_slot(l, i);

		g->ordinal = i;
		if (p)
			add(g, p, MEMBER_FOLLOWED);
	}
	if (is_of_all(l->target)) {
		gather_all(g);
		return;
	}
	for (int16_t i = 0; i < TARGET_SLOTS; i++) {
		g->ancestor = in_slot(l, i);
		g->ordinal = i;
		if (g->ancestor)
			family_walk(
				l->family,
				(size_t)(g->ancestor - l->family->procs->items),
				take_descendant, g);
	}
}

/* Counts processes that match but are not members. */
static void
count_others(const struct gathering *g)
{
	const struct look *l = g->look;

	l->target->unslotted = l->target->refused = 0;
	for (size_t i = 0; i < l->family->procs->n; i++) {
		if (l->family->met[i] ||
		    !has_program(&l->family->procs->items[i]))
			continue;
		l->target->unslotted += l->matched[i] == MATCHED_OURS;
		l->target->refused += l->matched[i] == MATCHED_REFUSED;
	}
}

/*
 * Finds the descendants of the processes with an ordinal.
 *   Errors   -ENOMEM; the members are unchanged
 */
static int
find_members(const struct look *l)
{
	CLEANUP(gathering_done)
	struct gathering g = {
		.look = l,
		.members = malloc((l->family->procs->n + 1) *
	                          sizeof(struct member)),
		.stamp = 1,
	};
	struct target *t = l->target;
	void *fitting;

	if (!g.members)
		return -ENOMEM;
	family_clear(l->family);
	gather(&g);
	count_others(&g);
	t->stamp = hash_pair(hash_pair(g.stamp, t->unslotted), t->refused) | 1;
	fitting = realloc(g.members, (g.n + 1) * sizeof(struct member));
	if (fitting)
		g.members = fitting;
	free(t->members);
	t->members = TAKE(g.members);
	t->nmembers = g.n;
	return 0;
}

/* --- ordinals ------------------------------------------------------------- */

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
	if (match_scope(l->scope, p))
		return MATCHED_OURS;
	return match_counts_others(&l->target->match) ? MATCHED_REFUSED
	                                              : MATCHED_NOT;
}

static enum matched
matched_of(const struct look *l, const struct proc *p)
{
	return l->matched[p - l->family->procs->items];
}

/* Frees the slots of processes that ended or run another program. */
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

		/* ordered by pid: with equal ticks the lower one wins */
		if (l->matched[i] == MATCHED_OURS &&
		    (!best || p->start_time < best->start_time) &&
		    !is_in_slot(l->target, p))
			best = p;
	}
	return best;
}

static bool
is_followed(const struct target *t, int32_t pid)
{
	for (size_t i = 0; i < t->nmembers; i++)
		if (t->members[i].pid == pid)
			return t->members[i].how == MEMBER_FOLLOWED;
	return false;
}

/* True for a process whose captures begin at its fork, since they follow its
 * parent. */
static bool
is_followed_from_birth(const struct look *l, const struct proc *p)
{
	for (int depth = 0; depth < ANCESTORS_MAX; depth++) {
		p = proc_table_find(l->family->procs, p->parent);
		if (!p)
			return false;
		if (is_followed(l->target, p->pid))
			return true;
	}
	return false;
}

static void
fill_slots(const struct look *l)
{
	int slots = is_of_all(l->target) ? 1 : TARGET_SLOTS;
	const struct proc *p;

	for (int i = 0; i < slots; i++) {
		if (l->target->now[i].pid)
			continue;
		p = oldest_new(l);
		if (!p)
			return;
		l->target->now[i] = slot_of(p);
		l->target->late += !is_followed_from_birth(l, p);
	}
}

/* --- labels --------------------------------------------------------------- */

/* Adds a label if all processes with an ordinal have the same value; returns
 * false if there is no such process. */
static bool
add_common(const struct look *l, size_t label, json_t *labels)
{
	const char *value = NULL, *key = NULL;
	bool any = false;

	for (int i = 0; i < TARGET_SLOTS; i++) {
		const struct proc *p = in_slot(l, i);
		const char *v;

		if (!p)
			continue;
		v = proc_label(p, label, &key);
		if (!v || (any && strcmp(v, value) != 0))
			return true;
		value = v;
		any = true;
	}
	if (any)
		json_object_set_new(labels, key, json_string(value));
	return any;
}

/* Finds the labels of the service's processes. Returns true if the labels of
 * windows changed. */
static bool
find_labels(const struct look *l)
{
	CLEANUP_JSON json_t *labels = json_object(), *start = json_object();
	json_t *before = l->target->labels;
	bool any = false;

	for (size_t i = 0; i < PROC_LABELS; i++)
		any |= add_common(l, i,
		                  container_label_of_start(i) ? start : labels);
	if (!any)
		return false;
	json_decref(l->target->start_labels);
	l->target->start_labels = TAKE(start);
	if (json_equal(labels, before))
		return false;
	l->target->labels = TAKE(labels);
	any = before || json_object_size(l->target->labels);
	json_decref(before);
	return any;
}

static int
look_for(const struct look *l)
{
	const struct proc_table *procs = l->family->procs;

	l->target->whole_scope = match_is_any(l->scope);
	if (l->target->valid)
		match_refresh(&l->target->match, l->reader);
	for (size_t i = 0; i < procs->n; i++)
		l->matched[i] = (uint8_t)judge(l, &procs->items[i]);
	clear_slots(l);
	fill_slots(l);
	return find_members(l);
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
		const struct look l = {v, conf_tenant(conf, v->tenant),
		                       &t->reader, &f, matched};

		rc = look_for(&l);
		if (!rc && !is_of_all(v))
			t->relabelled |= find_labels(&l);
	}
	return rc;
}

/* --- the processes of a capture ------------------------------------------- */

static bool
is_of(const struct member *m, int64_t ordinal)
{
	return ordinal == SESSION_ALL_ORDINALS || ordinal == m->ordinal;
}

static enum titles
titles_of(const struct target *t)
{
	if (!t || !is_of_all(t))
		return TITLES_NONE;
	return t->whole_scope ? TITLES_WITH_KERNEL : TITLES_OF_PROCESSES;
}

void
targets_followed(const struct targets *t, const char *tenant,
                 const char *service, int64_t ordinal, struct followed *out)
{
	const struct target *v = targets_find(t, tenant, service);

	*out = (struct followed){.stamp = v ? v->stamp : 0,
	                         .titles = titles_of(v)};
	for (size_t i = 0; v && i < v->nmembers; i++) {
		const struct member *m = &v->members[i];

		if (!is_of(m, ordinal))
			continue;
		out->left.other_unit += m->how == MEMBER_OTHER_UNIT;
		out->left.out_of_scope += m->how == MEMBER_OUT_OF_SCOPE;
		if (m->how != MEMBER_FOLLOWED)
			continue;
		if (out->n == WORKER_MAX_PIDS) {
			out->left.too_many++;
			continue;
		}
		out->starts[out->n] = m->start_time;
		out->pids[out->n++] = m->pid;
	}
	if (v && ordinal == SESSION_ALL_ORDINALS) {
		out->late = v->late;
		out->left.too_many += v->unslotted;
		out->left.refused = v->refused;
	}
}

size_t
targets_strangers(const struct targets *t, const char *tenant,
                  const char *service, int64_t ordinal, size_t *at,
                  int32_t *out, size_t max)
{
	const struct target *v = targets_find(t, tenant, service);
	size_t n = 0;

	for (; v && *at < v->nmembers && n < max; ++*at) {
		const struct member *m = &v->members[*at];

		if (m->how != MEMBER_FOLLOWED || !is_of(m, ordinal))
			out[n++] = m->pid;
	}
	return n;
}

/* --- what the database shows ---------------------------------------------- */

int
targets_restore(struct targets *t, struct store *s)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	int rc = process_tree_forget(s, t->host)
	                 ?: process_list_host(s, t->host, &l);

	for (size_t i = 0; i < l.n && !rc; i++) {
		const struct worker_process *p = &l.items[i];
		struct target *v = targets_find(t, p->tenant, p->service);

		if (!v || p->ordinal < 0 || p->ordinal >= TARGET_SLOTS) {
			rc = process_remove(s, p);
			continue;
		}
		v->shown[p->ordinal].pid = -1; /* never equal, so that it is
		                                  written */
		if (!strcmp(p->boot_id, t->boot_id) && p->pid > 0 &&
		    p->pid <= INT32_MAX)
			v->now[p->ordinal] = (struct slot){
				(int32_t)p->pid, (uint64_t)p->start_time, 0};
	}
	return rc;
}

/* Makes a process's text, which may have any bytes, valid UTF-8 for the
 * database. */
static char *
published(const char *text, char out[static PROC_CMDLINE_MAX])
{
	snprintf(out, PROC_CMDLINE_MAX, "%s", text);
	utf8_mend(out, strlen(out));
	return out;
}

static int
publish_slot(const struct targets *t, const struct target *v, int i,
             struct store *s, const struct proc_table *procs)
{
	const struct proc *p = proc_table_find(procs, v->now[i].pid);
	char argv0[PROC_CMDLINE_MAX], cmdline[PROC_CMDLINE_MAX];
	struct worker_process row = {
		.host = (char *)t->host,
		.tenant = v->tenant,
		.service = v->service,
		.boot_id = (char *)t->boot_id,
		.ordinal = i,
	};
	int rc;

	if (!p)
		return process_remove(s, &row);
	row.argv0 = published(p->argv0, argv0);
	row.cmdline = published(p->cmdline, cmdline);
	row.pid = p->pid;
	row.start_time = (int64_t)p->start_time;
	rc = process_put(s, &row);
	return rc == -EEXIST ? 0 : rc; /* its service was deleted meanwhile */
}

static bool
is_shown(const struct target *v, int i)
{
	const struct slot *a = &v->now[i], *b = &v->shown[i];

	return a->pid == b->pid && a->start_time == b->start_time &&
	       a->text == b->text;
}

static int
publish_tree(const struct targets *t, const struct target *v, struct store *s)
{
	struct followed now;
	struct process_tree row = {
		.host = (char *)t->host,
		.tenant = v->tenant,
		.service = v->service,
	};
	int rc;

	targets_followed(t, v->tenant, v->service, SESSION_ALL_ORDINALS, &now);
	row.followed = now.n;
	row.other_unit = now.left.other_unit;
	row.out_of_scope = now.left.out_of_scope;
	row.too_many = now.left.too_many;
	row.refused = now.left.refused;
	rc = process_tree_put(s, &row);
	return rc == -EEXIST ? 0 : rc; /* its service was deleted meanwhile */
}

static bool
is_due(const struct target *v, int64_t now_ns)
{
	return v->stamp != v->stamp_shown &&
	       (!v->stamp_shown || v->refused != v->refused_shown ||
	        now_ns - v->shown_ns >= TARGETS_SHOW_NS);
}

static int
publish_changes(const struct targets *t, const struct target *v,
                struct store *s, const struct proc_table *procs, int64_t now_ns)
{
	int rc = 0;

	for (int i = 0; i < TARGET_SLOTS && !rc; i++)
		if (!is_shown(v, i))
			rc = publish_slot(t, v, i, s, procs);
	return !rc && is_due(v, now_ns) ? publish_tree(t, v, s) : rc;
}

static void
note_shown(struct target *v, int64_t now_ns)
{
	memcpy(v->shown, v->now, sizeof(v->now));
	if (!is_due(v, now_ns))
		return;
	v->stamp_shown = v->stamp;
	v->refused_shown = v->refused;
	v->shown_ns = now_ns;
}

static bool
is_news(const struct target *v, int64_t now_ns)
{
	for (int i = 0; i < TARGET_SLOTS; i++)
		if (!is_shown(v, i))
			return true;
	return is_due(v, now_ns);
}

/* Counts the rows in the store every TARGETS_CHECK_NS, and has all of them
 * written again if any are missing. */
static int
check_shown(struct targets *t, struct store *s, int64_t now_ns)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	size_t shown = 0;
	int rc;

	if (now_ns - t->checked_ns < TARGETS_CHECK_NS)
		return 0;
	t->checked_ns = now_ns;
	rc = process_list_host(s, t->host, &l);
	if (rc)
		return rc;
	for (size_t n = 0; n < t->n; n++)
		for (int i = 0; i < TARGET_SLOTS; i++)
			shown += t->items[n].shown[i].pid > 0;
	if (l.n >= shown)
		return 0;
	for (size_t n = 0; n < t->n; n++) {
		struct target *v = &t->items[n];

		for (int i = 0; i < TARGET_SLOTS; i++)
			if (v->shown[i].pid > 0)
				v->shown[i].pid = -1; /* never equal */
		v->stamp_shown = 0;
	}
	return 0;
}

static bool
any_news(const struct targets *t, int64_t now_ns)
{
	for (size_t n = 0; n < t->n; n++)
		if (is_news(&t->items[n], now_ns))
			return true;
	return false;
}

static int
publish(struct targets *t, struct store *s, const struct proc_table *procs,
        int64_t now_ns)
{
	int rc = store_begin(s);

	if (rc)
		return rc;
	for (size_t n = 0; n < t->n && !rc; n++)
		rc = publish_changes(t, &t->items[n], s, procs, now_ns);
	return store_end(s, rc);
}

int
targets_publish(struct targets *t, struct store *s,
                const struct proc_table *procs, int64_t now_ns)
{
	int rc = check_shown(t, s, now_ns);

	if (!rc && any_news(t, now_ns))
		rc = publish(t, s, procs, now_ns);
	t->waits = false;
	for (size_t n = 0; n < t->n && !rc; n++) {
		struct target *v = &t->items[n];

		note_shown(v, now_ns);
		t->waits |= v->stamp != v->stamp_shown;
	}
	return rc;
}
