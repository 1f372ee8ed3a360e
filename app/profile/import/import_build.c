#include "import_build.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "profile/model/build.h"
#include "profile/pprof.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define SUM_TOO_LARGE "a sum is out of range"

/* Parts of all cost, for values with fractions. */
#define MOST_GONE  0.01  /* rounded to 0, before a scale is used */
#define MOST_ERROR 0.001 /* rounding with a scale */

int
import_bad(struct import *im, const char *why)
{
	bool noted = im->why->len && im->why->p[im->why->len - 1] == '\n';

	if (im->why->len && !noted)
		return -EBADMSG;
	im->why->len -= noted;
	buf_addf(im->why, "%s%s", noted ? "; " : "", why);
	return -EBADMSG;
}

int
import_bad_json(struct buf *why, const char *what, const struct json_scan *s,
                const char *p, size_t n)
{
	size_t at = (size_t)(s->p - p);

	if (why->len)
		return -EBADMSG;
	if (s->too_deep) {
		buf_addf(why,
		         "its JSON is nested deeper than the limit of %d "
		         "levels: see byte %zu",
		         JSON_SCAN_DEPTH, at);
		return -E2BIG;
	}
	if (at < n)
		buf_addf(why, "it is not %s: see byte %zu", what, at);
	else
		buf_addf(why, "it is cut off at byte %zu", at);
	return -EBADMSG;
}

int
import_deep(struct import *im)
{
	buf_addf(im->why,
	         "a stack has more than %d frames, the most that a profile "
	         "keeps",
	         PROFILE_MAX_FRAMES);
	return -E2BIG;
}

int
import_over(struct import *im, const char *what, uint64_t most, const char *key)
{
	limit_exceeded(im->why, what, most, key);
	return -E2BIG;
}

int
import_init(struct import *im, const struct import_ask *ask, struct buf *why)
{
	*im = (struct import){.ask = ask, .why = why, .p = profile_new()};
	return im->p ? 0 : -ENOMEM;
}

void
import_done(struct import *im)
{
	profile_free(im->p);
	free(im->sums);
}

/* Returns the type that values with a unit are built as. */
static const struct type *
row_for(const char *asked, const char *unit)
{
	const struct type *t = type_find(asked);

	return t ? t
	         : &profile_types[strcmp(unit, "bytes") ? TYPE_cpu
	                                                : TYPE_alloc];
}

/* Sets the conversion of plain numbers. If the type is sampled, they count
 * samples, which the rate converts to time. */
static int
plain(struct import *im, const struct type *row)
{
	int r;

	im->counts = im->plain = !strcmp(row->count, "samples");
	im->scale = 1;
	if (!im->counts)
		return profile_type(im->p, row->sample, row->unit);
	r = profile_type(im->p, row->count, "count");
	im->scale = im->ask->rate > 0 ? NS_PER_S / im->ask->rate : 0;
	if (r || !im->scale)
		return r;
	return profile_type(im->p, row->sample, row->unit);
}

/* Sets the unit for a further part of the file. */
static int
again(struct import *im, const char *ours, int64_t scale)
{
	if (strcmp(im->unit, ours) != 0)
		return import_bad(im, "its profiles differ in unit");
	if (*ours)
		im->factor = (double)scale / im->scale;
	return 0;
}

int
import_unit(struct import *im, const char *unit)
{
	int64_t scale = 1;
	const char *ours = *unit ? import_unit_find(unit, &scale) : "";
	const struct type *row = row_for(im->ask->type, ours ? ours : "");
	int r = 0;

	if (ours && im->unit)
		return again(im, ours, scale);
	if (!ours || (*ours && strcmp(ours, row->unit))) {
		buf_addf(im->why,
		         "its values are %s; those of a %s profile are %s",
		         unit, row->name, row->unit);
		return -EBADMSG;
	}
	im->unit = ours;
	im->factor = 1;
	if (!*ours)
		return plain(im, row);
	im->scale = (double)scale;
	im->counts = *row->count && !im->uncounted;
	if (im->counts)
		r = profile_type(im->p, row->count, "count");
	return r ? r : profile_type(im->p, row->sample, row->unit);
}

