/*
 * Decoding: count the rows, refuse what would take too much memory, then
 * sweep over the file once per kind of row, in the order in which rows refer
 * to each other. A file may hold them in any order.
 */
#include "profile/pprof.h"

#include "profile/gzip.h"
#include "pprof_count.h"
#include "pprof_fields.h"
#include "pprof_rows.h"

#include <errno.h>

/* Decoded rows may take this many times the bytes that the caller allows;
 * real files take less than twice their size. */
#define MEMORY_RATIO 4

static void
decode_done(struct decode *d)
{
	profile_free(d->p);
	free(d->strings);
	idmap_done(&d->mappings);
	idmap_done(&d->functions);
	idmap_done(&d->locations);
}

/* Calls row for every field of the file with this number; writers put those
 * of one number together, so that little else is passed over. */
static int
sweep(struct decode *d, uint32_t number,
      int (*row)(struct decode *, struct wire))
{
	struct wire w = d->where[number];
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key != WIRE_KEY(number, WIRE_BYTES))
			continue;
		r = row(d, f.bytes);
		if (r)
			return r;
	}
	return r;
}

static int
read_scalar(struct decode *d, uint32_t number)
{
	struct wire w = d->where[number];
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		r = f.key >> 3 == number ? pprof_scalar(d, &f) : 0;
		if (r)
			return r;
	}
	return r;
}

static int
read_scalars(struct decode *d)
{
	int r = 0;

	for (uint32_t i = PROFILE_DROP_FRAMES; !r && i <= PROFILE_DOC_URL; i++)
		r = read_scalar(d, i);
	return r;
}

static void *
rows(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

static int
allocate(struct decode *d, const struct pprof_count *c)
{
	struct profile *p = d->p = rows(1, sizeof(*p));

	if (!p || idmap_init(&d->mappings, c->mappings) ||
	    idmap_init(&d->functions, c->functions) ||
	    idmap_init(&d->locations, c->locations))
		return -ENOMEM;
	d->strings = rows(c->strings, sizeof(*d->strings));
	p->strings = strings_new();
	p->mappings = rows(c->mappings, sizeof(*p->mappings));
	p->functions = rows(c->functions, sizeof(*p->functions));
	p->lines = rows(c->lines, sizeof(*p->lines));
	p->locations = rows(c->locations, sizeof(*p->locations));
	p->samples = rows(c->samples, sizeof(*p->samples));
	p->stack = rows(c->stack, sizeof(*p->stack));
	p->values = rows(c->values, sizeof(*p->values));
	p->labels = rows(c->labels, sizeof(*p->labels));
	p->comments = rows(c->comments, sizeof(*p->comments));
	return d->strings && p->strings && p->mappings && p->functions &&
	                       p->lines && p->locations && p->samples &&
	                       p->stack && p->values && p->labels && p->comments
	               ? 0
	               : -ENOMEM;
}

/* Rows that others refer to by id. */
static int
sweep_ids(struct decode *d, uint32_t number,
          int (*row)(struct decode *, struct wire), struct idmap *ids)
{
	int r = sweep(d, number, row);

	if (r || !idmap_seal(ids))
		return r;
	d->why = "an id is 0 or used twice";
	return -EBADMSG;
}

static int
read_rows(struct decode *d)
{
	int r = sweep(d, PROFILE_SAMPLE_TYPE, pprof_type);

	if (!r)
		r = sweep(d, PROFILE_PERIOD_TYPE, pprof_period_type);
	if (!r)
		r = sweep(d, PROFILE_COMMENT, pprof_comments);
	if (!r)
		r = sweep_ids(d, PROFILE_MAPPING, pprof_mapping, &d->mappings);
	if (!r)
		r = sweep_ids(d, PROFILE_FUNCTION, pprof_function,
		              &d->functions);
	if (!r)
		r = sweep_ids(d, PROFILE_LOCATION, pprof_location,
		              &d->locations);
	if (!r)
		r = sweep(d, PROFILE_SAMPLE, pprof_sample);
	return r;
}

static int
read_strings(struct decode *d)
{
	int r = sweep(d, PROFILE_STRING_TABLE, pprof_string);

	if (r || d->nstrings)
		return r;
	d->why = "there is no string table";
	return -EBADMSG;
}

/* What the rows may not exceed; the reason, or NULL. */
static const char *
too_much(const struct pprof_count *c, const struct pprof_limits *limits)
{
	if (limits->samples && c->samples > limits->samples)
		return "the profile has too many samples";
	if (limits->strings && c->strings > limits->strings)
		return "the profile has too many strings";
	if (pprof_memory(c) > limits->memory)
		return "the profile would take too much memory";
	return NULL;
}

static int
read_all(struct decode *d, const struct pprof_limits *limits)
{
	struct pprof_count c;
	const char *much;
	int r = pprof_count(d->file, &c, &d->why);

	if (r)
		return r;
	much = too_much(&c, limits);
	if (much) {
		d->why = much;
		return -E2BIG;
	}
	d->where = c.where;
	r = allocate(d, &c);
	if (!r)
		r = read_strings(d);
	if (!r)
		r = read_scalars(d);
	return r ? r : read_rows(d);
}

static int
decode_raw(struct wire file, const struct pprof_limits *limits,
           struct profile **out, const char **why)
{
	CLEANUP(decode_done) struct decode d = {.file = file, .why = *why};
	int r = read_all(&d, limits);

	*why = d.why;
	if (!r)
		*out = TAKE(d.p);
	return r;
}

static int
decode_file(struct wire file, const struct pprof_limits *limits,
            struct profile **out, const char **why)
{
	if ((size_t)(file.end - file.p) > limits->bytes) {
		*why = "the profile is larger than the limit";
		return -E2BIG;
	}
	*why = "truncated, or not a pprof file";
	return decode_raw(file, limits, out, why);
}

static int
decode_gzip(const void *p, size_t n, const struct pprof_limits *limits,
            struct profile **out, const char **why)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(limits->bytes);
	struct wire file;
	int r;

	*why = "the gzip stream is damaged";
	r = gzip_inflate(p, n, &raw);
	if (r == -E2BIG)
		*why = "the profile inflates past the limit";
	if (r)
		return r;
	file = (struct wire){(uint8_t *)raw.p, (uint8_t *)raw.p + raw.len};
	return decode_file(file, limits, out, why);
}

static int
decoded(int r, const char *reason, struct buf *why)
{
	if (r)
		buf_puts(why, r == -ENOMEM ? "out of memory" : reason);
	return r;
}

int
pprof_decode_within(const void *p, size_t n, const struct pprof_limits *limits,
                    struct profile **out, struct buf *why)
{
	const struct wire file = {p, (const uint8_t *)p + n};
	const char *reason = "";
	int r = decode_file(file, limits, out, &reason);

	return decoded(r, reason, why);
}

int
pprof_decode(const void *p, size_t n, size_t max_bytes, struct profile **out,
             struct buf *why)
{
	const struct pprof_limits limits = {
		.bytes = max_bytes,
		.memory = max_bytes < SIZE_MAX / MEMORY_RATIO
	                          ? max_bytes * MEMORY_RATIO
	                          : SIZE_MAX,
	};
	const struct wire file = {p, (const uint8_t *)p + n};
	const char *reason = "";
	int r = gzip_is(p, n) ? decode_gzip(p, n, &limits, out, &reason)
	                      : decode_file(file, &limits, out, &reason);

	return decoded(r, reason, why);
}
