#include "profile/import.h"
#include "base/json_scan.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/gzip.h"
#include "profile/pprof.h"
#include "profile/stored/pprof_fields.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#define NEGATIVE \
	"a sample has a negative value: this is a difference of two profiles"
#define DATA "tests/data/fuzz/import/"

static const struct import_limits limits = {
	.raw_bytes = 1 << 20,
	.memory = 4 << 20,
	.ratio = 200,
	.strings = 1000,
	.samples = 1000,
};

static void
load(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");

	ck_assert_msg(f != NULL, "%s", path);
	out->len = fread(buf_reserve(out, 60000), 1, 60000, f);
	fclose(f);
}

/* Reads bytes as a type; writes the folded stacks in samples, and the notes. */
static int
import_as(const char *type, const char *content_type, double rate,
          const void *p, size_t n, struct buf *out)
{
	const struct import_ask ask = {
		.type = type,
		.content_type = content_type,
		.rate = rate,
		.limits = limits,
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *made = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	const struct export_meta meta = {.title = "", .type = type};
	const struct input *format;
	const struct type *of;
	int r = profile_import(p, n, &ask, &made, &format, &of, &why);

	if (r) {
		ck_assert_ptr_null(made);
		ck_assert_uint_gt(why.len, 0);
		buf_puts(out, buf_str(&why));
		return r;
	}
	ck_assert_int_eq(tree_new(made, profile_type_index(made, NULL), &t), 0);
	buf_addf(out, "%s %lld %s\n", format->name, (long long)t->total[0],
	         profile_text(made, made->types[t->type].unit));
	ck_assert_int_eq(format_find("folded")->write(t, &meta, out), 0);
	buf_puts(out, buf_str(&why));
	return 0;
}

/* Reads the file DATA/name as this type. */
static void
expect(const char *name, const char *type, double rate, int r, const char *text)
{
	CLEANUP_BUF struct buf in = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	char path[128];

	snprintf(path, sizeof(path), DATA "%s", name);
	load(path, &in);
	ck_assert_msg(import_as(type, "", rate, in.p, in.len, &got) == r,
	              "%s: %s", name, buf_str(&got));
	ck_assert_str_eq(buf_str(&got), text);
}

TEST(folded_of_cpu_are_samples_and_time_where_the_rate_is_known)
{
	expect("folded", "cpu", 0, 0,
	       "folded 10 count\nmain;a 3\nmain;a;b 2\nstart 5\n");
	expect("folded.empty", "cpu", 0, 0,
	       "folded 4 count\nall 3\na 1\n"
	       "75 % of its cost has no stack\n");
	expect("folded.gz", "cpu", 100, 0,
	       "folded 96000000 nanoseconds\n"
	       "main;a 3\nmain;a;b 2\nstart 5\n");
}
END

TEST(folded_of_other_types_are_in_their_unit)
{
	expect("folded", "memory", 0, 0,
	       "folded 10 bytes\nmain;a 3\nmain;a;b 2\nstart 5\n");
	expect("folded", "goroutine", 0, 0,
	       "folded 10 count\nmain;a 3\nmain;a;b 2\nstart 5\n");
}
END

TEST(heap_profiles_of_allocators_are_scaled_to_what_their_samples_stand_for)
{
	/* 2 MiB are four sampling periods, 500 bytes a thousandth of one. */
	expect("heap.jemalloc", "memory", 0, 0,
	       "heap 3185355 bytes\n"
	       "other.so+0x100;server+0x1000 1049076\n"
	       "server+0x1200;server+0x1100;server+0x1000 2136279\n");
	expect("heap.tcmalloc", "alloc", 0, 0,
	       "heap 5283507 bytes\n"
	       "server+0x1100;server+0x1000 2136279\n"
	       "server+0x1200 3147228\n");
	expect("heap.bad", "memory", 0, -EBADMSG, "a stack has no address");
}
END

TEST(a_heap_text_that_is_cut_off_or_of_an_unknown_form_says_so)
{
	expect("heap.cut", "memory", 0, 0,
	       "heap 1058607 bytes\n0x1fff;0xfff 1058607\n"
	       "its stacks have 66.7 % of the bytes that its first lines "
	       "count: it may be cut off\n");
	expect("heap.form", "memory", 0, 0,
	       "heap 1024 bytes\n0x40117f;0x401135 1024\n"
	       "its values are samples, not scaled to all allocations: how "
	       "heap_v3 was sampled is not known\n");
}
END

/* Reads text as type; see import_as() for got. */
static int
text_as(const char *type, const char *text, struct buf *got)
{
	buf_clear(got);
	return import_as(type, "", 0, text, strlen(text), got);
}

#define HEAP(head)                                \
	"heap profile: 1: 1024 [2: 4096] @ " head \
	"\n1: 1024 [2: 4096] @ 0x401136 0x401180\n"

/* Values: go tool pprof 1.19. */
TEST(heap_texts_are_scaled_as_pprof_scales_them)
{
	static const struct {
		const char *head;
		int64_t bytes, all;
	} rows[] = {
		{"heap/1048576", 524800, 1050625},
		{"heap_v2/524288", 524800, 1050625},
		{"heapz_v2/524288", 524800, 1050625},
		{"heapprofile", 1024, 4096},
		{"growthz", 1024, 4096},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	char text[200], want[80];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(text, sizeof(text), HEAP("%s"), rows[i].head);
		ck_assert_int_eq(text_as("memory", text, &got), 0);
		snprintf(want, sizeof(want), "heap %lld bytes\n",
		         (long long)rows[i].bytes);
		ck_assert_msg(strstr(buf_str(&got), want), "%s: %s",
		              rows[i].head, buf_str(&got));
		ck_assert_int_eq(text_as("alloc", text, &got), 0);
		snprintf(want, sizeof(want), "heap %lld bytes\n",
		         (long long)rows[i].all);
		ck_assert_msg(strstr(buf_str(&got), want), "%s: %s",
		              rows[i].head, buf_str(&got));
	}
}
END

TEST(heap_texts_of_go_name_their_frames)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("memory",
	                         HEAP("heapprofile") "#\t0x401135\tmain.leaf+"
	                                             "0x5\t/src/main.go:9\n"
	                                             "#\t0x401135\tmain.hot+"
	                                             "0x15\t/src/main.go:12\n"
	                                             "#\t0x40117f\tmain.main+"
	                                             "0x1f\t/src/main.go:30\n"
	                                             "\n# runtime.MemStats\n# "
	                                             "Alloc = 4096\n",
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "heap 1024 bytes\n"
	                                "main.main;main.hot;main.leaf 1024\n");
}
END

/* Values: go tool pprof 1.19. */
TEST(pages_of_go_are_read_as_pprof_reads_them)
{
#define STACK                                                                \
	" @ 0x401136 0x401180\n"                                             \
	"#\t0x401135\tsync.(*Mutex).Unlock+0x15\t\t/usr/lib/go/mutex.go:9\n" \
	"#\t0x40117f\tmain.hot+0x1f\t/src/main.go:30\n\n"
	static const struct {
		const char *type, *text, *want;
	} rows[] = {
		{"mutex",
	         "--- mutex:\ncycles/second=2000000000\nsampling period=5\n"
	         "40000001 3" STACK "7 1 @ 0x401190\n",
	         "gopage 100000019 nanoseconds\n"
	         "0x40118f 17\nmain.hot;sync.(*Mutex).Unlock 100000002\n"},
		{"block",
	         "--- contention:\ncycles/second=2995200000\n1234567891 "
	         "3" STACK,
	         "gopage 412182121 nanoseconds\n"
	         "main.hot;sync.(*Mutex).Unlock 412182121\n"},
		{"mutex",
	         "--- contentionz 1 ---\ncycles/second = 3201000000\n"
	         "sampling period = 100\nms since reset = 16502830\n"
	         "discarded samples = 0\n"
	         "       100     10 @ 0x401136 0x501180\n"
	         "--- Memory map: ---\n"
	         "00400000-00410000 r-xp 00000000 fe:00 1 /srv/app\n",
	         "gopage 3124 nanoseconds\n0x50117f;app+0x1135 3124\n"},
		{"goroutine",
	         "goroutine profile: total 6\n5" STACK "1 @ 0x401190\n"
	         "# labels: "
	         "{\"k\":\"v\"}\n#\t0x40118f\tmain.main+0x1\t/m.go:3\n",
	         "gopage 6 count\n"
	         "main.hot;sync.(*Mutex).Unlock 5\nmain.main 1\n"},
		/* Go writes stacks without addresses; pprof refuses them */
		{"goroutine",
	         "threadcreate profile: total 7\n6 @ \n#\t0x0\n\n1" STACK,
	         "gopage 7 count\n"
	         "all 6\nmain.hot;sync.(*Mutex).Unlock 1\n"
	         "86 % of its cost has no stack\n"},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(text_as(rows[i].type, rows[i].text, &got), 0);
		ck_assert_str_eq(buf_str(&got), rows[i].want);
	}
}
END

/* Appends a word of 4 or 8 bytes. */
static void
put_word(struct buf *out, bool wide, bool big, uint64_t v)
{
	size_t n = wide ? 8 : 4;

	for (size_t i = 0; i < n; i++)
		buf_putc(out, (char)(v >> 8 * (big ? n - 1 - i : i)));
}

/* Values: go tool pprof 1.19. All stacks but one have the frames of two
 * handlers of signals above their leaf, and the first has its leaf twice. */
TEST(cpu_profiles_of_gperftools_are_read_as_pprof_reads_them)
{
	static const uint64_t words[] = {
		0,        3,        0,        10000,    0,        3, 5,
		0x401000, 0x7f0001, 0x7f0002, 0x401000, 0x402000, 2, 4,
		0x401100, 0x7f0001, 0x7f0002, 0x402000, 1,        3, 0x401200,
		0x7f0001, 0x7f0002, 0,        1,        0};

	for (int form = 0; form < 4; form++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		size_t stacks;

		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			put_word(&file, form & 1, form & 2, words[i]);
		stacks = file.len;
		buf_puts(&file, "00400000-00500000 r-xp 00000000 fe:00 1 "
		                "/usr/bin/server\n");
		ck_assert_msg(import_as("cpu", "", 0, file.p, file.len, &got) ==
		                      0,
		              "%s", buf_str(&got));
		ck_assert_str_eq(buf_str(&got),
		                 "gperftools 60000000 nanoseconds\n"
		                 "server+0x1200 1\n"
		                 "server+0x1fff;server+0x1000 3\n"
		                 "server+0x1fff;server+0x1100 2\n");
		buf_clear(&got);
		ck_assert_int_eq(import_as("cpu", "", 0, file.p,
		                           stacks - 4 * (form & 1 ? 8 : 4),
		                           &got),
		                 0);
		ck_assert_str_eq(buf_str(&got),
		                 "gperftools 50000000 nanoseconds\n"
		                 "0x401fff;0x401000 3\n0x401fff;0x401100 2\n"
		                 "it is cut off: the mappings and the last "
		                 "samples are missing\n");
	}
}
END

