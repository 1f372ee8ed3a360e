/*
 * Decodes pprof files: counts the rows, refuses a file whose rows would take
 * too much memory, then scans the file once per kind of row, so that rows come
 * after those they refer to. A file may contain them in any order.
 */
#include "profile/pprof.h"

#include "base/pages.h"
#include "idmap.h"
#include "pprof_fields.h"
#include "pprof_rows.h"
#include "profile/gzip.h"
#include "profile/profile.h"
#include "wire.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define PPROF_FIELDS 16 /* field numbers of message Profile */

/* The rows of a file, counted before any memory is spent on them. */
struct pprof_count {
	size_t types, samples, stack, cut, values, labels, mappings, locations,
		lines, functions, strings, string_bytes, comments;
	/* by field number: from the first field to the end of the last */
	struct wire where[PPROF_FIELDS];
};

/* Memory of an interned string without its text: its entry and table slots,
 * each in an array of up to twice the size needed, and its id in the file's
 * table. */
#define STRING_OVERHEAD (2 * 16 + 4 * 8 + sizeof(uint32_t))

/* The value of a macro, as a string literal. */
#define TEXT_OF(macro) TEXT_OF_(macro)
#define TEXT_OF_(text) #text
_Static_assert(PROFILE_MAX_ROWS == 67108864, "a message has this number");
#define MANY_ROWS                                                         \
	"it has more than 67108864 samples, values, labels or frames of " \
	"all stacks"

static int
too_many(const char **why, const char *what)
{
	*why = what;
	return -E2BIG;
}

static int
count_sample(struct wire w, struct pprof_count *c, const char **why)
{
	size_t stack = 0, labels = 0;
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		switch (f.key) {
		case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_BYTES):
			stack += wire_count(f.bytes);
			break;
		case WIRE_KEY(SAMPLE_LOCATION_ID, WIRE_VARINT):
			stack++;
			break;
		case WIRE_KEY(SAMPLE_VALUE, WIRE_BYTES):
			c->values += wire_count(f.bytes);
			break;
		case WIRE_KEY(SAMPLE_VALUE, WIRE_VARINT):
			c->values++;
			break;
		case WIRE_KEY(SAMPLE_LABEL, WIRE_BYTES):
			labels++;
			break;
		}
	}
	if (labels > PROFILE_MAX_LABELS)
		return too_many(why, "a sample has more than " TEXT_OF(
					     PROFILE_MAX_LABELS) " labels");
	c->samples++;
	c->stack += stack;
	c->cut += stack > PROFILE_MAX_FRAMES;
	c->labels += labels;
	return r;
}

static int
count_location(struct wire w, struct pprof_count *c, const char **why)
{
	struct wire_field f;
	size_t lines = 0;
	int r;

	while ((r = wire_next(&w, &f)) > 0)
		lines += f.key == WIRE_KEY(LOCATION_LINE, WIRE_BYTES);
	if (lines > PROFILE_MAX_LINES)
		return too_many(why, "a location has more than " TEXT_OF(
					     PROFILE_MAX_LINES) " lines");
	c->locations++;
	c->lines += lines;
	return r;
}

static int
count_field(const struct wire_field *f, struct pprof_count *c, const char **why)
{
	switch (f->key) {
	case WIRE_KEY(PROFILE_SAMPLE_TYPE, WIRE_BYTES):
		c->types++;
		return 0;
	case WIRE_KEY(PROFILE_SAMPLE, WIRE_BYTES):
		return count_sample(f->bytes, c, why);
	case WIRE_KEY(PROFILE_MAPPING, WIRE_BYTES):
		c->mappings++;
		return 0;
	case WIRE_KEY(PROFILE_LOCATION, WIRE_BYTES):
		return count_location(f->bytes, c, why);
	case WIRE_KEY(PROFILE_FUNCTION, WIRE_BYTES):
		c->functions++;
		return 0;
	case WIRE_KEY(PROFILE_STRING_TABLE, WIRE_BYTES):
		c->strings++;
		c->string_bytes += (size_t)(f->bytes.end - f->bytes.p);
		return 0;
	case WIRE_KEY(PROFILE_COMMENT, WIRE_BYTES):
		c->comments += wire_count(f->bytes);
		return 0;
	case WIRE_KEY(PROFILE_COMMENT, WIRE_VARINT):
		c->comments++;
		return 0;
	}
	return 0;
}

/* True for files that follow one another: each begins with all of the sample
 * types. */
static bool
is_several(const struct pprof_count *c)
{
	uint64_t all = (uint64_t)c->samples * c->types;

	return c->values && all > c->values && all % c->values == 0 &&
	       c->types % (all / c->values) == 0;
}

static int
check(const struct pprof_count *c, const char **why)
{
	size_t most = c->stack > c->values ? c->stack : c->values;

	if (c->types > PROFILE_MAX_TYPES)
		return too_many(why,
		                "it has more than " TEXT_OF(
					PROFILE_MAX_TYPES) " sample types");
	if (c->strings > STRINGS_MAX || c->samples > PROFILE_MAX_ROWS ||
	    c->locations > PROFILE_MAX_ROWS || c->lines > PROFILE_MAX_ROWS ||
	    c->labels > PROFILE_MAX_ROWS || c->comments > PROFILE_MAX_ROWS ||
	    c->functions > PROFILE_MAX_ROWS || c->mappings > PROFILE_MAX_ROWS ||
	    most > PROFILE_MAX_ROWS)
		return too_many(why, MANY_ROWS);
	if (c->values == c->samples * c->types)
		return 0;
	*why = is_several(c) ? "it is several pprof files, one after another: "
	                       "upload each of them by itself"
	                     : "samples do not have one value for each sample "
	                       "type";
	return -EBADMSG;
}

