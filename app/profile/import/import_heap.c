/*
 * Heap profiles as allocators write them. That of jemalloc has a line of
 * addresses before the counts of a stack, that of gperftools's tcmalloc behind
 * them; both end with the mappings of the process.
 *
 *	heap_v2/524288
 *	@ 0x5581 0x5592
 *	  t*: 3: 4096 [7: 9000]
 *
 *	heap profile: 3: 4096 [7: 9000] @ heap_v2/524288
 *	     3: 4096 [7: 9000] @ 0x5581 0x5592
 *
 *	MAPPED_LIBRARIES:
 *	55ff395fa000-55ff39610000 r-xp 00004000 fe:00 247728 /usr/bin/ls
 *
 * Counts are objects and bytes in use, and in brackets what was ever allocated.
 * Rows are of samples: an object of n bytes is one with a probability of
 * 1 - exp(-n / period).
 *   Source   jemalloc(3), opt.prof; jeprof, AdjustSamples()
 */
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINE     ((size_t)32 << 10)
#define MAX_MAPPINGS 8192
#define LIBRARIES    "MAPPED_LIBRARIES:"

struct counts {
	double objects, bytes, all_objects, all_bytes;
};

struct reader {
	struct import im;
	double period; /* bytes; 0: every allocation was counted */
	bool all;      /* what was allocated is wanted, not what is in use */
	struct span {
		uint64_t start, end;
		uint32_t mapping;
	} * spans;
	size_t nspans;
	char line[MAX_LINE + 1];
	char stack[MAX_LINE + 1]; /* that has no counts yet; "": none */
};

static bool
begins(const char *p, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(p, with, strlen(with));
}

bool
input_heap_looks(const char *p, size_t n)
{
	return begins(p, n, "heap_v2/") || begins(p, n, "heap profile:");
}

/* --- mappings -------------------------------------------------------------
 */

static int
read_mapping(struct reader *r)
{
	uint64_t start, end, offset;
	struct mapping row = {0};
	char may[8];
	int at = 0, rc;

	if (sscanf(r->line,
	           "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &start,
	           &end, may, &offset, &at) != 4 ||
	    !at || start >= end || may[2] != 'x' || r->line[at] != '/' ||
	    r->nspans == MAX_MAPPINGS)
		return 0;
	row.start = start;
	row.limit = end;
	row.offset = offset;
	rc = profile_cstring(r->im.p, r->line + at, &row.file);
	if (!rc)
		rc = profile_mapping(r->im.p, &row,
		                     &r->spans[r->nspans].mapping);
	if (rc)
		return rc;
	r->spans[r->nspans].start = start;
	r->spans[r->nspans++].end = end;
	return 0;
}

/* Takes a line that is not too long; false at the end. */
static bool
next_line(struct reader *r, const char **p, const char *end)
{
	const char *line;
	size_t n;

	if (!import_line(p, end, &line, &n))
		return false;
	if (n > MAX_LINE)
		n = MAX_LINE;
	memcpy(r->line, line, n);
	r->line[n] = '\0';
	return true;
}

static int
by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int
read_mappings(struct reader *r, const char *p, const char *end)
{
	int rc = 0;

	r->spans = calloc(MAX_MAPPINGS, sizeof(*r->spans));
	if (!r->spans)
		return -ENOMEM;
	while (!rc && next_line(r, &p, end))
		rc = read_mapping(r);
	qsort(r->spans, r->nspans, sizeof(*r->spans), by_start);
	return rc;
}

static uint32_t
mapping_of(const struct reader *r, uint64_t address)
{
	size_t from = 0, to = r->nspans; /* the last that begins before */

	while (from < to) {
		size_t half = from + (to - from) / 2;

		if (r->spans[half].start <= address)
			from = half + 1;
		else
			to = half;
	}
	return from && address < r->spans[from - 1].end
	               ? r->spans[from - 1].mapping
	               : PROFILE_NONE;
}

