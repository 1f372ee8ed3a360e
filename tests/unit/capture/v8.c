/* Frames and functions of V8, in memory that is laid out like that of Node.js
 * 20 or 24. */
#include "capture/v8/v8.h"

#include "capture/host/memory.h"
#include "lib/memory_image.h"
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASE       UINT64_C(0x7f0000000000)
#define MAPS       (BASE + 0x10000)
#define FUNCTION   (BASE + 0x1000)
#define SHARED     (BASE + 0x1100)
#define SCRIPT     (BASE + 0x1200)
#define SCOPE      (BASE + 0x1300)
#define STRINGS    (BASE + 0x2000)
#define CODE       (BASE + 0x6000)
#define MOVED      (BASE + 0x7000)
#define INLINED    (BASE + 0x7100)
#define TABLES     (BASE + 0x7800)
#define TRAMPOLINE 0x400
#define SOURCE     "a\nb\nc\nfunction work() {}\n"
#define AT_WORK    6

enum { NARROW = 8, WIDE = 0, CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5 };

static struct {
	struct memory_image image;
	uint8_t bytes[0x20000];
	struct host host;
	struct memory memory;
	struct v8_image layout;
	struct jit_image image_of;
	struct jit_space space;
	struct interp_codes *codes;
	void *runtime;
	uint64_t strings; /* where the next string goes */
} m;

static const int32_t fields[V8_FIELDS] = {
	[V8_FRAME_TYPE] = -8,    [V8_FRAME_FUNCTION] = -16,
	[V8_MAP_TYPE] = 12,      [V8_FUNCTION_SHARED] = 24,
	[V8_SHARED_NAME] = 16,   [V8_SHARED_SCRIPT] = 32,
	[V8_SCRIPT_NAME] = 16,   [V8_SCRIPT_SOURCE] = 8,
	[V8_SCOPE_LOCALS] = 2,   [V8_LENGTH] = 12,
	[V8_NARROW_CHARS] = 16,  [V8_WIDE_CHARS] = 16,
	[V8_CONS_FIRST] = 16,    [V8_CONS_SECOND] = 24,
	[V8_SLICED_PARENT] = 16, [V8_SLICED_OFFSET] = 24,
	[V8_THIN_ACTUAL] = 16,   [V8_EXTERNAL] = 16,
	[V8_NO_STRING] = 128,    [V8_TYPE_SHARED] = 262,
	[V8_TYPE_SCOPE] = 261,   [V8_TYPE_SCRIPT] = 167,
	[V8_TYPE_CODE] = 187,    [V8_TYPE_STREAM] = 192,
	[V8_STREAM_START] = 32,  [V8_TYPE_ARRAY] = 205,
	[V8_TYPE_TRUSTED] = 197, [V8_TYPE_PROTECTED] = 193,
	[V8_DEOPT_CALLS] = 8,    [V8_DEOPT_FUNCTIONS] = 3,
	[V8_FRAME_WASM] = 4,     [V8_FRAME_REGEXP] = 27,
};

static void
put(uint64_t addr, uint64_t value)
{
	memcpy(m.bytes + (addr - BASE), &value, sizeof(value));
}

static uint64_t
small(uint32_t value)
{
	return (uint64_t)value << 32;
}

static uint64_t
object(uint64_t addr)
{
	return addr | 1;
}

static void
put_type(uint64_t addr, uint16_t type)
{
	const uint64_t map = MAPS + 16 * (uint64_t)type;

	put(map + 12, type);
	put(addr, object(map));
}

/* Puts a string with room for two words; returns it as an object. */
static uint64_t
put_form(uint16_t type, uint32_t length, uint64_t first, uint64_t second)
{
	const uint64_t addr = m.strings;

	put_type(addr, type);
	put(addr + 8, small(length));
	put(addr + 16, first);
	put(addr + 24, second);
	m.strings += 64;
	return object(addr);
}

static uint64_t
put_text(const char *text)
{
	const size_t n = strlen(text);
	const uint64_t string = put_form(NARROW, (uint32_t)n, 0, 0);

	memcpy(m.bytes + (string - 1 - BASE) + 16, text, n);
	m.strings += n / 8 * 8;
	return string;
}

