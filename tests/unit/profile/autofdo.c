/* Samples by function and line, for compilers. */
#include "profile/autofdo.h"
#include "base/file.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define WRITE(text, want)                                             \
	do {                                                          \
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL); \
                                                                      \
		written(text, &out);                                  \
		ck_assert_str_eq(buf_str(&out), want);                \
	} while (0)

/* A file of OTLP: functions with their first lines, and locations in them. */
#define FILE(locations, samples)                                            \
	"{\"dictionary\":{\"stringTable\":[\"\",\"samples\",\"count\","     \
	"\"main\",\"hot\",\"inner\"],\"functionTable\":[{},{"               \
	"\"nameStrindex\":3,\"startLine\":1},{\"nameStrindex\":4,"          \
	"\"startLine\":10},{\"nameStrindex\":5,\"startLine\":30}],"         \
	"\"locationTable\":[{}," locations "],\"stackTable\":[{},{"         \
	"\"locationIndices\":[1]},{\"locationIndices\":[2,1]},{"            \
	"\"locationIndices\":[3]}]},\"resourceProfiles\":[{"                \
	"\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{"               \
	"\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[" samples "]}" \
	"]}]}]}"
#define LINE(function, line) \
	"{\"functionIndex\":" #function ",\"line\":" #line "}"
#define AT(lines)        "{\"lines\":[" lines "]}"
#define SAMPLE(stack, n) "{\"stackIndex\":" #stack ",\"values\":[" #n "]}"

static void
written(const char *text, struct buf *out)
{
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.limits = {.raw_bytes = 1 << 20,
	                   .memory = 4 << 20,
	                   .ratio = 200,
	                   .strings = 2000,
	                   .samples = 2000},
	};
	static const struct export_meta meta = {.service = "shop"};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	const struct input *format;
	const struct type *type;

	ck_assert_msg(!profile_import(text, strlen(text), &ask, &p, &format,
	                              &type, &why),
	              "%s", buf_str(&why));
	ck_assert_int_eq(tree_new(p, profile_type_index(p, NULL), &t), 0);
	ck_assert_int_eq(format_find("autofdo")->write(t, &meta, out), 0);
}

TEST(lines_are_counted_from_the_first_of_their_function)
{
	WRITE(FILE(AT(LINE(1, 4)) "," AT(LINE(2, 10)) "," AT(LINE(1, 9)),
	           SAMPLE(1, 2) "," SAMPLE(2, 5) "," SAMPLE(3, 1)),
	      "# 8 of 8 samples have lines\n"
	      "hot:5:5\n"
	      " 0: 5\n"
	      "main:3:2\n"
	      " 3: 2\n"
	      " 8: 1\n");
}
END

TEST(an_inlined_function_is_below_the_line_that_calls_it)
{
	WRITE(FILE(AT(LINE(3, 31) "," LINE(2, 12) "," LINE(1, 4)) "," AT(
			   LINE(2, 13) "," LINE(1, 4)) "," AT(LINE(1, 5)),
	           SAMPLE(1, 2) "," SAMPLE(2, 3) "," SAMPLE(3, 4)),
	      "# 9 of 9 samples have lines\n"
	      "main:9:2\n"
	      " 4: 4\n"
	      " 3: hot:5\n"
	      "  3: 3\n"
	      "  2: inner:2\n"
	      "   1: 2\n");
}
END

TEST(samples_without_a_line_are_left_out_and_counted)
{
	WRITE(FILE("{\"address\":\"64\"}," AT(LINE(2, 9)) "," AT(LINE(1, 2)),
	           SAMPLE(1, 2) "," SAMPLE(2, 3) "," SAMPLE(3, 4)),
	      "# 4 of 9 samples have lines\n"
	      "main:4:4\n"
	      " 1: 4\n");
}
END

TEST(a_place_counts_samples_per_byte_of_all_copies_of_its_code)
{
	static const struct autofdo_frame place[] = {{"main", 3, 2},
	                                             {"hot", 1, 0}};
	CLEANUP_AUTOFDO struct autofdo *a = autofdo_new();
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_ptr_nonnull(a);
	/* two runs of code from one place, in which samples differ by chance */
	ck_assert_int_eq(autofdo_add(a, place, 2, 5, 1, 6), 0);
	ck_assert_int_eq(autofdo_add(a, place, 2, 0, 1, 4), 0);
	/* a loop that was unrolled four times */
	ck_assert_int_eq(autofdo_add(a, place, 1, 2, 4, 8), 0);
	ck_assert_int_eq(autofdo_write(a, 9, &out), 0);
	ck_assert_str_eq(buf_str(&out), "# 7 of 9 samples have lines\n"
	                                "main:150:100\n"
	                                " 3.2: 100\n"
	                                " 3.2: hot:50\n"
	                                "  1: 50\n");
}
END

TEST(a_place_that_did_not_run_is_written_if_its_function_ran)
{
	static const struct autofdo_frame ran = {"hot", 1, 0};
	static const struct autofdo_frame not_ran = {"hot", 2, 0};
	static const struct autofdo_frame cold = {"cold", 1, 0};
	CLEANUP_AUTOFDO struct autofdo *a = autofdo_new();
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_ptr_nonnull(a);
	ck_assert_int_eq(autofdo_add(a, &not_ran, 1, 0, 1, 4), 0);
	ck_assert_int_eq(autofdo_add(a, &ran, 1, 1, 1, 4), 0);
	ck_assert_int_eq(autofdo_add(a, &cold, 1, 0, 1, 4), 0);
	ck_assert_int_eq(autofdo_write(a, 1, &out), 0);
	ck_assert_str_eq(buf_str(&out), "# 1 of 1 samples have lines\n"
	                                "hot:25:25\n"
	                                " 1: 25\n"
	                                " 2: 0\n");
}
END

TEST(counts_that_do_not_fit_are_refused)
{
	static const struct autofdo_frame place = {"main", 1, 0};
	CLEANUP_AUTOFDO struct autofdo *a = autofdo_new();

	ck_assert_ptr_nonnull(a);
	ck_assert_int_eq(autofdo_add(a, &place, 1, INT64_MAX, 2, 1), -E2BIG);
	ck_assert_int_eq(autofdo_add(a, &place, 1, INT64_MAX, 1, 1), 0);
	ck_assert_int_eq(autofdo_add(a, &place, 1, 1, 1, 1), -E2BIG);
}
END

SUITE("autofdo");
