#include "wide.h"

#include "random.h"

#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_NS 10000000

static int
add_frame(struct profile *p, uint32_t mapping, unsigned number, uint32_t *out)
{
	struct function f = {0};
	struct line line = {0};
	char name[80];
	int rc;

	snprintf(name, sizeof(name), "wide::part_%u::step_%u(int)", number % 97,
	         number);
	rc = profile_cstring(p, name, &f.name);
	if (!rc)
		rc = profile_function(p, &f, &line.function);
	return rc ? rc
	          : profile_location(p, mapping, 0x1000 + 16ull * number, &line,
	                             1, out);
}

static int
add_stacks(struct profile *p, uint64_t seed, unsigned stacks, unsigned depth,
           const uint32_t *frames, unsigned names)
{
	const int64_t values[] = {1, SAMPLE_NS};
	uint32_t stack[WIDE_MAX_DEPTH];
	int rc = 0;

	for (unsigned i = 0; !rc && i < stacks; i++) {
		for (unsigned k = 0; k < depth; k++)
			stack[k] = frames[random_next(&seed) % names];
		rc = profile_sample(p, stack, depth, NULL, 0, values);
	}
	return rc;
}

struct profile *
wide_profile(uint64_t seed, unsigned stacks, unsigned depth, unsigned names)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_FREE uint32_t *frames = calloc(names, sizeof(*frames));
	struct mapping m = {.start = 0x1000, .limit = 0x1000000};
	uint32_t mapping;

	if (!p || !frames || depth > WIDE_MAX_DEPTH ||
	    profile_type(p, "samples", "count") ||
	    profile_type(p, "cpu", "nanoseconds") ||
	    profile_cstring(p, "/usr/bin/wide", &m.file) ||
	    profile_mapping(p, &m, &mapping))
		return NULL;
	for (unsigned i = 0; i < names; i++)
		if (add_frame(p, mapping, i, &frames[i]))
			return NULL;
	if (add_stacks(p, seed, stacks, depth, frames, names))
		return NULL;
	return TAKE(p);
}
