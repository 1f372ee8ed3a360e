#include "lib/folded.h"

#include <stdio.h>
#include <string.h>

#define MUST(call)               \
	do {                     \
		if (call)        \
			abort(); \
	} while (0)

static uint32_t
string(struct profile *p, const char *s, size_t n)
{
	uint32_t id;

	MUST(profile_string(p, s, n, &id));
	return id;
}

static uint32_t
module(struct profile *p, const char *name, size_t n)
{
	struct mapping m = {.limit = UINT64_MAX, .has_functions = true};
	uint32_t at;

	m.file = string(p, name, n);
	MUST(profile_mapping(p, &m, &at));
	return at;
}

static uint32_t
frame(struct profile *p, const char *s, size_t n)
{
	const char *at = memchr(s, '@', n);
	size_t len = at ? (size_t)(at - s) : n;
	struct function f = {.name = string(p, s, len)};
	struct line line = {.line = 1};
	uint32_t m, location;

	m = at ? module(p, at + 1, n - len - 1)
	       : module(p, "/usr/bin/app", strlen("/usr/bin/app"));
	f.system_name = f.name;
	MUST(profile_function(p, &f, &line.function));
	MUST(profile_location(p, m, 0x1000 + line.function, &line, 1,
	                      &location));
	return location;
}

static void
stack(struct profile *p, const char *s, const char *end)
{
	const char *space = memrchr(s, ' ', (size_t)(end - s));
	int64_t count = atoll(space + 1);
	int64_t values[] = {count, count * FOLDED_PERIOD_NS};
	uint32_t frames[64], n = 0;

	for (const char *to = space; to > s && n < ARRAY_LEN(frames);) {
		const char *semi = memrchr(s, ';', (size_t)(to - s));
		const char *from = semi ? semi + 1 : s;

		frames[n++] = frame(p, from, (size_t)(to - from));
		to = semi ? semi : s;
	}
	MUST(profile_sample(p, frames, n, NULL, 0, values));
}

struct profile *
profile_of(const char *folded)
{
	struct profile *p = profile_new();

	if (!p)
		abort();
	MUST(profile_type(p, "samples", "count"));
	MUST(profile_type(p, "cpu", "nanoseconds"));
	for (const char *s = folded; *s;) {
		const char *end = strchrnul(s, '\n');

		stack(p, s, end);
		s = *end ? end + 1 : end;
	}
	return p;
}
