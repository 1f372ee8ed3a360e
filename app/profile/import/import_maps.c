#include "import_maps.h"

#include "base/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINE     4500 /* a path may have 4096 bytes */
#define MAX_MAPPINGS 8192

void
import_maps_done(struct import_maps *m)
{
	free(m->spans);
}

static int
read_mapping(struct import *im, const char *line, struct import_maps *m)
{
	uint64_t start, end, offset;
	struct mapping row = {0};
	char may[8];
	int at = 0, rc;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n",
	           &start, &end, may, &offset, &at) != 4 ||
	    !at || start >= end || may[2] != 'x' || line[at] != '/' ||
	    m->n == MAX_MAPPINGS)
		return 0;
	row.start = start;
	row.limit = end;
	row.offset = offset;
	rc = profile_cstring(im->p, line + at, &row.file);
	if (!rc)
		rc = profile_mapping(im->p, &row, &m->spans[m->n].mapping);
	if (rc)
		return rc;
	m->spans[m->n].start = start;
	m->spans[m->n++].end = end;
	return 0;
}

static int
by_start(const void *a, const void *b)
{
	const struct import_span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int
import_maps_read(struct import *im, const char *p, const char *end,
                 struct import_maps *m)
{
	char text[MAX_LINE + 1];
	const char *line;
	size_t n;
	int rc = 0;

	m->spans = calloc(MAX_MAPPINGS, sizeof(*m->spans));
	if (!m->spans)
		return -ENOMEM;
	while (!rc && import_line(&p, end, &line, &n)) {
		n = n < MAX_LINE ? n : MAX_LINE;
		memcpy(text, line, n);
		text[n] = '\0';
		rc = read_mapping(im, text, m);
	}
	qsort(m->spans, m->n, sizeof(*m->spans), by_start);
	return rc;
}

uint32_t
import_maps_find(const struct import_maps *m, uint64_t address)
{
	size_t n = ROWS_WHILE(m->n, i, m->spans[i].start <= address);

	return n && address < m->spans[n - 1].end ? m->spans[n - 1].mapping
	                                          : PROFILE_NONE;
}
