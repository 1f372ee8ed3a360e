/*
 * Writes the comparison minus the base, as pprof's -diff_base does: samples of
 * the base are negative and labelled pprof::base, which makes pprof show
 * percentages of the base. `go tool pprof FILE` shows what changed.
 *
 * Only the compared value type is kept: others would need other scales. Source:
 * internal/driver/fetch.go and internal/report/report.go of
 * github.com/google/pprof, SetLabel() and computeTotal().
 */
#include "diff_formats.h"

#include "profile/merge.h"
#include "profile/pprof.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MERGE_MAX  ((size_t)1 << 30)
#define VALUE_MAX  0x1p62
#define BASE_LABEL "pprof::base"

/* A profile that borrows everything but these arrays from another. */
struct one_type {
	struct profile p;
	struct sample *samples;
	struct label *labels;
	int64_t *values;
};

static void
one_type_done(struct one_type *o)
{
	free(o->samples);
	free(o->labels);
	free(o->values);
}

static int
string_in(const struct profile *from, uint32_t id, struct profile *to,
          uint32_t *out)
{
	size_t n;
	const char *s = strings_get(from->strings, id, &n);

	return strings_add(to->strings, s, n, out);
}

/* Copies the value type of t only, under the name of that of `like`, with
 * values multiplied by scale. */
static int
one_type_init(struct one_type *o, const struct tree *t, const struct tree *like,
              double scale)
{
	const struct profile *p = t->profile, *named = like->profile;
	const struct value_type *type = &named->types[like->type];
	int rc;

	o->p = *p;
	o->p.ntypes = 1;
	rc = string_in(named, type->type, &o->p, &o->p.types[0].type);
	if (!rc)
		rc = string_in(named, type->unit, &o->p, &o->p.types[0].unit);
	if (rc)
		return rc;
	o->p.default_type = o->p.types[0].type;
	o->values = calloc((size_t)p->nsamples + 1, sizeof(*o->values));
	if (!o->values)
		return -ENOMEM;
	o->p.values = o->values;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		double v = (double)p->values[(size_t)i * p->ntypes + t->type] *
		           scale;

		if (!(fabs(v) < VALUE_MAX))
			return -EOVERFLOW;
		o->values[i] = llround(v);
	}
	return 0;
}

/* Labels every sample as one of the base; replaces the last label of a sample
 * that has the most labels allowed. */
static int
label_as_base(struct one_type *o)
{
	struct label mark = {0};
	uint32_t n = 0;
	int rc = strings_add(o->p.strings, BASE_LABEL, strlen(BASE_LABEL),
	                     &mark.key);

	if (!rc)
		rc = strings_add(o->p.strings, "true", 4, &mark.str);
	if (rc)
		return rc;
	o->labels = calloc((size_t)o->p.nlabels + o->p.nsamples + 1,
	                   sizeof(*o->labels));
	o->samples = calloc((size_t)o->p.nsamples + 1, sizeof(*o->samples));
	if (!o->labels || !o->samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->p.nsamples; i++) {
		const struct sample *from = &o->p.samples[i];
		struct sample *s = &o->samples[i];

		*s = *from;
		s->label0 = n;
		if (s->nlabels == PROFILE_MAX_LABELS)
			s->nlabels--;
		for (uint32_t k = 0; k < s->nlabels; k++)
			o->labels[n++] = o->p.labels[from->label0 + k];
		o->labels[n++] = mark;
		s->nlabels++;
	}
	o->p.labels = o->labels;
	o->p.samples = o->samples;
	return 0;
}

static int
add_side(struct merge *m, const struct tree *t, const struct tree *like,
         double scale, bool is_base)
{
	CLEANUP(one_type_done) struct one_type o = {0};
	int rc = one_type_init(&o, t, like, scale);

	if (!rc && is_base)
		rc = label_as_base(&o);
	return rc ? rc : merge_add(m, &o.p);
}

int
diff_pprof(const struct diff *d, const struct diff_meta *meta, struct buf *out)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = merge_new(MERGE_MAX, &m);

	(void)meta;
	if (!rc)
		rc = add_side(m, d->now, d->now, 1, false);
	if (!rc)
		rc = add_side(m, d->base, d->now, -d->scale, true);
	if (!rc)
		rc = merge_end(m, &p);
	if (!rc)
		rc = pprof_encode(p, out);
	return rc ? (out->err = rc) : 0;
}
