#include "lib/imported.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#define NOTE                                                                  \
	"callgrind counts calls between pairs of functions, not stacks: the " \
	"paths to a function are estimates, its own cost is exact\n"

/* Own costs: callgrind_annotate of Valgrind 3.19. Paths: speedscope, whose
 * comment in callgrind.ts has this graph. */
TEST(a_callgrind_file_has_exact_own_costs_and_estimated_paths)
{
	imported_file_is("", "callgrind", 0,
	                 "callgrind cpu Ir/Ir\n"
	                 "main 20\n"
	                 "main;start 100\n"
	                 "main;end 80\n"
	                 "main;start;backup 100\n"
	                 "main;end;backup 100\n"
	                 "main;start;backup;read 150\n"
	                 "main;start;backup;write 150\n"
	                 "main;end;backup;read 150\n"
	                 "main;end;backup;write 150\n"
	                 "event Ir was kept, of Ir Dr; --event keeps "
	                 "another\n" NOTE);
}
END

TEST(time_of_xdebug_is_wall_time)
{
	imported_file_is("wall", "callgrind.xdebug", 0,
	                 "callgrind wall wall/nanoseconds\n"
	                 "{main} 3000\n"
	                 "{main};work 500\n"
	                 "{main};work;php::usleep 1052000\n"
	                 "event Time_(10ns) was kept, of Time_(10ns) "
	                 "Memory_(bytes); --event keeps another\n" NOTE);
	imported_file_is("cpu", "callgrind.xdebug", -EBADMSG,
	                 "it has no values of a cpu profile; its types are "
	                 "wall");
}
END

/* Events of go tool pprof -callgrind, of --xtree-memory and of cachegrind. */
TEST(an_event_that_says_what_it_counts_is_of_that_type)
{
	static const char *const rows[][2] = {
		{"cpu(ms)", "cpu cpu/nanoseconds\nf 7000000\n"},
		{"alloc_space(B)", "alloc alloc_space/bytes\nf 7\n"},
		{"inuse_space(kB)", "memory inuse_space/bytes\nf 7168\n"},
		{"goroutine(count)", "goroutine goroutine/count\nf 7\n"},
		{"delay(s)", "block delay/nanoseconds\nf 7000000000\n"},
		{"curB", "memory inuse_space/bytes\nf 7\n"},
		{"totB", "alloc alloc_space/bytes\nf 7\n"},
		{"x(y)", "cpu x(y)/x(y)\nf 7\n"},
		{"(ms)", "cpu (ms)/(ms)\nf 7\n"},
		{"Ir(", "cpu Ir(/Ir(\nf 7\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[128], want[256];

		snprintf(text, sizeof(text),
		         "desc: I1 cache: 32768 B\nevents: %s\nfn=f\n1 7\n",
		         rows[i][0]);
		snprintf(want, sizeof(want), "callgrind %s" NOTE, rows[i][1]);
		imported_is("", text, 0, want);
	}
	imported_is("", "events: curB totB \nfn=f\n1 0 9\n", -EBADMSG,
	            "it has no costs; event curB was kept, of curB totB; "
	            "--event keeps another");
}
END

TEST(recursion_of_a_callgrind_file_ends_where_it_returns_into_its_path)
{
	imported_file_is("", "callgrind.recursion", 0,
	                 "callgrind cpu Ir/Ir\n"
	                 "main 10\n"
	                 "main;even 40\n"
	                 "main;even;odd 50\n" NOTE);
}
END

static int
with_event(const char *event, struct buf *why)
{
	static const char text[] = "events: Ir Dr\nfn=f\n1 10 3\n";
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.event = event,
		.limits = {1 << 20, 4 << 20, 200, 1000, 1000},
	};
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *format;
	const struct type *type;
	int rc = profile_import(text, sizeof(text) - 1, &ask, &p, &format,
	                        &type, why);

	return rc ? rc : (int)p->values[0];
}

