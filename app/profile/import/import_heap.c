/*
 * Reads heap profiles in text form, and Go's pages of other counts.
 *
 * jemalloc writes the addresses of a stack on the line before its counts;
 * tcmalloc of gperftools and Go write them after the counts. The files of
 * allocators end with the mappings of the process; the pages of Go name the
 * functions of each stack.
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
 *	heap profile: 3: 4096 [7: 9000] @ heap/1048576
 *	3: 4096 [7: 9000] @ 0x5581 0x5592
 *	#	0x5580	main.hot+0x15	/src/main.go:12
 *
 *	goroutine profile: total 3
 *	3 @ 0x5581 0x5592
 *	#	0x5580	main.hot+0x15	/src/main.go:12
 *
 *	--- mutex:
 *	cycles/second=2000000000
 *	sampling period=5
 *	40000000 3 @ 0x5581 0x5592
 *
 *	--- contentionz 1 ---
 *	cycles/second = 2000000000
 *	sampling period = 5
 *	40000000 3 @ 0x5581 0x5592
 *
 * A heap profile counts objects and bytes in use and, in brackets, all that
 * were allocated. Only samples are counted: an object of n bytes is sampled
 * with a probability of 1 - exp(-n / period). Go writes twice the period. A
 * page of locks has the cycles waited and the number of waits; one wait in
 * every period is sampled.
 *   Source   jemalloc(3), opt.prof; jeprof, AdjustSamples();
 *            runtime/pprof/pprof.go, writeHeap(), printCountProfile(),
 *            writeProfileInternal(); google/pprof, profile/legacy_profile.go,
 *            parseHeapHeader(), parseGoCount(), parseContention()
 */
#include "base/clock.h"
#include "import_maps.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINE     ((size_t)32 << 10)
#define MOST_MISSING 0.02 /* part of a heap that may be in no stack */
#define COUNTS       " profile: total " /* follows the kind's name */

enum page { PAGE_HEAP, PAGE_COUNTS, PAGE_WAITS };

/* Lines before the mappings of a process. */
static const char *const libraries[] = {"MAPPED_LIBRARIES:",
                                        "--- Memory map: ---"};

/* A function that a comment names, and its address. */
struct named {
	uint64_t address;
	struct line line;
};