/* --- stacks ---------------------------------------------------------------
 */

/* Reads addresses, leaf first: each is where a call returns to. */
static int
read_stack(struct reader *r, const char *p)
{
	int rc = 0;

	r->im.depth = 0;
	while (!rc && *p) {
		char *end;
		uint64_t address = strtoull(p, &end, 16);
		uint32_t location;

		if (end == p)
			return import_bad(&r->im, "an address is no number");
		address -= address > 0;
		rc = profile_location(r->im.p, mapping_of(r, address), address,
		                      NULL, 0, &location);
		if (!rc)
			rc = import_push(&r->im, location);
		for (p = end; isspace((unsigned char)*p); p++)
			;
	}
	return rc;
}

static bool
read_counts(const char *p, struct counts *out)
{
	return sscanf(p, " %lf: %lf [%lf: %lf]", &out->objects, &out->bytes,
	              &out->all_objects, &out->all_bytes) == 4;
}

/* Returns how many allocations of that size a sample stands for. */
static double
others(const struct reader *r, double objects, double bytes)
{
	double size = objects > 0 ? bytes / objects : 0;

	return r->period > 0 && size > 0 ? 1 / -expm1(-size / r->period) : 1;
}

static int
add(struct reader *r, const struct counts *c, const char *stack)
{
	double objects = r->all ? c->all_objects : c->objects;
	double bytes = r->all ? c->all_bytes : c->bytes;
	int rc;

	if (!(objects >= 0) || !(bytes >= 0))
		return import_bad(&r->im, "a sample has a negative value");
	if (bytes <= 0)
		return 0;
	rc = read_stack(r, stack);
	return rc ? rc
	          : import_sample(&r->im, NULL, 0, 1,
	                          bytes * others(r, objects, bytes));
}

/* Reads a line of jemalloc's; those of single threads are in the first. */
static int
read_pair(struct reader *r)
{
	const char *p = r->line + strspn(r->line, " ");
	struct counts c;
	int rc;

	if (*p == '@') {
		snprintf(r->stack, sizeof(r->stack), "%s",
		         p + 1 + strspn(p + 1, " "));
		return 0;
	}
	if (!*r->stack || strncmp(p, "t*:", 3) != 0)
		return 0;
	if (!read_counts(p + 3, &c))
		return import_bad(&r->im, "a stack has no counts");
	rc = add(r, &c, r->stack);
	*r->stack = '\0';
	return rc;
}

static int
read_line(struct reader *r)
{
	const char *at = strchr(r->line, '@');
	struct counts c;

	return at && read_counts(r->line, &c)
	               ? add(r, &c, at + 1 + strspn(at + 1, " "))
	               : 0;
}

/* --- the file -------------------------------------------------------------
 */

static void
reader_done(struct reader **r)
{
	if (!*r)
		return;
	import_done(&(*r)->im);
	free((*r)->spans);
	free(*r);
}

static int
read_all(struct reader *r, const char *p, size_t n)
{
	const char *libraries = memmem(p, n, LIBRARIES, strlen(LIBRARIES));
	const char *end = libraries ? libraries : p + n;
	bool pairs = begins(p, n, "heap_v2/");
	const char *period;
	int rc = read_mappings(r, end, p + n);

	if (rc || !next_line(r, &p, end))
		return rc;
	period = strstr(r->line, "heap_v2/");
	r->period = period ? strtod(period + strlen("heap_v2/"), NULL) : 0;
	while (!rc && next_line(r, &p, end))
		rc = pairs ? read_pair(r) : read_line(r);
	return rc;
}

int
input_heap_read(const char *p, size_t n, const struct import_ask *ask,
                struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? import_init(&r->im, ask, why) : -ENOMEM;

	if (!rc) {
		r->all = !strcmp(ask->type, "alloc");
		rc = import_unit(&r->im, "bytes");
	}
	if (!rc)
		rc = read_all(r, p, n);
	return rc ? rc : import_end(&r->im, out);
}