/* Returns the length of a name without the marks of stackcollapse-perf.pl
 * --all and async-profiler: _[k] of the kernel, _[i] inlined, _[j] compiled by
 * a JIT, _[0] interpreted, _[1] compiled by C1. */
static size_t
unmarked(const char *name, size_t n)
{
	if (n > 4 && !memcmp(&name[n - 4], "_[", 2) && name[n - 1] == ']' &&
	    memchr("kij01", name[n - 2], 5))
		return n - 4;
	return n;
}

int
import_function(struct import *im, const struct import_frame *f, uint32_t *out)
{
	struct function row = {0};
	int r = profile_string(im->p, f->name, unmarked(f->name, f->nname),
	                       &row.name);

	if (!r)
		r = profile_string(im->p, f->file, f->nfile, &row.file);
	row.system_name = row.name;
	return r ? r : profile_function(im->p, &row, out);
}

static int
add_mapping(struct import *im, const struct import_frame *f, uint32_t *out)
{
	struct mapping row = {.limit = UINT64_MAX, .has_functions = true};
	int r = profile_string(im->p, f->module, f->nmodule, &row.file);

	return r ? r : profile_mapping(im->p, &row, out);
}

int
import_check_names(struct import *im)
{
	if (strings_count(im->p->strings) > im->ask->limits.strings)
		return import_over(im, "it has too many names",
		                   im->ask->limits.strings, "max_strings");
	return 0;
}

int
import_location(struct import *im, const struct import_frame *f, uint32_t *out)
{
	struct line line = {.line = f->line};
	uint32_t mapping = PROFILE_NONE;
	int r = f->nmodule ? add_mapping(im, f, &mapping) : 0;

	if (!r && f->nname)
		r = import_function(im, f, &line.function);
	if (!r)
		r = profile_location(im->p, mapping, f->address, &line,
		                     f->nname != 0, out);
	return r ? r : import_check_names(im);
}

bool
import_full(struct import *im)
{
	im->deep = im->depth == PROFILE_MAX_FRAMES;
	return im->deep;
}

int
import_push(struct import *im, uint32_t location)
{
	if (im->depth == PROFILE_MAX_FRAMES)
		return import_deep(im);
	im->stack[im->depth++] = location;
	return 0;
}

/* Returns the memory of the rows that grow with the number of samples. */
static size_t
memory(const struct profile *p)
{
	return p->nstack * sizeof(*p->stack) +
	       (size_t)p->nsamples * (sizeof(*p->samples) + 24 +
	                              p->ntypes * sizeof(*p->values)) +
	       p->nlabels * sizeof(*p->labels) +
	       (size_t)strings_count(p->strings) * 64 +
	       (size_t)p->nlocations * 64;
}

int
import_check_frames(uint64_t frames, struct buf *why)
{
	if (frames <= IMPORT_MAX_FRAMES)
		return 0;
	buf_addf(why, "its stacks have more than %u frames together",
	         IMPORT_MAX_FRAMES);
	return -E2BIG;
}

static int
check(struct import *im)
{
	int r;

	if (im->p->nsamples > im->ask->limits.samples)
		return import_over(im, "it has too many stacks",
		                   im->ask->limits.samples, "max_samples");
	if (im->frames.read > im->ask->limits.raw_bytes &&
	    im->frames.read > IMPORT_MAX_FRAMES)
		return import_over(im, "its samples have too many frames",
		                   im->ask->limits.raw_bytes, "max_raw_bytes");
	r = import_check_frames(im->frames.kept, im->why);
	if (!r && memory(im->p) > im->ask->limits.memory)
		return import_over(im, "it would take too much memory",
		                   im->ask->limits.memory, "max_memory");
	return r;
}

