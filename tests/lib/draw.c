#include "lib/draw.h"

#include "lib/random.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* For a larger mean, a normal distribution is close enough. */
#define MANY 50

/* Returns a number above 0, up to 1. */
static double
uniform(struct draw *d)
{
	return random_real(&d->seed) + 0x1p-53;
}

int64_t
draw_poisson(struct draw *d, double mean)
{
	double limit = exp(-mean), product;
	int64_t n = 0;

	if (mean > MANY) {
		double normal = sqrt(-2 * log(uniform(d))) *
		                cos(2 * M_PI * uniform(d));

		n = llround(mean + sqrt(mean) * normal);
		return n < 0 ? 0 : n;
	}
	for (product = uniform(d); product > limit; product *= uniform(d))
		n++;
	return n;
}

void
draw_done(struct draw *d)
{
	free(d->keep);
	free(d->alias);
	free(d->counts);
	*d = (struct draw){0};
}

/* Source: Vose, A linear algorithm for generating random numbers with a
 * given distribution, 1991. */
static void
fill_tables(struct draw *d, uint32_t *small, uint32_t *large)
{
	uint32_t n = d->p->nsamples, nsmall = 0, nlarge = 0;

	for (uint32_t i = 0; i < n; i++) {
		double count = (double)d->p->values[(size_t)i * d->p->ntypes];

		d->keep[i] = count * n / d->weight;
		if (d->keep[i] < 1)
			small[nsmall++] = i;
		else
			large[nlarge++] = i;
	}
	while (nsmall && nlarge) {
		uint32_t s = small[--nsmall], l = large[nlarge - 1];

		d->alias[s] = l;
		d->keep[l] -= 1 - d->keep[s];
		if (d->keep[l] < 1) {
			small[nsmall++] = l;
			nlarge--;
		}
	}
	while (nlarge)
		d->keep[large[--nlarge]] = 1;
	while (nsmall) /* left by rounding only */
		d->keep[small[--nsmall]] = 1;
}

int
draw_init(struct draw *d, const struct profile *p, uint64_t seed)
{
	CLEANUP_DRAW struct draw made = {.p = p, .seed = seed};
	CLEANUP_FREE uint32_t *small = calloc(p->nsamples + 1, sizeof(*small));
	CLEANUP_FREE uint32_t *large = calloc(p->nsamples + 1, sizeof(*large));

	made.keep = calloc(p->nsamples + 1, sizeof(*made.keep));
	made.alias = calloc(p->nsamples + 1, sizeof(*made.alias));
	made.counts = calloc(p->nsamples + 1, sizeof(*made.counts));
	if (!small || !large || !made.keep || !made.alias || !made.counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nsamples; i++)
		made.weight += (double)p->values[(size_t)i * p->ntypes];
	if (p->ntypes != 2 || made.weight < 1)
		return -EINVAL;
	fill_tables(&made, small, large);
	*d = TAKE(made);
	return 0;
}

/* Draws how often each stack occurs. */
static void
count(struct draw *d, int64_t n)
{
	uint32_t stacks = d->p->nsamples;

	memset(d->counts, 0, stacks * sizeof(*d->counts));
	if (n > stacks) {
		for (uint32_t i = 0; i < stacks; i++)
			d->counts[i] = draw_poisson(
				d, (double)d->p->values[(size_t)i * 2] *
					   (double)n / d->weight);
		return;
	}
	for (; n > 0; n--) {
		uint32_t i = (uint32_t)(random_next(&d->seed) % stacks);

		d->counts[uniform(d) <= d->keep[i] ? i : d->alias[i]]++;
	}
}

/* --- rows of the drawn profile -------------------------------------------- */

/* For each row of the recording, the row of the drawn profile plus 1. */
struct copy {
	const struct profile *from;
	struct profile *to;
	uint32_t *mappings, *locations;
};

static int
copy_new(const struct profile *from, struct copy *out)
{
	*out = (struct copy){
		.from = from,
		.to = profile_new(),
		.mappings = calloc(from->nmappings + 1, sizeof(uint32_t)),
		.locations = calloc(from->nlocations + 1, sizeof(uint32_t)),
	};
	return out->to && out->mappings && out->locations ? 0 : -ENOMEM;
}

static void
copy_done(struct copy *c)
{
	profile_free(c->to);
	free(c->mappings);
	free(c->locations);
}

static int
copy_text(struct copy *c, uint32_t *id)
{
	size_t n;
	const char *s = strings_get(c->from->strings, *id, &n);

	return profile_string(c->to, s, n, id);
}

static int
copy_mapping(struct copy *c, uint32_t *row)
{
	uint32_t *known = &c->mappings[*row];
	int rc = 0;

	if (!*known) {
		struct mapping m = c->from->mappings[*row];

		rc = copy_text(c, &m.file) ?: copy_text(c, &m.build_id);
		if (!rc)
			rc = profile_mapping(c->to, &m, known);
		++*known;
	}
	*row = *known - 1;
	return rc;
}

static int
copy_line(struct copy *c, struct line *line)
{
	struct function f = c->from->functions[line->function];

	return copy_text(c, &f.name)
	               ?: copy_text(c, &f.system_name)
	               ?: copy_text(c, &f.file)
	               ?: profile_function(c->to, &f, &line->function);
}

