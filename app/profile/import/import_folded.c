/*
 * Folded stacks: "root;...;leaf COUNT". Comments and other lines are skipped.
 * Source: flamegraph.pl; comments as austin and async-profiler write them.
 */
#include "foreign.h"
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define LOOK   ((size_t)1 << 20) /* bytes examined */
#define DIGITS 32
/* One in this many lines must be a stack. */
#define STACKS_AMONG 20

static bool
blank(char c)
{
	return c == ' ' || c == '\t';
}

static size_t
without_blanks(const char *line, size_t n)
{
	while (n && blank(line[n - 1]))
		n--;
	return n;
}

/* Reads a number such as 10, +10, 0.5 or 1e3. Returns 0 or -1. */
static int
read_number(const char *p, size_t n, double *out)
{
	char text[DIGITS + 1], *end;

	if (n > DIGITS)
		return -1;
	memcpy(text, p, n);
	text[n] = '\0';
	*out = strtod(text, &end);
	return end == text + n && strspn(text, "+-.0123456789eE") == n ? 0 : -1;
}

/* Splits the count off a line. Returns 0 or -1. */
static int
split(const char *line, size_t *n, double *count)
{
	size_t end = without_blanks(line, *n), at = end;

	while (at && !blank(line[at - 1]))
		at--;
	if (!without_blanks(line, at) || at == end ||
	    read_number(line + at, end - at, count))
		return -1;
	*n = without_blanks(line, at);
	return 0;
}

/* True for "# text" and "// text". #<Class:A> and //anon are functions. */
static bool
is_comment(const char *line, size_t n)
{
	size_t mark = n && *line == '#'                 ? 1
	              : n > 1 && !memcmp(line, "//", 2) ? 2
	                                                : 0;

	return mark && (n == mark || blank(line[mark]));
}

/* True if frames are joined as tools join them, unlike statements of source
 * code or clauses of a sentence. */
static bool
is_joined(const char *line, size_t n)
{
	const char *semi = memchr(line, ';', n);

	return semi && semi > line && semi + 1 < line + n && !blank(semi[-1]) &&
	       !blank(semi[1]);
}

/* The first lines of a file, by the number of counts at their ends. */
struct lines {
	size_t with[3];
	size_t joined; /* those with counts that have several frames */
	bool deep;     /* one has */
};

static struct lines
count_lines(const char *p, size_t n)
{
	/* the first line counts, however long it is */
	const char *first = n ? memchr(p, '\n', n) : NULL, *line;
	size_t whole = first ? (size_t)(first - p) + 1 : 0;
	size_t look = n < LOOK ? n : whole > LOOK ? whole : LOOK;
	const char *end = p + look;
	bool cut = look < n && end[-1] != '\n';
	struct lines out = {0};
	double count;

	while (import_line(&p, end, &line, &n)) {
		if (!without_blanks(line, n) || is_comment(line, n) ||
		    (cut && p == end))
			continue;
		if (split(line, &n, &count)) {
			out.with[0]++;
			continue;
		}
		out.deep = out.deep || memchr(line, ';', n);
		out.joined += is_joined(line, n);
		out.with[split(line, &n, &count) ? 1 : 2]++;
	}
	return out;
}

/* If no line has several frames, all lines but a title must end with a count,
 * since much other text has lines that end with a number. A file of no other
 * kind may have more warnings than stacks. */
bool
input_folded_looks(const char *p, size_t n)
{
	struct lines lines = count_lines(p, n);
	size_t stacks = lines.with[1] + lines.with[2];

	if (!stacks || !lines.deep)
		return stacks && lines.with[0] < 2;
	return stacks >= lines.with[0] ||
	       (lines.joined && lines.joined * STACKS_AMONG >= lines.with[0] &&
	        !foreign_text(p, n, NULL));
}

bool
import_has_bare_stacks(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	size_t with = 0, without = 0;
	double count;

	while (import_line(&p, end, &line, &n)) {
		size_t most = n;

		if (!without_blanks(line, n) || is_comment(line, n))
			continue;
		if (*line != '{' && memchr(line, ';', n) &&
		    split(line, &most, &count))
			with++;
		else
			without++;
	}
	return with > without;
}

/* True when the lines end with two counts, as difffolded.pl writes them. */
static bool
is_differential(const char *p, size_t n)
{
	struct lines lines = count_lines(p, n);

	return lines.with[2] && !lines.with[1] && lines.with[2] > lines.with[0];
}

/* Reads frames leaf first, from the end of the line. */
static int
push_frames(struct import *im, const char *line, const char *to)
{
	int r = 0;

	while (!r && to > line && !import_full(im)) {
		const char *semi = memrchr(line, ';', (size_t)(to - line));
		const char *from = semi ? semi + 1 : line;
		struct import_frame f = {.name = from,
		                         .nname = (size_t)(to - from)};
		uint32_t location;

		if (f.nname) {
			r = import_location(im, &f, &location);
			if (!r)
				r = import_push(im, location);
		}
		to = semi ? semi : line;
	}
	return r;
}

static int
read_line(struct import *im, const char *line, size_t n)
{
	double count = 1;
	int r;

	if (!without_blanks(line, n))
		return 0;
	if (!im->ask->lines &&
	    (is_comment(line, n) || split(line, &n, &count))) {
		import_skip(im, line, n);
		return 0;
	}
	r = push_frames(im, line, line + n);
	return r ? r : import_sample(im, NULL, 0, 1, count);
}

int
input_folded_read(const char *p, size_t n, const struct import_ask *ask,
                  struct profile **out, struct buf *why)
{
	CLEANUP(import_done) struct import im;
	const char *end = p + n, *line;
	int r = import_init(&im, ask, why);

	if (!r && !ask->lines && is_differential(p, n))
		r = import_bad(&im, "its lines have two counts: it is a "
		                    "difference of two profiles, not one");
	if (!r)
		r = import_unit(&im, "");
	while (!r && import_next(&im, &p, end, &line, &n))
		r = read_line(&im, line, n);
	return r ? r : import_end(&im, out);
}
