/*
 * Decoding: count the rows, refuse what would take too much memory, then
 * sweep over the file once per kind of row, in the order in which rows refer
 * to each other. A file may hold them in any order.
 */
#include "profile/pprof.h"

#include "pprof_count.h"
#include "pprof_fields.h"
#include "pprof_rows.h"
#include "profile/gzip.h"
#include "slab.h"

#include <errno.h>

/* Decoded rows may take this many times the bytes that the caller allows;
 * real files take less than twice their size. */
#define MEMORY_RATIO 4

/* As many bytes are given back at a time. */
#define SPENT_BYTES (256 << 10)

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

/* Rows of all kinds lie behind each other in one piece of memory. */
#define ROWS(_)      \
	_(mappings)  \
	_(functions) \
	_(lines)     \
	_(locations) _(samples) _(stack) _(values) _(labels) _(comments)
#define ROOM(kind) +room(c->kind, sizeof(*p->kind))
#define PLACE(kind)   \
	p->kind = at; \
	at = (char *)at ROOM(kind);

static size_t
room(size_t n, size_t size)
{
	return (n * size + 7) & ~(size_t)7;
}

static int
allocate_rows(struct profile *p, const struct pprof_count *c)
{
	void *at = p->slab = slab_new(0 ROWS(ROOM));

	if (!at)
		return -ENOMEM;
	ROWS(PLACE)
	return 0;
}

static int
allocate(struct decode *d, const struct pprof_count *c)
{
	struct profile *p = d->p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	d->mappings = IDMAP_INIT((uint32_t)c->mappings);
	d->functions = IDMAP_INIT((uint32_t)c->functions);
	d->locations = IDMAP_INIT((uint32_t)c->locations);
	d->strings = calloc(c->strings + 1, sizeof(*d->strings));
	p->strings = strings_new();
	if (!d->strings || !p->strings)
		return -ENOMEM;
	return strings_reserve(p->strings, (uint32_t)c->strings,
	                       c->string_bytes)
	               ?: allocate_rows(p, c);
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

/* The bulk, and the last: the file goes as its samples come, so that both
 * are never there as a whole. */
static int
read_samples(struct decode *d)
{
	struct wire w = d->where[PROFILE_SAMPLE];
	const uint8_t *spent = w.p;
	struct wire_field f;
	int r;

	if (!w.p)
		return 0; /* no field of this number */
	if (d->ours) {
		slab_spent(d->file.p, w.p);
		slab_spent(w.end, d->file.end);
	}
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key != WIRE_KEY(PROFILE_SAMPLE, WIRE_BYTES))
			continue;
		r = pprof_sample(d, f.bytes);
		if (r)
			return r;
		if (d->ours && w.p - spent > SPENT_BYTES) {
			slab_spent(spent, w.p);
			spent = w.p;
		}
	}
	return r;
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
		r = read_samples(d);
	return r;
}

static int
read_strings(struct decode *d)
{
	int r = sweep(d, PROFILE_STRING_TABLE, pprof_string)
	                ?: pprof_strings(d);

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
decode_raw(struct wire file, bool ours, const struct pprof_limits *limits,
           struct profile **out, const char **why)
{
	CLEANUP(decode_done)
	struct decode d = {.file = file, .ours = ours, .why = *why};
	int r = read_all(&d, limits);

	*why = d.why;
	if (!r)
		*out = TAKE(d.p);
	return r;
}

static int
decode_file(struct wire file, bool ours, const struct pprof_limits *limits,
            struct profile **out, const char **why)
{
	if ((size_t)(file.end - file.p) > limits->bytes) {
		*why = "the profile is larger than the limit";
		return -E2BIG;
	}
	*why = "truncated, or not a pprof file";
	return decode_raw(file, ours, limits, out, why);
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
	return decode_file(file, true, limits, out, why);
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
	int r = decode_file(file, false, limits, out, &reason);

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
	                      : decode_file(file, false, &limits, out, &reason);

	return decoded(r, reason, why);
}
