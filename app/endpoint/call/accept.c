#include "accept.h"

#include <stdlib.h>
#include <string.h>

/* Returns the quality of one media range in thousandths. */
static int
range_quality(const char *range, size_t n)
{
	const char *q = memmem(range, n, "q=", 2);
	double quality = q ? strtod(q + 2, NULL) : 1;

	return quality >= 1 ? 1000 : quality > 0 ? (int)(quality * 1000) : 0;
}

/* Rates how precisely a range names a type: 3 type/subtype, 2 type only, 1
 * anything, 0 not at all. */
static int
range_fit(const char *range, size_t n, const char *type)
{
	size_t len = strcspn(range, ";, "), type_len = strcspn(type, ";");

	if (len > n)
		len = n;
	if (len == type_len && !strncasecmp(range, type, len))
		return 3;
	if (len == 3 && !strncmp(range, "*/*", 3))
		return 1;
	if (len > 2 && !strncmp(range + len - 2, "/*", 2) &&
	    !strncasecmp(range, type, len - 1))
		return 2;
	return 0;
}

bool
content_is(const char *content_type, const char *type)
{
	size_t n = strlen(type);

	return !strncasecmp(content_type, type, n) &&
	       (!content_type[n] || strchr("; ", content_type[n]));
}

int
accept_quality(const char *accept, const char *type)
{
	int best_fit = 0, quality = 0;

	while (*accept) {
		size_t n;
		int fit;

		accept += strspn(accept, " ,");
		n = strcspn(accept, ",");
		fit = range_fit(accept, n, type);
		if (fit > best_fit) {
			best_fit = fit;
			quality = range_quality(accept, n);
		}
		accept += n;
	}
	return quality;
}

const struct format *
accept_format(const char *accept)
{
	const struct format *best = &formats[0];
	int most = 0;

	for (size_t i = 0; i < nformats; i++) {
		int q = accept_quality(accept, formats[i].content_type);

		if (q > most) {
			most = q;
			best = &formats[i];
		}
	}
	return best;
}