/* Puts a function's scope: its own name, and the inferred one. */
static void
put_scope(uint32_t locals, uint64_t name, uint64_t inferred)
{
	const bool newer = m.layout.field[V8_SCOPE_FIRST] == 5;
	uint64_t at = SCOPE + 8 + 8 * (uint64_t)m.layout.field[V8_SCOPE_FIRST] +
	              16 * (uint64_t)locals;

	put_type(SCOPE, 261);
	put(SCOPE + 24, small(locals));
	put(at, name);
	put(at + 8, small(UINT32_MAX));
	put(at + 16, inferred);
	put(newer ? SCOPE + 32 : at + 24, small(AT_WORK));
}

static void
setup(int32_t first_of_scope)
{
	memset(&m, 0, sizeof(m));
	m.image = (struct memory_image){BASE, m.bytes, sizeof(m.bytes)};
	m.host = memory_image_host(&m.image);
	m.memory = (struct memory){.host = &m.host, .pid = 1};
	memcpy(m.layout.field, fields, sizeof(fields));
	memset(m.layout.has, true, sizeof(m.layout.has));
	m.layout.field[V8_SCOPE_FIRST] = first_of_scope;
	m.image_of = (struct jit_image){.jit = &v8_jit,
	                                .data = &m.layout,
	                                .start = TRAMPOLINE,
	                                .end = TRAMPOLINE + 0x100};
	m.codes = interp_codes_new();
	m.space = (struct jit_space){.memory = &m.memory,
	                             .image = &m.image_of,
	                             .bias = BASE,
	                             .codes = m.codes,
	                             .now_ns = JIT_AGE_NS};
	m.strings = STRINGS;
	ck_assert_int_eq(v8_jit.attach(&m.space, &m.runtime), 0);
	put_type(FUNCTION, 2066);
	put(FUNCTION + 24, object(SHARED));
	put_type(SHARED, 262);
	put(SHARED + 16, object(SCOPE));
	put(SHARED + 32, object(SCRIPT));
	put_type(SCRIPT, 167);
	put(SCRIPT + 8, put_text(SOURCE));
	put(SCRIPT + 16, put_text("/srv/work.js"));
}

static void
teardown(void)
{
	v8_jit.detach(m.runtime);
	interp_codes_free(m.codes);
}

/* Returns the name of a frame that has this detail. */
static struct interp_name
name_of(uint64_t pc, uint64_t detail)
{
	struct interp_name name = {.name = "", .file = ""};
	uint64_t places[JIT_MAX_PLACES];
	size_t n;

	ck_assert_int_eq(
		v8_jit.names(m.runtime, &m.space, pc, detail, places, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert(interp_name(m.codes, places[0], &name));
	return name;
}

static void
assert_named(const char *name)
{
	ck_assert_str_eq(name_of(CODE, object(FUNCTION)).name, name);
}

/* --- names ---------------------------------------------------------------- */

static const int32_t layouts[] = {3, 5};

TEST(functions_have_a_name_a_file_and_a_line)
{
	struct interp_name name;

	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		setup(layouts[i]);
		put_scope(2, put_text("work"), put_text("inferred"));
		name = name_of(CODE, object(FUNCTION));
		ck_assert_str_eq(name.name, "work");
		ck_assert_str_eq(name.file, "/srv/work.js");
		ck_assert_uint_eq(name.line, 4);
		ck_assert_uint_eq(name.start_line, 4);
		teardown();
	}
}
END

TEST(a_name_is_inferred_where_a_function_has_none)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		setup(layouts[i]);
		put_scope(0, 0, put_text("Module._compile"));
		assert_named("Module._compile");
		teardown();
	}
}
END

TEST(a_function_without_any_name_is_anonymous)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		setup(layouts[i]);
		put_scope(0, put_text(""), put_form(131, 0, 0, 0));
		assert_named("(anonymous)");
		teardown();
	}
}
END

TEST(modules_are_files)
{
	setup(3);
	put(SCRIPT + 16, put_text("file:///srv/work.mjs"));
	put_scope(0, put_text("work"), 0);
	ck_assert_str_eq(name_of(CODE, object(FUNCTION)).file, "/srv/work.mjs");
	teardown();
}
END

