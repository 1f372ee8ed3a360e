/* A text about functions that cost more or less than before. */
#include "story.h"

#include "base/clock.h"
#include "endpoint/compare/compare_call.h"
#include "profile/types.h"
#include "quote.h"
#include "range/shifts.h"

#include <math.h>
#include <string.h>

#define LOOK_MS \
	(24 * 60 * 60 * MS_PER_S) /* the time in which shifts are sought */
#define ROWS 5

/* Says that nothing has the name that was asked for: to call it unchanged would
 * confirm a wrong premise. */
static void
put_absent(struct story *s, const char *type)
{
	buf_puts(&s->found, "- No function is called ");
	quote_name(&s->found, s->ask->function);
	buf_addf(&s->found,
	         " in the profiles of %s of this time, so it is not known "
	         "whether it changed. hottest finds similar names.\n",
	         story_cost(type));
}

/* --- windows: since when -------------------------------------------------- */

static void
put_factor(double factor, bool known, struct buf *out)
{
	if (!known)
		buf_puts(out, "is new");
	else if (factor >= 1.95)
		buf_addf(out, "costs %.1f times as much", factor);
	else
		buf_addf(out, "costs %.0f %% %s", fabs(100 * (factor - 1)),
		         factor < 1 ? "less" : "more");
}

/* Appends the last shift of a function, or of the whole. */
static void
put_shift(const struct shifted *of, struct buf *out)
{
	size_t last = of->shifts.n - 1;
	const struct shift *x = &of->shifts.items[last];
	const struct shifted_level *l = &of->levels[last];

	if (of->function)
		quote_name(out, of->function);
	else
		buf_puts(out, "The service as a whole");
	buf_puts(out, of->total ? ", with what it calls, " : " ");
	put_factor(range_shift_factor(of, last), l[0].cost > 0, out);
	buf_puts(out, " since ");
	material_time(x->at_ms, out);
	buf_puts(out, " (95 %: ");
	material_time(x->earliest_ms, out);
	buf_puts(out, " to ");
	material_time(x->latest_ms, out);
	buf_putc(out, ')');
	if (of->function)
		buf_addf(out, ", from %.1f to %.1f %% of all", 100 * l[0].share,
		         100 * l[1].share);
	if (last)
		buf_addf(out, "; %zu earlier changes", last);
	buf_putc(out, '\n');
}

static void
put_unchanged(const struct shifted *of, struct buf *out)
{
	if (of->function)
		quote_name(out, of->function);
	else
		buf_puts(out, "The service as a whole");
	buf_puts(out, " did not change");
	if (of->shifts.least > 1)
		buf_addf(out,
		         "; a change by a factor of %.2f or more would have "
		         "been seen",
		         of->shifts.least);
	buf_puts(out, ".\n");
}

static void
put_shifted(const struct shifted *of, struct buf *out)
{
	if (of->shifts.n)
		put_shift(of, out);
	else
		put_unchanged(of, out);
}

/* True if no function that was found has a cost. */
static bool
are_absent(const struct range_shifts *x)
{
	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k <= x->items[i].shifts.n; k++)
			if (x->items[i].levels[k].cost > 0)
				return false;
	return true;
}

static void
write_shifts(struct story *s, const struct material *m,
             const struct range_shifts *x)
{
	struct buf *out = &s->details;
	size_t rows = x->n < ROWS ? x->n : ROWS;

	if (*s->ask->function && are_absent(x)) {
		put_absent(s, m->type);
		return;
	}

	buf_addf(out, "\nChanges of %s, ", story_cost(m->type));
	material_time(x->range->from_ms, out);
	buf_puts(out, " to ");
	material_time(x->range->to_ms, out);
	buf_addf(out,
	         " (%zu functions tested; of a hundred steady services, "
	         "fewer than one shows a change):\n",
	         x->ntested);
	for (size_t i = 0; i < rows; i++) {
		buf_addf(out, "%zu. ", i + 1);
		put_shifted(&x->items[i], out);
	}
	if (x->n > rows)
		buf_addf(out, "and %zu more functions\n", x->n - rows);
	put_shifted(&x->whole, out);
	buf_puts(&s->found, "- ");
	if (x->n && x->items[0].shifts.n)
		put_shift(&x->items[0], &s->found);
	else if (x->whole.shifts.n)
		put_shift(&x->whole, &s->found);
	else
		buf_addf(&s->found, "Nothing changed in its %s.\n",
		         story_cost(m->type));
}

