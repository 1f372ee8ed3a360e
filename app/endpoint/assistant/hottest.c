/* A text about the functions that cost most. */
#include "story.h"

#include "base/quantity.h"
#include "endpoint/range/range_call.h"
#include "profile/hot.h"
#include "profile/tree.h"
#include "profile/types.h"
#include "quote.h"
#include "range/stored.h"

#include <math.h>
#include <string.h>

#define NEAR    8    /* similar names listed when a name does not occur */
#define CERTAIN 2.04 /* Student's t for 31 degrees of freedom, 95 % */
#define PATH    7    /* frames of a path that are shown */

const char *
story_cost(const char *type)
{
	return type_find(type)->cost;
}

void
story_put_lost(struct story *s, const struct range *r)
{
	if (!r->lost.n)
		return;
	buf_addf(&s->unknown, "- All of its %s: ", story_cost(r->type));
	range_put_lost(r, &s->unknown);
	buf_putc(&s->unknown, '\n');
}

/* A text about hot functions while it is written. */
struct hottest {
	const struct material *m;
	const struct type *type;
	struct hot *hot;
	struct tree *tree;
	struct blocks *blocks; /* NULL: chance was not measured */
};

static void
hottest_done(struct hottest *h)
{
	blocks_free(h->blocks);
	tree_free(h->tree);
	hot_free(h->hot);
}

static double
percent(const struct hottest *h, int64_t v)
{
	return h->hot->all ? 100 * (double)v / (double)h->hot->all : 0;
}

static void
put_name(const struct hottest *h, uint32_t name, struct buf *out)
{
	quote_name(out, strings_get(h->hot->names, name, NULL));
}

/* --- how certain a share is ----------------------------------------------- */

/* Returns the row of a function; NULL if it has none. */
static const struct block_row *
row_of(const struct hottest *h, uint32_t name)
{
	const char *text = strings_get(h->hot->names, name, NULL);

	for (uint32_t i = 1; i < h->tree->n; i++)
		if (!strcmp(tree_name(h->tree, h->tree->name[i], NULL), text))
			return blocks_row(h->blocks, h->tree->name[i]);
	return NULL;
}

/*
 * Returns half of the 95 % interval of a function's share, in points; 0 if it
 * is not known.
 *   Source   the variance of a ratio of sums; Cochran, Sampling Techniques, 2.11
 */
static double
margin(const struct hottest *h, const struct hot_function *f)
{
	const struct block_row *row = h->blocks ? row_of(h, f->name) : NULL;
	const struct block_row *all = h->blocks ? h->blocks->rows : NULL;
	unsigned n = h->blocks ? h->blocks->norder : 0;
	double share, sum = 0, rest = 0;

	if (!row || n < 4)
		return 0;
	share = (double)f->self / (double)h->hot->all;
	for (unsigned i = 0; i < n; i++) {
		double off = row->order[i] - share * all->order[i];

		sum += all->order[i];
		rest += off * off;
	}
	return sum > 0 ? 100 * CERTAIN * sqrt(rest * n / (n - 1)) / sum : 0;
}

static int
measure(struct story *s, struct hottest *h)
{
	const struct material *m = h->m;
	uint32_t type = profile_type_index(m->profile, NULL);
	int rc = tree_functions(m->profile, type, &h->tree);

	if (rc)
		return fail_store(s->c, rc);
	h->blocks =
		m->capture.id
			? stored_blocks(&s->c->env->store, m->capture.id,
	                                h->tree, BLOCKS_OF_FUNCTIONS)
			: range_blocks(&m->range, h->tree, BLOCKS_OF_FUNCTIONS);
	return 0;
}

/* --- rows ----------------------------------------------------------------- */

static void
put_parts(const struct hottest *h, const struct hot_part *parts, int64_t of,
          const char *title, struct buf *out)
{
	const char *between = title;

	for (size_t i = 0; i < HOT_PARTS && parts[i].value > 0; i++) {
		double share = 100 * (double)parts[i].value / (double)of;

		if (!parts[i].name || share < 1)
			continue;
		buf_puts(out, between);
		put_name(h, parts[i].name, out);
		buf_addf(out, " %.0f %%", share);
		between = ", ";
	}
}

static void
put_lines(const struct hot_function *f, struct buf *out)
{
	const char *slash = strrchr(f->file, '/');

	if (!*f->file) {
		buf_puts(out, *f->module ? "; in " : "");
		if (*f->module)
			quote_name(out, f->module);
		return;
	}
	buf_puts(out, "; at ");
	quote_name(out, slash ? slash + 1 : f->file);
	for (size_t i = 0; i < HOT_PARTS && f->lines[i].value > 0; i++)
		buf_addf(out, "%s %lld (%.0f %%)", i ? "," : " line",
		         (long long)f->lines[i].line,
		         100 * (double)f->lines[i].value / (double)f->total);
}