TEST(strings_of_every_form_are_read)
{
	const uint16_t pair[] = {0xd83d, 0xde00, 'x'};
	uint64_t text, wide;

	setup(3);
	text = put_text("left-right");
	put_scope(
		0,
		put_form(NARROW | CONS, 8, put_text("left"), put_text("side")),
		0);
	assert_named("leftside");
	m.space.now_ns += JIT_AGE_NS;
	put(SHARED + 16, put_form(NARROW | SLICED, 5, text, small(5)));
	assert_named("right");
	m.space.now_ns += JIT_AGE_NS;
	put(SHARED + 16, put_form(NARROW | THIN, 10, text, 0));
	assert_named("left-right");
	m.space.now_ns += JIT_AGE_NS;
	put(SHARED + 16, put_form(NARROW | EXTERNAL, 4, 0, text - 1 + 16));
	assert_named("left");
	m.space.now_ns += JIT_AGE_NS;
	wide = put_form(WIDE, ARRAY_LEN(pair), 0, 0);
	memcpy(m.bytes + (wide - 1 - BASE) + 16, pair, sizeof(pair));
	put(SHARED + 16, wide);
	assert_named("\xf0\x9f\x98\x80x");
	teardown();
}
END

TEST(a_name_has_no_control_characters)
{
	setup(3);
	put_scope(0, put_text("a\x1b[31m\nb"), 0);
	assert_named("a?[31m?b");
	teardown();
}
END

/* --- what is hostile or gone ---------------------------------------------- */

TEST(strings_that_lead_back_end)
{
	uint64_t cons;

	setup(3);
	cons = put_form(NARROW | CONS, UINT32_MAX, 0, 0);
	put(cons - 1 + 16, cons);
	put(cons - 1 + 24, cons);
	put_scope(0, cons, 0);
	assert_named("(anonymous)");
	teardown();
}
END

TEST(a_scope_with_too_many_locals_is_none)
{
	setup(3);
	put_scope(0, put_text("work"), 0);
	put(SCOPE + 24, small(UINT32_MAX));
	assert_named("(JavaScript)");
	teardown();
}
END

TEST(an_object_of_another_type_has_no_name)
{
	setup(3);
	put_type(SHARED, 167);
	assert_named("(JavaScript)");
	ck_assert_str_eq(name_of(CODE, object(BASE + (1 << 20))).name,
	                 "(JavaScript)");
	teardown();
}
END

TEST(a_function_that_the_collector_moved_is_followed)
{
	setup(3);
	put_scope(0, put_text("work"), 0);
	put_type(MOVED, 2066);
	put(MOVED + 24, object(SHARED));
	memset(m.bytes + (FUNCTION - BASE), 0xee, 64);
	put(FUNCTION, MOVED);
	assert_named("work");
	teardown();
}
END

TEST(another_function_at_an_old_address_is_read)
{
	setup(3);
	put_scope(0, put_text("work"), 0);
	assert_named("work");
	put(SHARED + 16, put_text("other"));
	m.space.now_ns += JIT_AGE_NS;
	assert_named("other");
	teardown();
}
END

TEST(names_take_a_bounded_number_of_looks)
{
	const uint64_t far = BASE + (1 << 20);
	struct jit_looks looks = {.second_ns = JIT_AGE_NS};

	setup(3);
	m.space.looks = &looks;
	put_scope(0, put_text("work"), 0);
	for (uint64_t i = 0; i < JIT_MAX_LOOKS; i++)
		name_of(CODE, object(far + 64 * i));
	assert_named("(JavaScript)");
	m.space.now_ns += UINT64_C(1000000000);
	assert_named("work");
	teardown();
}
END

/* --- inlined calls -------------------------------------------------------- */

/* A source position within an inlined call; call 0 is the function itself. */
static uint64_t
position(uint64_t call, uint64_t at)
{
	return call << 31 | at << 1;
}

/* Puts code that begins at CODE, with a table of positions: call 1 is in the
 * function itself, call 2 in call 1. */
