/* stoker top: tables made of a call tree. */
#include "cli/cli.h"
#include "cli/top.h"
#include "lib/test.h"

#include <string.h>

static const struct screen pipe_ = {0};

static json_t *
json_of(const char *text)
{
	json_t *j = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(j);
	return j;
}

/* main calls work, which calls itself and then rank. */
static const char recursive[] =
	"{\"unit\":\"bytes\",\"total\":4096,"
	"\"names\":[\"\",\"all\",\"main\",\"work\",\"rank\",\"rank\"],"
	"\"packages\":[\"\",\"\",\"app\",\"app\",\"app\",\"lib\"],"
	"\"depth\":[0,1,2,3,4,2],\"name\":[1,2,3,3,4,5],"
	"\"self\":[0,0,512,512,1024,2048],"
	"\"totals\":[4096,4096,2048,1536,1024,2048]}";

/* main calls parse and index, which both call grow; the allocator's frames are
 * a wrapper and the C library's. */
static const char allocating[] =
	"{\"unit\":\"bytes\",\"total\":7168,"
	"\"names\":[\"all\",\"main\",\"parse\",\"index\",\"grow\",\"zmalloc\","
	"\"malloc\"],\"packages\":[\"\",\"app\",\"app\",\"app\",\"app\","
	"\"app\",\"libc.so.6\"],\"files\":[\"\",\"/src/app.c\"],"
	"\"file\":[0,1,1,1,1,0,0],\"line\":[0,10,20,30,40,0,0],"
	"\"depth\":[0,1,2,3,4,5,2,3,4,3],\"name\":[0,1,2,4,5,6,3,4,5,6],"
	"\"self\":[0,0,0,0,0,4096,0,0,1024,2048],"
	"\"totals\":[7168,7168,4096,4096,4096,4096,3072,1024,1024,2048]}";

/* Appends the table of a graph; returns the exit status. */
static int
table(const char *graph, const char *type, const struct options *o,
      struct buf *out)
{
	CLEANUP_JSON json_t *g = json_of(graph);

	return top_table(g, type, o, &pipe_, out);
}

static void
shows(const char *graph, const char *type, const struct options *o,
      const char *want)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(table(graph, type, o, &out), LEAVE_OK);
	ck_assert_str_eq(buf_str(&out), want);
}

TEST(memory_has_bytes_beside_its_shares)
{
	shows(recursive, "memory", &(struct options){.limit = -1},
	      "    SELF  SELF %     TOTAL  FUNCTION\n"
	      "2.00 KiB    50.0  2.00 KiB  rank\n"
	      "1.00 KiB    25.0  2.00 KiB  work\n"
	      "1.00 KiB    25.0  1.00 KiB  rank\n"
	      "       0     0.0  4.00 KiB  main\n");
}
END

TEST(memory_names_the_function_that_allocates)
{
	shows(allocating, "alloc", &(struct options){.limit = -1},
	      "    SELF  SELF %     TOTAL  LEAF    FUNCTION\n"
	      "5.00 KiB    71.4  5.00 KiB  malloc  grow\n"
	      "2.00 KiB    28.6  3.00 KiB  malloc  index\n"
	      "       0     0.0  7.00 KiB          main\n"
	      "       0     0.0  4.00 KiB          parse\n");
}
END

TEST(an_allocator_of_a_stripped_program_has_parts_without_a_name)
{
	shows("{\"unit\":\"bytes\",\"names\":[\"all\",\"PostgresMain\","
	      "\"postgres+0x472280\",\"palloc\",\"postgres+0x5c7730\","
	      "\"malloc\"],\"packages\":[\"\",\"postgres\",\"postgres\","
	      "\"postgres\",\"postgres\",\"libc.so.6\"],"
	      "\"depth\":[0,1,2,3,4,5],\"name\":[0,1,2,3,4,5],"
	      "\"self\":[0,0,0,0,3,5],\"totals\":[8,8,8,8,8,5]}",
	      "alloc", &(struct options){.limit = -1},
	      "SELF  SELF %  TOTAL  LEAF    FUNCTION\n"
	      " 8 B   100.0    8 B  malloc  postgres+0x472280\n"
	      "   0     0.0    8 B          PostgresMain\n");
}
END

TEST(cpu_time_names_the_allocator)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(
		table(allocating, "cpu", &(struct options){.limit = 1}, &out),
		LEAVE_OK);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "libc.so.6  malloc\n"));
}
END

TEST(runtime_shows_the_allocator)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(table(allocating, "alloc",
	                       &(struct options){.limit = 1, .runtime = true},
	                       &out),
	                 LEAVE_OK);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "libc.so.6  malloc\n"));
}
END