static void
put_function(const struct hottest *h, size_t i, struct buf *out)
{
	const struct hot_function *f = &h->hot->functions[i];
	double half = margin(h, f);

	buf_addf(out, "%zu. ", i + 1);
	put_name(h, f->name, out);
	buf_addf(out, ": self %.1f %%", percent(h, f->self));
	if (half > 0)
		buf_addf(out, " (+-%.1f)", half);
	buf_addf(out, ", total %.1f %%", percent(h, f->total));
	put_parts(h, f->callers, f->total, "; called by ", out);
	if (h->hot->n == 1 || f->self < f->total / 2)
		put_parts(h, f->callees, f->total, "; calls ", out);
	put_lines(f, out);
	buf_putc(out, '\n');
}

static void
put_path(const struct hottest *h, struct buf *out)
{
	const struct hot *x = h->hot;
	size_t from = x->npath > PATH ? x->npath - PATH : 0;

	if (x->npath < 2)
		return;
	buf_puts(out, from ? "Heaviest path: ... > " : "Heaviest path: ");
	for (size_t i = from; i < x->npath; i++) {
		buf_puts(out, i > from ? " > " : "");
		put_name(h, x->path[i], out);
	}
	buf_addf(out, " (%.0f %% of all)\n", percent(h, x->path_total));
}

/* Appends the total cost; per second unless the type is a gauge. */
static void
put_whole(const struct hottest *h, struct buf *out)
{
	double all = (double)h->hot->all, seconds = h->m->seconds;

	if (!h->type->gauge && seconds > 0 && !strcmp(h->type->name, "cpu")) {
		buf_addf(out, "%.2f CPUs busy on average", all / 1e9 / seconds);
		return;
	}
	if (h->type->gauge || seconds <= 0) {
		quantity(out, h->hot->all, h->type->unit);
		return;
	}
	quantity(out, llround(all / seconds), h->type->unit);
	buf_puts(out, " per second");
}

static void
put_found(struct story *s, const struct hottest *h)
{
	const struct hot_function *f = &h->hot->functions[0];
	bool asked = *s->ask->function;

	buf_puts(&s->found, "- ");
	put_name(h, f->name, &s->found);
	buf_addf(&s->found, " has %.1f %% of the %s%s.\n",
	         percent(h, asked ? f->total : f->self), h->type->cost,
	         asked ? ", with what it calls" : " in itself");
}

static int
write_section(struct story *s, struct hottest *h)
{
	struct buf *out = &s->details;

	buf_addf(out, "\n%s (", h->type->cost);
	material_name(h->m, out);
	buf_puts(out, "): ");
	put_whole(h, out);
	buf_puts(out, ". Functions by their own cost:\n");
	for (size_t i = 0; i < h->hot->n; i++)
		put_function(h, i, out);
	put_path(h, out);
	if (h->hot->n)
		put_found(s, h);
	if (!h->blocks && !strcmp(h->type->name, "cpu"))
		buf_puts(&s->unknown, "- How far chance moves these shares: "
		                      "the profile is too short, or has no "
		                      "times.\n");
	return 0;
}

/* --- a function that was asked for ---------------------------------------- */

/* Takes the function whose name contains the text, if there is only one.
 * Otherwise writes that none has this name, and lists similar names. */
static int
find_near(struct story *s, struct hottest *h, struct hot_ask *ask,
          struct buf *name)
{
	CLEANUP_BUF struct buf near = BUF_INIT(BUF_MAX_SMALL);
	char *at, *next;

	hot_near(h->hot, ask->function, NEAR, &near);
	if (near.len && strcspn(near.p, "\n") == near.len - 1) {
		buf_add(name, near.p, near.len - 1);
		ask->function = buf_str(name);
		hot_free(TAKE(h->hot));
		return hot_new(h->m->profile, ask, &h->hot);
	}
	buf_puts(&s->found, "- No function is called ");
	quote_name(&s->found, ask->function);
	buf_addf(&s->found, " in the profiles of %s (", h->type->cost);
	material_name(h->m, &s->found);
	buf_puts(&s->found, near.len ? "). Similar names: " : ").");
	for (at = near.len ? near.p : NULL; at && *at; at = next) {
		next = at + strcspn(at, "\n");
		*next++ = '\0';
		buf_puts(&s->found, at > near.p ? ", " : "");
		quote_name(&s->found, at);
	}
	buf_putc(&s->found, '\n');
	return 0;
}

int
story_hottest(struct story *s, const struct material *m, size_t rows)
{
	CLEANUP(hottest_done)
	struct hottest h = {.m = m, .type = type_find(m->type)};
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	bool asked = *s->ask->function;
	struct hot_ask ask = {
		.type = profile_type_index(m->profile, NULL),
		.sites = !type_is_timed(h.type),
		.most = asked ? 1 : rows,
		.function = asked ? s->ask->function : NULL,
	};
	int rc = hot_new(m->profile, &ask, &h.hot);

	if (!rc && asked && !h.hot->n)
		rc = find_near(s, &h, &ask, &name);
	if (rc)
		return fail_store(s->c, rc);
	if (asked && !h.hot->n)
		return 0;
	if (!ask.sites && measure(s, &h))
		return -1;
	return write_section(s, &h);
}