/* A file that is cut off behind a stack has that stack. Behind the end, there
 * are none: here they would outvote the frames of handlers. */
TEST(a_cpu_profile_of_gperftools_ends_with_its_last_stack)
{
	static const uint64_t words[] = {
		0, 3,        0,        10000,    0,        2,
		4, 0x401000, 0x7f0001, 0x7f0002, 0x402000, 0,
		1, 0,        5,        2,        0x401100, 0x403000,
		5, 2,        0x401100, 0x403000};
	static const struct {
		size_t words;
		const char *expected;
	} rows[] = {
		{11, "gperftools 20000000 nanoseconds\n0x401fff;0x401000 2\n"
	             "it is cut off: the mappings and the last samples are "
	             "missing\n"},
		{14, "gperftools 20000000 nanoseconds\n"
	             "0x401fff;0x401000 2\n"},
		{ARRAY_LEN(words), "gperftools 20000000 nanoseconds\n"
	                           "0x401fff;0x401000 2\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		for (size_t k = 0; k < rows[i].words; k++)
			put_word(&file, true, false, words[k]);
		ck_assert_int_eq(
			import_as("cpu", "", 0, file.p, file.len, &got), 0);
		ck_assert_str_eq(buf_str(&got), rows[i].expected);
	}
}
END

/* A caller can name a format that the file does not have. */
TEST(text_that_is_sent_as_a_profile_of_gperftools_is_refused)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.format = "gperftools",
		.limits = limits,
	};
	const struct input *format;
	const struct type *of;

	ck_assert_int_eq(
		profile_import("main 5\n", 7, &ask, &p, &format, &of, &why),
		-EBADMSG);
	ck_assert_str_eq(buf_str(&why), "it has no header of a CPU profile of "
	                                "gperftools");
}
END

TEST(a_page_of_go_without_periods_has_values_as_they_stand)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("mutex", "--- mutex:\n8 2 @ 0x10\n", &got), 0);
	ck_assert_str_eq(buf_str(&got), "gopage 8 nanoseconds\n0xf 8\n");
	ck_assert_int_eq(text_as("mutex",
	                         "--- mutex:\ncycles/second=2000000000\n"
	                         "sampling period=0\n8 2 @ 0x10\n",
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "gopage 8 nanoseconds\n0xf 8\n");
	ck_assert_int_eq(text_as("mutex", "--- mutex:\n8 -2 @ 0x10\n", &got),
	                 -EBADMSG);
}
END

TEST(words_that_are_no_address_are_passed_over_in_heap_texts)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("memory",
	                         "heap profile: 1: 8 [1: 8] @ heapprofile\n"
	                         "1: 8 [1: 8] @ 0x10 0x20 garbage\n",
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "heap 8 bytes\n0x1f;0xf 8\n");
}
END

TEST(a_folded_file_of_two_counts_is_refused_as_a_difference)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("cpu", "a;b 10 12\na;c 3 0\n", &got),
	                 -EBADMSG);
	ck_assert_str_eq(buf_str(&got), "its lines have two counts: it is a "
	                                "difference of two profiles, not one");
	ck_assert_int_eq(text_as("cpu", "a;b 10\nworker 2 3\n", &got), 0);
	ck_assert_str_eq(buf_str(&got),
	                 "folded 13 count\na;b 10\nworker 2 3\n");
}
END

/* Values: flamegraph.pl 1.0 and speedscope 1.25, which skip lines without a
 * count. */
TEST(lines_that_are_no_folded_stacks_are_skipped_and_counted)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"# austin: 3.3.0\n# interval: 100\n# mode: wall\n\n"
	         "P1;T1;a.py:hot:2 100\n",
	         "folded 100 count\nP1;T1;a.py:hot:2 100\n"
	         "skipped 3 lines, first: line 1: # austin: 3.3.0\n"},
		{"# comment 7\n// other 8\na;b;c 1\na;b;c 1\na;b;d 4\n"
	         "this line has no count\n",
	         "folded 6 count\na;b;c 2\na;b;d 4\n"
	         "skipped 3 lines, first: line 1: # comment 7\n"},
		{"stack,count\na 10\n",
	         "folded 10 count\na 10\n"
	         "skipped 1 line, line 1: stack,count\n"},
		{"a;b 10\n\nno count here\n",
	         "folded 10 count\na;b 10\n"
	         "skipped 1 line, line 3: no count here\n"},
		{"a;b 10 \t\r\na;c \t  5\n",
	         "folded 15 count\na;b 10\na;c 5\n"},
		{"a +10\nb 1e3\nc 2.5e1\n",
	         "folded 1035 count\na 10\nb 1000\nc 25\n"},
		{"#<Class:A>#new;b 2\n//anon;c 3\n",
	         "folded 5 count\n#<Class:A>#new;b 2\n//anon;c 3\n"},
		{"a;b 1\rc;d 2\r", "folded 3 count\na;b 1\nc;d 2\n"},
		{"a;b 3\nc nan\nd 0x10\nf 5\n10\nh 2\n",
	         "folded 10 count\na;b 3\nf 5\nh 2\n"
	         "skipped 3 lines, first: line 2: c nan\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(text_as("cpu", rows[i].text, &got), 0);
		ck_assert_str_eq(buf_str(&got), rows[i].want);
	}
}
END

TEST(a_first_line_of_megabytes_is_a_stack)
{
	CLEANUP_BUF struct buf text = BUF_INIT(4 << 20);
	const struct input *found;

	buf_puts(&text, "main;");
	while (text.len < 2 << 20)
		buf_puts(&text, "template<");
	buf_puts(&text, " 3\nmain;hot 1\n");
	found = input_detect(text.p, text.len);
	ck_assert(found && !strcmp(found->name, "folded"));
}
END

TEST(stacks_below_many_warnings_are_read)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (int i = 0; i < 10; i++)
		buf_puts(&text, "WARN: cannot read symbols; ignored\n");
	buf_puts(&text, "main;hot 3\n");
	ck_assert_int_eq(text_as("cpu", buf_str(&text), &got), 0);
	ck_assert_str_eq(buf_str(&got),
	                 "folded 3 count\nmain;hot 3\n"
	                 "skipped 10 lines, first: line 1: WARN: cannot read "
	                 "symbols; ignored\n");
}
END

TEST(a_text_with_fewer_stacks_than_other_lines_is_no_profile)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(
		text_as("cpu", "[upload]\nmax = 10\n# a\nb = c\n", &got),
		-EPROTONOSUPPORT);
	ck_assert_int_eq(text_as("cpu",
	                         "--- contention\ncycles/second = 32\n"
	                         "sampling period = 100\ndiscarded = 0\n"
	                         "19 27 @ 0xbccc97\n",
	                         &got),
	                 -EPROTONOSUPPORT);
	ck_assert_int_eq(
		text_as("cpu", "int main(void)\n{\n\tint i; i = 3\n}\n", &got),
		-EPROTONOSUPPORT);
}
END

TEST(a_byte_order_mark_is_part_of_no_name)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("cpu",
	                         "\xef\xbb\xbf"
	                         "a;b 3\n",
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "folded 3 count\na;b 3\n");
}
END

/* PowerShell's > writes UTF-16. */
TEST(utf_16_is_read_with_a_byte_order_mark_or_without)
{
#define LITTLE                      \
	"\xff\xfe"                  \
	"a\0;\0\x3d\xd8\x00\xde \0" \
	"3\0\r\0\n\0"
#define BIG                           \
	"\xfe\xff"                    \
	"\0a\0;\xd8\x3d\xde\x00\0 \0" \
	"3\0\r\0\n"
	static const struct {
		const char *text;
		size_t n;
		const char *want;
	} rows[] = {
		{LITTLE, sizeof(LITTLE) - 1, "a;😀 3"},
		{BIG, sizeof(BIG) - 1, "a;😀 3"},
		{LITTLE "x", sizeof(LITTLE), "a;😀 3"}, /* half a unit */
		{"a\0;\0b\0 \0"
	         "3\0",
	         10, "a;b 3"},
		{"\0a\0;\0b\0 \0"
	         "3",
	         10, "a;b 3"},
		{"\xff\xfe"
	         "\x3d\xd8"
	         "a\0 \0"
	         "3\0",
	         10,
	         "\xef\xbf\xbd"
	         "a 3"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		char want[64];

		snprintf(want, sizeof(want), "folded 3 count\n%s\n",
		         rows[i].want);
		ck_assert_msg(import_as("cpu", "", 0, rows[i].text, rows[i].n,
		                        &got) == 0,
		              "row %zu: %s", i, buf_str(&got));
		ck_assert_str_eq(buf_str(&got), want);
	}
}
END

#define KEPT(unit) "its values are fractions, which are kept as " unit "\n"

/* Values: flamegraph.pl 1.0, which adds before it rounds, and speedscope 1.25,
 * which does not round. */
TEST(fractions_are_added_before_they_are_rounded)
{
	static const struct {
		double rate;
		const char *text, *want;
	} rows[] = {
		{0, "a;b 0.4\na;b 0.4\na;c 1.5\n",
	         "folded 3 count\na;b 1\na;c 2\n"},
		/* their total is rounded, too */
		{0, "a;b 30.5\na;c 9.5\n", "folded 40 count\na;b 31\na;c 9\n"},
		{0, "a 1000\nb 0.4\n", "folded 1000 count\na 1000\n"},
		{0, "a 1.5\nb 0\nc 1.5\n", "folded 3 count\na 2\nc 1\n"},
		{0, "a;b 0.25\na;c 0.10\n",
	         "folded 350 thousandths\na;b 250\na;c 100\n" KEPT(
			 "thousandths")},
		{0, "a .0001\nb .00005\nb .00015\n",
	         "folded 300 millionths\na 100\nb 200\n" KEPT("millionths")},
		{100, "a;b 0.25\na;c 0.10\n",
	         "folded 3500000 nanoseconds\na;b 2500000\na;c 1000000\n" KEPT(
			 "thousandths")},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&got);
		ck_assert_int_eq(import_as("cpu", "", rows[i].rate,
		                           rows[i].text, strlen(rows[i].text),
		                           &got),
		                 0);
		ck_assert_str_eq(buf_str(&got), rows[i].want);
	}
	ck_assert_int_eq(text_as("memory", "a .1\nb .3\n", &got), 0);
	ck_assert_str_eq(
		buf_str(&got),
		"folded 400 thousandths\na 100\nb 300\n" KEPT("thousandths"));
}
END