static int
copy_location(struct copy *c, uint32_t row, uint32_t *out)
{
	const struct location *l = &c->from->locations[row];
	struct line lines[PROFILE_MAX_LINES];
	uint32_t mapping = l->mapping;
	int rc = mapping == PROFILE_NONE ? 0 : copy_mapping(c, &mapping);

	for (uint32_t i = 0; i < l->nlines && !rc; i++) {
		lines[i] = c->from->lines[l->line0 + i];
		rc = copy_line(c, &lines[i]);
	}
	return rc ? rc
	          : profile_location(c->to, mapping, l->address, lines,
	                             l->nlines, out);
}

/* Copies a stack of the recording. */
static int
copy_stack(struct copy *c, const uint32_t *stack, uint32_t n, int64_t count,
           int64_t period_ns)
{
	const int64_t values[] = {count, count * period_ns};
	uint32_t copied[PROFILE_MAX_FRAMES];
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t *known = &c->locations[stack[i]];

		if (!*known) {
			rc = copy_location(c, stack[i], known);
			++*known;
		}
		copied[i] = *known - 1;
	}
	return rc ? rc : profile_sample(c->to, copied, n, NULL, 0, values);
}

static int
copy_head(struct copy *c, int64_t period_ns)
{
	const struct profile *p = c->from;
	struct profile *to = c->to;
	int rc = 0;

	for (uint32_t i = 0; i < p->ntypes && !rc; i++)
		rc = profile_type(to, profile_text(p, p->types[i].type),
		                  profile_text(p, p->types[i].unit));
	to->period = period_ns;
	to->default_type = p->default_type;
	to->period_type = p->period_type;
	return rc ?: copy_text(c, &to->default_type)
	               ?: copy_text(c, &to->period_type.type)
	               ?: copy_text(c, &to->period_type.unit);
}

int
draw_profile(struct draw *d, int64_t n, int64_t period_ns, struct profile **out)
{
	CLEANUP(copy_done) struct copy c = {0};
	const struct profile *p = d->p;
	int rc = copy_new(p, &c) ?: copy_head(&c, period_ns);

	count(d, n);
	for (uint32_t i = 0; i < p->nsamples && !rc; i++)
		if (d->counts[i])
			rc = copy_stack(&c, p->stack + p->samples[i].stack0,
			                p->samples[i].nstack, d->counts[i],
			                period_ns);
	if (!rc)
		*out = TAKE(c.to);
	return rc;
}

/* --- a longer recording --------------------------------------------------- */

/* The places of each location: the frames of location l are at[first[l]] to
 * at[first[l + 1]], each an index into stack[]. */
struct places {
	uint32_t *first, *at, *sample;
};

static void
places_done(struct places *x)
{
	free(x->first);
	free(x->at);
	free(x->sample);
}

static int
find_places(const struct profile *p, struct places *x)
{
	x->first = calloc((size_t)p->nlocations + 2, sizeof(*x->first));
	x->at = calloc((size_t)p->nstack + 1, sizeof(*x->at));
	x->sample = calloc((size_t)p->nstack + 1, sizeof(*x->sample));
	if (!x->first || !x->at || !x->sample)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nstack; i++)
		x->first[p->stack[i] + 2]++;
	for (uint32_t l = 0; l < p->nlocations; l++)
		x->first[l + 2] += x->first[l + 1];
	for (uint32_t i = 0; i < p->nstack; i++)
		x->at[x->first[p->stack[i] + 1]++] = i;
	for (uint32_t s = 0; s < p->nsamples; s++)
		for (uint32_t i = 0; i < p->samples[s].nstack; i++)
			x->sample[p->samples[s].stack0 + i] = s;
	return 0;
}

/* Makes a stack from two that share a frame: this one outside of it, another
 * inside. */
static int
cross(struct copy *c, struct draw *d, const struct places *x,
      const struct sample *s)
{
	const struct profile *p = c->from;
	uint32_t stack[PROFILE_MAX_FRAMES];
	uint32_t place = s->stack0 +
	                 (uint32_t)(random_next(&d->seed) % s->nstack);
	uint32_t l = p->stack[place];
	uint32_t other =
		x->at[x->first[l] +
	              random_next(&d->seed) % (x->first[l + 1] - x->first[l])];
	uint32_t leaf = p->samples[x->sample[other]].stack0;
	uint32_t in = other + 1 - leaf, out = s->stack0 + s->nstack - place - 1;

	if (in + out > PROFILE_MAX_FRAMES)
		return 0;
	memcpy(stack, p->stack + leaf, in * sizeof(*stack));
	memcpy(stack + in, p->stack + place + 1, out * sizeof(*stack));
	return copy_stack(c, stack, in + out, 1, 0);
}

int
draw_longer(const struct profile *p, uint64_t seed, struct profile **out)
{
	CLEANUP(copy_done) struct copy c = {0};
	CLEANUP(places_done) struct places x = {0};
	struct draw d = {.seed = seed};
	int rc = copy_new(p, &c) ?: copy_head(&c, 0) ?: find_places(p, &x);

	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		const struct sample *s = &p->samples[i];
		int64_t count = p->values[(size_t)i * p->ntypes];
		bool rare = count == 1 && s->nstack;

		rc = copy_stack(&c, p->stack + s->stack0, s->nstack,
		                rare ? 1 : count * DRAW_MORE, 0);
		for (int k = 1; k < DRAW_MORE && rare && !rc; k++)
			rc = cross(&c, &d, &x, s);
	}
	if (!rc)
		*out = TAKE(c.to);
	return rc;
}
