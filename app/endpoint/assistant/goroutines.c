/* A text about goroutines and threads that wait or leak. */
#include "story.h"

#include "endpoint/profile/analysis.h"
#include "endpoint/profile/window_session.h"
#include "quote.h"

#include <string.h>

#define SUSPECTS 4
#define TARGETS  3
#define FRAMES   3

static void
put_stack(const struct analysis *a, const struct group *x, struct buf *out)
{
	const struct groups *g = a->groups;
	const struct group_frame *f = group_frames(g, x);
	uint32_t site = group_site(g, x), n = x->nframes;

	if (*groups_text(g, x->reason)) {
		buf_puts(out, " in ");
		quote_name(out, groups_text(g, x->reason));
	}
	buf_puts(out, " at ");
	for (uint32_t i = site < n ? site : 0, k = 0; i < n && k < FRAMES;
	     i++, k++) {
		buf_puts(out, k ? " < " : "");
		quote_name(out, groups_text(g, f[i].name));
	}
	if (*groups_text(g, x->creator)) {
		buf_puts(out, ", started by ");
		quote_name(out, groups_text(g, x->creator));
	}
}

static void
put_suspect(const struct analysis *a, const struct leak_suspect *x,
            struct buf *out)
{
	buf_addf(out, "%lld goroutines or threads wait", (long long)x->count);
	put_stack(a, &a->groups->items[x->group], out);
	buf_addf(out, "; %s leak", leak_severities[x->rule->severity]);
	if (a->has_base)
		buf_addf(out, ", %lld before", (long long)x->base_count);
	buf_addf(out, ": %s\n", x->rule->why);
}

/* Returns the largest group that can continue only when others let it; NULL if
 * there is none. */
static const struct group *
most_blocked(const struct analysis *a)
{
	for (size_t i = 0; i < a->groups->n; i++)
		if (wait_class_blocked(a->classes[i]))
			return &a->groups->items[i];
	return NULL;
}

static void
put_most_blocked(struct story *s, const struct analysis *a)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	const struct group *x = most_blocked(a);

	if (!x || x->count[1] < 2)
		return;
	buf_addf(&line, "%lld of %lld goroutines or threads wait",
	         (long long)x->count[1], (long long)a->count);
	put_stack(a, x, &line);
	buf_addf(&s->details, "The largest group: %s\n", buf_str(&line));
	if (x->count[1] > a->count / 2) /* else a pool may be idle */
		buf_addf(&s->found, "- %s\n", buf_str(&line));
}

static void
put_targets(const struct analysis *a, struct buf *out)
{
	for (size_t i = 0; i < a->ntargets && i < TARGETS; i++) {
		const struct wait_target *t = &a->targets[i];

		buf_addf(out, "One lock, channel or futex is awaited by %lld",
		         (long long)t->count);
		put_stack(a, &t->most, out);
		buf_putc(out, '\n');
	}
}

static void
write_section(struct story *s, const struct material *m,
              const struct analysis *a)
{
	struct buf *out = &s->details;

	buf_puts(out, "\nGoroutines or threads (");
	material_name(m, out);
	buf_addf(out, "): %lld", (long long)a->count);
	if (a->has_base)
		buf_addf(out, ", %lld before", (long long)a->base_count);
	buf_puts(out, a->nsuspects ? ". May leak:\n"
	                           : ". None looks like a leak.\n");
	for (size_t i = 0; i < a->nsuspects && i < SUSPECTS; i++) {
		buf_addf(out, "%zu. ", i + 1);
		put_suspect(a, &a->suspects[i], out);
	}
	put_targets(a, out);
	if (!a->nsuspects) {
		put_most_blocked(s, a);
	} else {
		buf_puts(&s->found, "- ");
		put_suspect(a, &a->suspects[0], &s->found);
	}
	if (!a->has_base)
		buf_puts(&s->unknown, "- Whether goroutines or threads grow: "
		                      "there is no earlier snapshot.\n");
}

/* Reads the newest window of a range. */
static int
read_window(struct call *c, const struct range *r, struct session *out,
            struct profile **p)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct window *w = r->parts[r->n - 1].window;
	int rc = w ? window_find(c, w->id, out) : -ENOENT;

	return rc ?: window_profile(c, w->id, p, &why);
}

int
story_goroutines(struct story *s, const struct material *m)
{
	CLEANUP_SESSION struct session window = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_ANALYSIS struct analysis *a = NULL;
	bool captured = m->capture.id;

	if (!captured && read_window(s->c, &m->range, &window, &p)) {
		buf_puts(&s->unknown, "- Whether goroutines leak: their "
		                      "newest window could not be read.\n");
		return 0;
	}
	if (analysis_of(s->c, captured ? &m->capture : &window,
	                captured ? m->profile : p, &a))
		return -1;
	write_section(s, m, a);
	return 0;
}
