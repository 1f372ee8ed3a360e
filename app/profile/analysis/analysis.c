#include "analysis_private.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

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
static const char *const skips[] = {
#define SITE_SKIP(function) function,
#include "analysis.def"
#undef SITE_SKIP
};

bool
analysis_matches(const char *row, const char *name)
{
	size_t n = strlen(row);

	if (n > 3 && !strcmp(row + n - 3, "..."))
		return !strncmp(row, name, n - 3);
	return !strcmp(row, name);
}

bool
wait_class_blocked(enum wait_class c)
{
	return class_blocked[c];
}

static enum wait_class
find_class(const struct wait_row *rows, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (analysis_matches(rows[i].text, text))
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

static uint32_t
site_of(const struct groups *g, const struct group *x)
{
	for (uint32_t i = 0; i < x->nframes; i++) {
		const char *name = groups_text(g, group_frames(g, x)[i].name);
		bool skip = false;

		for (size_t k = 0; k < ARRAY_LEN(skips) && !skip; k++)
			skip = analysis_matches(skips[k], name);
		if (!skip)
			return i;
	}
	return x->nframes;
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
		a->sites[i] = site_of(g, &g->items[i]);
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
	rc = groups_new(GROUP_BY_STATE | GROUP_BY_LINE, &a->groups);
	if (!rc)
		rc = groups_add(a->groups, p, 1);
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
	free(a);
}