struct reader {
	struct import im;
	enum page page;
	char form[32];  /* form of a period that cannot be used; "" if none */
	double all[2];  /* bytes in use and allocated in the first line */
	double read[2]; /* in the stacks, before scaling */
	double period; /* of a heap in bytes; 0: every allocation was counted */
	double hz;     /* cycles per second; 0 unknown */
	int64_t values[4]; /* values of the waiting stack, scaled */
	bool counted;      /* values are known */
	struct named named[PROFILE_MAX_FRAMES]; /* of the stack, leaf first */
	uint32_t nnamed;
	struct import_maps maps;
	char line[MAX_LINE + 1];
	char stack[MAX_LINE + 1]; /* the stack line still waiting for its
	                             counts; "" if none */
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

/* Returns the length of the name in "goroutine profile: total 3", or 0. */
static size_t
counted_name(const char *p, size_t n)
{
	size_t len = 0;

	while (len < n && !isspace((unsigned char)p[len]))
		len++;
	return begins(p + len, n - len, COUNTS) ? len : 0;
}

static bool
is_waits(const char *p, size_t n)
{
	return begins(p, n, "--- mutex:") || begins(p, n, "--- contention:") ||
	       begins(p, n, "--- contentionz ");
}

bool
input_gopage_looks(const char *p, size_t n)
{
	return counted_name(p, n) || is_waits(p, n);
}

/* Reads the next line that is not too long. Returns false at the end. */
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

/* --- stacks --------------------------------------------------------------- */

/* Finds the names of an address, innermost first. Returns their number. */
static uint32_t
lines_at(const struct reader *r, uint64_t address,
         struct line out[static PROFILE_MAX_LINES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nnamed && n < PROFILE_MAX_LINES; i++)
		if (r->named[i].address == address)
			out[n++] = r->named[i].line;
	return n;
}

/*
 * Pushes addresses, leaf first: each is where a call returns to. Words that are
 * not addresses are passed over, as pprof does.
 */
static int
push_stack(struct reader *r)
{
	struct line lines[PROFILE_MAX_LINES];
	char *rest = r->stack, *word;
	bool words = false;
	int rc = 0;

	r->im.depth = 0;
	while (!rc && (word = strsep(&rest, " \t")) &&
	       !(*word && import_full(&r->im))) {
		char *end;
		uint64_t address = strtoull(word, &end, 16);
		uint32_t location;

		words = words || *word;
		if (end == word || *end)
			continue;
		address -= address > 0;
		rc = profile_location(
			r->im.p, import_maps_find(&r->maps, address), address,
			lines, lines_at(r, address, lines), &location);
		if (!rc)
			rc = import_push(&r->im, location);
	}
	if (!rc && words && !r->im.depth)
		rc = import_bad(&r->im, "a stack has no address");
	return rc;
}

/* Returns the number of allocations of that size that a sample stands for. */
static double
others(const struct reader *r, double objects, double bytes)
{
	double size = objects > 0 ? bytes / objects : 0;

	return r->period > 1 && size > 0 ? 1 / -expm1(-size / r->period) : 1;
}

/* Scales a count and its bytes, cut to whole ones as pprof does. */
static int
scale(struct reader *r, double objects, double bytes, int64_t out[static 2])
{
	double by = others(r, objects, bytes);

	if (!(objects >= 0) || !(bytes >= 0))
		return import_bad(&r->im, IMPORT_NEGATIVE);
	if (objects * by >= 0x1p62 || bytes * by >= 0x1p62)
		return import_bad(&r->im, "a value is out of range");
	out[0] = (int64_t)(objects * by);
	out[1] = (int64_t)(bytes * by);
	return 0;
}

/* Reads "3: 4096 [7: 9000]" as the values of the waiting stack. */
static int
read_heap_counts(struct reader *r, const char *p)
{
	double objects, bytes, all_objects, all_bytes;
	int rc;

	if (sscanf(p, " %lf: %lf [%lf: %lf]", &objects, &bytes, &all_objects,
	           &all_bytes) != 4)
		return 0;
	rc = scale(r, all_objects, all_bytes, &r->values[0])
	             ?: scale(r, objects, bytes, &r->values[2]);
	r->read[0] += bytes;
	r->read[1] += all_bytes;
	r->counted = !rc;
	return rc;
}

/* Reads "3 @", or "40000000 3 @" on a page of waits, cut as pprof does. */
static int
read_page_counts(struct reader *r)
{
	double count, cycles = 0, ns;
	bool waits = r->page == PAGE_WAITS;

	if (waits ? sscanf(r->line, " %lf %lf @", &cycles, &count) != 2
	          : sscanf(r->line, " %lf @", &count) != 1)
		return 0;
	ns = cycles;
	if (waits && r->period > 0) {
		if (r->hz > 0)
			ns = cycles * r->period / (r->hz / NS_PER_S);
		count *= r->period;
	}
	if (!(count >= 0) || !(ns >= 0))
		return import_bad(&r->im, "a sample has a negative value");
	if (count >= 0x1p62 || ns >= 0x1p62)
		return import_bad(&r->im, "a value is out of range");
	r->values[0] = (int64_t)count;
	r->values[1] = (int64_t)ns;
	r->counted = true;
	return 0;
}

/* Adds the waiting stack, if it has its counts. */
static int
end_stack(struct reader *r)
{
	bool cost = false;
	int rc = 0;

	for (uint32_t i = 0; r->counted && i < r->im.p->ntypes; i++)
		cost |= r->values[i] != 0;
	if (cost)
		rc = push_stack(r) ?: import_values(&r->im, NULL, 0, r->values);
	r->counted = false;
	r->nnamed = 0;
	*r->stack = '\0';
	return rc;
}

static void
begin_stack(struct reader *r, const char *addresses)
{
	snprintf(r->stack, sizeof(r->stack), "%s", addresses);
}

/* Reads "0x5580 main.hot+0x15 /src/main.go:12", a line that names a function.
 */
static int
read_name(struct reader *r, const char *p)
{
	const char *name, *file, *plus, *colon;
	struct import_frame f = {0};
	char *end;
	uint64_t address = strtoull(p, &end, 16);
	struct named *to = &r->named[r->nnamed];

	name = end + strspn(end, " \t");
	file = name + strcspn(name, "\t");
	if (end == p || file == name || r->nnamed == PROFILE_MAX_FRAMES)
		return 0;
	plus = memrchr(name, '+', (size_t)(file - name));
	f.name = name;
	f.nname = (size_t)((plus ? plus : file) - name);
	f.file = file + strspn(file, " \t");
	colon = strrchr(f.file, ':');
	f.nfile = colon ? (size_t)(colon - f.file) : strlen(f.file);
	to->address = address;
	to->line =
		(struct line){.line = colon ? strtoll(colon + 1, NULL, 10) : 0};
	r->nnamed++;
	return import_function(&r->im, &f, &to->line.function);
}

/* Reads "3: 4096 [7: 9000]" as the sum of all stacks. */
static void
read_all_counts(struct reader *r, const char *p)
{
	if (!r->all[1] &&
	    sscanf(p, " %*f: %lf [%*f: %lf]", &r->all[0], &r->all[1]) != 2)
		r->all[0] = r->all[1] = 0;
}

/* Reads a line of jemalloc's format. Counts of single threads are skipped,
 * since the first, t*, includes them. */
static int
read_pair(struct reader *r)
{
	const char *p = r->line + strspn(r->line, " ");
	int rc;

	if (*p == '@') {
		rc = end_stack(r);
		begin_stack(r, p + 1);
		return rc;
	}
	if (strncmp(p, "t*:", 3) != 0)
		return 0;
	if (!*r->stack) {
		read_all_counts(r, p + 3);
		return 0;
	}
	rc = read_heap_counts(r, p + 3);
	if (rc)
		return rc;
	return r->counted ? end_stack(r)
	                  : import_bad(&r->im, "a stack has no counts");
}

/* Reads a line with counts and a stack, or one that names a function. */
static int
read_line(struct reader *r)
{
	const char *at = strchr(r->line, '@');
	int rc;

	if (*r->line == '#' && r->counted)
		return read_name(r, r->line + 1 + strspn(r->line + 1, " \t"));
	rc = end_stack(r);
	if (rc || !at)
		return rc;
	rc = r->page == PAGE_HEAP ? read_heap_counts(r, r->line)
	                          : read_page_counts(r);
	if (!rc && r->counted)
		begin_stack(r, at + 1);
	return rc;
}

/* Reads the lines before the first stack: "sampling period=N". */
static int
read_waits(struct reader *r)
{
	double ms;

	(void)sscanf(r->line, "cycles/second =%lf", &r->hz);
	if (sscanf(r->line, "sampling period =%lf", &r->period) == 1 &&
	    r->period >= 0 && r->period < 0x1p62)
		r->im.p->period = (int64_t)r->period;
	if (sscanf(r->line, "ms since reset =%lf", &ms) == 1 && ms > 0 &&
	    ms < 0x1p62 / NS_PER_MS)
		r->im.p->duration_ns = (int64_t)(ms * NS_PER_MS);
	return read_line(r);
}

/* --- the file ------------------------------------------------------------- */

static void
reader_done(struct reader **r)
{
	if (!*r)
		return;
	import_done(&(*r)->im);
	import_maps_done(&(*r)->maps);
	free(*r);
}

/* Reads "@ heap_v2/524288" in the first line; jemalloc omits the "@". Keeps
 * the form of a period that cannot be used. */
static double
period_of(struct reader *r)
{
	static const struct {
		const char *word;
		double by;
	} forms[] = {{"heap_v2/", 1}, {"heapz_v2/", 1}, {"heap/", 0.5}};
	const char *line = r->line, *at = strchr(line, '@');

	line = at ? at + 1 + strspn(at + 1, " ") : line;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (begins(line, strlen(line), forms[i].word))
			return strtod(line + strlen(forms[i].word), NULL) *
			       forms[i].by;
	if (at && strchr(line, '/'))
		snprintf(r->form, sizeof(r->form), "%.*s",
		         (int)strcspn(line, "/ \t\r"), line);
	return 0;
}

/*
 * Notes missing stacks, and values that are not scaled. Sums of programs that
 * run while they write their file differ a little.
 */
static void
put_notes(struct reader *r)
{
	if (*r->form)
		buf_addf(r->im.why,
		         "its values are samples, not scaled to all "
		         "allocations: how %s was sampled is not known\n",
		         r->form);
	for (int i = 0; i < 2; i++) {
		if (!(r->read[i] < r->all[i] * (1 - MOST_MISSING)))
			continue;
		buf_addf(r->im.why,
		         "its stacks have %.1f %% of the bytes that its first "
		         "lines count: it may be cut off\n",
		         100 * r->read[i] / r->all[i]);
		return;
	}
}

static int
set_types(struct reader *r)
{
	struct profile *p = r->im.p;
	int rc = profile_type(p, "alloc_objects", "count")
	                 ?: profile_type(p, "alloc_space", "bytes")
	                 ?: profile_type(p, "inuse_objects", "count")
	                 ?: profile_type(p, "inuse_space", "bytes");

	if (!rc && r->period > 1 && r->period < 0x1p62)
		rc = profile_cstring(p, "space", &p->period_type.type)
		             ?: profile_cstring(p, "bytes",
		                                &p->period_type.unit);
	if (!rc && p->period_type.unit)
		p->period = (int64_t)r->period;
	return rc;
}

/* Reads the mappings at the end of a file, and sets *end to where they
 * start. */
static int
read_maps(struct reader *r, const char *p, const char **end)
{
	const char *stop = *end, *at;

	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		at = memmem(p, (size_t)(*end - p), libraries[i],
		            strlen(libraries[i]));
		if (at)
			*end = at;
	}
	return import_maps_read(&r->im, *end, stop, &r->maps);
}

