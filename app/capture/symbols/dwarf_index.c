#include "dwarf_index.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

static int
add_ranges(Dwarf_Die *die, struct buf *out)
{
	struct dwarf_range r = {.unit = dwarf_dieoffset(die)};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (out->len >= DWARF_MAX_RANGES * sizeof(r))
			return -E2BIG;
		r.start = start;
		r.end = end;
		if (start < end)
			buf_add(out, &r, sizeof(r));
	}
	return buf_err(out);
}

static int
by_start(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* All units, not .debug_aranges: clang doesn't write those. */
int
dwarf_index_build(Dwarf *dw, struct buf *out)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	int rc = 0;

	while (!rc && !dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL))
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			rc = add_ranges(&die, out);
	if (!rc && out->len)
		qsort(out->p, out->len / sizeof(struct dwarf_range),
		      sizeof(struct dwarf_range), by_start);
	return rc;
}

int
dwarf_index_open(const struct symbols_piece *piece, struct dwarf_index *out)
{
	if (piece->n % sizeof(struct dwarf_range))
		return -EBADMSG;
	*out = (struct dwarf_index){piece->p,
	                            piece->n / sizeof(struct dwarf_range)};
	return 0;
}

bool
dwarf_index_lookup(const struct dwarf_index *ix, uint64_t vaddr, uint64_t *unit)
{
	size_t lo = 0, hi = ix->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (ix->ranges[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr >= ix->ranges[lo - 1].end)
		return false;
	*unit = ix->ranges[lo - 1].unit;
	return true;
}