static int
find_shifts(struct story *s, const struct material *m)
{
	CLEANUP_RANGE struct range r = range_question(&m->range);
	CLEANUP_RANGE_SHIFTS struct range_shifts x = {
		.range = &r,
		.function = s->ask->function,
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	if (!s->ask->from_ms)
		r.from_ms = r.to_ms - LOOK_MS;
	rc = range_shifts(&x, &why);
	if (rc)
		return range_fail(s->c, &r, rc, &why);
	range_note_lost(s->c, &r);
	story_put_lost(s, &r);
	write_shifts(s, m, &x);
	return 0;
}

/* --- captures: compared with the one before ------------------------------- */

/* Finds what the capture is compared with: the newest earlier baseline, or
 * else the capture before. -ENOENT: there is neither. */
static int
find_base(struct story *s, const struct session *now, struct baseline *b,
          struct session *out)
{
	struct store *store = &s->c->env->store;
	const struct baseline_of ask = {
		.tenant = now->tenant,
		.service = now->service,
		.type = now->type,
		.session = now->id,
		.created_ms = now->created_ms,
		.ordinal = now->ordinal,
	};
	int rc = baseline_before(store, &ask, b);

	if (rc == -ENOENT)
		return session_before(store, now, out);
	return rc ?: session_get(store, now->tenant, b->session, out);
}

static void
put_compared(const struct comparison *x, const struct compare_function *f,
             bool total, struct buf *out)
{
	int64_t base = total ? f->base.total : f->base.self;
	int64_t now = total ? f->now.total : f->now.self;
	double base_pct = total ? f->base.cumulative_pct : f->base.pct;
	double now_pct = total ? f->now.cumulative_pct : f->now.pct;

	quote_name(out, f->name);
	buf_puts(out, total ? ", with what it calls, " : " ");
	if (base > 0 && now <= 0)
		buf_puts(out, "is gone");
	else if (x->known && x->base_per > 0 && x->now_per > 0)
		put_factor(base > 0 ? (double)now / x->now_per /
		                              ((double)base / x->base_per)
		                    : 0,
		           base > 0, out);
	else
		buf_puts(out, base <= 0            ? "is new"
		              : now_pct > base_pct ? "costs more"
		                                   : "costs less");
	buf_addf(out, ", from %.1f to %.1f %% of all (p = %.2g)", base_pct,
	         now_pct, total ? f->total_p : f->p);
	if (f->since.at_ms) {
		buf_puts(out, " since ");
		material_time(f->since.at_ms, out);
	}
	buf_putc(out, '\n');
}

/* The functions of a comparison that changed by themselves: when one costs
 * more, the shares of all others fall. */
struct changes {
	const struct compare_function *items[ROWS];
	size_t n; /* total number */
	bool totals;
};

static struct changes
changes_of(const struct comparison *x)
{
	struct changes c = {.totals = x->nrisen};
	size_t n = x->nrisen ? x->nrisen : x->nregressions + x->nimprovements;

	for (size_t i = 0; i < n; i++) {
		const struct compare_function *f = x->nrisen ? x->risen[i]
		                                             : &x->functions[i];

		if (!x->nrisen && !compare_moved(x, f))
			continue;
		if (c.n < ROWS)
			c.items[c.n] = f;
		c.n++;
	}
	return c;
}

static bool
has_function(const struct comparison *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (!strcmp(x->functions[i].name, name))
			return true;
	return false;
}

static void
write_compared(struct story *s, const struct material *m,
               const struct compared *of, const char *baseline)
{
	const struct comparison *x = of->c;
	const struct changes changes = changes_of(x);
	struct buf *out = &s->details;

	if (*s->ask->function && !has_function(x, s->ask->function)) {
		put_absent(s, m->type);
		return;
	}

	buf_addf(out, "\n%s of capture %s compared with ", story_cost(m->type),
	         of->now.id);
	if (baseline) {
		buf_puts(out, "baseline ");
		quote_name(out, baseline);
		buf_puts(out, ", ");
	}
	buf_addf(out, "capture %s of ", of->base.id);
	material_time(of->base.started_ms, out);
	buf_addf(out, ": %s", compare_words(x));
	if (x->known)
		buf_addf(out,
		         "; all cost together %+.1f %% (95 %%: %+.1f to "
		         "%+.1f)",
		         x->delta, x->low, x->high);
	buf_addf(out, ". %zu functions tested, false alarms below %.0f %%:\n",
	         x->ntested, 100 * COMPARE_FDR);
	for (size_t i = 0; i < changes.n && i < ROWS; i++) {
		buf_addf(out, "%zu. ", i + 1);
		put_compared(x, changes.items[i], changes.totals, out);
	}
	if (changes.n > ROWS)
		buf_addf(out, "and %zu more\n", changes.n - ROWS);
	buf_puts(&s->found, "- ");
	if (changes.n)
		put_compared(x, changes.items[0], changes.totals, &s->found);
	else
		buf_addf(&s->found, "Compared with before, its %s is: %s.\n",
		         story_cost(m->type), compare_words(x));
}

static int
compare(struct story *s, const struct material *m)
{
	CLEANUP_COMPARED struct compared x = {
		.store = &s->c->env->store,
		.tenant = s->c->caller.tenant,
		.end_ns = s->c->end_ns,
		.peer = &s->c->req->peer_fd,
	};
	CLEANUP_BASELINE struct baseline b = {0};
	int rc = find_base(s, &m->capture, &b, &x.base);

	if (rc == -ENOENT) {
		buf_addf(&s->unknown,
		         "- What changed in its %s: there is no earlier "
		         "capture to compare with.\n",
		         story_cost(m->type));
		return 0;
	}
	rc = rc ?: session_get(x.store, x.tenant, m->capture.id, &x.now);
	if (!rc && b.id)
		rc = compared_others(&x, &b);
	if (rc)
		return fail_store(s->c, rc);
	if (!x.base.has_profile) {
		buf_addf(&s->unknown,
		         "- What changed in its %s: the capture before has "
		         "expired.\n",
		         story_cost(m->type));
		return 0;
	}
	if (compare_call_run(s->c, &x))
		return -1;
	write_compared(s, m, &x, b.id ? b.label : NULL);
	return 0;
}

int
story_changed(struct story *s, const struct material *m)
{
	return m->capture.id ? compare(s, m) : find_shifts(s, m);
}
