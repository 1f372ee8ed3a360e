#include "lib/imported.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#define WALL "cpuprofile wall samples/count wall/nanoseconds\n"

/* Values: speedscope 1.25, which leaves out (idle), and gives the last sample
 * no time: we give it the time until endTime. */
TEST(a_cpuprofile_is_wall_time_by_its_deltas_with_garbage_on_the_last_stack)
{
	imported_file_is("", "v8.cpuprofile", 0,
	                 WALL "(program) 1 1000000\n"
	                      "(idle) 2 370000\n"
	                      "(garbage collector) 1 2000000\n"
	                      "(anonymous);serve 3 4300000\n"
	                      "(anonymous);serve;(garbage collector) 2 30000\n"
	                      "(anonymous);parse 1 1300000\n");
}
END

TEST(a_cpuprofile_without_samples_shares_its_time_out_to_hits)
{
	imported_file_is("wall", "v8.hits.cpuprofile", 0,
	                 WALL "main 1 1000000\n"
	                      "main;hot 3 3000000\n"
	                      "it has numbers of hits, but no samples: the "
	                      "time is shared out to them evenly\n");
}
END

TEST(a_cpuprofile_of_old_node_is_a_tree_with_timestamps)
{
	imported_file_is("", "v8.old.cpuprofile", 0,
	                 WALL "main 1 3000000\n"
	                      "main;hot 1 500000\n");
}
END

TEST(a_heapprofile_is_memory_in_use)
{
	imported_file_is("", "v8.heapprofile", 0,
	                 "heapprofile memory inuse_space/bytes\n"
	                 "(anonymous) 65560\n"
	                 "(anonymous);cache 524304\n"
	                 "(EXTERNAL) 4096\n");
}
END

/* Appends count copies of text. */
static void
repeat(struct buf *b, const char *text, unsigned count)
{
	while (count--)
		buf_puts(b, text);
}

TEST(a_heapprofile_is_as_deep_as_a_profile_can_be)
{
	static const struct {
		unsigned depth;
		int rc;
		const char *want;
	} rows[] = {
		{1024, 0, " 8\n"},
		{1025, 0, "stacks of more than 1024 frames, without those "},
		{2000, -E2BIG,
	         "its JSON is nested deeper than the limit of 2112 "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(1 << 20);

		buf_puts(&b, "{\"head\":");
		repeat(&b, "{\"selfSize\":0,\"children\":[", rows[i].depth - 1);
		buf_puts(&b, "{\"selfSize\":8}");
		repeat(&b, "]}", rows[i].depth - 1);
		buf_puts(&b, "}");
		ck_assert_msg(imported("", b.p, b.len, &got) == rows[i].rc,
		              "%u: %s", rows[i].depth, buf_str(&got));
		ck_assert_ptr_nonnull(strstr(buf_str(&got), rows[i].want));
	}
}
END

/* The reply to a client of V8's protocol is often stored as it is. */
TEST(a_profile_of_v8_may_be_inside_a_reply)
{
	static const char *const around[][2] = {
		{"{\"profile\":", "}"},
		{"{\"id\":3,\"result\":{\"profile\":", "}}"},
	};
	static const char head[] = "{\"head\":{\"callFrame\":{\"functionName\":"
				   "\"f\"},\"selfSize\":8}}";

	for (size_t i = 0; i < ARRAY_LEN(around); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(1 << 20);

		buf_addf(&b, "%s%s%s", around[i][0], head, around[i][1]);
		ck_assert_int_eq(imported("", b.p, b.len, &got), 0);
		ck_assert_str_eq(buf_str(&got),
		                 "heapprofile memory inuse_space/bytes\nf 8\n");
	}
}
END

TEST(a_profile_of_v8_is_of_one_type)
{
	imported_file_is("cpu", "v8.cpuprofile", -EBADMSG,
	                 "it has no values of a cpu profile; its types are "
	                 "wall");
	imported_file_is("alloc", "v8.heapprofile", -EBADMSG,
	                 "it has no values of a alloc profile; its types are "
	                 "memory");
}
END

#define NODES "{\"nodes\":[{\"id\":1,\"callFrame\":{}}]"
TEST(a_broken_profile_of_v8_is_refused_with_its_place)
{
	static const char *const rows[][2] = {
		{NODES ",\"samples\":[1,2],\"timeDeltas\":[1,1]}",
	         "sample 2 has no node"},
		{NODES ",\"samples\":[1,1],\"timeDeltas\":[1]}",
	         "sample 2 has no time"},
		{NODES ",\"samples\":[1,1],\"timeDeltas\":[1,1e300]}",
	         "a value is out of range"},
		{NODES "}",
	         "it has neither samples nor hits between a start and an end"},
		{NODES ",", "it is cut off at byte 35"},
		{"{\"nodes\":[3, {\"callFrame\":{}}]}",
	         "it is not a profile of V8: see byte 11"},
		{"{\"head\":{\"selfSize\":-4}}", "a value is out of range"},
		{"{\"head\":{\"selfSize\":0}}", "it has no samples"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		imported_is("", rows[i][0], -EBADMSG, rows[i][1]);
	imported_file_is("", "v8.loop.cpuprofile", -EBADMSG,
	                 "a node is its own ancestor");
}
END

SUITE("import_v8");