#define SCOPE(unit, one, two)                                                 \
	"{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},"       \
	"\"profiles\":[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"" unit \
	"\",\"samples\":[[0,1],[0]],\"weights\":[" one "," two "]}]}"

TEST(fractions_of_speedscope_weights_keep_their_proportions)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{SCOPE("none", "0.25", "0.5"),
	         "speedscope 750 thousandths\na 500\na;b 250\n" KEPT(
			 "thousandths")},
		{SCOPE("nanoseconds", "0.4", "0.4"),
	         "speedscope 800 thousandths\na 1\na;b 1\n" KEPT(
			 "thousandths")},
		{SCOPE("seconds", "0.25", "0.5"),
	         "speedscope 750000000 nanoseconds\na 500000000\n"
	         "a;b 250000000\n"},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(text_as("cpu", rows[i].text, &got), 0);
		ck_assert_str_eq(buf_str(&got), rows[i].want);
	}
}
END

TEST(perf_script_is_read_with_its_periods_and_modules)
{
	expect("perf", "cpu", 0, 0,
	       "perf 20202020 nanoseconds\n"
	       "__libc_start_call_main;main;checkout(int);std::vector<int, "
	       "std::allocator<int> >::push_back(int);native_write_msr 1\n"
	       "main;plugin.so (deleted)+0x7f12a3b4ffff 1\n");
	expect("perf.cycles", "cpu", 0, 0, "perf 7 cycles\nf 7\n");
	expect("perf.nostack", "cpu", 0, 0,
	       "perf 1 nanoseconds\nall 1\n"
	       "100 % of its cost has no stack\n");
}
END

TEST(lines_that_perf_script_does_not_write_are_skipped_and_counted)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("cpu",
	                         "a 1 1.0: cycles:\n"
	                         "\t10 f (/x)\n"
	                         "\tzz \x01\xff frame\n"
	                         "\t20 main (/x)\n"
	                         "\n"
	                         "out of order\n"
	                         "a 1 1.1: cycles:\n"
	                         "\t10",
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got),
	                 "perf 1 count\nmain;f 1\n"
	                 "skipped 3 lines, first: line 3: zz  ? frame\n");
}
END

#define HOT                                  \
	"\t401136 hot+0x6 (/usr/bin/demo)\n" \
	"\t401180 main+0x20 (/usr/bin/demo)\n\n"
#define COLD                                  \
	"\t401150 cold+0x6 (/usr/bin/demo)\n" \
	"\t401180 main+0x20 (/usr/bin/demo)\n\n"

/* Weights: stackcollapse-perf.pl of FlameGraph 41fee1f and inferno 0.12. */
TEST(samples_of_perf_script_weigh_their_period)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("cpu",
	                         "d 1 1.0: 9000000 cycles:P: \n" HOT
	                         "d 1 1.1: 1000000 cycles:P: \n" COLD,
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "perf 10000000 cycles\n"
	                                "main;cold 1000000\n"
	                                "main;hot 9000000\n");
	buf_clear(&got);
	ck_assert_int_eq(text_as("",
	                         "d 1 1.0: 9000000 cycles:P: \n" HOT
	                         "d 1 1.1: 1000000 cycles:P: \n" COLD,
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "perf 10000000 cycles\n"
	                                "main;cold 1000000\n"
	                                "main;hot 9000000\n");
	ck_assert_int_eq(text_as("cpu",
	                         "d 1 1.0: 150 page-faults: \n" HOT
	                         "d 1 1.1: 50 page-faults: \n" HOT,
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got), "perf 200 page-faults\nmain;hot 200\n");
	ck_assert_int_eq(text_as("cpu", "d 1 1.0: cycles: \n" HOT, &got), 0);
	ck_assert_str_eq(buf_str(&got), "perf 1 count\nmain;hot 1\n");
}
END

TEST(cycles_are_cpu_time_where_the_rate_is_known)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	static const char text[] = "d 1 1.0: 9000000 cycles:P: \n" HOT
				   "d 1 1.1: 1000000 cycles:P: \n" COLD;
	static const char faults[] = "d 1 1.0: 9 page-faults: \n" HOT;
	const struct import_ask ask = {
		.type = "cpu",
		.content_type = "",
		.rate = 100,
		.limits = limits,
	};
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *format;
	const struct type *of;

	ck_assert_int_eq(profile_import(text, strlen(text), &ask, &p, &format,
	                                &of, &got),
	                 0);
	ck_assert_uint_eq(p->ntypes, 3);
	ck_assert_uint_eq(profile_type_index(p, NULL), 1);
	ck_assert_int_eq(p->values[0], 1);
	ck_assert_int_eq(p->values[1], 18000000);
	ck_assert_int_eq(p->values[4], 2000000);
	ck_assert_int_eq(p->values[5], 1000000);
	ck_assert_int_eq(
		import_as("cpu", "", 100, faults, strlen(faults), &got), 0);
	ck_assert_str_eq(buf_str(&got), "perf 9 page-faults\nmain;hot 9\n");
}
END

/* Reads text and keeps one of its events. */
static int
event_as(const char *event, const char *text, struct buf *got)
{
	const struct import_ask ask = {
		.type = "cpu",
		.content_type = "",
		.event = event,
		.limits = limits,
	};
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *format;
	const struct type *of;
	int r;

	buf_clear(got);
	r = profile_import(text, strlen(text), &ask, &p, &format, &of, got);
	if (!r)
		buf_addf(got, "%lld\n",
		         (long long)profile_total(p,
		                                  profile_type_index(p, NULL)));
	return r;
}

TEST(an_event_of_the_cpu_is_of_no_other_type)
{
	static const struct {
		const char *type, *event;
		int r;
	} rows[] = {
		{"memory", "cycles:P", -EBADMSG},
		{"wall", "cpu-clock:u", -EBADMSG},
		{"block", "cpu_core/instructions/", -EBADMSG},
		{"cpu", "cycles:P", 0},
		{"block", "sched:sched_switch", 0},
		{"memory", "page-faults", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		char text[200];

		snprintf(text, sizeof(text), "d 1 1.0: 9 %s: \n" HOT,
		         rows[i].event);
		ck_assert_msg(text_as(rows[i].type, text, &got) == rows[i].r,
		              "%s: %s", rows[i].event, buf_str(&got));
		ck_assert(!rows[i].r ||
		          strstr(buf_str(&got), "its types are cpu"));
	}
}
END

/* perf script -F +addr prints it where a sample without a call chain has its
 * frame. */
TEST(the_address_of_a_sample_s_data_is_no_frame)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(
		text_as("cpu",
	                "d 1 1.0: 150 page-faults:     7f1234560000 \n" HOT
	                "d 1 1.1: 50 page-faults:     7f1234560008 x "
	                "(/x)\n" COLD
	                "d 1 1.2: 5 page-faults:     401136 hot+0x6 (/x)\n",
	                &got),
		0);
	ck_assert_str_eq(
		buf_str(&got),
		"perf 205 page-faults\nhot 5\nmain;cold 50\nmain;hot 150\n");
}
END

TEST(one_event_of_perf_script_is_kept_and_the_others_are_named)
{
#define THREE                                                                \
	"d 1 1.0: 1000000 cpu-clock:u: \n" HOT                               \
	"d 1 1.1: 500 page-faults: \n" COLD "d 1 1.2: 7 page-faults: \n" HOT \
	"d 1 1.3: 3000 cycles:ppp: \n" HOT
	static const struct {
		const char *event;
		int r;
		const char *got;
	} rows[] = {
		{"", 0,
	         "only the event cpu-clock:u is kept, without page-faults (2 "
	         "samples), cycles:ppp (1 sample); the parameter event selects "
	         "another\n1000000\n"},
		{"page-faults", 0,
	         "only the event page-faults is kept, without cpu-clock:u (1 "
	         "sample), cycles:ppp (1 sample); the parameter event selects "
	         "another\n507\n"},
		{"cycles", 0,
	         "only the event cycles:ppp is kept, without cpu-clock:u (1 "
	         "sample), page-faults (2 samples); the parameter event "
	         "selects another\n3000\n"},
		{"cycles:u", -EBADMSG,
	         "it has no samples of the event cycles:u, but cpu-clock:u (1 "
	         "sample), page-faults (2 samples), cycles:ppp (1 sample)"},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(event_as(rows[i].event, THREE, &got),
		                 rows[i].r);
		ck_assert_str_eq(buf_str(&got), rows[i].got);
	}
}
END

#define CHAIN                      \
	"\t          401136 hot\n" \
	"\t          401180 main\n\n"
#define CHAINED "perf 1 count\nmain;hot 1\n"

/* Shapes that stackcollapse-perf.pl of FlameGraph 41fee1f, inferno 0.12,
 * speedscope 1.25 or Firefox Profiler read. */
