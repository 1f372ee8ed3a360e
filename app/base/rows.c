#include "base/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 16

int
rows_room(void *rows, uint32_t *cap, uint64_t used, uint64_t more,
          size_t row_size)
{
	uint64_t want = *cap ? *cap : FIRST_ROWS;
	void *p;

	if (used + more > ROWS_MAX)
		return -E2BIG;
	if (used + more <= *cap)
		return 0;
	while (want < used + more)
		want *= 2;
	memcpy(&p, rows, sizeof(p));
	p = realloc(p, want * row_size);
	if (!p)
		return -ENOMEM;
	memcpy(rows, &p, sizeof(p));
	*cap = (uint32_t)want;
	return 0;
}

int
rows_reach(void *rows, uint32_t *cap, uint64_t row, size_t row_size)
{
	uint32_t before = *cap;
	int rc = row < before ? 0 : rows_room(rows, cap, row, 1, row_size);
	char *p;

	if (rc || *cap == before)
		return rc;
	memcpy(&p, rows, sizeof(p));
	memset(p + before * row_size, 0, (*cap - before) * row_size);
	return 0;
}
