#include "base/quantity.h"

#include <math.h>
#include <string.h>

struct scale {
	const char *unit; /* as in the profile */
	double least;     /* smallest value shown in this unit */
	const char *name;
};

static const struct scale scales[] = {
	{"nanoseconds", 1e9, "s"},  {"nanoseconds", 1e6, "ms"},
	{"nanoseconds", 1e3, "µs"}, {"nanoseconds", 1, "ns"},
	{"bytes", 0x1p40, "TiB"},   {"bytes", 0x1p30, "GiB"},
	{"bytes", 0x1p20, "MiB"},   {"bytes", 0x1p10, "KiB"},
	{"bytes", 1, "B"},
};

void
quantity(struct buf *out, int64_t v, const char *unit)
{
	double size = fabs((double)v);

	for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
		const struct scale *s = &scales[i];

		if ((size < s->least && s->least > 1) ||
		    strcmp(unit, s->unit) != 0)
			continue;
		buf_addf(out, s->least > 1 ? "%.2f %s" : "%.0f %s",
		         (double)v / s->least, s->name);
		return;
	}
	buf_int(out, v);
	buf_putc(out, ' ');
	buf_puts(out, unit);
}
