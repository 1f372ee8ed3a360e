#include "since.h"

#include "base/clock.h"
#include "range/shifts.h"

#include <math.h>
#include <string.h>

#define SINCE_NS (3 * NS_PER_S) /* longest look */

static struct span
side_span(const struct session *s, const struct range *r)
{
	return r->n ? (struct span){.start_ms = r->from_ms, .end_ms = r->to_ms}
	            : (struct span){.start_ms = s->started_ms,
	                            .end_ms = s->started_ms + s->duration_ms};
}

/* Returns the question about the time of both sides, or of the comparison
 * alone; it has no time if there is nothing to ask. */
static struct range
question(const struct compared *x, bool within)
{
	const struct range *now = &x->ranges[1];
	struct span base = side_span(&x->base, &x->ranges[0]);
	struct span later = side_span(&x->now, now);
	int64_t end_ns = clock_mono_ns() + SINCE_NS;
	struct range r = range_question(now);

	r.store = x->store;
	r.tenant = x->tenant;
	r.service = x->now.service;
	r.type = x->now.type;
	r.host = now->host ?: "";
	r.from_ms = r.to_ms = 0;
	r.end_ns = x->end_ns && x->end_ns < end_ns ? x->end_ns : end_ns;
	r.peer = x->peer;
	if (within) {
		r.from_ms = now->n ? now->from_ms : 0;
		r.to_ms = now->n ? now->to_ms : 0;
		return r;
	}
	if (strcmp(x->base.service, x->now.service) != 0 ||
	    base.end_ms > later.start_ms)
		return r;
	r.from_ms = base.start_ms;
	r.to_ms = later.end_ms;
	return r;
}

/* Returns the last shift in a direction. */
static struct compare_since
last_of(const struct shifted *s, bool rose)
{
	for (size_t i = s->shifts.n; i-- > 0;) {
		const struct shifted_level *l = &s->levels[i];
		const struct shift *at = &s->shifts.items[i];

		if ((l[1].cost * l[0].seconds > l[0].cost * l[1].seconds) ==
		    rose)
			return (struct compare_since){
				at->at_ms, at->earliest_ms, at->latest_ms};
	}
	return (struct compare_since){0};
}

static void
note(struct compared *x, const struct range_shifts *s)
{
	struct comparison *c = x->c;

	c->since = last_of(&s->whole, c->delta > 0);
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < c->n; k++) {
			struct compare_function *f = &c->functions[k];

			if (strcmp(f->name, s->items[i].function) != 0 ||
			    (f->change == COMPARE_UNCHANGED && !c->nrisen))
				continue;
			f->since = last_of(&s->items[i],
			                   f->change != COMPARE_IMPROVEMENT);
		}
}

/* Notes the function that moved most, by its last shift. */
static void
note_within(struct comparison *c, const struct range_shifts *s)
{
	for (size_t i = 0; i < s->n && !c->shifted; i++) {
		const struct shifted *one = &s->items[i];
		const size_t last = one->shifts.n - 1;
		const struct shift *at = &one->shifts.items[last];

		for (size_t k = 0; k < c->n && !c->shifted; k++) {
			struct compare_function *f = &c->functions[k];

			if (strcmp(f->name, one->function) != 0)
				continue;
			f->since = (struct compare_since){
				at->at_ms, at->earliest_ms, at->latest_ms};
			c->shifted = f;
			c->shifted_factor =
				one->levels[last].cost > 0
					? range_shift_factor(one, last)
					: INFINITY;
		}
	}
}

void
since_find(struct compared *x)
{
	struct comparison *c = x->c;
	bool within = c->verdict == COMPARE_OK ||
	              c->verdict == COMPARE_INSUFFICIENT;
	CLEANUP_RANGE struct range r = question(x, within);
	CLEANUP_RANGE_SHIFTS struct range_shifts s = {
		.range = &r,
		.function = c->nrisen ? c->risen[0]->name : "",
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	if ((within && (!c->enough || c->rough)) || r.from_ms >= r.to_ms ||
	    range_shifts(&s, &why))
		return;
	if (within)
		note_within(c, &s);
	else
		note(x, &s);
}