TEST(perf_script_is_read_in_all_its_shapes)
{
	static const struct {
		const char *text, *got;
	} rows[] = {
		/* -F comm,pid,event,ip,sym */
		{"d  1 cpu-clock: \n" HOT "d  1 cpu-clock: \n" COLD,
	         "perf 2 count\nmain;cold 1\nmain;hot 1\n"},
		/* old versions do not indent frames */
		{"d 1 cycles:\n401136 hot (/d)\n401180 main (/d)\n\n",
	         "perf 1 count\nmain;hot 1\n"},
		/* without call chains */
		{"            d  1  1.0: 1000 cycles: 401136 hot+0x6 (/d)\n"
	         "           dd  1  1.1: 3000 cycles: 401150 cold+0x6 (/d)\n",
	         "perf 4000 cycles\ncold 3000\nhot 1000\n"},
		{"    d  1 cycles:   401136 hot+0x6 (/d)\n"
	         "    d  1 cycles:   401150 cold+0x6 (/d)\n",
	         "perf 2 count\ncold 1\nhot 1\n"},
		/* --show-task-events */
		{"d 1 0.9: PERF_RECORD_COMM exec: d:1/1\n"
	         "d 1 1.0: 5 cycles: \n" HOT,
	         "perf 5 cycles\nmain;hot 5\n"
	         "skipped 1 line, line 1: d 1 0.9: PERF_RECORD_COMM exec: "
	         "d:1/1\n"},
		/* simpleperf's report_sample.py */
		{"Gecko\t25122 [007] 1.5:\t\t1000000 task-clock:u:\n"
	         "\t\t7f10 \thot (/system/lib64/a.so)\n\n",
	         "perf 1000000 nanoseconds\nhot 1\n"},
		/* -F +misc; the event without its colon */
		{"d 1/2 [003] U 1.5: 33 cycles:uppp\n" HOT,
	         "perf 33 cycles\nmain;hot 33\n"},
		/* an empty line before the frames */
		{"d 1 1.0: 5 cycles: \n\n" HOT "d 1 1.1: 6 cycles: \n\n",
	         "perf 11 cycles\nall 6\nmain;hot 5\n"
	         "55 % of its cost has no stack\n"},
		/* text of a tracepoint */
		{"d 0 [000] 12.3: sched:sched_switch: prev_comm=d ==> "
	         "next_comm=x (3)\n" HOT,
	         "perf 1 count\nmain;hot 1\n"},
		{"d 1 0.9: PERF_RECORD_COMM: d:1/1\n"
	         "d 1 1.0: 5 cycles: \n" HOT,
	         "perf 5 cycles\nmain;hot 5\n"
	         "skipped 1 line, line 1: d 1 0.9: PERF_RECORD_COMM: d:1/1\n"},
		/* -F of perf 6.1 without threads, times, events or names, with
	         * call chains */
		{"    1   1.000000: cycles: \n" CHAIN, CHAINED},
		{"  1.000000: \n" CHAIN, CHAINED},
		{"d e 12   1.000000: \n" CHAIN, CHAINED},
		{"d 12 1 \n" CHAIN, CHAINED},
		{"d 1/2 [003] \n" CHAIN, CHAINED},
		{"d \n" CHAIN, CHAINED},
		{"\n" CHAIN "\n", CHAINED},
		{"d 12 1 \n\t          401136 hot\n  w.c:6\n|6   hot();\n"
	         "\t          401180 main\n  w.c:9\n\n",
	         CHAINED "skipped 1 line, line 4: |6   hot();\n"},
		/* a thread whose name ends with a number */
		{"d 12 1 cycles: \n" CHAIN, CHAINED},
		{"d 12 1    2004008 cycles: \n" CHAIN,
	         "perf 2004008 cycles\nmain;hot 2004008\n"},
		/* the same without such a name */
		{"       d  1   1.000000: cycles:            401136 hot+0x6\n",
	         "perf 1 count\nhot 1\n"},
		{"       d  1   1.000000:            401136 hot\n",
	         "perf 1 count\nhot 1\n"},
		{"       d  1     250000            401136 hot\n",
	         "perf 1 count\nhot 1\n"},
		{"       d  1            401136 hot\n",
	         "perf 1 count\nhot 1\n"},
		{"       d            401136 hot\n", "perf 1 count\nhot 1\n"},
		{"           401136 hot\n ffffffff815be114 cold\n",
	         "perf 2 count\ncold 1\nhot 1\n"},
		/* -F +brstack */
		{"d  1   1.0: 5 cycles:            401136 hot (/d)  "
	         "0x401140/0x401136/P/-/-/1  0x401150/0x401130/M/-/-/0\n",
	         "perf 5 cycles\nhot 5\n"},
		{"d  1   1.0: 5 branches:   401136 hot (/d) => 7f0010 x (/l)\n",
	         "perf 5 branches\nhot 5\n"},
		/* -F +dsoff */
		{"d 1 1.0: 5 cycles: \n\t10 f+0x6 (/d+0x1136)\n"
	         "\t20 [unknown] (/d+0x1180)\n\n",
	         "perf 5 cycles\nd+0x20;f 5\n"},
		/* standard error of perf */
		{"Warning:\n1 out of order events recorded.\n"
	         "d 1 1.0: 5 cycles: \n" HOT,
	         "perf 5 cycles\nmain;hot 5\n"
	         "skipped 2 lines, first: line 1: Warning:\n"},
		/* perf-map-agent with unfoldall */
		{"java 1 1.0: 5 cycles: \n"
	         "\t7f00 LA;::outer->LB;::inner (/tmp/perf-1.map)\n"
	         "\t401180 S::operator-> (/d)\n\n",
	         "perf 5 cycles\nS::operator->;LA:::outer;LB:::inner 5\n"},
		/* parentheses in paths */
		{"d 1 1.0: 5 cycles: \n"
	         "\t1 f(int) (/srv/dir with (paren)/x)\n"
	         "\t2 g() (/srv/a(b/x)\n"
	         "\t3 [unknown] (/memfd:pool (deleted))\n"
	         "\t4 h (x (deleted))\n\n",
	         "perf 5 cycles\nh;memfd:pool (deleted)+0x3;g();f(int) 5\n"},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(text_as("cpu", rows[i].text, &got), 0);
		ck_assert_str_eq(buf_str(&got), rows[i].got);
	}
}
END

TEST(source_lines_of_perf_script_belong_to_the_frame_above_them)
{
	static const char text[] = "d 1 1.0: 5 cycles: \n"
				   "\t408ebb hot+0x8b (/d)\n"
				   "  hot.h:300 (discriminator 3)\n"
				   "\t4069f5 main+0x935 (/d)\n"
				   "  ??:0\n"
				   "\t7f00 start+0xd5 (/libc-2.33.so)\n"
				   "  libc-2.33.so[27b25]\n\n";
	const struct import_ask ask = {
		.type = "cpu",
		.content_type = "",
		.limits = limits,
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *format;
	const struct type *of;

	ck_assert_int_eq(profile_import(text, strlen(text), &ask, &p, &format,
	                                &of, &why),
	                 0);
	ck_assert_str_eq(buf_str(&why), "");
	ck_assert_uint_eq(p->nlines, 3);
	ck_assert_int_eq(p->lines[0].line, 300);
	ck_assert_str_eq(profile_text(p, p->functions[0].file), "hot.h");
	ck_assert_int_eq(p->lines[1].line, 0);
}
END

TEST(texts_that_only_resemble_perf_script_are_not_taken_for_it)
{
	static const char *const rows[] = {
		"host 12 error:\nnothing\n",
		"goroutine 1 [running]:\nx\n",
		"Name: 5\nhost 12 foo: bar\n",
		"     12 main;hot\n      3 main;cold\n", /* uniq -c */
		" Performance counter stats for './d':\n\n"
		"                46      page-faults\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert(!input_find("perf")->looks(rows[i], strlen(rows[i])));
}
END

TEST(marks_of_stackcollapse_perf_are_part_of_no_name)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("cpu",
	                         "a_[0];b_[j];c_[i];read_[k] 3\n"
	                         "a_[1];b_[x];_[k] 1\n",
	                         &got),
	                 0);
	ck_assert_str_eq(buf_str(&got),
	                 "folded 4 count\na;b;c;read 3\na;b_[x];_[k] 1\n");
}
END

TEST(perf_script_keeps_the_threads_names)
{
	CLEANUP_BUF struct buf in = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct import_ask ask = {
		.type = "cpu",
		.content_type = "text/plain; charset=utf-8",
		.limits = limits,
	};
	const struct input *format;
	const struct type *of;

	load(DATA "perf", &in);
	ck_assert_int_eq(
		profile_import(in.p, in.len, &ask, &p, &format, &of, &why), 0);
	ck_assert_uint_eq(p->nsamples, 2);
	ck_assert_str_eq(profile_text(p, p->labels[p->samples[1].label0].str),
	                 "my worker");
	ck_assert_int_eq(p->duration_ns / 1000, 10101);
}
END

TEST(perf_script_lasts_from_its_first_sample_to_its_last)
{
	static const struct {
		const char *first, *last;
		int64_t ns;
	} rows[] = {
		{"10.000000", "12.500000", 2500000000},
		{"10.000000", "10.000000", 0},
		{"12.500000", "10.000000", 0}, /* --deltatime */
		{"0.000000", "99999999.000000", 99999999000000000},
		{"0.000000", "100000000.000000", 0}, /* over three years */
	};
	const struct import_ask ask = {
		.type = "cpu",
		.content_type = "",
		.limits = limits,
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf in = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p = NULL;
		const char *const times[] = {rows[i].first, rows[i].last};
		const struct input *format;
		const struct type *of;

		for (size_t k = 0; k < ARRAY_LEN(times); k++)
			buf_addf(&in,
			         "a 1 [000] %s: 1 cpu-clock: \n"
			         "\t1000 f+0x1 (/a)\n\n",
			         times[k]);
		ck_assert_msg(!profile_import(in.p, in.len, &ask, &p, &format,
		                              &of, &why),
		              "row %zu: %s", i, buf_str(&why));
		ck_assert_int_eq(p->duration_ns, rows[i].ns);
	}
}
END

TEST(speedscope_is_read_wherever_its_parts_stand)
{
	expect("speedscope.sampled", "cpu", 0, 0,
	       "speedscope 6500000 nanoseconds\n"
	       "main 2500000\nmain;wé😀 1000000\n"
	       "main;wé😀;wé😀 3000000\n");
	expect("speedscope.evented", "cpu", 0, 0,
	       "speedscope 11 count\na 8\na;b 2\nb 1\n");
	expect("speedscope.counts", "cpu", 0, 0,
	       "speedscope 5000000 nanoseconds\na 30\na;b 20\n");
	/* counts of 0 beside weights: unknown, as in files of older releases */
	expect("speedscope.unknown", "cpu", 0, 0,
	       "speedscope 9 nanoseconds\nmain;cold 3\nmain;hot 6\n");
	expect("speedscope.sampled", "memory", 0, -EBADMSG,
	       "its values are milliseconds; those of a memory profile are "
	       "bytes");
}
END

#define FILE_AT(profiles, active)                                       \
	"{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]}," \
	"\"profiles\":[" profiles "],\"activeProfileIndex\":" active "}"