TEST(a_monitor_of_java_names_the_method_that_waits)
{
	shows("{\"unit\":\"nanoseconds\",\"names\":[\"all\","
	      "\"StubRoutines (1)\",\"Interpreter\",\"void Shop.checkout()\","
	      "\"monitorenter_nofpu Runtime1 stub\",\"[monitor]\"],"
	      "\"packages\":[\"\",\"[anon]\",\"[anon]\",\"[anon]\","
	      "\"[anon]\",\"[lock]\"],\"depth\":[0,1,2,3,4,5],"
	      "\"name\":[0,1,2,3,4,5],\"self\":[0,0,0,0,0,7],"
	      "\"totals\":[7,7,7,7,7,7]}",
	      "mutex", &(struct options){.limit = -1},
	      "SELF  SELF %  TOTAL  LEAF       FUNCTION\n"
	      "7 ns   100.0   7 ns  [monitor]  void Shop.checkout()\n");
}
END

TEST(a_stack_of_nothing_but_a_runtime_keeps_a_frame)
{
	shows("{\"unit\":\"bytes\",\"names\":[\"all\",\"malloc\"],"
	      "\"packages\":[\"\",\"libc.so.6\"],\"depth\":[0,1],"
	      "\"name\":[0,1],\"self\":[0,8],\"totals\":[8,8]}",
	      "alloc", &(struct options){.limit = -1},
	      "SELF  SELF %  TOTAL  FUNCTION\n"
	      " 8 B   100.0    8 B  malloc\n");
}
END

TEST(cum_sorts_by_total)
{
	shows(allocating, "alloc", &(struct options){.limit = 3, .cum = true},
	      "   TOTAL  TOTAL %      SELF  LEAF    FUNCTION\n"
	      "7.00 KiB    100.0         0          main\n"
	      "5.00 KiB     71.4  5.00 KiB  malloc  grow\n"
	      "4.00 KiB     57.1         0          parse\n");
}
END

TEST(callers_branch_outwards_the_largest_first)
{
	shows(allocating, "alloc",
	      &(struct options){.limit = -1, .callers = "grow"},
	      "   TOTAL  TOTAL %      SELF  FUNCTION\n"
	      "5.00 KiB     71.4  5.00 KiB  grow\n"
	      "4.00 KiB     57.1  4.00 KiB  - parse\n"
	      "4.00 KiB     57.1  4.00 KiB    main\n"
	      "1.00 KiB     14.3  1.00 KiB  - index\n"
	      "1.00 KiB     14.3  1.00 KiB    main\n");
}
END

TEST(callers_of_an_allocator_show_its_frames)
{
	shows(allocating, "alloc",
	      &(struct options){.limit = 3, .callers = "zmalloc"},
	      "   TOTAL  TOTAL %      SELF  FUNCTION\n"
	      "5.00 KiB     71.4  1.00 KiB  zmalloc\n"
	      "5.00 KiB     71.4  1.00 KiB  grow\n"
	      "4.00 KiB     57.1         0  parse\n"
	      "3 more with --limit\n");
}
END

TEST(callees_branch_inwards)
{
	shows(allocating, "alloc",
	      &(struct options){.limit = -1, .callees = "index"},
	      "   TOTAL  TOTAL %      SELF  FUNCTION\n"
	      "3.00 KiB     42.9  2.00 KiB  index\n"
	      "1.00 KiB     14.3  1.00 KiB  grow\n");
}
END

TEST(a_recursive_function_counts_once)
{
	shows(recursive, "cpu",
	      &(struct options){.limit = -1, .callees = "work"},
	      "   TOTAL  TOTAL %      SELF  FUNCTION\n"
	      "2.00 KiB     50.0     512 B  work\n"
	      "1.50 KiB     37.5     512 B  work\n"
	      "1.00 KiB     25.0  1.00 KiB  rank\n");
}
END

TEST(the_tree_has_no_row_for_its_root)
{
	shows(allocating, "alloc", &(struct options){.limit = 4, .tree = true},
	      "   TOTAL  TOTAL %      SELF  FUNCTION\n"
	      "7.00 KiB    100.0         0  main\n"
	      "4.00 KiB     57.1         0  - parse\n"
	      "4.00 KiB     57.1  4.00 KiB    grow\n"
	      "3.00 KiB     42.9  2.00 KiB  - index\n"
	      "1 more with --limit\n");
}
END

TEST(lines_name_the_source)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(table(allocating, "alloc",
	                       &(struct options){.limit = 1, .lines = true},
	                       &out),
	                 LEAVE_OK);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "  app.c:40  "));
}
END

TEST(a_part_of_a_name_is_enough_if_no_other_has_it)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(table(allocating, "alloc",
	                       &(struct options){.limit = 1, .callers = "ars"},
	                       &out),
	                 LEAVE_OK);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "  parse\n"));
	ck_assert_int_eq(table(allocating, "alloc",
	                       &(struct options){.limit = 1, .callers = "a"},
	                       &out),
	                 LEAVE_FAILED);
	ck_assert_int_eq(table(allocating, "alloc",
	                       &(struct options){.limit = 1, .callers = "nil"},
	                       &out),
	                 LEAVE_FAILED);
}
END

