#include "foreign.h"
#include "import_build.h"
#include "import_text.h"
#include "import_zstd.h"

#include "profile/godump.h"
#include "profile/gzip.h"
#include "profile/pprof.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define FREE_BYTES ((size_t)1 << 20) /* accepted at any ratio */
#define LOOK       1024              /* bytes examined */
#define LARGE      "it is too large once it is decompressed"

#define INPUT(name, content_types, doc) \
	{#name, content_types, doc, input_##name##_looks, input_##name##_read},
const struct input inputs[] = {
#include "inputs.def"
};
#undef INPUT

const size_t ninputs = ARRAY_LEN(inputs);

const struct input *
input_find(const char *name)
{
	for (size_t i = 0; i < ninputs; i++)
		if (!strcmp(inputs[i].name, name))
			return &inputs[i];
	return NULL;
}

/* --- pprof ---------------------------------------------------------------- */

/* True if p has bytes that text lacks: a pprof file begins with a key and a
 * length. */
bool
input_pprof_looks(const char *p, size_t n)
{
	for (size_t i = 0; i < n && i < LOOK; i++)
		if ((unsigned char)p[i] < '\t')
			return true;
	return false;
}

static int
check_values(const struct profile *p, struct buf *why)
{
	size_t n = (size_t)p->nsamples * p->ntypes;

	for (size_t i = 0; i < n; i++)
		if (p->values[i] < 0) {
			buf_puts(why, IMPORT_NEGATIVE);
			return -EBADMSG;
		}
	return 0;
}

static int
check_frames(const struct profile *p, struct buf *why)
{
	uint64_t frames = 0;

	for (uint32_t i = 0; i < p->nstack; i++)
		frames += profile_frames(p, p->stack[i]);
	return import_check_frames(frames, why);
}

int
input_pprof_read(const char *p, size_t n, const struct import_ask *ask,
                 struct profile **out, struct buf *why)
{
	uint64_t cut = 0;
	const struct pprof_limits limits = {
		.cut = &cut,
		.bytes = ask->limits.raw_bytes,
		.memory = ask->limits.memory,
		.strings = ask->limits.strings,
		.samples = ask->limits.samples,
	};
	CLEANUP_PROFILE struct profile *made = NULL;
	int r = pprof_decode_within(p, n, &limits, &made, why);

	if (!r && ask->no_patterns && made->drop_frames)
		r = -ENOTSUP;
	if (!r && ask->as_is)
		*ask->as_is = !made->drop_frames && !cut &&
		              import_units_are_ours(made);
	if (!r)
		r = import_units(made, why);
	if (!r && !ask->deltas)
		r = check_values(made, why);
	if (!r)
		r = check_frames(made, why);
	if (!r)
		r = import_drop(made, why);
	if (r)
		return r;
	import_note_cut(cut, why);
	*out = TAKE(made);
	return 0;
}

/* --- goroutine dumps ------------------------------------------------------ */

bool
input_godump_looks(const char *p, size_t n)
{
	return godump_looks_like(p, n);
}

int
input_godump_read(const char *p, size_t n, const struct import_ask *ask,
                  struct profile **out, struct buf *why)
{
	CLEANUP_PROFILE struct profile *made = NULL;
	struct godump_seen seen;
	int r = godump_parse(p, n, &made, &seen, why);

	if (!r)
		r = check_frames(made, why);
	if (!r && made->nsamples > ask->limits.samples) {
		limit_exceeded(why, "it has too many stacks",
		               ask->limits.samples, "max_samples");
		r = -E2BIG;
	}
	if (!r)
		*out = TAKE(made);
	return r;
}

/* --- all formats ---------------------------------------------------------- */

/* True for content types that clients send by default. */
static bool
says_nothing(const char *type, size_t n)
{
	static const char *const vague[] = {
		"application/octet-stream", "application/gzip",
		"application/x-gzip", "application/zstd",
		"application/x-www-form-urlencoded"};

	for (size_t i = 0; i < ARRAY_LEN(vague); i++)
		if (strlen(vague[i]) == n && !strncasecmp(type, vague[i], n))
			return true;
	return n == 0;
}

static bool
has_word(const char *words, const char *word, size_t n)
{
	while (*words) {
		size_t len = strcspn(words, " ");

		if (len == n && !strncasecmp(words, word, n))
			return true;
		words += len;
		words += strspn(words, " ");
	}
	return false;
}

static const struct input *
detect(const char *p, size_t n, const char *type)
{
	size_t len = strcspn(type, "; ");

	for (size_t i = 0; i < ninputs; i++)
		if ((says_nothing(type, len) ||
		     has_word(inputs[i].content_types, type, len)) &&
		    inputs[i].looks(p, n))
			return &inputs[i];
	return NULL;
}

const struct input *
input_detect(const char *p, size_t n)
{
	return detect(p, n, "");
}

static bool
is_compressed(const void *p, size_t n)
{
	return gzip_is(p, n) || zstd_is(p, n);
}

int
import_inflate(const void *p, size_t n, const struct import_limits *limits,
               struct buf *raw, struct buf *why)
{
	size_t most = limits->raw_bytes, ratio = FREE_BYTES;
	int r;

	if (n < SIZE_MAX / limits->ratio && n * limits->ratio > ratio)
		ratio = n * limits->ratio;
	if (!is_compressed(p, n)) {
		if (n <= most)
			return 0;
		limit_exceeded(why, LARGE, most, "max_raw_bytes");
		return -E2BIG;
	}
	raw->max = most < ratio ? most : ratio;
	r = gzip_is(p, n) ? gzip_inflate(p, n, raw) : zstd_inflate(p, n, raw);
	if (r == -E2BIG && most <= ratio)
		limit_exceeded(why, LARGE, most, "max_raw_bytes");
	else if (r == -E2BIG)
		limit_exceeded(why, "it inflates too much for its size",
		               limits->ratio, "max_ratio");
	else if (r == -EBADMSG)
		buf_addf(why, "the %s stream is damaged",
		         gzip_is(p, n) ? "gzip" : "zstd");
	if (!r && limits->inflated && limits->inflated(limits->arg, raw->len))
		r = -ECANCELED;
	return r;
}

static bool
is_blank(const char *p, size_t n)
{
	import_skip_blanks(&p, &n);
	return !n;
}

static bool
is_json(const char *p, size_t n)
{
	import_skip_blanks(&p, &n);
	return n && (*p == '{' || *p == '[');
}

/*
 * Replaces the reason for a refusal by a better one, if the file is of a known
 * kind, or of none. Returns the error.
 */
static int
explain_text(const struct input *row, const char *p, size_t n, int r,
             struct buf *why)
{
	CLEANUP_BUF struct buf what = BUF_INIT(BUF_MAX_SMALL);
	/* the speedscope reader gets all JSON without another reader */
	bool stray = row && row->read == input_speedscope_read &&
	             !memmem(p, n, "\"shared\"", 8);
	char quote[IMPORT_QUOTE];

	if ((r == -EPROTONOSUPPORT || is_json(p, n)) &&
	    foreign_text(p, n, &what)) {
		r = -EPROTONOSUPPORT;
	} else if ((r == -EPROTONOSUPPORT && !why->len) || stray) {
		import_quote(p, n, quote);
		buf_addf(&what, "%s; it begins with \"%s\"",
		         import_has_bare_stacks(p, n)
		                 ? "it looks like folded stacks, but its lines "
		                   "do not end with counts"
		                 : "it is in no format that is known",
		         quote);
		r = -EPROTONOSUPPORT;
	} else {
		return r;
	}
	buf_clear(why);
	buf_puts(why, buf_str(&what));
	return r;
}

/*
 * Notes what readers of the profile would take for a bug of Stoker: cost
 * without a stack, a total of 0, or a negative one.
 */
static void
put_doubts(const struct profile *p, struct buf *why)
{
	uint32_t at = profile_type_index(p, NULL);
	double all = 0, bare = 0;
	bool negative = false;

	if (at >= p->ntypes)
		return;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		double v = (double)p->values[(size_t)i * p->ntypes + at];

		all += fabs(v);
		bare += p->samples[i].nstack ? 0 : fabs(v);
		negative |= v < 0;
	}
	if (negative)
		buf_puts(why, "some of its values are negative, as in a "
		              "difference of two profiles: only pprof and OTLP "
		              "keep them\n");
	if (!p->nsamples)
		buf_puts(why, "it has no samples\n");
	else if (all == 0)
		buf_puts(why, "all its values are 0\n");
	else if (bare > all / 2)
		buf_addf(why, "%.0f %% of its cost has no stack\n",
		         100 * bare / all);
}

