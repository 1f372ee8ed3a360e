#include "lib/any_profile.h"

#include "lib/test.h"

#include <stdlib.h>

static int64_t
any(unsigned *seed)
{
	static const int64_t ends[] = {0, 1, -1, INT64_MAX, INT64_MIN, 300};

	return ends[(unsigned)rand_r(seed) % ARRAY_LEN(ends)];
}

static uint32_t
any_string(struct profile *p, unsigned *seed)
{
	static const char *const texts[] = {"",      "a",   "b\xFF", "main",
	                                    "a/b.c", "cpu", "\x01"};
	uint32_t id;

	ck_assert_int_eq(
		profile_cstring(
			p, texts[(unsigned)rand_r(seed) % ARRAY_LEN(texts)],
			&id),
		0);
	return id;
}

static void
any_location(struct profile *p, unsigned *seed)
{
	struct mapping m = {
		.start = (uint64_t)any(seed),
		.limit = (uint64_t)any(seed),
		.offset = (uint64_t)any(seed),
		.file = any_string(p, seed),
		.build_id = any_string(p, seed),
		.has_functions = any(seed) == 0,
		.has_files = any(seed) == 0,
		.has_lines = any(seed) == 0,
		.has_inlines = any(seed) == 0,
	};
	struct function f = {any_string(p, seed), any_string(p, seed),
	                     any_string(p, seed), any(seed)};
	struct line lines[3];
	uint32_t mapping, at, n = (unsigned)rand_r(seed) % 4;

	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	for (uint32_t i = 0; i < n; i++) {
		lines[i].line = any(seed);
		ck_assert_int_eq(profile_function(p, &f, &lines[i].function),
		                 0);
	}
	if (any(seed) == 0)
		mapping = PROFILE_NONE;
	ck_assert_int_eq(profile_location(p, mapping, (uint64_t)any(seed),
	                                  lines, n, &at),
	                 0);
	p->locations[at].folded = any(seed) == 0;
}

static void
any_sample(struct profile *p, unsigned *seed)
{
	struct label labels[2] = {
		{any_string(p, seed), any_string(p, seed), any(seed),
	         any_string(p, seed)},
		{any_string(p, seed), 0, any(seed), 0},
	};
	/* so that sums of equal samples stay in range */
	const int64_t v[] = {any(seed) >> 8, any(seed) >> 8};
	uint32_t stack[8], n = (unsigned)rand_r(seed) % 8;

	for (uint32_t i = 0; i < n; i++)
		stack[i] = (unsigned)rand_r(seed) % p->nlocations;
	ck_assert_int_eq(profile_sample(p, stack, n, labels,
	                                (unsigned)rand_r(seed) % 3, v),
	                 0);
}

struct profile *
any_profile(unsigned seed)
{
	struct profile *p = profile_new();

	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_type(p, "", ""), 0);
	for (int i = 0; i < 20; i++)
		any_location(p, &seed);
	for (int i = 0; i < 50; i++)
		any_sample(p, &seed);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(profile_comment(p, i ? "note" : ""), 0);
	p->default_type = any_string(p, &seed);
	p->drop_frames = any_string(p, &seed);
	p->keep_frames = any_string(p, &seed);
	p->doc_url = any_string(p, &seed);
	p->period_type.type = any_string(p, &seed);
	p->period_type.unit = any_string(p, &seed);
	p->period = any(&seed);
	p->time_ns = any(&seed);
	p->duration_ns = any(&seed);
	return p;
}
