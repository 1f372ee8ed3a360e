/*
 * The code that created a thread, found with the C library's names and, as on
 * hosts without its debug file, without them.
 */
#include "capture/snapshot/snapshot_creator.h"

#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#define MOST 8 /* frames of a row */

struct frame {
	const char *file, *name; /* NULL: it has none */
};
#define NEW(name)                                       \
	{                                               \
		"/lib/x86_64-linux-gnu/libc.so.6", name \
	}
#define OLD(name)                                          \
	{                                                  \
		"/lib/x86_64-linux-gnu/libc-2.31.so", name \
	}
#define THREAD(name)                                             \
	{                                                        \
		"/lib/x86_64-linux-gnu/libpthread-2.31.so", name \
	}
#define MUSL(name)                               \
	{                                        \
		"/lib/ld-musl-x86_64.so.1", name \
	}
#define CXX(name)                                                     \
	{                                                             \
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", name \
	}
#define OTHER(name)                                              \
	{                                                        \
		"/usr/lib/x86_64-linux-gnu/libuv.so.1.0.0", name \
	}
#define PROG(name)                \
	{                         \
		"/srv/prog", name \
	}

static uint32_t
string(struct profile *p, const char *text)
{
	uint32_t id;

	ck_assert_int_eq(profile_cstring(p, text, &id), 0);
	return id;
}

/* Makes a location as finish_location() does: an address without a name is
 * named after its place. */
static uint32_t
location(struct profile *p, const struct frame *f, uint32_t i)
{
	struct mapping mapping = {.file = string(p, f->file), .limit = 4096};
	struct function function = {.name = 0};
	struct line line = {.line = 0};
	char place[64];
	uint32_t m, out;

	snprintf(place, sizeof(place), "%s+%u", strrchr(f->file, '/') + 1, i);
	function.name = string(p, f->name ? f->name : place);
	function.system_name = string(p, f->name ? f->name : "");
	ck_assert_int_eq(profile_mapping(p, &mapping, &m), 0);
	ck_assert_int_eq(profile_function(p, &function, &line.function), 0);
	ck_assert_int_eq(profile_location(p, m, i, &line, 1, &out), 0);
	return out;
}

/* Expects `want` for frames[], outermost first, whose indexes are part of the
 * names of places. */
static void
expect(const char *label, const struct frame *frames, const char *want)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	uint32_t stack[MOST], n = 0;
	const char *got;

	ck_assert_ptr_nonnull(p);
	while (n < MOST && frames[n].file)
		n++;
	for (uint32_t i = 0; i < n; i++)
		stack[n - 1 - i] = location(p, &frames[i], i);
	got = snapshot_creator(p, stack, n);
	ck_assert_msg(!strcmp(got, want), "%s: %s", label, got);
}

TEST(a_thread_is_told_by_its_first_function_that_starts_none)
{
	static const struct {
		const char *label;
		struct frame frames[MOST];
		const char *want;
	} rows[] = {
		{"names",
	         {NEW("clone3"), NEW("start_thread"), PROG("begin"), PROG("f")},
	         "begin"},
		{"no debug file",
	         {NEW(NULL), NEW(NULL), PROG("begin"), PROG("f")},
	         "begin"},
		{"main",
	         {PROG("_start"), NEW("__libc_start_main"), NEW(NULL),
	          PROG("main"), PROG("f")},
	         "main"},
		{"C++",
	         {NEW(NULL), NEW(NULL), CXX(NULL),
	          PROG("std::thread::_State_impl<f>::_M_run()"), PROG("f")},
	         "f"},
		{"glibc 2.31",
	         {OLD("clone"), THREAD(NULL), PROG("begin"), PROG("f")},
	         "begin"},
		{"musl", {MUSL(NULL), MUSL(NULL), PROG("begin")}, "begin"},
		{"a library's thread",
	         {NEW(NULL), NEW(NULL), OTHER("work")},
	         "work"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(rows[i].label, rows[i].frames, rows[i].want);
}
END

TEST(a_function_without_a_name_is_told_by_its_place)
{
	static const struct {
		const char *label;
		struct frame frames[MOST];
		const char *want;
	} rows[] = {
		{"stripped",
	         {NEW(NULL), NEW(NULL), PROG(NULL), PROG("f")},
	         "prog+2"},
		{"stripped main",
	         {PROG(NULL), NEW("__libc_start_main"), NEW(NULL), PROG(NULL),
	          PROG(NULL)},
	         "prog+3"},
		{"static",
	         {PROG(NULL), PROG(NULL), PROG(NULL), PROG(NULL)},
	         "prog+2"},
		{"a library's thread",
	         {NEW(NULL), NEW(NULL), OTHER(NULL)},
	         "libuv.so.1.0.0+2"},
		{"the C library's own",
	         {NEW(NULL), NEW(NULL), NEW(NULL)},
	         "libc.so.6+2"},
		{"one that calls back",
	         {NEW(NULL), NEW(NULL), PROG(NULL), NEW(NULL), PROG("f")},
	         "prog+2"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(rows[i].label, rows[i].frames, rows[i].want);
}
END

TEST(nobody_is_told_where_all_is_a_start)
{
	static const struct frame only[] = {NEW("clone3"), NEW(NULL), {NULL}};
	static const struct frame none[] = {{NULL}};

	expect("only", only, "");
	expect("none", none, "");
}
END

SUITE("snapshot_creator");