static int
read_all(struct reader *r, const char *p, size_t n)
{
	const char *end = p + n;
	bool pairs = begins(p, n, "heap_v2/");
	int rc = read_maps(r, p, &end);

	if (rc || !next_line(r, &p, end))
		return rc;
	r->period = period_of(r);
	if (!pairs)
		read_all_counts(r, r->line + strcspn(r->line, ":") + 1);
	rc = set_types(r);
	while (!rc && next_line(r, &p, end))
		rc = pairs ? read_pair(r) : read_line(r);
	rc = rc ? rc : end_stack(r);
	if (!rc)
		put_notes(r);
	return rc;
}

/* Sets the types that pprof assigns to such a page. */
static int
set_page_types(struct reader *r)
{
	struct profile *p = r->im.p;
	size_t n = counted_name(r->line, strlen(r->line));
	int rc;

	r->page = n ? PAGE_COUNTS : PAGE_WAITS;
	r->period = 1;
	if (n) {
		r->line[n] = '\0';
		rc = profile_type(p, r->line, "count");
	} else {
		rc = profile_type(p, "contentions", "count")
		             ?: profile_type(p, "delay", "nanoseconds");
	}
	p->period_type = p->types[0];
	p->period = 1;
	return rc;
}

static int
read_page(struct reader *r, const char *p, const char *end)
{
	int rc = read_maps(r, p, &end);

	if (!rc && next_line(r, &p, end))
		rc = set_page_types(r);
	while (!rc && next_line(r, &p, end))
		rc = r->page == PAGE_WAITS ? read_waits(r) : read_line(r);
	return rc ? rc : end_stack(r);
}

int
input_gopage_read(const char *p, size_t n, const struct import_ask *ask,
                  struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? import_init(&r->im, ask, why) : -ENOMEM;

	if (!rc)
		rc = read_page(r, p, p + n);
	return rc ? rc : import_end(&r->im, out);
}

int
input_heap_read(const char *p, size_t n, const struct import_ask *ask,
                struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? import_init(&r->im, ask, why) : -ENOMEM;

	if (!rc)
		rc = read_all(r, p, n);
	return rc ? rc : import_end(&r->im, out);
}
