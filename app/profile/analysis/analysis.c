#include "profile/analysis.h"

#include "base/clock.h"
#include "base/rows.h"
#include "profile/model/build.h"
#include "profile/site.h"

#include <errno.h>
#include <string.h>

/* The goroutines with one stack, in any state and at any line, in the base and
 * now. */
struct history {
	uint32_t stack; /* index of the stack, equal for its groups */
	int64_t before, now;
	double known, survived; /* numbered goroutines of the base; those
	                           that still exist */
};

/* The ages of goroutines, from which times of garbage collections follow. */
struct wait_ages {
	int64_t *s; /* ascending */
	uint32_t n;
};

const char *const wait_class_names[WAIT_CLASSES] = {
#define WAIT_CLASS(id, name, blocked) name,
#include "analysis.def"
#undef WAIT_CLASS
};
static const bool class_blocked[WAIT_CLASSES] = {
#define WAIT_CLASS(id, name, blocked) blocked,
#include "analysis.def"
#undef WAIT_CLASS
};

struct wait_row {
	const char *text;
	enum wait_class class;
};
static const struct wait_row raws[] = {
#define WAIT_RAW(text, class) {text, WAIT_##class},
#include "analysis.def"
#undef WAIT_RAW
};
static const struct wait_row words[] = {
#define WAIT_WORDS(text, class) {text, WAIT_##class},
#include "analysis.def"
#undef WAIT_WORDS
};
bool
wait_class_blocked(enum wait_class c)
{
	return class_blocked[c];
}

static enum wait_class
find_class(const struct wait_row *rows, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (site_matches(rows[i].text, text))
			return rows[i].class;
	return WAIT_CLASSES;
}

enum wait_class
wait_class_of(const struct groups *g, const struct group *x)
{
	const char *state = groups_text(g, x->state);
	const char *reason = groups_text(g, x->reason);
	const char *raw = groups_text(g, x->raw);
	enum wait_class c;

	if (!strcmp(state, "running") || !strcmp(state, "runnable"))
		return WAIT_RUNNING;
	if (x->leaked)
		return WAIT_FOREVER;
	if (!strcmp(state, "syscall"))
		return WAIT_SYSCALL;
	c = find_class(raws, ARRAY_LEN(raws), *raw ? raw : reason);
	if (c == WAIT_CLASSES)
		c = find_class(words, ARRAY_LEN(words), reason);
	return c == WAIT_CLASSES ? WAIT_OTHER : c;
}

uint32_t
group_site(const struct groups *g, const struct group *x)
{
	uint32_t i = 0;

	while (i < x->nframes &&
	       site_skips(groups_text(g, group_frames(g, x)[i].name), ""))
		i++;
	return i;
}

/*
 * The ages of some goroutines bound the ages of those that have none.
 *
 * The runtime records the start of a wait when the garbage collector finds the
 * goroutine waiting, and clears it when the goroutine runs. Any age in the
 * profile therefore dates a collection, and every goroutine that is younger, or
 * has no age, began to wait after that collection. Source: markroot() of
 * runtime/mgcmark.go, Go 1.19 to 1.27.
 */

/* Younger collections are ignored, because they may not have visited all
 * goroutines yet. */
#define COLLECTED_S 1

static int
by_age(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Collects the ages in the second profile. */
static int
wait_ages_init(const struct groups *g, struct wait_ages *out)
{
	struct wait_ages ages = {.s = calloc(g->n + 1, sizeof(*ages.s))};

	if (!ages.s)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->items[i].age_s >= COLLECTED_S)
			ages.s[ages.n++] = g->items[i].age_s;
	if (ages.n)
		qsort(ages.s, ages.n, sizeof(*ages.s), by_age);
	*out = ages;
	return 0;
}

static void
wait_ages_done(struct wait_ages *ages)
{
	free(ages->s);
	*ages = (struct wait_ages){0};
}

/* True if it is certain that no goroutine of x has waited for limit_s. */
static bool
wait_ages_below(const struct wait_ages *ages, const struct group *x,
                int64_t limit_s)
{
	uint32_t low = ROWS_WHILE(ages->n, i, ages->s[i] <= x->age_s);

	return low < ages->n && ages->s[low] < limit_s; /* whole seconds */
}

#define CLASS(id) (1u << WAIT_##id)
#define ANY_CLASS ((1u << WAIT_CLASSES) - 1)
#define CERTAIN   LEAK_CERTAIN
#define LIKELY    LEAK_LIKELY
#define SUSPECT   LEAK_SUSPECT
static const struct leak_rule leak_rules[] = {
#define LEAK_RULE(id, name, severity, classes, needs, why, source) \
	{name, severity, classes, needs, why, source},
#include "analysis.def"
#undef LEAK_RULE
};