static void
put_code(const uint8_t *table, size_t n)
{
	const uint64_t code = TABLES, all = TABLES + 0x100,
		       positions = TABLES + 0x200, calls = TABLES + 0x300,
		       functions = TABLES + 0x400;

	m.layout.inlines = true;
	put_type(CODE - 32, 192);
	put(CODE - 24, object(code));
	put_type(code, 187);
	put(code + 8, object(all));
	put(code + 16, object(positions));
	put_type(all, 193);
	put(all + 16 + 8 * 3, object(functions));
	put(all + 16 + 8 * 8, object(calls));
	put(positions + 8, small((uint32_t)n));
	memcpy(m.bytes + (positions - BASE) + 16, table, n);
	put(calls + 8, small(32));
	put(calls + 16, position(0, 7));
	put(calls + 24, 0);
	put(calls + 32, position(1, 9));
	put(calls + 40, 1);
	put(functions + 8, small(2));
	for (uint64_t i = 0; i < 2; i++) {
		const uint64_t shared = INLINED + 0x100 * i;

		put(functions + 16 + 8 * i, object(shared) | (i ? 2 : 0));
		put_type(shared, 262);
		put(shared + 16, put_text(i ? "inner" : "middle"));
		put(shared + 32, object(SCRIPT));
	}
}

/*
 * Packs a row that is no statement: code bytes and source positions since the
 * row before.
 */