static int
import(const char *p, size_t n, const struct import_ask *ask,
       struct profile **out, const struct input **format,
       const struct type **type, struct buf *why)
{
	CLEANUP_PROFILE struct profile *made = NULL;
	CLEANUP_BUF struct buf room = BUF_INIT(ask->limits.raw_bytes);
	const struct input *row;
	int r = import_text(&p, &n, &room);

	if (r == -E2BIG)
		limit_exceeded(why, LARGE, ask->limits.raw_bytes,
		               "max_raw_bytes");
	if (r)
		return r;
	if (is_blank(p, n)) {
		buf_puts(why, "it is empty");
		return -EPROTONOSUPPORT;
	}
	if (foreign_start(p, n, why))
		return -EPROTONOSUPPORT;
	row = ask->format && *ask->format ? input_find(ask->format)
	                                  : detect(p, n, ask->content_type);
	r = row ? row->read(p, n, ask, &made, why) : -EPROTONOSUPPORT;
	if (r == -ENODATA)
		return -EBADMSG;
	if (r == -EBADMSG || r == -EPROTONOSUPPORT)
		r = explain_text(row, p, n, r, why);
	if (!r)
		r = import_choose(
			made, ask->untyped && !*ask->type ? NULL : ask->type,
			type, why);
	if (r)
		return r;
	put_doubts(made, why);
	*out = TAKE(made);
	*format = row;
	return 0;
}

int
profile_import(const void *p, size_t n, const struct import_ask *ask,
               struct profile **out, const struct input **format,
               const struct type **type, struct buf *why)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(0);
	int r = import_inflate(p, n, &ask->limits, &raw, why);

	if (!r && is_compressed(p, n))
		r = import(buf_str(&raw), raw.len, ask, out, format, type, why);
	else if (!r)
		r = import(p, n, ask, out, format, type, why);
	if (r && !why->len)
		buf_puts(why, "out of memory");
	return r;
}