const char *const leak_severities[] = {
	[LEAK_CERTAIN] = "certain",
	[LEAK_LIKELY] = "likely",
	[LEAK_SUSPECT] = "suspect",
};

/* --- base and now --- */

static int
by_group(const void *a, const void *b)
{
	const struct group_member *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/*
 * Returns the index of the first row of sorted m[n] that belongs to want's
 * group and does not end before want begins.
 */
static uint32_t
first_from(const struct group_member *m, uint32_t n,
           const struct group_member *want)
{
	return ROWS_WHILE(n, i,
	                  m[i].group != want->group ? m[i].group < want->group
	                                            : m[i].last < want->first);
}

/* Counts the goroutines of a member that are still at the same stack. */
static double
survivors_of(const struct groups *g, const struct group_member *want)
{
	const struct group_member *m = g->members[1];
	double all = (double)(want->last - want->first) + 1, n = 0;

	for (uint32_t i = first_from(m, g->nmembers[1], want);
	     i < g->nmembers[1] && m[i].group == want->group &&
	     m[i].first <= want->last && n < all;
	     i++) {
		uint64_t from = m[i].first > want->first ? m[i].first
		                                         : want->first;
		uint64_t to = m[i].last < want->last ? m[i].last : want->last;

		n += to >= from ? (double)(to - from) + 1 : 0;
	}
	return n < all ? n : all;
}

/* Counts the numbered goroutines of the base, and how many still exist. */
static void
count_survivors(const struct groups *g, struct history *by_stack)
{
	for (uint32_t i = 0; i < g->nmembers[0]; i++) {
		const struct group_member *m = &g->members[0][i];
		struct history *h = &by_stack[m->group];

		h->known += (double)(m->last - m->first) + 1;
		h->survived += survivors_of(g, m);
	}
}

static int
stacks_of(const struct profile *p, const struct profile *base,
          struct groups **out)
{
	CLEANUP_GROUPS struct groups *g = NULL;
	int rc = groups_new(GROUP_BY_STACK, &g);

	if (!rc)
		rc = groups_add(g, p, 1);
	if (!rc && base)
		rc = groups_add(g, base, 0);
	if (rc)
		return rc;
	if (g->nmembers[1])
		qsort(g->members[1], g->nmembers[1], sizeof(**g->members),
		      by_group);
	*out = TAKE(g);
	return 0;
}

/*
 * Finds the history of every group of a, and sets a->base_count.
 *   Owns     *out is the caller's; free() it
 */
static int
analysis_history(struct analysis *a, const struct profile *p,
                 const struct profile *base, struct history **out)
{
	CLEANUP_GROUPS struct groups *stacks = NULL;
	CLEANUP_FREE struct history *by_stack = NULL;
	CLEANUP_FREE struct history *h = NULL;
	int rc = stacks_of(p, base, &stacks);
	uint32_t at;

	if (rc)
		return rc;
	by_stack = calloc(stacks->n + 1, sizeof(*by_stack));
	h = calloc(a->groups->n + 1, sizeof(*h));
	if (!by_stack || !h)
		return -ENOMEM;
	if (stacks->nmembers[1]) /* else the goroutines have no numbers */
		count_survivors(stacks, by_stack);
	for (uint32_t i = 0; !rc && i < a->groups->n; i++) {
		rc = groups_find(stacks, a->groups, &a->groups->items[i], &at);
		if (rc)
			break;
		h[i] = by_stack[at];
		h[i].stack = at;
		h[i].before = stacks->items[at].count[0];
		h[i].now = stacks->items[at].count[1];
	}
	a->base_count = stacks->total[0];
	if (!rc)
		*out = TAKE(h);
	return rc;
}

/* --- rules --- */

/* True if a word of the list, such as "net.Dial" or "grpc.*", matches the
 * name. */
static bool
analysis_allowed(const char *allow, const char *name)
{
	for (size_t n; *allow; allow += n) {
		allow += strspn(allow, " ");
		n = strcspn(allow, " ");
		if (!n)
			break;
		if (allow[n - 1] == '*' ? !strncmp(allow, name, n - 1)
		                        : !strncmp(allow, name, n) && !name[n])
			return true;
	}
	return false;
}

static bool
is_allowed(const struct analysis *a, const struct group *x, const char *allow)
{
	const struct groups *g = a->groups;

	for (uint32_t i = 0; i < x->nframes; i++)
		if (analysis_allowed(
			    allow, groups_text(g, group_frames(g, x)[i].name)))
			return true;
	return analysis_allowed(allow, groups_text(g, x->creator));
}

/* The data that rules are evaluated on. */
struct judged {
	const struct analysis *a;
	const struct leak_limits *l;
	const int64_t *crowds; /* by string: goroutines blocked there */
	struct wait_ages ages;
};

/*
 * Returns how long a goroutine must have waited at a stack that the base does
 * not have. Goroutines of new load are just as young, but soon continue.
 */
static int64_t
stay_s(const struct judged *j)
{
	int64_t half = j->a->between_s / 2;
	int64_t stay = half < j->l->age_s ? half : j->l->age_s;

	return stay > 1 ? stay : 1;
}

static bool
has_grown(const struct judged *j, const struct group *x,
          const struct history *h)
{
	int64_t more = h->now - h->before;

	if (!j->a->has_base)
		return false;
	if (!h->before)
		return more >= j->l->group && x->age_s >= stay_s(j);
	return more >= j->l->growth &&
	       (double)more * 100 >=
	               (double)h->before * (double)j->l->growth_percent;
}

/* True if enough of the base's goroutines stayed. Goroutines that ran and came
 * back to the same stack do not count. */
static bool
has_survived(const struct judged *j, const struct group *x,
             const struct history *h)
{
	if (h->before && wait_ages_below(&j->ages, x, j->a->between_s))
		return false;
	return h->survived * 100 >= h->known * (double)j->l->survivors_percent;
}

static uint32_t
site_name(const struct analysis *a, uint32_t i)
{
	const struct group *x = &a->groups->items[i];

	return a->sites[i] < x->nframes
	               ? group_frames(a->groups, x)[a->sites[i]].name
	               : 0;
}

static bool
is_main(const struct groups *g, const struct group *x)
{
	const struct group_frame *f = group_frames(g, x);

	return x->nframes &&
	       !strcmp(groups_text(g, f[x->nframes - 1].name), "main.main");
}

static bool
breaks(const struct judged *j, uint32_t i, const struct history *h,
       const struct leak_rule *r)
{
	const struct group *x = &j->a->groups->items[i];
	const struct leak_limits *l = j->l;

	if (!(r->classes & 1u << j->a->classes[i]))
		return false;
	if (r->severity != LEAK_CERTAIN && is_allowed(j->a, x, l->allow))
		return false;
	return (!(r->needs & NEED_LEAKED) || x->leaked) &&
	       (!(r->needs & NEED_STARTED) || !is_main(j->a->groups, x)) &&
	       (!(r->needs & NEED_SIZE) ||
	        (h->now >= l->group &&
	         (double)h->now * 100 >=
	                 (double)j->a->count * (double)l->share_percent)) &&
	       (!(r->needs & NEED_AGE) || x->age_s >= l->age_s) &&
	       (!(r->needs & NEED_GROWTH) || has_grown(j, x, h)) &&
	       (!(r->needs & NEED_SURVIVORS) || has_survived(j, x, h)) &&
	       (!(r->needs & NEED_CROWD) ||
	        j->crowds[site_name(j->a, i)] >= l->crowd);
}

static const struct leak_rule *
broken_rule(const struct judged *j, uint32_t i, const struct history *h)
{
	for (size_t k = 0; k < ARRAY_LEN(leak_rules); k++)
		if (breaks(j, i, h, &leak_rules[k]))
			return &leak_rules[k];
	return NULL;
}

static void
count_crowds(const struct analysis *a, int64_t *crowds)
{
	const unsigned waits = CLASS(CHANNEL) | CLASS(SYNC);

	for (uint32_t i = 0; i < a->groups->n; i++)
		if (waits & 1u << a->classes[i])
			crowds[site_name(a, i)] += a->groups->items[i].count[1];
	crowds[0] = 0; /* goroutines without a site are not a crowd */
}

static int
by_severity(const void *a, const void *b)
{
	const struct leak_suspect *x = a, *y = b;

	if (x->rule->severity != y->rule->severity)
		return x->rule->severity < y->rule->severity ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Reports the largest group of each stack only. */
static int
collect(struct analysis *a, const struct judged *j, const struct history *h)
{
	CLEANUP_FREE bool *reported =
		calloc(a->groups->n + 1, sizeof(*reported));

	a->suspects = calloc(a->groups->n + 1, sizeof(*a->suspects));
	if (!reported || !a->suspects)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->groups->n; i++) {
		/* Stacks of now come first and have at least one group each,
		 * so that the index is in range. */
		bool *once = &reported[h[i].stack];
		const struct leak_rule *r = *once ? NULL
		                                  : broken_rule(j, i, &h[i]);

		if (!r)
			continue;
		*once = true;
		a->suspects[a->nsuspects++] =
			(struct leak_suspect){i, r, h[i].now, h[i].before};
	}
	if (a->nsuspects)
		qsort(a->suspects, a->nsuspects, sizeof(*a->suspects),
		      by_severity);
	return 0;
}

/* Fills suspects. */
static int
analysis_suspects(struct analysis *a, const struct history *h,
                  const struct leak_limits *limits)
{
	CLEANUP_FREE int64_t *crowds =
		calloc(strings_count(a->groups->strings), sizeof(*crowds));
	CLEANUP(wait_ages_done) struct wait_ages ages = {0};
	int rc = crowds ? wait_ages_init(a->groups, &ages) : -ENOMEM;

	if (rc)
		return rc;
	count_crowds(a, crowds);
	return collect(a, &(struct judged){a, limits, crowds, ages}, h);
}

/* --- what many wait for --- */

#define LEAST_WAITERS 2

static int
by_address(const void *a, const void *b)
{
	const struct group_wait *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static int
by_waiters(const void *a, const void *b)
{
	const struct wait_target *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Sums the rows for the first address of w. Returns their number. */
static uint32_t
sum_target(const struct groups *g, const struct group_wait *w, uint32_t n,
           struct wait_target *out)
{
	struct wait_target t = {.address = w->address};
	uint32_t i = 0;

	while (i < n && w[i].address == t.address) {
		uint32_t group = w[i].group;
		int64_t count = 0;

		for (;
		     i < n && w[i].address == t.address && w[i].group == group;
		     i++)
			count += w[i].count;
		t.count += count;
		t.nstacks++;
		if (count > t.most.count[1]) {
			t.most = g->items[group];
			t.most.count[1] = count;
		}
	}
	*out = t;
	return i;
}

/* Finds the targets. Must be called before the groups are sorted. */
static int
find_targets(struct analysis *a)
{
	struct groups *g = a->groups;
	uint32_t cap = 0;
	int rc = 0;

	if (g->nwaits)
		qsort(g->waits, g->nwaits, sizeof(*g->waits), by_address);
	for (uint32_t i = 0; !rc && i < g->nwaits;) {
		struct wait_target t;

		i += sum_target(g, &g->waits[i], g->nwaits - i, &t);
		if (t.count < LEAST_WAITERS)
			continue;
		rc = rows_room(&a->targets, &cap, a->ntargets, 1,
		               sizeof(*a->targets));
		if (!rc)
			a->targets[a->ntargets++] = t;
	}
	if (a->ntargets)
		qsort(a->targets, a->ntargets, sizeof(*a->targets), by_waiters);
	return rc;
}

static int
by_count(const void *a, const void *b, void *arg)
{
	const struct groups *g = arg;
	const struct group *x = a, *y = b;
	const char *p = "", *q = "";

	if (x->count[1] != y->count[1])
		return x->count[1] < y->count[1] ? 1 : -1;
	if (x->nframes && y->nframes) {
		p = groups_text(g, group_frames(g, x)[0].name);
		q = groups_text(g, group_frames(g, y)[0].name);
	}
	return strcmp(p, q)
	               ?: (x->frame0 > y->frame0) - (x->frame0 < y->frame0);
}

static int
classify(struct analysis *a)
{
	struct groups *g = a->groups;

	if (g->n)
		qsort_r(g->items, g->n, sizeof(*g->items), by_count, g);
	a->count = g->total[1];
	a->classes = calloc(g->n + 1, sizeof(*a->classes));
	a->sites = calloc(g->n + 1, sizeof(*a->sites));
	if (!a->classes || !a->sites)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n; i++) {
		a->classes[i] = wait_class_of(g, &g->items[i]);
		a->sites[i] = group_site(g, &g->items[i]);
	}
	return 0;
}

int
analysis_new(const struct profile *p, const struct profile *base,
             const struct leak_limits *limits, struct analysis **out)
{
	CLEANUP_ANALYSIS struct analysis *a = calloc(1, sizeof(*a));
	CLEANUP_FREE struct history *history = NULL;
	int rc;

	if (!a)
		return -ENOMEM;
	a->has_base = base != NULL;
	if (base && p->time_ns > base->time_ns)
		a->between_s = (p->time_ns - base->time_ns) / NS_PER_S;
	rc = groups_new(GROUP_BY_STATE | GROUP_BY_LINE | GROUP_WAITS,
	                &a->groups);
	if (!rc)
		rc = groups_add(a->groups, p, 1);
	if (!rc)
		rc = find_targets(a);
	if (!rc)
		rc = classify(a);
	if (!rc)
		rc = analysis_history(a, p, base, &history);
	if (!rc)
		rc = analysis_suspects(a, history, limits);
	if (!rc)
		*out = TAKE(a);
	return rc;
}

void
analysis_free(struct analysis *a)
{
	if (!a)
		return;
	groups_free(a->groups);
	free(a->classes);
	free(a->sites);
	free(a->suspects);
	free(a->targets);
	free(a);
}