/* Adds a value of the file to the sum of a sample. */
static int
add_sum(struct import *im, uint32_t row, double value)
{
	double scaled = value * im->scale;
	int rc = ROWS_REACH(im->sums, im->nsums, row);

	if (rc)
		return rc;
	im->fractions |= scaled != trunc(scaled) ||
	                 (im->plain && value != trunc(value));
	im->sums[row] += value;
	return 0;
}

int
import_values(struct import *im, const struct label *labels, uint32_t nlabels,
              const int64_t *values)
{
	uint32_t rows = im->p->nsamples;
	int r;

	im->frames.read += im->depth;
	r = profile_sample_row(im->p, im->stack, im->depth, labels, nlabels,
	                       values, &im->row);
	im->frames.kept += im->p->nsamples > rows ? im->depth : 0;
	im->depth = 0;
	im->cut += im->deep;
	im->deep = false;
	if (r == -EOVERFLOW)
		return import_bad(im, SUM_TOO_LARGE);
	return r ? r : check(im);
}

/* Converts a value of the file to values of the profile. */
static int
convert(struct import *im, int64_t count, double value,
        int64_t out[static PROFILE_MAX_TYPES])
{
	double scaled = value * im->scale;

	if (!(value >= 0) || count < 0)
		return import_bad(im, IMPORT_NEGATIVE);
	if (scaled >= 0x1p62 || value >= 0x1p62)
		return import_bad(im, "a value is out of range");
	memset(out, 0, PROFILE_MAX_TYPES * sizeof(*out));
	out[0] = im->plain ? llround(value) : count;
	out[im->counts ? 1 : 0] = llround(scaled);
	return 0;
}

int
import_sample(struct import *im, const struct label *labels, uint32_t nlabels,
              int64_t count, double given)
{
	int64_t values[PROFILE_MAX_TYPES];
	double value = given * im->factor;

	return convert(im, count, value, values)
	               ?: import_values(im, labels, nlabels, values)
	               ?: add_sum(im, im->row, value);
}

int
import_values_again(struct import *im, uint32_t row, const int64_t *values)
{
	return rows_sum(im->p, row, values) ? import_bad(im, SUM_TOO_LARGE) : 0;
}

int
import_sample_again(struct import *im, uint32_t row, int64_t count,
                    double given)
{
	int64_t values[PROFILE_MAX_TYPES];
	double value = given * im->factor;

	return convert(im, count, value, values)
	               ?: import_values_again(im, row, values)
	               ?: add_sum(im, row, value);
}

/* Effect of rounding on all sums after scaling. */
struct rounding {
	double error; /* the part that it adds or removes */
	double gone;  /* the part that is lost in sums that become 0 */
	double all;   /* what it adds to the total, or removes if negative */
};

static struct rounding
rounding_of(const struct import *im, double scale)
{
	struct rounding r = {0};
	double all = 0;

	for (uint32_t i = 0; i < im->p->nsamples; i++) {
		double v = im->sums[i] * scale;

		all += v;
		r.all += round(v) - v;
		r.error += fabs(v - round(v));
		r.gone += v < 0.5 ? v : 0;
	}
	r.error = all > 0 ? r.error / all : 0;
	r.gone = all > 0 ? r.gone / all : 0;
	return r;
}

/*
 * Writes the sums, multiplied by scale, into a column. If too many would become
 * 0, uses a larger scale. The larger scale cannot overflow: such sums are less
 * than 50 per sample on average. If the total would change, what rounding adds
 * to a sum is subtracted from the next; halves round up, so that a sum of 0
 * stays 0.
 */