static size_t
put_row(uint8_t *to, bool newer, uint8_t by, int64_t moved)
{
	uint64_t v = (uint64_t)moved << 1 ^ (uint64_t)(moved >> 63);
	size_t n = 0;

	to[n++] = (uint8_t)(newer ? by << 2 | 2 : by << 1 | 1);
	do {
		to[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
	return n;
}

static size_t
names_at(uint64_t pc, const char *out[JIT_MAX_PLACES])
{
	uint64_t places[JIT_MAX_PLACES];
	struct interp_name name;
	size_t n;

	ck_assert_int_eq(v8_jit.names(m.runtime, &m.space, pc, object(FUNCTION),
	                              places, &n),
	                 0);
	for (size_t i = 0; i < n; i++) {
		ck_assert(interp_name(m.codes, places[i], &name));
		out[i] = name.name;
	}
	return n;
}

TEST(inlined_functions_stand_in_their_callers)
{
	for (int newer = 0; newer < 2; newer++) {
		const char *names[JIT_MAX_PLACES];
		uint8_t table[64];
		size_t n = put_row(table, newer, 4, (int64_t)position(0, 3));

		n += put_row(table + n, newer, 8,
		             (int64_t)(position(2, 5) - position(0, 3)));
		n += put_row(table + n, newer, 16,
		             (int64_t)(position(1, 2) - position(2, 5)));
		setup(3);
		put_scope(0, put_text("outer"), 0);
		put_code(table, n);
		ck_assert_uint_eq(names_at(CODE + 11, names), 1);
		ck_assert_str_eq(names[0], "outer");
		ck_assert_uint_eq(names_at(CODE + 12, names), 3);
		ck_assert_str_eq(names[0], "inner");
		ck_assert_str_eq(names[1], "middle");
		ck_assert_str_eq(names[2], "outer");
		ck_assert_uint_eq(names_at(CODE + 100, names), 2);
		ck_assert_str_eq(names[0], "middle");
		teardown();
	}
}
END

/* Sets up code that call 1 has inlined entirely. */
static void
setup_inlined(void)
{
	uint8_t table[16];
	size_t n = put_row(table, false, 0, (int64_t)position(1, 5));

	setup(3);
	put_scope(0, put_text("outer"), 0);
	put_code(table, n);
}

TEST(inlined_calls_that_lead_back_end)
{
	const char *names[JIT_MAX_PLACES];

	setup_inlined();
	put(TABLES + 0x300 + 16, position(1, 7));
	ck_assert_uint_eq(names_at(CODE + 1, names), V8_MAX_INLINED + 1);
	ck_assert_str_eq(names[V8_MAX_INLINED], "outer");
	teardown();
}
END

TEST(tables_that_do_not_fit_leave_the_function_alone)
{
	static const struct {
		uint64_t at, value;
	} rows[] = {
		{TABLES + 0x200 + 8, (uint64_t)UINT32_MAX << 32},
		{TABLES + 0x300 + 8, 0},
		{TABLES + 0x300 + 24, UINT32_MAX},
		{TABLES + 0x400 + 8, 0},
		{TABLES + 8, 0},
		{CODE - 24, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *names[JIT_MAX_PLACES];

		setup_inlined();
		put(rows[i].at, rows[i].value);
		ck_assert_uint_eq(names_at(CODE + 1, names), 1);
		ck_assert_str_eq(names[0], "outer");
		teardown();
	}
}
END

/* --- frames --------------------------------------------------------------- */

TEST(frames_without_a_function_say_what_they_are)
{
	uint64_t places[JIT_MAX_PLACES];
	size_t n;

	setup(3);
	ck_assert_int_eq(
		v8_jit.names(m.runtime, &m.space, CODE, 4 << 1, places, &n),
		-ENOENT); /* a map may name it */
	ck_assert_str_eq(v8_jit.guest, "(WebAssembly)");
	ck_assert_str_eq(name_of(CODE, 27 << 1).name, "(regular expression)");
	ck_assert_str_eq(name_of(CODE, 0).name, "(JavaScript)");
	teardown();
}
END

TEST(the_trampoline_has_its_own_name_without_a_function)
{
	uint64_t places[JIT_MAX_PLACES];
	size_t n;

	setup(3);
	ck_assert_int_eq(v8_jit.names(m.runtime, &m.space, BASE + TRAMPOLINE, 0,
	                              places, &n),
	                 -ENOENT);
	teardown();
}
END

/* Code, and what is known about a frame that was interrupted there. */
static const struct {
	uint8_t code[16];
	uint64_t pc, sp, detail;
} spots[] = {
	/* test; push rbp; mov rbp,rsp */
	{{0x85, 0xdb, 0x55, 0x48, 0x89, 0xe5}, 0x111, 0x108, FUNCTION | 1},
	/* mov rbp,rsp */
	{{0x48, 0x89, 0xe5, 0x56, 0x57}, 0x222, 0x110, FUNCTION | 1},
	{{0xc3}, 0x111, 0x108, 0},
	/* in the frame, whose function lies below the frame pointer */
	{{0x48, 0x8b, 0x45, 0xf0}, 0x444, 0x130, SHARED | 1},
};

TEST(a_frame_is_left_wherever_it_was_interrupted)
{
	const uint64_t stack[] = {0x111, 0x222, SHARED | 1, SCOPE | 1,
	                          0x333, 0x444, 0x555};
	const struct unwind_stack s = {
		.near = {(const uint8_t *)stack, 0x100, sizeof(stack)}};

	for (size_t i = 0; i < ARRAY_LEN(spots); i++) {
		uint64_t regs[24] = {[5] = FUNCTION | 1}, detail = 0;
		struct unwind_frame f = {.pc = CODE,
		                         .sp = 0x100,
		                         .fp = 0x120,
		                         .fp_known = true,
		                         .interrupted = true,
		                         .regs = regs};

		setup(3);
		memcpy(m.bytes + (CODE - BASE), spots[i].code, 16);
		ck_assert_int_eq(
			v8_jit.step(m.runtime, &m.space, &s, &f, &detail), 0);
		ck_assert_uint_eq(f.pc, spots[i].pc);
		ck_assert_uint_eq(f.sp, spots[i].sp);
		ck_assert_uint_eq(v8_detail_function(detail), spots[i].detail);
		teardown();
	}
}
END

TEST(a_frame_pointer_that_leads_nowhere_is_refused)
{
	const uint64_t stack[] = {1, 2, 3, 4};
	const struct unwind_stack s = {
		.near = {(const uint8_t *)stack, 0x100, sizeof(stack)}};
	uint64_t detail = 0;
	struct unwind_frame f = {
		.pc = CODE, .sp = 0x100, .fp = 0x80, .fp_known = true};

	setup(3);
	ck_assert_int_eq(v8_jit.step(m.runtime, &m.space, &s, &f, &detail),
	                 -ENOENT);
	f.fp = 0x1000;
	ck_assert_int_eq(v8_jit.step(m.runtime, &m.space, &s, &f, &detail),
	                 -EFAULT);
	teardown();
}
END

SUITE("v8");