#define FILE_OF(profiles) FILE_AT(profiles, "0")
#define ROWS(name, unit, samples, weights)                             \
	"{\"type\":\"sampled\",\"name\":\"" name "\",\"unit\":\"" unit \
	"\",\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTS(end, events)                                               \
	"{\"type\":\"evented\",\"name\":\"e\",\"unit\":\"milliseconds\"," \
	"\"endValue\":" end ",\"events\":[" events "]}"
#define EVENT(type, frame, at) \
	"{\"type\":\"" type "\",\"frame\":" frame ",\"at\":" at "}"

/* Values: speedscope 1.25, which shows each profile by itself, and refuses
 * frames that no event closes. Numbers of samples are ours. */
TEST(speedscope_counts_samples_only_where_its_rows_are_samples)
{
	static const struct {
		const char *type, *text, *want;
	} rows[] = {
		/* py-spy: a row for each sample */
		{"",
	         FILE_OF(ROWS("t", "seconds", "[[0,1],[0],[0,1]]",
	                      "[0.01,0.01,0.01]")),
	         "speedscope 30000000 nanoseconds\na 1\na;b 2\n"},
		/* speedscope of a pprof file: a row for each stack */
		{"",
	         FILE_OF(ROWS("t", "milliseconds", "[[0,1],[0]]", "[700,300]")),
	         "speedscope 1000000000 nanoseconds\na 300000000\n"
	         "a;b 700000000\n"},
		{"",
	         FILE_OF(EVENTS("9",
	                        EVENT("O", "0", "1") "," EVENT("C", "0", "4"))),
	         "speedscope 3000000 nanoseconds\na 3000000\n"},
		{"",
	         FILE_OF(EVENTS("10",
	                        EVENT("O", "0", "0") "," EVENT("O", "1", "2"))),
	         "speedscope 10000000 nanoseconds\na 2000000\n"
	         "a;b 8000000\n"
	         "frames that no event closes last to the end: 2\n"},
		{"",
	         FILE_OF(ROWS("wall", "milliseconds", "[[0]]", "[5]") "," ROWS(
			 "kept", "microseconds", "[[1]]",
			 "[7]") "," ROWS("heap", "bytes", "[[0]]", "[9]")),
	         "speedscope 5007000 nanoseconds\na 5000000\nb 7000\n"
	         "profiles in other units are left out: heap (bytes)\n"},
		{"alloc",
	         FILE_OF(ROWS("wall", "milliseconds", "[[0]]",
	                      "[5]") "," ROWS("heap", "bytes", "[[0]]", "[9]")),
	         "speedscope 9 bytes\na 9\n"
	         "profiles in other units are left out: wall "
	         "(milliseconds)\n"},
		/* the second profile is shown first */
		{"",
	         FILE_AT(ROWS("heap", "bytes", "[[0]]", "[9]") "," ROWS(
				 "wall", "milliseconds", "[[1]]", "[5]"),
	                 "1"),
	         "speedscope 5000000 nanoseconds\nb 1\n"
	         "profiles in other units are left out: heap (bytes)\n"},
		{"", FILE_OF(ROWS("t", "count", "[[0]]", "[3]")),
	         "speedscope 3 count\na 3\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(text_as(rows[i].type, rows[i].text, &got), 0);
		ck_assert_msg(!strcmp(buf_str(&got), rows[i].want),
		              "row %zu: %s", i, buf_str(&got));
	}
}
END

TEST(speedscope_has_a_weight_for_each_sample)
{
	static const char *const rows[][2] = {
		{"[0.5,1,2]", "a weight has no sample"},
		{"[]", "a sample has no weight"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&text, FILE_OF(ROWS("t", "seconds", "[[0,1]]", "%s")),
		         rows[i][0]);
		ck_assert_int_eq(text_as("", buf_str(&text), &got), -EBADMSG);
		ck_assert_str_eq(buf_str(&got), rows[i][1]);
	}
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("",
	                         FILE_OF("{\"type\":\"sampled\",\"unit\":"
	                                 "\"none\",\"samples\":[[0]]}"),
	                         &got),
	                 -EBADMSG);
	ck_assert_str_eq(buf_str(&got), "its samples have no weights");
}
END

/* a pprof file of cpu/nanoseconds */
#define SAMPLELESS "\x0a\4\x08\1\x10\2\x32\0\x32\3cpu\x32\x0bnanoseconds"

TEST(stacks_without_frames_and_values_of_0_are_noted)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(text_as("",
	                         "app 1/2 1.0: 10 cycles: \n\n"
	                         "app 3/4 1.0: 20 cycles: \n\n",
	                         &got),
	                 0);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&got), "\n100 % of its cost has no stack\n"));
	ck_assert_int_eq(text_as("", "a;b 0\n", &got), 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&got), "all its values are 0\n"));
	buf_clear(&got);
	ck_assert_int_eq(
		import_as("", "", 0, SAMPLELESS, sizeof(SAMPLELESS) - 1, &got),
		0);
	ck_assert_str_eq(buf_str(&got),
	                 "pprof 0 nanoseconds\nit has no samples\n");
	ck_assert_int_eq(text_as("", "all 1\na;b 1\n", &got), 0);
	ck_assert_str_eq(buf_str(&got), "folded 2 count\na;b 1\nall 1\n");
}
END

TEST(goroutine_dumps_are_read_as_that_type_alone)
{
	expect("godump", "goroutine", 0, 0,
	       "godump 2 count\nmain.main 1\nmain.serve;main.wait 1\n");
	expect("godump", "cpu", 0, -EBADMSG,
	       "it has no values of a cpu profile; its types are goroutine");
}
END

TEST(what_is_wrong_is_refused_with_a_reason)
{
	static const struct {
		const char *file, *why;
	} rows[] = {
		{"folded.negative", NEGATIVE},
		{"perf.bad",
	         "it has no samples; skipped 1 line, line 2: zz not hex"},
		{"speedscope.dangling", "its values are bytes; those of a cpu "
	                                "profile are nanoseconds"},
		{"speedscope.nesting",
	         "its events are not nested: see event 1 of x"},
		{"speedscope.uncounted", "a sample has no count"},
		{"speedscope.negative", NEGATIVE},
		{"varint.pb", "truncated, or not a pprof file"},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(rows[i].file, "cpu", 0, -EBADMSG, rows[i].why);
	expect("speedscope.dangling", "memory", 0, -EBADMSG,
	       "it refers to a frame that is not there");
	ck_assert_int_eq(text_as("", "{\"shared\":{\"frames\":tru}}", &got),
	                 -EBADMSG);
	ck_assert_str_eq(buf_str(&got),
	                 "it is not a speedscope file: see byte 20");
	ck_assert_int_eq(text_as("", "{\"shared\":{\"frames\":[", &got),
	                 -EBADMSG);
	ck_assert_str_eq(buf_str(&got), "it is cut off at byte 21");
}
END

TEST(a_file_of_a_kind_that_is_not_read_is_named_with_a_way_to_upload_it)
{
#define KIND(bytes, what)                      \
	{                                      \
		bytes, sizeof(bytes) - 1, what \
	}
	static const struct {
		const char *bytes;
		size_t n;
		const char *what;
	} rows[] = {
		KIND("", "it is empty"),
		KIND(" \r\n\n", "it is empty"),
		KIND("\xfd"
	             "7zXZ\0\0\x04",
	             "it is compressed with xz: "),
		KIND("BZh91AY&SY 1\n", "it is compressed with bzip2: "),
		KIND("\x89PNG\r\n\x1a\n", "it is a picture: "),
		KIND("%PDF-1.7\n", "it is a document: "),
		KIND("PK\x03\x04\x14\0", "it is a zip archive: "),
		KIND("2ELIFREP\x68\0", "it is perf.data of a big-endian "
	                               "machine: upload what `perf "
	                               "script` prints"),
		KIND("#\n# Samples: 9\n# Overhead  Symbol\n",
	             "it is a table of perf report: upload perf.data, or what "
	             "`perf script` prints"),
		KIND("SIMPLEPERF\x01\0", "it is a simpleperf report in "
	                                 "protobuf: "),
		KIND("v8-version,11,3,244,8,-node.16,0 1\n",
	             "it is a log of V8 (node --prof): "),
		KIND("<!DOCTYPE html>", "it is an HTML page: "),
		KIND("\n<HTML><BODY>502 Bad Gateway</BODY></HTML>\n",
	             "it is an HTML page: "),
		KIND("x\x9c"
	             "abc",
	             "it is compressed with zlib: "),
		KIND("   5 function calls in 0.1 seconds\n   ncalls  tottime\n",
	             "it is a table of Python's cProfile: it has no stacks; "),
		KIND("    schedule\n    main\n    -                app (7)\n"
	             "        12\n",
	             "it is output of bcc's tools: run the tool with -f"),
		KIND("desc: --x\ncmd: ./a\ntime_unit: i\n",
	             "it is Massif's format: "),
		KIND("Type: cpu\nShowing nodes accounting for 4s, 100%\n",
	             "it is a report of go tool pprof: upload the profile that "
	             "it was made from"),
		KIND("Type: cpu\n-----------+-------------\n",
	             "it is a report of go tool pprof: "),
		KIND("digraph \"app\" {\n", "it is a graph for dot: "),
		KIND("{\"error\": \"not found\"}",
	             "it is in no format that is known; it begins with "
	             "\"{\"error\": \"not found\"}\""),
		KIND("404 page not found\n",
	             "it is in no format that is known; it begins with \"404 "
	             "page not found\""),
		KIND("     30 main;hot\n     10 main;cold\n",
	             "it looks like folded stacks, but its lines do not end "
	             "with "
	             "counts; it begins with \"30 main;hot "),
		KIND("{\"meta\": {\"version\": 24}, \"libs\": []}",
	             "it is a profile of Firefox Profiler: "),
		KIND("{\"version\":1.2,\"gc_samples\":3}",
	             "it is stackprof's JSON: "),
		KIND("{\"traceEvents\": [{\"ph\": \"X\"}]}",
	             "it is a Chrome trace: "),
		KIND("[{\"ph\":\"X\",\"ts\":1}]", "it is a Chrome trace: "),
		KIND("--- threadz 1 ---\n", "it is a page of threads of "
	                                    "gperftools: run `go tool pprof"),
		KIND("2026-01-02 03:04:05\nFull thread dump OpenJDK\n",
	             "it is a thread dump of Java: run FlameGraph's "
	             "stackcollapse-jstack.pl"),
		KIND("Attaching 1 probe...\n@[\n    hot+6\n]: 12\n",
	             "it is output of bpftrace: "),
		KIND("Thread 0x7f (most recent call first):\n  File \"a.py\"\n",
	             "it is a traceback of Python's faulthandler: "),
		KIND("{\"startedAt\":\"\",\"totalSamples\":3}",
	             "it is Stoker's JSON: "),
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char tar[1024];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(
			import_as("cpu", "", 0, rows[i].bytes, rows[i].n, &got),
			-EPROTONOSUPPORT);
		ck_assert_msg(!strncmp(buf_str(&got), rows[i].what,
		                       strlen(rows[i].what)),
		              "%s: %s", rows[i].what, buf_str(&got));
	}
	memset(tar, ' ', sizeof(tar));
	memcpy(tar, "a.txt", 6);
	memcpy(tar + 257, "ustar", 6);
	snprintf(tar + 512, sizeof(tar) - 512, "main;hot 30\n");
	ck_assert_int_eq(import_as("", "", 0, tar, sizeof(tar), &why),
	                 -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(buf_str(&why), "it is a tar archive: "));
}
END

static int
zstd_deflate(const void *p, size_t n, struct buf *out)
{
	size_t bound = ZSTD_compressBound(n), left = out->max - out->len;
	size_t most = bound < left ? bound : left;
	char *to = buf_reserve(out, most);

	ck_assert_ptr_nonnull(to);
	out->len += ZSTD_compress(to, most, p, n, 3);
	return 0;
}

typedef int compress(const void *p, size_t n, struct buf *out);
static compress *const compressors[] = {gzip_deflate, zstd_deflate};

TEST(a_compressed_file_that_is_empty_or_compressed_twice_is_refused_as_such)
{
	for (size_t i = 0; i < 4; i++) {
		compress *first = compressors[i / 2];
		CLEANUP_BUF struct buf once = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf twice = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(first("", 0, &once), 0);
		ck_assert_int_eq(
			import_as("cpu", "", 0, once.p, once.len, &got),
			-EPROTONOSUPPORT);
		ck_assert_str_eq(buf_str(&got), "it is empty");
		buf_clear(&got);
		buf_clear(&once);
		ck_assert_int_eq(first("a 1\n", 4, &once), 0);
		ck_assert_int_eq(compressors[i % 2](once.p, once.len, &twice),
		                 0);
		ck_assert_int_eq(
			import_as("cpu", "", 0, twice.p, twice.len, &got),
			-EPROTONOSUPPORT);
		ck_assert_str_eq(buf_str(&got),
		                 "it is compressed twice: decompress it once, "
		                 "and upload it again");
	}
}
END

/* The first frame of folded.zst has no length, the second a checksum. */
TEST(a_file_compressed_with_zstd_has_any_number_of_frames)
{
	CLEANUP_BUF struct buf in = BUF_INIT(BUF_MAX_SMALL);

	expect("folded.zst", "cpu", 0, 0,
	       "folded 10 count\nmain;a 3\nmain;a;b 2\nstart 5\n");
	load(DATA "folded.zst", &in);
	for (size_t n = 4; n < in.len; n++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		if (import_as("cpu", "", 0, in.p, n, &got) != 0)
			ck_assert_str_eq(buf_str(&got),
			                 "the zstd stream is damaged");
	}
}
END

TEST(pprof_files_that_follow_one_another_are_refused_as_such)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 3\n");
	CLEANUP_BUF struct buf one = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf both = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(pprof_encode(p, &one), 0);
	buf_add(&both, one.p, one.len);
	buf_add(&both, one.p, one.len);
	ck_assert_int_eq(import_as("cpu", "", 0, both.p, both.len, &got),
	                 -EBADMSG);
	ck_assert_str_eq(buf_str(&got),
	                 "it is several pprof files, one after another: upload "
	                 "each of them by itself");
}
END

