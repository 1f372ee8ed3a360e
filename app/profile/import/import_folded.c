/*
 * Folded stacks: "root;...;leaf COUNT".
 * Source: flamegraph.pl.
 */
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define LOOK   ((size_t)1 << 20) /* bytes examined */
#define DIGITS 32

/* Splits the count off a line. Returns 0 or -1. */
static int
split(const char *line, size_t *n, double *count)
{
	const char *end = line + *n, *at = end;
	char text[DIGITS + 1];

	while (at > line && (isdigit((unsigned char)at[-1]) || at[-1] == '.' ||
	                     at[-1] == '-'))
		at--;
	if (at == end || end - at > DIGITS || at < line + 2 ||
	    (at[-1] != ' ' && at[-1] != '\t'))
		return -1;
	memcpy(text, at, (size_t)(end - at));
	text[end - at] = '\0';
	*count = strtod(text, (char **)&end);
	*n = (size_t)(at - 1 - line);
	return *end ? -1 : 0;
}

bool
input_folded_looks(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	double count;

	while (import_line(&p, end, &line, &n))
		if (n)
			return !split(line, &n, &count);
	return false;
}

/* True when each line that is examined ends with two counts, as difffolded.pl
 * writes them. */
static bool
is_differential(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	bool any = false;
	double count;

	while (import_line(&p, end, &line, &n)) {
		if (!n || (p == end && n >= LOOK / 2))
			continue;
		if (split(line, &n, &count) || split(line, &n, &count))
			return false;
		any = true;
	}
	return any;
}

/* Reads frames leaf first, from the end of the line. */
static int
push_frames(struct import *im, const char *line, const char *to)
{
	int r = 0;

	while (!r && to > line) {
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

	if (!n)
		return 0;
	if (!im->ask->lines && split(line, &n, &count))
		return import_bad(im, "a line does not end with a count");
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
	while (!r && import_line(&p, end, &line, &n))
		r = read_line(&im, line, n);
	return r ? r : import_end(&im, out);
}
