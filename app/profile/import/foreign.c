#include "foreign.h"
#include "import_build.h"

#include <string.h>

static const struct start {
	size_t at;
	const char *bytes;
	size_t n;
	const char *what, *way;
} starts[] = {
#define AT(at, bytes, what, way) {at, bytes, sizeof(bytes) - 1, what, way},
#define STARTS(bytes, what, way) AT(0, bytes, what, way)
#define HAS(one, two, what, way)
#include "foreign.def"
#undef AT
#undef STARTS
#undef HAS
};

static const struct texts {
	const char *one, *two, *what, *way;
} texts[] = {
#define AT(at, bytes, what, way)
#define STARTS(bytes, what, way)
#define HAS(one, two, what, way) {one, two, what, way},
#include "foreign.def"
#undef AT
#undef STARTS
#undef HAS
};

static void
explain(const char *what, const char *way, struct buf *why)
{
	buf_addf(why, "it is %s: %s", what, way);
}

bool
foreign_start(const char *p, size_t n, struct buf *why)
{
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		const struct start *s = &starts[i];

		if (n < s->at + s->n || memcmp(p + s->at, s->bytes, s->n) != 0)
			continue;
		explain(s->what, s->way, why);
		return true;
	}
	return false;
}

static bool
has(const char *p, size_t n, const char *text)
{
	return memmem(p, n, text, strlen(text));
}

bool
foreign_text(const char *p, size_t n, struct buf *why)
{
	n = n < FOREIGN_LOOK ? n : FOREIGN_LOOK;
	if (has(p, n, "\"shared\"")) /* a speedscope file */
		return false;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const struct texts *t = &texts[i];

		if (!has(p, n, t->one) || !has(p, n, t->two))
			continue;
		if (why)
			explain(t->what, t->way, why);
		return true;
	}
	return false;
}