static void
note_place(struct pprof_count *c, uint32_t number, const uint8_t *at,
           const uint8_t *end)
{
	struct wire *w = &c->where[number < PPROF_FIELDS ? number : 0];

	if (!w->p)
		w->p = at;
	w->end = end;
}

/*
 * Counts the rows. A count may be too high, but is never too low.
 *   Errors   -EBADMSG, -E2BIG past a PROFILE_MAX_; one line in *why
 */
static int
pprof_count(struct wire file, struct pprof_count *out, const char **why)
{
	struct pprof_count c = {0};
	const uint8_t *at = file.p;
	struct wire_field f;
	int r;

	for (; (r = wire_next(&file, &f)) > 0; at = file.p) {
		note_place(&c, f.key >> 3, at, file.p);
		r = count_field(&f, &c, why);
		if (r)
			return r;
	}
	if (!r)
		r = check(&c, why);
	if (!r)
		*out = c;
	return r;
}

/* Returns an upper bound of the memory that decoding takes. */
static size_t
pprof_memory(const struct pprof_count *c)
{
	return c->string_bytes + c->strings * STRING_OVERHEAD +
	       c->samples * sizeof(struct sample) +
	       c->stack * sizeof(uint32_t) + c->values * sizeof(int64_t) +
	       c->labels * sizeof(struct label) +
	       c->mappings * (sizeof(struct mapping) + sizeof(struct id)) +
	       c->functions * (sizeof(struct function) + sizeof(struct id)) +
	       c->locations * (sizeof(struct location) + sizeof(struct id)) +
	       c->lines * sizeof(struct line) + c->comments * sizeof(uint32_t);
}

/* Decoded rows may take this many times the caller's limit on bytes; real
 * files take less than twice their size. */
#define MEMORY_RATIO 4

/* The file is freed in pieces of this size. */
#define SPENT_BYTES ((ptrdiff_t)PAGES_HUGE)

static void
decode_done(struct decode *d)
{
	profile_free(d->p);
	free(d->strings);
	idmap_done(&d->mappings);
	idmap_done(&d->functions);
	idmap_done(&d->locations);
}

/* Calls row for every field with this number. Writers group fields by number,
 * so that few others need be skipped. */
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

/* The arrays of rows, which share one block. */
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
	void *at = p->slab = pages_new(0 ROWS(ROOM));

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

/* Reads rows that others refer to by id. */
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

/* Reads the samples, last, because they are most of the file: the file is freed
 * meanwhile, so that file and samples are never both in memory as a whole. */
static int
read_samples(struct decode *d)
{
	struct wire w = d->where[PROFILE_SAMPLE];
	const uint8_t *spent = w.p;
	struct wire_field f;
	int r;

	if (!w.p)
		return 0; /* the file has no samples */
	if (d->ours) {
		pages_spent(d->file.p, w.p);
		pages_spent(w.end, d->file.end);
	}
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.key != WIRE_KEY(PROFILE_SAMPLE, WIRE_BYTES))
			continue;
		r = pprof_sample(d, f.bytes);
		if (r)
			return r;
		if (d->ours && w.p - spent > SPENT_BYTES) {
			pages_spent(spent, w.p);
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

static const char too_deep[] = "a stack has more than " TEXT_OF(
	PROFILE_MAX_FRAMES) " frames, the most that a profile keeps";
static const char too_many_samples[] = "the profile has too many samples",
		  too_many_strings[] = "the profile has too many strings",
		  too_much_memory[] = "the profile would take too much memory";

/* Returns the limit that the rows exceed, or NULL. */
static const char *
too_much(const struct pprof_count *c, const struct pprof_limits *limits)
{
	if (c->cut && !limits->cut)
		return too_deep;
	if (limits->samples && c->samples > limits->samples)
		return too_many_samples;
	if (limits->strings && c->strings > limits->strings)
		return too_many_strings;
	if (pprof_memory(c) > limits->memory)
		return too_much_memory;
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
	if (limits->cut)
		*limits->cut = c.cut;
	d->where = c.where;
	r = allocate(d, &c);
	if (!r)
		r = read_strings(d);
	if (!r)
		r = read_scalars(d);
	if (!r)
		r = read_rows(d);
	if (!r)
		profile_read_given(d->p);
	return r;
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

void
limit_exceeded(struct buf *why, const char *what, uint64_t most,
               const char *key)
{
	buf_addf(why, "%s: more than %llu, %s in [upload] of stoker.conf", what,
	         (unsigned long long)most, key);
}

int
pprof_decode_within(const void *p, size_t n, const struct pprof_limits *limits,
                    struct profile **out, struct buf *why)
{
	const struct wire file = {p, (const uint8_t *)p + n};
	const char *reason = "";
	int r = decode_file(file, false, limits, out, &reason);

	if (reason == too_many_samples)
		limit_exceeded(why, reason, limits->samples, "max_samples");
	else if (reason == too_many_strings)
		limit_exceeded(why, reason, limits->strings, "max_strings");
	else if (reason == too_much_memory)
		limit_exceeded(why, reason, limits->memory, "max_memory");
	else
		return decoded(r, reason, why);
	return r;
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
