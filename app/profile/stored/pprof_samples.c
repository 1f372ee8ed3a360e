/* Second pass over a pprof file, its bulk: samples. */
#include "pprof_rows.h"

#include "pprof_fields.h"
#include "pprof_frames.h"

#define NO_LOCATION "a sample refers to no location"

static int
add_frame(struct decode *d, uint64_t id)
{
	uint32_t row = idmap_find(&d->locations, id);

	if (row == IDMAP_NONE)
		return pprof_bad(d, NO_LOCATION);
	d->p->stack[d->p->nstack++] = row;
	return 0;
}

static int
add_frames(struct decode *d, struct wire w)
{
	struct profile *p = d->p;
	int n = pprof_frames(w, d->file.end, &d->locations,
	                     p->stack + p->nstack);

	if (n < 0)
		return n == -ENOENT ? pprof_bad(d, NO_LOCATION) : n;
	p->nstack += (uint32_t)n;
	return 0;
}

static int
add_values(struct decode *d, struct wire w)
{
	uint64_t v;

	while (w.p < w.end) {
		if (wire_varint(&w, &v))
			return -EBADMSG;
		d->p->values[d->nvalues++] = (int64_t)v;
	}
	return 0;
}

static int
label_field(struct decode *d, const struct wire_field *f, struct label *l)
{
	switch (f->key) {
	case WIRE_KEY(LABEL_KEY, WIRE_VARINT):
		return pprof_text(d, f, &l->key);
	case WIRE_KEY(LABEL_STR, WIRE_VARINT):
		return pprof_text(d, f, &l->str);
	case WIRE_KEY(LABEL_NUM, WIRE_VARINT):
		l->num = (int64_t)f->value;
		return 0;
	case WIRE_KEY(LABEL_NUM_UNIT, WIRE_VARINT):
		return pprof_text(d, f, &l->unit);
	}
	return 0;
}

static int
add_label(struct decode *d, struct wire w)
{
	struct label *l = &d->p->labels[d->p->nlabels++];
	struct wire_field f;
	int r;

	*l = (struct label){0};
	while ((r = wire_next(&w, &f)) > 0) {
		r = label_field(d, &f, l);
		if (r)
			return r;
	}
	return r;
}

static int
sample_field(struct decode *d, const struct wire_field *f)
{
	switch (f->key) {
	case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_BYTES):
		return add_frames(d, f->bytes);
	case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_VARINT):
		return add_frame(d, f->value);
	case WIRE_KEY(SAMPLE_VALUE, WIRE_BYTES):
		return add_values(d, f->bytes);
	case WIRE_KEY(SAMPLE_VALUE, WIRE_VARINT):
		d->p->values[d->nvalues++] = (int64_t)f->value;
		return 0;
	case WIRE_KEY(SAMPLE_LABEL, WIRE_BYTES):
		return add_label(d, f->bytes);
	}
	return 0;
}

int
pprof_sample(struct decode *d, struct wire w)
{
	struct profile *p = d->p;
	struct sample *s = &p->samples[p->nsamples++];
	size_t value0 = d->nvalues;
	struct wire_field f;
	int r;

	s->stack0 = p->nstack;
	s->label0 = p->nlabels;
	while ((r = wire_next(&w, &f)) > 0) {
		r = sample_field(d, &f);
		if (r)
			return r;
	}
	s->nstack = p->nstack - s->stack0;
	s->nlabels = p->nlabels - s->label0;
	if (!r && d->nvalues - value0 != p->ntypes)
		return pprof_bad(d, "a sample has not one value for each type");
	return r;
}