TEST(another_event_of_a_callgrind_file_can_be_kept)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(with_event("", &why), 10);
	ck_assert_int_eq(with_event("Dr", &why), 3);
	buf_clear(&why);
	ck_assert_int_eq(with_event("D", &why), -EBADMSG);
	ck_assert_str_eq(buf_str(&why), "line 1: event D is not among Ir Dr");
}
END

TEST(names_that_a_jump_has_first_are_those_of_functions)
{
	imported_is("",
	            "events: Ir\nfl=(1) a.c\nfn=(1) main\n1 7\n"
	            "jfi=(2) b.c\njfn=(2) far\njump=3 9\n+1\n"
	            "fl=(2)\nfn=(2)\n9 4\n",
	            0, "callgrind cpu Ir/Ir\nmain 7\nfar 4\n" NOTE);
}
END

TEST(a_broken_callgrind_file_is_refused_with_its_line)
{
	static const char *const rows[][2] = {
		{"events: Ir\n1 10\n",
	         "line 2: a cost before its events and function"},
		{"events: Ir\nfn=(1)\n", "line 2: an id has no name"},
		{"events: Ir\nfn=f\n+ 10\n",
	         "line 3: a position is not a number"},
		{"events: Ir\nfn=f\n1 1x\n", "line 3: a cost is not a number"},
		{"events: Ir\nfn=f\n1 -4\n",
	         "line 3: a sample has a negative value: this is a difference "
	         "of two profiles"},
		{"events: Ir\nfn=f\n1 9223372036854775808\n",
	         "line 3: a cost is out of range"},
		{"events: Ir\nfn=f\n1 9223372036854775807\n1 1\n",
	         "line 4: a sum is out of range"},
		{"events: Ir\nfn=f\ncalls=1 1\n",
	         "line 3: a call without its functions"},
		{"events: Ir\nevents: Dr Ir\nfn=f\n", "it has no samples"},
		{"version: 1\nevents: Ir\nfn=f\n1 0\n", "it has no samples"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		imported_is("", rows[i][0], -EBADMSG, rows[i][1]);
	imported_is("", "events: Ir\nfn=(2001) f\n", -E2BIG,
	            "an id is too large: more than 2000, max_strings in "
	            "[upload] of stoker.conf");
}
END

TEST(lines_that_callgrind_does_not_write_are_skipped_and_counted)
{
	imported_is("", "events: Ir\nfn=f\n1 7\nwhat\n", 0,
	            "callgrind cpu Ir/Ir\nf 7\n" NOTE
	            "skipped 1 line, line 4: what\n");
}
END

/* At each level two functions call both functions of the next: 2^30 paths. */
TEST(a_graph_of_too_many_paths_keeps_its_largest_and_all_own_costs)
{
	CLEANUP_BUF struct buf b = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf got = BUF_INIT(1 << 20);
	long long sum = 0;

	buf_puts(&b, "events: Ir\n");
	for (int level = 0; level < 30; level++)
		for (int which = 0; which < 2; which++) {
			buf_addf(&b, "fn=f%d.%d\n1 %d\n", level, which,
			         1 << 20);
			for (int to = 0; level < 29 && to < 2; to++)
				buf_addf(&b, "cfn=f%d.%d\ncalls=1 1\n1 %d\n",
				         level + 1, to, (29 - level) << 19);
		}
	ck_assert_msg(!imported("", b.p, b.len, &got), "%s", buf_str(&got));
	for (const char *p = strchr(buf_str(&got), '\n') + 1; *p == 'f';
	     p = strchr(p, '\n') + 1)
		sum += atoll(strchr(p, ' '));
	ck_assert_int_eq(sum, 60 << 20);
	ck_assert_ptr_nonnull(strstr(buf_str(&got), "% of the cost stands "
	                                            "without callers"));
}
END

SUITE("import_callgrind");