/* Appends copies of text until there are more than `most` bytes. */
static void
repeat(struct buf *b, const char *text, size_t most)
{
	while (b->len <= most)
		buf_puts(b, text);
}

TEST(what_is_too_big_is_refused_before_memory_is_spent)
{
	static const struct {
		const char *text;
		size_t times;
		const char *why;
	} rows[] = {
		{"a 1\n", 1 << 20,
	         "it is too large once it is decompressed: more than 1048576, "
	         "max_raw_bytes in [upload] of stoker.conf"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(4 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		repeat(&b, rows[i].text, rows[i].times);
		buf_puts(&b, " 1\n");
		ck_assert_int_eq(import_as("cpu", "", 0, b.p, b.len, &got),
		                 -E2BIG);
		ck_assert_str_eq(buf_str(&got), rows[i].why);
	}
}
END

#define CUT                                                          \
	"stacks of more than 1024 frames, without those nearest to " \
	"the root: 1\n"

/* Reads the text. Its leaf is f, below 1023 or 1024 others. */
static void
leaf_is_kept(const struct buf *text, bool cut)
{
	CLEANUP_BUF struct buf got = BUF_INIT(1 << 20);
	const char *at;

	ck_assert_int_eq(import_as("", "", 0, text->p, text->len, &got), 0);
	at = strstr(buf_str(&got), ";f 1\n");
	ck_assert_ptr_nonnull(at);
	ck_assert_str_eq(at, cut ? ";f 1\n" CUT : ";f 1\n");
}

/* go tool pprof, flamegraph.pl and speedscope read stacks of any depth. */
TEST(stacks_that_are_too_deep_lose_the_frames_nearest_to_the_root)
{
	for (int cut = 0; cut < 2; cut++) {
		CLEANUP_BUF struct buf folded = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf perf = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf scope = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf events = BUF_INIT(1 << 20);

		buf_puts(&perf, "d 1 1.0: cycles: \n\t10 f (/d)\n");
		buf_puts(
			&scope,
			"{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":"
			"\"f\"}]},\"profiles\":[{\"type\":\"sampled\",\"unit\":"
			"\"none\",\"weights\":[1],\"samples\":[[");
		buf_puts(&events,
		         "{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":"
		         "\"f\"}]},\"profiles\":[{\"unit\":\"none\","
		         "\"endValue\":1,\"events\":[");
		for (int i = 0; i < PROFILE_MAX_FRAMES - 1 + cut; i++) {
			buf_puts(&folded, "a;");
			buf_puts(&perf, "\t20 a (/d)\n");
			buf_puts(&scope, "0,");
			buf_puts(&events,
			         "{\"type\":\"O\",\"at\":0,\"frame\":0},");
		}
		buf_puts(&folded, "f 1\n");
		buf_puts(&scope, "1]]}]}");
		buf_puts(&events, "{\"type\":\"O\",\"at\":0,\"frame\":1},"
		                  "{\"type\":\"C\",\"at\":1,\"frame\":1}");
		for (int i = 0; i < PROFILE_MAX_FRAMES - 1 + cut; i++)
			buf_puts(&events,
			         ",{\"type\":\"C\",\"at\":1,\"frame\":0}");
		buf_puts(&events, "]}]}");
		leaf_is_kept(&folded, cut);
		leaf_is_kept(&perf, cut);
		leaf_is_kept(&scope, cut);
		leaf_is_kept(&events, cut);
	}
}
END

TEST(a_blank_after_the_last_address_is_no_frame)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf got = BUF_INIT(1 << 20);

	buf_puts(&text, "heap profile: 1: 8 [1: 8] @ growthz\n1: 8 [1: 8] @");
	for (int i = 0; i < PROFILE_MAX_FRAMES; i++)
		buf_puts(&text, " 0x1");
	buf_puts(&text, " \n");
	ck_assert_int_eq(text_as("memory", buf_str(&text), &got), 0);
	ck_assert_ptr_null(strstr(buf_str(&got), CUT));
}
END

TEST(names_and_stacks_are_counted)
{
	for (int over = 0; over < 2; over++) {
		CLEANUP_BUF struct buf b = BUF_INIT(4 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(4 << 20);

		/* "", the words of the value types, and the names */
		for (int i = 0; i < 997 + over; i++)
			buf_addf(&b, "f%d 1\n", i);
		ck_assert_int_eq(import_as("cpu", "", 0, b.p, b.len, &got),
		                 over ? -E2BIG : 0);
		if (over)
			ck_assert_str_eq(
				buf_str(&got),
				"it has too many names: more than 1000, "
				"max_strings in [upload] of stoker.conf");
	}
	for (int over = 0; over < 2; over++) {
		CLEANUP_BUF struct buf b = BUF_INIT(4 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(4 << 20);

		for (int i = 0; i < 1000 + over; i++)
			buf_addf(&b, "f%d;f%d 1\n", i % 100, 100 + i / 100);
		ck_assert_int_eq(import_as("cpu", "", 0, b.p, b.len, &got),
		                 over ? -E2BIG : 0);
		if (over)
			ck_assert_str_eq(
				buf_str(&got),
				"it has too many stacks: more than 1000, "
				"max_samples in [upload] of stoker.conf");
	}
}
END

/* Writes a speedscope file of two deep stacks that alternate, with more frames
 * than a profile has room for. */
static void
repeated(struct buf *out)
{
	buf_puts(out, "{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":"
	              "\"f\"}]},\"profiles\":[{\"unit\":\"none\","
	              "\"endValue\":99999,\"events\":[");
	for (int i = 0; i < PROFILE_MAX_FRAMES - 1; i++)
		buf_puts(out, "{\"type\":\"O\",\"at\":0,\"frame\":0},");
	for (uint32_t i = 0; i <= IMPORT_MAX_FRAMES / PROFILE_MAX_FRAMES; i++)
		buf_addf(out,
		         "{\"type\":\"O\",\"at\":%u,\"frame\":1},"
		         "{\"type\":\"C\",\"at\":%u,\"frame\":1},",
		         i, i + 1);
	out->len--; /* the last comma */
	buf_puts(out, "]}]}");
}

TEST(frames_of_stacks_that_come_again_are_bounded_by_the_size_of_files)
{
	CLEANUP_BUF struct buf file = BUF_INIT(8 << 20);

	repeated(&file);
	ck_assert_int_eq(buf_err(&file), 0);
	for (int small = 0; small < 2; small++) {
		struct import_ask ask = {
			.type = "cpu", .content_type = "", .limits = limits};
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p = NULL;
		const struct input *format;
		const struct type *of;

		ask.limits.raw_bytes = small ? file.len : 2 * IMPORT_MAX_FRAMES;
		ck_assert_int_eq(profile_import(file.p, file.len, &ask, &p,
		                                &format, &of, &why),
		                 small ? -E2BIG : 0);
		if (small)
			ck_assert_ptr_nonnull(
				strstr(buf_str(&why), "max_raw_bytes"));
		else
			ck_assert_uint_eq(p->nsamples, 2);
	}
}
END

TEST(json_that_is_nested_too_deep_is_refused_with_the_limit)
{
	static const char *const begin[] = {
		"{\"shared\":{\"frames\":[]},\"x\":",
		"{\"head\":{\"callFrame\":{},\"x\":",
		"{\"resourceProfiles\":[{\"x\":",
	};

	for (size_t i = 0; i < ARRAY_LEN(begin); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		buf_puts(&b, begin[i]);
		for (int level = 0; level < JSON_SCAN_DEPTH; level++)
			buf_puts(&b, "[");
		ck_assert_int_eq(import_as("", "", 0, b.p, b.len, &got),
		                 -E2BIG);
		ck_assert_ptr_nonnull(
			strstr(buf_str(&got),
		               "nested deeper than the limit of 2112 levels: "
		               "see byte "));
	}
}
END

/* Writes a pprof file of this many stacks, each of another function. */
static void
wide(uint32_t stacks, struct buf *file)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf text = BUF_INIT(1 << 20);

	for (uint32_t i = 0; i < stacks; i++)
		buf_addf(&text, "f%u 1\n", i);
	p = profile_of(buf_str(&text));
	ck_assert_int_eq(pprof_encode(p, file), 0);
}

TEST(limits_of_pprof_files_name_their_number_and_key)
{
	static const struct {
		const char *why;
		uint32_t stacks;
	} rows[] = {
		{"the profile has too many samples: more than 1000, "
	         "max_samples in [upload] of stoker.conf",
	         1001},
		{"the profile has too many strings: more than 1000, "
	         "max_strings in [upload] of stoker.conf",
	         1000},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		wide(rows[i].stacks, &file);
		ck_assert_int_eq(
			import_as("cpu", "", 0, file.p, file.len, &got),
			-E2BIG);
		ck_assert_str_eq(buf_str(&got), rows[i].why);
	}
}
END

TEST(a_bomb_of_text_is_refused_by_its_size_and_by_its_ratio)
{
	struct import_ask ask = {
		.type = "cpu",
		.content_type = "",
		.limits = limits,
	};
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *format;
	const struct type *of;
	CLEANUP_BUF struct buf text = BUF_INIT(32 << 20);

	repeat(&text, "main;work 1\n", 30 << 20);
	for (size_t i = 0; i < ARRAY_LEN(compressors); i++) {
		CLEANUP_BUF struct buf bomb = BUF_INIT(1 << 20);
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(compressors[i](text.p, text.len, &bomb), 0);
		ck_assert_int_eq(
			import_as("cpu", "", 0, bomb.p, bomb.len, &got),
			-E2BIG);
		ck_assert_str_eq(buf_str(&got),
		                 "it is too large once it is decompressed: "
		                 "more than 1048576, max_raw_bytes in [upload] "
		                 "of stoker.conf");
		ask.limits.raw_bytes = 64 << 20;
		buf_clear(&got);
		ck_assert_int_eq(profile_import(bomb.p, bomb.len, &ask, &p,
		                                &format, &of, &got),
		                 -E2BIG);
		ck_assert_str_eq(buf_str(&got),
		                 "it inflates too much for its size: more than "
		                 "200, max_ratio in [upload] of stoker.conf");
	}
}
END

TEST(the_content_type_narrows_down_what_it_may_be)
{
	static const struct {
		const char *type;
		int r;
	} rows[] = {
		{"", 0},
		{"text/plain", 0},
		{"TEXT/PLAIN; charset=utf-8", 0},
		{"application/octet-stream", 0},
		{"application/x-www-form-urlencoded", 0},
		{"application/json", -EPROTONOSUPPORT},
		{"application/x-protobuf", -EPROTONOSUPPORT},
		{"image/png", -EPROTONOSUPPORT},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(
			import_as("cpu", rows[i].type, 0, "a 1\n", 4, &got),
			rows[i].r);
	}
}
END

TEST(pprof_is_taken_by_its_value_type)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 2\n");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(pprof_encode(p, &file), 0);
	ck_assert_int_eq(import_as("cpu", "application/x-protobuf", 0, file.p,
	                           file.len, &got),
	                 0);
	ck_assert_str_eq(buf_str(&got),
	                 "pprof 20000000 nanoseconds\nmain;a 2\n");
	buf_clear(&got);
	ck_assert_int_eq(import_as("memory", "", 0, file.p, file.len, &got),
	                 -EBADMSG);
	ck_assert_str_eq(
		buf_str(&got),
		"it has no values of a memory profile; its types are cpu");
}
END

/* Values: go tool pprof 1.24, -traces. */
TEST(frames_that_a_pprof_file_drops_are_not_shown)
{
	expect("drop.pb", "", 0, 0,
	       "pprof 128 nanoseconds\nmain 7\nmain;runtime.panic;y 11\n"
	       "main;work 103\nmalloc;malloc_impl 7\n");
	expect("drop.unknown.pb", "", 0, 0,
	       "pprof 1 nanoseconds\nmain;malloc 1\n"
	       "its frames are all shown: the patterns of those to drop are "
	       "too long, or of a kind that is not known\n");
}
END

TEST(a_negative_pprof_value_is_refused)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 2\nb -1\n");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(pprof_encode(p, &file), 0);
	ck_assert_int_eq(import_as("cpu", "", 0, file.p, file.len, &got),
	                 -EBADMSG);
	ck_assert_str_eq(buf_str(&got), NEGATIVE);
}
END

