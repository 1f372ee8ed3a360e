/*
 * Removes the frames that a pprof file asks to hide: drop_frames, unless they
 * match keep_frames. A frame that matches is removed with all that it calls; a
 * stack that has only such frames stays as it is.
 *
 * The patterns are Go's, most of which POSIX supports. A pattern with other
 * syntax, or one that may take long to match, is noted and not applied.
 *
 * Source: google/pprof, profile/prune.go, RemoveUninteresting(), which runs
 * before every report.
 */
#include "base/pattern.h"
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define MAX_PATTERN ((size_t)4096)
#define MAX_WORK    (UINT64_C(1) << 30) /* bytes of names * of patterns */

struct pattern {
	regex_t re;
	bool used;
};

static void
pattern_done(struct pattern *p)
{
	if (p->used)
		regfree(&p->re);
}

/* Copies a class, "[...]". Returns its end, or NULL: it has an escape. */
static const char *
put_class(const char *p, struct buf *out)
{
	const char *from = p++;

	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']' && *p != '\\')
		p++;
	if (*p != ']')
		return NULL;
	buf_add(out, from, (size_t)(p - from) + 1);
	return p + 1;
}

/* Copies an escape. Returns its end, or NULL: POSIX has none for it. */
static const char *
put_escape(const char *p, struct buf *out)
{
	if (p[1] == 'd')
		buf_puts(out, "[0-9]");
	else if (p[1] &&
	         (ispunct((unsigned char)p[1]) || memchr("wWsSbB", p[1], 6)))
		buf_add(out, p, 2);
	else
		return NULL;
	return p + 2;
}

/* Translates a Go pattern to POSIX, for whole names. Returns false if POSIX
 * has no equivalent. */
static bool
translate(const char *p, struct buf *out)
{
	bool counted = false; /* a count precedes: "?" makes it lazy */

	buf_puts(out, "^(");
	while (p && *p) {
		char c = *p;

		if (c == '?' && counted) {
			p++;
			counted = false;
			continue;
		}
		counted = strchr("*+?}", c);
		if (c == '\\') {
			p = put_escape(p, out);
		} else if (c == '[') {
			p = put_class(p, out);
		} else if (c == '(' && p[1] == '?') {
			buf_putc(out, c);
			p = p[2] == ':' ? p + 3 : NULL;
		} else {
			buf_putc(out, c);
			p++;
		}
	}
	buf_puts(out, ")$");
	return p && !buf_err(out);
}

/* Compiles a pattern, which is a string of the profile. Returns 0 or -errno. */
static int
compile(const struct profile *p, uint32_t string, struct pattern *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_PATTERN);
	int r;

	if (!translate(profile_text(p, string), &text))
		return -EINVAL;
	r = pattern_compile_within(buf_str(&text), MAX_PATTERN, false,
	                           &out->re);
	out->used = !r;
	return r;
}

/* Returns the length of a name without its arguments. Source:
 * simplifyFunc(). */
static size_t
without_arguments(const char *name, size_t n)
{
	static const char *const reserved[] = {"(anonymous namespace)",
	                                       "operator()"};

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < ARRAY_LEN(reserved) &&
		       (n - i < strlen(reserved[k]) ||
		        memcmp(&name[i], reserved[k], strlen(reserved[k]))))
			k++;
		if (k < ARRAY_LEN(reserved))
			i += strlen(reserved[k]) - 1;
		else if (name[i] == '(')
			return i;
	}
	return n;
}

static bool
is_dropped(const char *name, const struct pattern *drop,
           const struct pattern *keep)
{
	char text[PATTERN_TEXT_MAX + 1];
	size_t n;

	name += *name == '.';
	n = without_arguments(name, strnlen(name, PATTERN_TEXT_MAX));
	memcpy(text, name, n);
	text[n] = '\0';
	return n && pattern_matches(&drop->re, text) &&
	       !(keep->used && pattern_matches(&keep->re, text));
}

/* True if matching all names might take long. */
static bool
is_long(const struct profile *p)
{
	uint64_t bytes = 0;
	size_t drop, keep, n;

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		(void)strings_get(p->strings, p->functions[i].name, &n);
		bytes += n + 1;
	}
	(void)strings_get(p->strings, p->drop_frames, &drop);
	(void)strings_get(p->strings, p->keep_frames, &keep);
	return drop + keep > MAX_PATTERN || bytes * (drop + keep) > MAX_WORK;
}

enum part { WHOLE, TOP, ALL }; /* what is left of a location */

/* Removes the dropped frames of a location, from the outermost one on. */
static enum part
cut_location(const struct profile *p, struct location *l, const bool *dropped)
{
	for (uint32_t i = l->nlines; i-- > 0;) {
		if (!dropped[p->lines[l->line0 + i].function])
			continue;
		if (i + 1 == l->nlines)
			return ALL;
		l->line0 += i + 1;
		l->nlines -= i + 1;
		return TOP;
	}
	return WHOLE;
}

static void
cut_sample(const struct profile *p, struct sample *s, const uint8_t *parts)
{
	bool user = false;

	for (uint32_t i = s->nstack; i-- > 0;) {
		uint8_t part = parts[p->stack[s->stack0 + i]];
		uint32_t cut = part == ALL ? i + 1 : i;

		if (part == WHOLE)
			user = true;
		if (part == WHOLE || !user)
			continue;
		s->stack0 += cut;
		s->nstack -= cut;
		return;
	}
}

/* Closes the gaps that cut frames leave: the rows of samples and locations
 * follow one another. */
static void
close_gaps(struct profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];

		memmove(&p->stack[n], &p->stack[s->stack0],
		        s->nstack * sizeof(*p->stack));
		s->stack0 = n;
		n += s->nstack;
	}
	p->nstack = n;
	n = 0;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location *l = &p->locations[i];

		memmove(&p->lines[n], &p->lines[l->line0],
		        l->nlines * sizeof(*p->lines));
		l->line0 = n;
		n += l->nlines;
	}
	p->nlines = n;
}

/* Drops the functions that are marked. */
static int
cut(struct profile *p, const bool *dropped)
{
	CLEANUP_FREE uint8_t *parts = calloc(p->nlocations + 1, 1);

	if (!parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlocations; i++)
		parts[i] = (uint8_t)cut_location(p, &p->locations[i], dropped);
	for (uint32_t i = 0; i < p->nsamples; i++)
		cut_sample(p, &p->samples[i], parts);
	close_gaps(p);
	return 0;
}

int
import_drop(struct profile *p, struct buf *why)
{
	CLEANUP(pattern_done) struct pattern drop = {0}, keep = {0};
	CLEANUP_FREE bool *dropped = NULL;
	int r;

	if (!p->drop_frames)
		return 0;
	r = is_long(p) ? -E2BIG : compile(p, p->drop_frames, &drop);
	if (!r && p->keep_frames)
		r = compile(p, p->keep_frames, &keep);
	if (r == -ENOMEM)
		return r;
	if (r) {
		buf_puts(why, "its frames are all shown: the patterns of those "
		              "to drop are too long, or of a kind that is not "
		              "known\n");
		return 0;
	}
	dropped = calloc(p->nfunctions + 1, sizeof(*dropped));
	if (!dropped)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nfunctions; i++)
		dropped[i] = is_dropped(profile_text(p, p->functions[i].name),
		                        &drop, &keep);
	return cut(p, dropped);
}