TEST(peers_on_ports_that_the_kernel_chose_are_one)
{
	static const char graph[] =
		"{\"unit\":\"bytes\",\"names\":[\"all\","
		"\"[recvfrom socket 10.0.0.3:50560]\","
		"\"[recvfrom socket 10.0.0.3:50561]\","
		"\"[recvfrom socket [::1]:32768]\","
		"\"[recvfrom socket 10.0.0.3:5432]\","
		"\"[read file a:50560]\"],"
		"\"depth\":[0,1,1,1,1,1],\"name\":[0,1,2,3,4,5],"
		"\"self\":[0,4096,4096,3072,2048,1024],"
		"\"totals\":[14336,4096,4096,3072,2048,1024]}";

	shows(graph, "io", &(struct options){.limit = -1},
	      "    SELF  SELF %     TOTAL  FUNCTION\n"
	      "8.00 KiB    57.1  8.00 KiB  [recvfrom socket 10.0.0.3]\n"
	      "3.00 KiB    21.4  3.00 KiB  [recvfrom socket [::1]]\n"
	      "2.00 KiB    14.3  2.00 KiB  [recvfrom socket 10.0.0.3:5432]\n"
	      "1.00 KiB     7.1  1.00 KiB  [read file a:50560]\n");
}
END

/* Two programs call the same function of a library. */
static const char host[] =
	"{\"unit\":\"nanoseconds\",\"total\":100,"
	"\"names\":[\"all\",\"web.service\",\"/opt/db\",\"main\",\"copy\"],"
	"\"packages\":[\"\",\"[program]\",\"[program]\",\"\",\"libc.so.6\"],"
	"\"depth\":[0,1,2,3,1,2],\"name\":[0,1,3,4,2,4],"
	"\"self\":[0,0,10,20,0,70],\"totals\":[100,30,30,20,70,70]}";

TEST(functions_of_a_host_are_those_of_its_programs)
{
	shows(host, "cpu", &(struct options){.limit = 3},
	      "TOTAL  TOTAL %  UNIT OR PROGRAM\n"
	      "70 ns     70.0  /opt/db\n"
	      "30 ns     30.0  web.service\n"
	      "\n"
	      " SELF  SELF %  TOTAL  UNIT OR PROGRAM  PACKAGE    FUNCTION\n"
	      "70 ns    70.0  70 ns  /opt/db          libc.so.6  copy\n"
	      "20 ns    20.0  20 ns  web.service      libc.so.6  copy\n"
	      "10 ns    10.0  30 ns  web.service                 main\n");
}
END

TEST(callers_of_a_function_of_a_host_end_with_its_programs)
{
	shows(host, "cpu", &(struct options){.limit = -1, .callers = "copy"},
	      "TOTAL  TOTAL %   SELF  FUNCTION\n"
	      "90 ns     90.0  90 ns  copy\n"
	      "70 ns     70.0  70 ns  - /opt/db\n"
	      "20 ns     20.0  20 ns  - main\n"
	      "20 ns     20.0  20 ns    web.service\n");
}
END

TEST(json_has_numbers)
{
	CLEANUP_JSON json_t *g = json_of(allocating);
	CLEANUP_JSON json_t *rows = NULL;
	const json_t *row;

	ck_assert_int_eq(
		top_json(g, "alloc",
	                 &(struct options){.limit = -1, .callers = "grow"},
	                 &rows),
		LEAVE_OK);
	row = json_array_get(rows, 1);
	ck_assert_str_eq(json_string_value(json_object_get(row, "funcName")),
	                 "parse");
	ck_assert_int_eq(json_integer_value(json_object_get(row, "total")),
	                 4096);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "depth")), 1);
	ck_assert_str_eq(json_string_value(json_object_get(row, "file")),
	                 "/src/app.c");
}
END

/* The server may be of another version than this program. */
TEST(a_graph_that_does_not_fit_together_is_refused)
{
	static const char *const graphs[] = {
		"{\"names\":[\"a\"],\"name\":[9,-1,0],\"depth\":[0]}",
		"{\"names\":[\"a\"],\"name\":[0,0],\"depth\":[4096,-1]}",
		"{\"names\":[\"a\"],\"name\":[0,0],\"depth\":[0,0]}",
		"{\"names\":[\"a\"],\"name\":[0,0],\"depth\":[0,2]}",
		"{\"names\":[1,{}],\"name\":\"x\",\"depth\":{}}",
		"{\"message\":\"no\"}",
		"[]",
	};

	for (size_t i = 0; i < ARRAY_LEN(graphs); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(table(graphs[i], "alloc",
		                       &(struct options){.limit = -1}, &out),
		                 LEAVE_FAILED);
		ck_assert_uint_eq(out.len, 0);
	}
}
END

SUITE("cli_top");