/* Makes a pprof file of one sample, with the value types "NAME/UNIT ..." and
 * the values 1, 2, ...; period is "NAME/UNIT" or NULL. */
static struct profile *
file_of(const char *types, const char *period, struct buf *out)
{
	struct profile *p = profile_new();
	char words[200], *rest = words, *unit;
	const int64_t v[] = {1, 2, 3, 4, 5, 6};
	uint32_t at;

	snprintf(words, sizeof(words), "%s", types);
	while ((unit = strsep(&rest, " "))) {
		const char *name = strsep(&unit, "/");

		ck_assert_int_eq(profile_type(p, name, unit), 0);
	}
	if (period) {
		snprintf(words, sizeof(words), "%s", period);
		rest = words;
		unit = strsep(&rest, "/");
		ck_assert_int_eq(profile_cstring(p, unit, &p->period_type.type),
		                 0);
		ck_assert_int_eq(profile_cstring(p, rest, &p->period_type.unit),
		                 0);
		p->period = 10;
	}
	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 0x10, NULL, 0, &at),
	                 0);
	ck_assert_int_eq(profile_sample(p, &at, 1, NULL, 0, v), 0);
	ck_assert_int_eq(pprof_encode(p, out), 0);
	return p;
}

/* Imports such a file; writes "TYPE: VALUE/UNIT N" of the shown value, or the
 * reason of a refusal. */
static void
imported(const char *types, const char *period, const char *asked,
         struct buf *out)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *given = file_of(types, period, &file);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct import_ask ask = {
		.type = asked, .content_type = "", .limits = limits};
	const struct input *format;
	const struct type *of;
	uint32_t at;

	if (profile_import(file.p, file.len, &ask, &p, &format, &of, out))
		return;
	ck_assert_uint_eq(p->ntypes, given->ntypes);
	at = profile_type_index(p, NULL);
	buf_addf(out, "%s: %s/%s %lld", of->name,
	         profile_text(p, p->types[at].type),
	         profile_text(p, p->types[at].unit), (long long)p->values[at]);
}

TEST(a_file_of_no_type_is_read_where_no_type_is_needed)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *given =
		file_of("exceptions/count lock_count/count", NULL, &file);

	for (int untyped = 0; untyped < 2; untyped++) {
		const struct import_ask ask = {.type = "",
		                               .content_type = "",
		                               .untyped = untyped,
		                               .limits = limits};
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p = NULL;
		const struct input *format;
		const struct type *of = type_find("cpu");

		ck_assert_int_eq(profile_import(file.p, file.len, &ask, &p,
		                                &format, &of, &why),
		                 untyped ? 0 : -EBADMSG);
		if (untyped)
			ck_assert_ptr_null(of);
	}
}
END

#define HEAP_OF_GO                               \
	"alloc_objects/count alloc_space/bytes " \
	"inuse_objects/count inuse_space/bytes"
#define WAITS "contentions/count delay/nanoseconds"
#define NONE(type, has) \
	"it has no values of a " type " profile; its types are " has