static int
round_sums(struct import *im, uint32_t type, double scale)
{
	static const char *const parts[] = {"thousandths", "millionths",
	                                    "billionths"};
	struct rounding by = rounding_of(im, scale);
	struct profile *p = im->p;
	double rest = 0;
	bool keep;
	size_t n = 0;

	if (by.gone > MOST_GONE)
		do {
			scale *= 1000;
			n++;
			by = rounding_of(im, scale);
		} while (by.error > MOST_ERROR && n < ARRAY_LEN(parts));
	keep = fabs(by.all) >= 1;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		double v = im->sums[i] * scale;
		double whole = keep ? floor(v + rest + 0.5) : round(v);

		if (v >= 0 && whole < 0)
			whole = 0;
		rest += v - whole;
		p->values[(size_t)i * p->ntypes + type] = (int64_t)whole;
	}
	if (!n)
		return 0;
	buf_addf(im->why, "its values are fractions, which are kept as %s\n",
	         parts[n - 1]);
	return profile_cstring(p, parts[n - 1], &p->types[type].unit);
}

static int
round_fractions(struct import *im)
{
	uint32_t last = im->p->ntypes - 1;
	int r = im->plain ? round_sums(im, 0, 1) : 0;

	return r || (im->plain && !last) ? r : round_sums(im, last, im->scale);
}

bool
import_next(struct import *im, const char **p, const char *end,
            const char **line, size_t *n)
{
	bool more = import_line(p, end, line, n);

	im->line += more;
	return more;
}

void
import_quote(const char *p, size_t n, char out[static IMPORT_QUOTE])
{
	import_skip_blanks(&p, &n);
	n = n < IMPORT_QUOTE - 1 ? n : IMPORT_QUOTE - 1;
	while (n && isspace((unsigned char)p[n - 1]))
		n--;
	memcpy(out, p, n);
	out[n] = '\0';
	for (char *c = out; c < out + n; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	utf8_mend(out, n);
}

void
import_skip(struct import *im, const char *line, size_t n)
{
	struct import_skipped *s = &im->skipped;

	if (s->lines++)
		return;
	s->first = im->line;
	import_quote(line, n, s->text);
}

void
import_note(struct import *im, const char *note)
{
	buf_addf(im->why, "%s\n", note);
}

void
import_note_cut(uint64_t samples, struct buf *why)
{
	if (samples)
		buf_addf(why,
		         "stacks of more than %d frames, without those nearest "
		         "to the root: %llu\n",
		         PROFILE_MAX_FRAMES, (unsigned long long)samples);
}

static void
put_skipped(const struct import_skipped *s, struct buf *out)
{
	buf_addf(out, "skipped %llu line%s, %sline %llu: %s",
	         (unsigned long long)s->lines, s->lines == 1 ? "" : "s",
	         s->lines == 1 ? "" : "first: ", (unsigned long long)s->first,
	         s->text);
}

int
import_end(struct import *im, struct profile **out)
{
	CLEANUP_BUF struct buf skipped = BUF_INIT(BUF_MAX_SMALL);
	int r;

	if (im->skipped.lines)
		put_skipped(&im->skipped, &skipped);
	if (!im->p->nsamples) {
		buf_clear(im->why);
		buf_addf(im->why, "it has no samples%s%s",
		         skipped.len ? "; " : "", buf_str(&skipped));
		return -EBADMSG;
	}
	if (im->fractions && (r = round_fractions(im)))
		return r;
	if (skipped.len)
		import_note(im, buf_str(&skipped));
	import_note_cut(im->cut, im->why);
	*out = TAKE(im->p);
	return 0;
}

void
import_skip_blanks(const char **p, size_t *n)
{
	while (*n && isspace((unsigned char)**p))
		++*p, --*n;
}

bool
import_line(const char **p, const char *end, const char **line, size_t *n)
{
	const char *at = *p, *stop;

	if (at == end)
		return false;
	stop = memchr(at, '\n', (size_t)(end - at));
	if (!stop)
		stop = end;
	*p = stop == end ? end : stop + 1;
	*line = at;
	*n = (size_t)(stop - at);
	if (*n && at[*n - 1] == '\r')
		--*n;
	return true;
}
