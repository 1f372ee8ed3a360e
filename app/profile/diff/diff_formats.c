#include "diff_formats.h"

#include <string.h>

#define DIFF_FORMAT(name, by, doc) {#name, COMPARE_BY_##by, doc, diff_##name},
const struct diff_format diff_formats[] = {
#include "diff_formats.def"
};
#undef DIFF_FORMAT

const size_t ndiff_formats = ARRAY_LEN(diff_formats);

const struct diff_format *
diff_format_find(const char *name)
{
	for (size_t i = 0; i < ndiff_formats; i++)
		if (strcmp(diff_formats[i].name, name) == 0)
			return &diff_formats[i];
	return NULL;
}