TEST(the_type_of_a_pprof_file_is_that_of_its_values)
{
	static const struct {
		const char *types, *period, *asked, *want;
	} rows[] = {
		{"samples/count cpu/nanoseconds", "cpu/nanoseconds", "",
	         "cpu: cpu/nanoseconds 2"},
		{"samples/count time/nanoseconds", "wallclock/nanoseconds", "",
	         "wall: time/nanoseconds 2"},
		{"samples/count time/nanoseconds", "wallclock/nanoseconds",
	         "cpu", NONE("cpu", "wall")},
		{"sample/count wall/microseconds", "wall/microseconds", "",
	         "wall: wall/nanoseconds 2000"},
		{"sample/count wall/microseconds", NULL, "goroutine",
	         NONE("goroutine", "wall")},
		{"cpu-time/nanoseconds wall-time/nanoseconds alloc-space/bytes",
	         NULL, "", "cpu: cpu-time/nanoseconds 1"},
		{"cpu-time/nanoseconds wall-time/nanoseconds alloc-space/bytes",
	         NULL, "wall", "wall: wall-time/nanoseconds 2"},
		{"cpu-time/nanoseconds wall-time/nanoseconds alloc-space/bytes",
	         NULL, "memory", NONE("memory", "cpu, alloc, wall")},
		{"wall/nanoseconds cpu/nanoseconds", NULL, "",
	         "wall: wall/nanoseconds 1"},
		{"samples/count", NULL, "", "cpu: samples/count 1"},
		{"samples/count", NULL, "wall", "wall: samples/count 1"},
		{"samples/count", "wallclock/nanoseconds", "",
	         "wall: samples/count 1"},
		{"samples/count", "wallclock/nanoseconds", "cpu",
	         NONE("cpu", "wall")},
		{WAITS, "contentions/count", "", "block: delay/nanoseconds 2"},
		{WAITS, NULL, "mutex", "mutex: delay/nanoseconds 2"},
		{WAITS, NULL, "cpu", NONE("cpu", "block, mutex")},
		{WAITS, NULL, "io", NONE("io", "block, mutex")},
		{"operations/count delay/nanoseconds transferred/bytes", NULL,
	         "", "io: delay/nanoseconds 2"},
		{"operations/count delay/nanoseconds", NULL, "block",
	         NONE("block", "io")},
		{HEAP_OF_GO, NULL, "", "memory: inuse_space/bytes 4"},
		{HEAP_OF_GO, NULL, "alloc", "alloc: alloc_space/bytes 2"},
		{HEAP_OF_GO, NULL, "goroutine",
	         NONE("goroutine", "memory, alloc")},
		{"alloc_objects/count alloc_space/bytes", NULL, "memory",
	         NONE("memory", "alloc")},
		{"objects/count space/bytes", "space/bytes", "",
	         "memory: space/bytes 2"},
		{"objects/count space/bytes", NULL, "alloc",
	         "alloc: space/bytes 2"},
		{"frob/nanoseconds", NULL, "cpu", "cpu: frob/nanoseconds 1"},
		{"frob/nanoseconds", NULL, "",
	         "its type is not known; its values are frob/nanoseconds; "
	         "with --type it is read as cpu, block, *"},
		{"reductions/count", NULL, "",
	         "its type is not known; its values are reductions/count"},
		{"bytes/bytes", NULL, "",
	         "its type is not known; its values are bytes/bytes; with "
	         "--type it is read as memory, alloc*"},
		{"count/count", NULL, "",
	         "its type is not known; its values are count/count"},
		{"/", NULL, "", "its type is not known; its values are /"},
		{"cycles/cycles", NULL, "", "cpu: cycles/cycles 1"},
		{"cycles_sample/count cycles_event/count", NULL, "",
	         "cpu: cycles_event/count 2"},
		{"events/count stack_depth/count", "cpu/nanoseconds", "",
	         "cpu: events/count 1"},
		{"events/nanoseconds", NULL, "", "block: events/nanoseconds 1"},
		{"allocs/count size/bytes", NULL, "", "alloc: size/bytes 2"},
		{"allocations/count", NULL, "", "alloc: allocations/count 1"},
		{"locks/nanoseconds", NULL, "", "mutex: locks/nanoseconds 1"},
		{"threadcreate/count", NULL, "",
	         "goroutine: threadcreate/count 1"},
		{"exception/count", NULL, "goroutine",
	         "it has no values of a goroutine profile; its values are "
	         "exception/count"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		imported(rows[i].types, rows[i].period, rows[i].asked, &got);
		ck_assert_msg(!fnmatch(rows[i].want, buf_str(&got), 0),
		              "row %zu: %s", i, buf_str(&got));
	}
}
END

TEST(a_pprof_file_with_a_default_value_is_of_its_type)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf again = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *given =
		file_of(HEAP_OF_GO, NULL, &file);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct import_ask ask = {
		.type = "", .content_type = "", .limits = limits};
	const struct input *format;
	const struct type *of;

	/* beside another value of the type */
	given->types[3] = given->types[1];
	ck_assert_int_eq(
		profile_cstring(given, "alloc_size", &given->types[1].type), 0);
	given->default_type = given->types[3].type;
	ck_assert_int_eq(pprof_encode(given, &again), 0);
	ck_assert_int_eq(profile_import(again.p, again.len, &ask, &p, &format,
	                                &of, &why),
	                 0);
	ck_assert_str_eq(of->name, "alloc");
	ck_assert_uint_eq(profile_type_index(p, NULL), 3);
}
END

/* Returns the default_sample_type of a file, as other tools read it. */
static void
default_of(const struct profile *p, struct buf *out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_SMALL);
	struct wire w;
	struct wire_field f;
	uint64_t at = 0;

	pprof_write(p, &raw);
	ck_assert_int_eq(buf_err(&raw), 0);
	for (int pass = 0; pass < 2; pass++) {
		w = (struct wire){(uint8_t *)raw.p, (uint8_t *)raw.p + raw.len};
		for (uint64_t i = 0; wire_next(&w, &f) > 0;) {
			if (f.key ==
			    WIRE_KEY(PROFILE_DEFAULT_SAMPLE_TYPE, WIRE_VARINT))
				at = f.value;
			if (f.key == WIRE_KEY(PROFILE_STRING_TABLE,
			                      WIRE_BYTES) &&
			    i++ == at && pass)
				buf_add(out, f.bytes.p,
				        (size_t)(f.bytes.end - f.bytes.p));
		}
	}
}

TEST(the_value_that_a_pprof_file_shows_first_survives)
{
	static const struct {
		const char *given, *asked, *type, *shown;
	} rows[] = {
		{"inuse_objects", "", "memory", "inuse_space"},
		{"alloc_objects", "", "alloc", "alloc_space"},
		{"inuse_space", "alloc", "alloc", "alloc_space"},
		{"alloc_space", "", "alloc", "alloc_space"},
		{"of no type", "memory", "memory", "inuse_space"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf kept = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf found = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *given =
			file_of(HEAP_OF_GO, NULL, &file);
		CLEANUP_PROFILE struct profile *p = NULL, *again = NULL;
		const struct import_ask ask = {.type = rows[i].asked,
		                               .content_type = "",
		                               .limits = limits};
		const struct input *format;
		const struct type *of;

		buf_clear(&file);
		ck_assert_int_eq(profile_cstring(given, rows[i].given,
		                                 &given->default_type),
		                 0);
		ck_assert_int_eq(pprof_encode(given, &file), 0);
		ck_assert_int_eq(profile_import(file.p, file.len, &ask, &p,
		                                &format, &of, &why),
		                 0);
		ck_assert_str_eq(of->name, rows[i].type);
		ck_assert_int_eq(pprof_encode(p, &kept), 0);
		ck_assert_int_eq(pprof_decode(kept.p, kept.len, BUF_MAX_SMALL,
		                              &again, &why),
		                 0);
		ck_assert_str_eq(profile_text(again, again->default_type),
		                 rows[i].shown);
		ck_assert_uint_eq(again->ncomments, given->ncomments);
		default_of(again, &found);
		ck_assert_str_eq(buf_str(&found), rows[i].given);
	}
}
END

/* An exported file is uploaded as another type, or pushed, which stores each
 * of its types separately. */
TEST(a_profile_that_is_shown_anew_shows_the_new_value)
{
	for (int pushed = 0; pushed < 2; pushed++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_PROFILE struct profile *p =
			file_of(HEAP_OF_GO, NULL, &file);
		CLEANUP_PROFILE struct profile *again = NULL;
		uint32_t alloc = profile_type_index(p, "alloc_space");

		buf_clear(&file);
		ck_assert_int_eq(
			profile_show(p, profile_type_index(p, "inuse_objects")),
			0);
		ck_assert_int_eq(
			profile_show(p, profile_type_index(p, "inuse_space")),
			0);
		if (pushed)
			p->default_type = p->types[alloc].type;
		else
			ck_assert_int_eq(profile_show(p, alloc), 0);
		ck_assert_int_eq(pprof_encode(p, &file), 0);
		ck_assert_int_eq(pprof_decode(file.p, file.len, BUF_MAX_SMALL,
		                              &again, &why),
		                 0);
		ck_assert_str_eq(profile_text(again, again->default_type),
		                 "alloc_space");
	}
}
END

TEST(a_difference_of_two_profiles_is_noted_where_it_is_read)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf again = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *given =
		file_of("inuse_space/bytes", NULL, &file);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.deltas = true,
		.limits = limits,
	};
	const struct input *format;
	const struct type *of;

	given->values[0] = -1;
	ck_assert_int_eq(pprof_encode(given, &again), 0);
	ck_assert_int_eq(profile_import(again.p, again.len, &ask, &p, &format,
	                                &of, &why),
	                 0);
	ck_assert_str_eq(buf_str(&why),
	                 "some of its values are negative, as in a difference "
	                 "of two profiles: only pprof and OTLP keep them\n");
}
END

TEST(times_and_sizes_are_in_the_units_of_their_types)
{
	static const struct {
		const char *types, *want;
	} rows[] = {
		{"cpu/ns", "cpu: cpu/nanoseconds 1"},
		{"cpu/us", "cpu: cpu/nanoseconds 1000"},
		{"cpu/\xc2\xb5s", "cpu: cpu/nanoseconds 1000"},
		{"cpu/ms", "cpu: cpu/nanoseconds 1000000"},
		{"cpu/milliseconds", "cpu: cpu/nanoseconds 1000000"},
		{"cpu/s", "cpu: cpu/nanoseconds 1000000000"},
		{"cpu/seconds", "cpu: cpu/nanoseconds 1000000000"},
		{"cpu/NANOSECONDS", "cpu: cpu/nanoseconds 1"},
		{"inuse_space/B", "memory: inuse_space/bytes 1"},
		{"inuse_space/byte", "memory: inuse_space/bytes 1"},
		{"inuse_space/kB", "memory: inuse_space/bytes 1024"},
		{"inuse_space/megabytes", "memory: inuse_space/bytes 1048576"},
		{"inuse_space/frobs", "memory: inuse_space/frobs 1"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		imported(rows[i].types, NULL, "", &got);
		ck_assert_msg(!strcmp(buf_str(&got), rows[i].want),
		              "row %zu: %s", i, buf_str(&got));
	}
}
END

TEST(text_without_a_type_is_of_the_type_of_its_unit)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"a;b 3\n", "folded 3 count\na;b 3\n"},
		{HEAP("growthz"), "heap 1024 bytes\n"},
		{"{\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[{"
	         "\"type\":\"sampled\",\"unit\":\"bytes\",\"samples\":[[0]],"
	         "\"weights\":[7]}]}",
	         "speedscope 7 bytes\na 7\n"},
		{"{\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[{"
	         "\"type\":\"sampled\",\"unit\":\"milliseconds\","
	         "\"samples\":[[0]],\"weights\":[7]},{\"type\":\"sampled\","
	         "\"unit\":\"microseconds\",\"samples\":[[0]],"
	         "\"weights\":[5]}]}",
	         "speedscope 7005000 nanoseconds\na 7005000\n"},
	};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(text_as("", rows[i].text, &got), 0);
		ck_assert_msg(!strncmp(buf_str(&got), rows[i].want,
		                       strlen(rows[i].want)),
		              "row %zu: %s", i, buf_str(&got));
	}
}
END

TEST(folded_stacks_of_wall_time_are_samples_as_those_of_cpu)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(import_as("wall", "", 100, "a 3\n", 4, &got), 0);
	ck_assert_msg(!strncmp(buf_str(&got), "folded 30000000 nanoseconds\n",
	                       strlen("folded 30000000 nanoseconds\n")),
	              "%s", buf_str(&got));
}
END

SUITE("import");
