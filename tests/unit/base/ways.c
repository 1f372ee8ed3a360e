#include "base/ways.h"

#include "lib/test.h"

#define BIT(way) (UINT64_C(1) << WAY_##way)

TEST(a_service_is_profiled_by_the_ways_that_fit_its_kind_in_their_order)
{
	static const struct {
		const char *kind, *type;
		uint64_t ways;
		enum way_engine first;
	} rows[] = {
		{"native", "cpu", BIT(cpu_any_RECORDER), ENGINE_RECORDER},
		{"auto", "io", BIT(io_any_RECORDER), ENGINE_RECORDER},
		{"go", "memory", BIT(memory_go_BUCKETS), ENGINE_BUCKETS},
		{"go", "block", BIT(block_go_BUCKETS), ENGINE_BUCKETS},
		{"native", "memory",
	         BIT(memory_native_HEAP) | BIT(memory_native_RECORDER),
	         ENGINE_HEAP},
		{"native", "alloc",
	         BIT(alloc_native_HEAP) | BIT(alloc_native_RECORDER),
	         ENGINE_HEAP},
		{"native", "block", BIT(block_native_RECORDER),
	         ENGINE_RECORDER},
		{"native", "mutex", BIT(mutex_native_RECORDER),
	         ENGINE_RECORDER},
		{"auto", "alloc",
	         BIT(alloc_go_BUCKETS) | BIT(alloc_native_HEAP) |
	                 BIT(alloc_native_RECORDER),
	         ENGINE_BUCKETS},
		{"native", "goroutine", BIT(goroutine_native_SNAPSHOT),
	         ENGINE_SNAPSHOT},
		{"auto", "goroutine",
	         BIT(goroutine_go_SNAPSHOT) | BIT(goroutine_native_SNAPSHOT),
	         ENGINE_SNAPSHOT},
		{"host", "cpu", BIT(cpu_any_RECORDER), ENGINE_RECORDER},
		{"host", "io", BIT(io_any_RECORDER), ENGINE_RECORDER},
		{"host", "mutex", BIT(mutex_native_RECORDER), ENGINE_RECORDER},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t ways = ways_outside(rows[i].kind, rows[i].type);

		ck_assert_msg(ways == rows[i].ways, "%s of %s: %lx",
		              rows[i].type, rows[i].kind, (unsigned long)ways);
		ck_assert_int_eq(way_rows[ways_first(ways)].engine,
		                 rows[i].first);
	}
	ck_assert_uint_eq(ways_outside("auto", "none"), 0);
	/* nothing may be probed or stopped in all programs of a host */
	ck_assert_uint_eq(ways_outside("host", "alloc"), 0);
	ck_assert_uint_eq(ways_outside("host", "memory"), 0);
	ck_assert_uint_eq(ways_outside("host", "goroutine"), 0);
}
END

TEST(the_ways_of_an_engine_are_those_of_its_rows)
{
	uint64_t all = ways_outside("auto", "memory");

	ck_assert_uint_eq(ways_of(all, ENGINE_HEAP), BIT(memory_native_HEAP));
	ck_assert_uint_eq(ways_of(all, ENGINE_SNAPSHOT), 0);
}
END

TEST(types_that_only_snapshots_have_are_taken_at_once)
{
	ck_assert(ways_at_once("goroutine"));
	ck_assert(!ways_at_once("memory")); /* only of some programs */
	ck_assert(!ways_at_once("cpu"));
	ck_assert(!ways_at_once("wall"));
	ck_assert(!ways_at_once("none"));
}
END

SUITE("ways");
