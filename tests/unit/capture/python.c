/* Reads interpreters from memory that is laid out like CPython's. */
#include "capture/python/python.h"
#include "capture/process/process_interp.h"

#include "capture/python/python_object.h"
#include "lib/memory_image.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE     UINT64_C(0x7f0000000000)
#define CODE     (BASE + 0x1000)
#define NAME     (BASE + 0x2000)
#define FILENAME (BASE + 0x2800)
#define LINES    (BASE + 0x3000)
#define RUNTIME  0x8000
#define THREAD   (BASE + 0x9000)

/* Only the addresses of these type objects matter. */
static const struct interp_image interpreter = {
	.language = &python_language,
	.version = 11,
	.roots = {[PYTHON_RUNTIME] = RUNTIME,
                  [PYTHON_CODE] = 0x100,
                  [PYTHON_STR] = 0x200,
                  [PYTHON_BYTES] = 0x300},
};

static struct {
	struct memory_image image;
	uint8_t bytes[0x10000];
	struct host host;
	struct memory memory;
	struct interp_image image_of;
	struct interp_space space;
} m;

static void
put(uint64_t addr, uint64_t value)
{
	memcpy(m.bytes + (addr - BASE), &value, sizeof(value));
}

static void
put_string(uint64_t addr, const char *text, uint32_t minor)
{
	size_t at = addr - BASE + (minor == 11 ? 48 : 40);

	put(addr + 8, BASE + interpreter.roots[PYTHON_STR]);
	put(addr + 16, strlen(text));
	put(addr + 32, 1 << 2 | 1 << 5 | 1 << 6); /* kind, compact, ascii */
	memcpy(m.bytes + at, text, strlen(text));
}

/* Three entries, each of one instruction: lines 10, 12, and none. */
static const uint8_t lines[] = {
	0x80 | 10 << 3, 1, 2, 0x80 | 12 << 3, 1, 2, 0x80 | 15 << 3,
};

static void
put_code(uint32_t minor)
{
	put(CODE + 8, BASE + interpreter.roots[PYTHON_CODE]);
	put(CODE + 16, 4);
	put(CODE + (minor == 11 ? 72 : 68), 10);
	put(CODE + 112, FILENAME);
	put(CODE + 128, NAME);
	put(CODE + 136, LINES);
	put(LINES + 8, BASE + interpreter.roots[PYTHON_BYTES]);
	put(LINES + 16, sizeof(lines));
	memcpy(m.bytes + (LINES - BASE) + 32, lines, sizeof(lines));
	put_string(NAME, "Item.each", minor);
	put_string(FILENAME, "/srv/item.py", minor);
}

static void
setup(uint32_t minor)
{
	memset(&m, 0, sizeof(m));
	m.image = (struct memory_image){BASE, m.bytes, sizeof(m.bytes)};
	m.host = memory_image_host(&m.image);
	m.memory = (struct memory){.host = &m.host, .pid = 1};
	m.image_of = interpreter;
	m.image_of.version = minor;
	m.space = (struct interp_space){&m.memory, &m.image_of, BASE, 1};
	put_code(minor);
}

static uint64_t
first_instruction(uint32_t minor)
{
	return CODE + (minor == 11   ? 184
	               : minor == 12 ? 192
	               : minor == 13 ? 200
	                             : 208);
}

static struct interp_stack
stack_at(uint64_t instr)
{
	return (struct interp_stack){.n = 1, .frames = {{CODE, instr, 0}}};
}

static void
codes_free(struct interp_codes **c)
{
	interp_codes_free(*c);
}
#define CODES()             \
	CLEANUP(codes_free) \
	struct interp_codes *c = interp_codes_new()

TEST(a_frame_has_its_functions_name_file_and_line)
{
	for (uint32_t minor = 11; minor <= 15; minor++) {
		struct interp_stack s;
		struct interp_name name;
		uint64_t place;
		CODES();

		setup(minor);
		s = stack_at(first_instruction(minor) + 2);
		ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &place), 0);
		ck_assert(interp_name(c, place, &name));
		ck_assert_str_eq(name.name, "Item.each");
		ck_assert_str_eq(name.file, "/srv/item.py");
		ck_assert_uint_eq(name.start_line, 10);
		ck_assert_uint_eq(name.line, 12);
	}
}
END

TEST(before_its_first_instruction_a_frame_is_at_the_first)
{
	struct interp_stack s = stack_at(first_instruction(11) - 2);
	struct interp_name name;
	uint64_t place;
	CODES();

	setup(11);
	ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &place), 0);
	ck_assert(interp_name(c, place, &name));
	ck_assert_uint_eq(name.line, 10);
}
END

TEST(what_is_no_code_is_refused)
{
	static const struct {
		uint64_t at, value;
	} wrong[] = {
		{CODE + 8, BASE + 0x101},     /* its type */
		{CODE + 128, BASE + 0xfff0},  /* a name out of memory */
		{CODE + 112, CODE},           /* a file that is not a str */
		{CODE + 136, NAME},           /* lines that are not bytes */
		{LINES + 16, UINT32_MAX},     /* too many */
		{NAME + 32, 7 << 2 | 1 << 5}, /* characters of 7 bytes */
		{CODE + 16, 1},               /* the frame is past its end */
	};
	struct interp_stack s = stack_at(first_instruction(11) + 2);
	uint64_t place;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CODES();

		setup(11);
		put(wrong[i].at, wrong[i].value);
		ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &place),
		                 -ESTALE);
	}
}
END

/* Such as a function that eval() ran: its code object is freed on return. */
TEST(a_function_that_is_gone_leaves_the_names_of_its_callers)
{
	struct interp_stack s = {
		.n = 2,
		.frames = {{NAME, NAME, 0}, {CODE, first_instruction(11), 0}}};
	struct interp_name name;
	uint64_t places[2];
	CODES();

	setup(11);
	ck_assert_int_eq(interp_places(c, 1, &m.space, &s, places), 0);
	ck_assert(interp_name(c, places[0], &name));
	ck_assert_str_eq(name.name, "[gone]");
	ck_assert(interp_name(c, places[1], &name));
	ck_assert_str_eq(name.name, "Item.each");
}
END

TEST(another_function_at_the_same_address_is_noticed_after_a_second)
{
	struct interp_stack s = stack_at(first_instruction(11));
	struct interp_name name;
	uint64_t before, after;
	CODES();

	setup(11);
	ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &before), 0);
	put(CODE + 128, FILENAME);
	ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &after), 0);
	ck_assert_uint_eq(before, after);
	m.space.now_ns += UINT64_C(1000000000);
	ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &after), 0);
	ck_assert(interp_name(c, before, &name));
	ck_assert_str_eq(name.name, "Item.each");
	ck_assert(interp_name(c, after, &name));
	ck_assert_str_eq(name.name, "/srv/item.py");
}
END

/* --- among native frames -------------------------------------------------- */

#define EVAL      (BASE + 0x7000) /* within the function that interprets */
#define OTHER     (BASE + 0x7800) /* within another one */
#define GREENLET  UINT64_C(0x7e0000000100)
#define ELSEWHERE (BASE - 0x1000)

/* Native frames, innermost first, and one run of Python functions: what becomes
 * of both. */
static const struct {
	const char *why;
	uint64_t pcs[4];
	size_t n;
	uint64_t key; /* 0: there is no stack of Python functions */
	enum interp_end end;
	enum interp_had had;
	bool skips;
	uint8_t goes_on;
	bool uneven;
	bool empty;
} mixed[] = {
	{"a call for the run",
         {OTHER, EVAL},
         2,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .skips = false},
	{"a second call, which has none",
         {OTHER, EVAL, EVAL},
         3,
         1,
         INTERP_ROOT,
         INTERP_MISSED,
         .skips = false},
	{"a call that has just begun",
         {EVAL, OTHER, EVAL},
         3,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .skips = true},
	{"a greenlet on top of a call that is not its own",
         {EVAL, GREENLET, EVAL},
         3,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .skips = false},
	{"more runs than there was room for",
         {OTHER, EVAL, EVAL},
         3,
         1,
         INTERP_FULL,
         INTERP_MERGED,
         .skips = false},
	{"no functions",
         {OTHER, EVAL},
         2,
         0,
         INTERP_ROOT,
         INTERP_LATE,
         .skips = false},
	{"functions that could not be read",
         {OTHER, EVAL},
         2,
         1,
         INTERP_FAULT,
         INTERP_MISSED,
         .skips = false},
	{"functions of another process",
         {OTHER, EVAL},
         2,
         2,
         INTERP_ROOT,
         INTERP_MISSED,
         .skips = false},
	{"neither calls nor functions",
         {OTHER, OTHER},
         2,
         0,
         INTERP_ROOT,
         INTERP_WITHOUT,
         .skips = false},
	{"a call that goes on with the run",
         {OTHER, EVAL, OTHER, EVAL},
         4,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .goes_on = 1},
	{"a call by another file",
         {OTHER, EVAL, ELSEWHERE, EVAL},
         4,
         1,
         INTERP_ROOT,
         INTERP_MISSED,
         .goes_on = 1},
	{"a call that is too far away",
         {EVAL, OTHER, OTHER, EVAL},
         4,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .goes_on = 1,
         .skips = true},
	{"a run before its call",
         {OTHER, OTHER},
         2,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .uneven = true},
	{"a call before its run",
         {OTHER, EVAL, EVAL},
         3,
         1,
         INTERP_ROOT,
         INTERP_MERGED,
         .uneven = true,
         .skips = true},
	{"a call whose run there was no room for",
         {OTHER, EVAL, EVAL},
         3,
         1,
         INTERP_FULL,
         INTERP_MERGED,
         .uneven = true},
	{"a call of a stack in which no run was found",
         {OTHER, EVAL},
         2,
         1,
         INTERP_ROOT,
         INTERP_MISSED,
         .uneven = true,
         .empty = true},
	{"a run without its call",
         {OTHER, OTHER},
         2,
         1,
         INTERP_ROOT,
         INTERP_WITHOUT,
         .skips = false},
};

TEST(functions_take_the_place_of_the_calls_that_run_them_or_are_missed)
{
	CLEANUP_FREE struct proc_stack *out = calloc(1, sizeof(*out));
	CLEANUP_FREE struct modules *modules = calloc(1, sizeof(*modules));
	char paths[][16] = {"/bin/python", "/_greenlet.so"};
	struct module interprets = {.path = paths[0], .interp = &m.image_of};
	struct module switches = {.path = paths[1]};
	struct process proc = {.pid = 1, .modules = modules};
	const struct map row = {BASE, BASE + sizeof(m.bytes), BASE,
	                        MODULE_FIRST};
	const struct map other = {GREENLET - 16, GREENLET, 0, MODULE_FIRST + 1};
	struct interp_runs runs;
	CODES();

	setup(11);
	m.image_of.eval_start = EVAL - BASE - 16;
	m.image_of.eval_end = EVAL - BASE + 16;
	modules->host = &m.host;
	modules->codes = c;
	modules->rows[MODULE_FIRST] = &interprets;
	modules->rows[MODULE_FIRST + 1] = &switches;
	ck_assert_int_eq(maps_add(&proc.maps, &row), 0);
	ck_assert_int_eq(maps_add(&proc.maps, &other), 0);
	for (size_t i = 0; i < ARRAY_LEN(mixed); i++) {
		struct interp_stack s = stack_at(first_instruction(11) + 2);
		bool has;

		m.image_of.goes_on = mixed[i].goes_on;
		m.image_of.uneven = mixed[i].uneven;
		s.key = mixed[i].key;
		s.end = mixed[i].end;
		s.frames[0].mark = INTERP_ENTRY;
		s.n = mixed[i].empty ? 0 : s.n;
		out->end = UNWIND_ROOT;
		out->interp = INTERP_WITHOUT;
		has = process_interp(&proc, s.key ? &s : NULL, mixed[i].pcs,
		                     mixed[i].n, out, &runs);
		ck_assert_msg(out->interp == mixed[i].had, "%s: %d",
		              mixed[i].why, out->interp);
		ck_assert_msg(has == (mixed[i].had == INTERP_MERGED), "%s",
		              mixed[i].why);
		ck_assert_msg(!has || runs.skip == mixed[i].skips, "%s",
		              mixed[i].why);
	}
	process_forget_interp(&proc);
	maps_done(&proc.maps);
}
END

TEST(a_frame_of_the_interpreter_itself_is_no_place)
{
	struct interp_stack s = stack_at(0);
	uint64_t place = 0;
	CODES();

	setup(12);
	s.frames[0] =
		(struct interp_frame){BASE, 0, INTERP_ENTRY | INTERP_NO_CODE};
	ck_assert_int_eq(interp_places(c, 1, &m.space, &s, &place), 0);
	ck_assert(place == INTERP_NO_PLACE);
}
END

TEST(text_beyond_ascii_becomes_utf8)
{
	static const uint16_t text[] = {0xe9, 0x20ac, 0xd800, 1};
	CLEANUP_BUF struct buf out = BUF_INIT(64);

	setup(12);
	put(NAME + 16, ARRAY_LEN(text));
	put(NAME + 32, 2 << 2 | 1 << 5);
	memcpy(m.bytes + (NAME - BASE) + 56, text, sizeof(text));
	ck_assert_int_eq(python_string(m.bytes + (NAME - BASE), 64, 12, &out),
	                 0);
	ck_assert_str_eq(buf_str(&out), "\xc3\xa9\xe2\x82\xac\xef\xbf\xbd?");
}
END

TEST(threads_are_found_by_their_numbers)
{
	CLEANUP(interp_threads_done) struct interp_threads t = {0};
	struct interp_slot slot;

	setup(11);
	put(BASE + RUNTIME + 40, BASE + 0xa000);
	put(BASE + 0xa000 + 16, THREAD);
	put(THREAD + 8, THREAD + 0x200);
	put(THREAD + 160, 77);
	put(THREAD + 0x200 + 160, 78);
	ck_assert_int_eq(python_attach(&m.space, &t), 0);
	ck_assert(interp_threads_find(&t, 78, &slot));
	ck_assert_uint_eq(slot.head, THREAD + 0x200 + 56);
	ck_assert_uint_eq(slot.layout, PYTHON_3_11);
	ck_assert(!interp_threads_find(&t, 79, &slot));
}
END

/* Two interpreters, with n threads each that are 0x200 bytes apart; the newest
 * of the second one has number 1. */
static void
put_threads(uint32_t n, struct interp_list *list)
{
	setup(11);
	ck_assert_int_eq(python_list(&m.space, list), 0);
	put(BASE + RUNTIME + 40, BASE + 0xa000);
	put(BASE + 0xa000, BASE + 0xa100);
	for (uint32_t i = 0; i < 2 * n; i++) {
		uint64_t at = THREAD - 0x9000 + 0x200 * (uint64_t)i;

		if (i % n == 0)
			put(BASE + 0xa000 + (i ? 0x100 : 0) + 16, at);
		put(at + 8, i % n == n - 1 ? 0 : at + 0x200);
		put(at + 160, i + 1);
	}
}

TEST(the_newest_threads_are_found_in_the_list_of_their_process)
{
	struct interp_list list;
	struct interp_slot slot;

	put_threads(3, &list);
	for (uint32_t i = 0; i < 6; i++) {
		ck_assert(walk_find(python_find, &m.memory, &list, i + 1, 0,
		                    &slot));
		ck_assert_uint_eq(slot.head, BASE + 0x200 * i + 56);
	}
	ck_assert(!walk_find(python_find, &m.memory, &list, 7, 0, &slot));
	put_threads(WALK_MAX_FIND / 4, &list);
	ck_assert(walk_find(python_find, &m.memory, &list,
	                    WALK_MAX_FIND / 2 - 2, 0, &slot));
}
END

/* A thread that runs two interpreters has a state in each. */
TEST(of_two_states_of_a_thread_the_newest_with_frames_is_found)
{
	struct interp_list list;
	struct interp_slot slot;

	put_threads(1, &list);
	put(BASE + 0x200 + 160, 1);
	ck_assert(walk_find(python_find, &m.memory, &list, 1, 0, &slot));
	ck_assert_uint_eq(slot.head, BASE + 56);
	put(BASE + 0x200 + 56, BASE + 0x8000);
	put(BASE + 0x8000 + list.hop - 1, BASE + 0x9000);
	ck_assert(walk_find(python_find, &m.memory, &list, 1, 0, &slot));
	ck_assert_uint_eq(slot.head, BASE + 0x200 + 56);
}
END

TEST(a_list_without_end_is_left_after_a_while)
{
	struct interp_list list;
	struct interp_slot slot;

	put_threads(1, &list);
	put(BASE + 8, BASE);
	ck_assert(!walk_find(python_find, &m.memory, &list, 2, 0, &slot));
	put(BASE + 8, 0);
	put(BASE + 0xa100, BASE + 0xa000); /* the list is a loop */
	ck_assert(!walk_find(python_find, &m.memory, &list, 3, 0, &slot));
	put(BASE + 0xa100, 16); /* an unmapped address */
	ck_assert(!walk_find(python_find, &m.memory, &list, 3, 0, &slot));
}
END

TEST(a_list_that_leads_back_is_left_there)
{
	CLEANUP(interp_threads_done) struct interp_threads t = {0};

	setup(11);
	put(BASE + RUNTIME + 40, BASE + 0xa000);
	put(BASE + 0xa000 + 16, THREAD);
	put(THREAD + 8, THREAD);
	ck_assert_int_eq(python_attach(&m.space, &t), 0);
	ck_assert_uint_eq(t.n, 1);
}
END

TEST(a_runtime_that_does_not_tell_its_layout_is_refused)
{
	CLEANUP(interp_threads_done) struct interp_threads t = {0};

	setup(13);
	ck_assert_int_eq(python_attach(&m.space, &t), -EBADMSG);
}
END

#define FIRST_OF_ITS_OWN 13 /* first 3.x to describe its layout */

/*
 * Words by which the runtimes of 3.13, 3.14 and 3.15 describe themselves; each
 * is checked, or is the offset of something.
 */
static const struct {
	int word[3];
	uint64_t value[3];
	bool verified;
} debug_offsets[] = {
	/* the version */
	{{1, 1, 1}, {0x030d00f0, 0x030e00f0, 0x030f00f0}, true},
	{{2, 2, 2}, {0, 0, 0}, true}, /* threads without a common lock */
	{{5, 5, 5}, {0x400, 0x400, 0x400}, false}, /* the first interpreter, */
	{{8, 8, 8}, {0, 0, 0}, false},             /* the next, */
	{{9, 9, 9}, {16, 16, 16}, false},          /* and its threads */
	{{21, 24, 24}, {8, 8, 8}, false},          /* the next thread, */
	{{23, 26, 26}, {56, 56, 56}, false},       /* its frame, */
	{{25, 28, 31}, {160, 160, 160}, false},    /* and its number */
	{{29, 32, 40}, {8, 8, 8}, true},       /* of a frame: the one before, */
	{{30, 33, 41}, {0, 0, 0}, true},       /* its code, */
	{{31, 34, 42}, {56, 56, 56}, true},    /* its place, */
	{{33, 36, 44}, {70, 74, 74}, true},    /* and its owner */
	{{35, 40, 48}, {112, 112, 112}, true}, /* of code: the file, */
	{{37, 42, 50}, {128, 128, 128}, true}, /* the name, */
	{{38, 43, 51}, {136, 136, 136}, true}, /* the table of lines, */
	{{39, 44, 52}, {68, 68, 68}, true},    /* the first line, */
	{{43, 48, 56}, {200, 208, 208}, true}, /* and the instructions */
};

static void
put_debug_offsets(uint32_t v)
{
	setup(FIRST_OF_ITS_OWN + v);
	memcpy(m.bytes + RUNTIME, "xdebugpy", 8);
	for (size_t i = 0; i < ARRAY_LEN(debug_offsets); i++)
		put(BASE + RUNTIME + 8 * (uint64_t)debug_offsets[i].word[v],
		    debug_offsets[i].value[v]);
	put(BASE + RUNTIME + 0x400, BASE + 0xa000);
	put(BASE + 0xa000 + 16, THREAD);
	put(THREAD + 160, 77);
}

static void
is_held_to_word(uint32_t v, size_t i)
{
	CLEANUP(interp_threads_done) struct interp_threads none = {0};
	uint64_t bad = debug_offsets[i].verified
	                       ? debug_offsets[i].value[v] ^ 1 << 16
	                       : UINT64_C(1) << 32;
	uint64_t word = (uint64_t)debug_offsets[i].word[v];

	put_debug_offsets(v);
	put(BASE + RUNTIME + 8 * word, bad);
	ck_assert_msg(python_attach(&m.space, &none) == -EBADMSG,
	              "3.%u, word %d", FIRST_OF_ITS_OWN + v, (int)word);
}

TEST(a_runtime_that_tells_its_layout_is_held_to_each_word_of_it)
{
	for (uint32_t v = 0; v < 3; v++) {
		CLEANUP(interp_threads_done) struct interp_threads t = {0};
		struct interp_slot slot;

		put_debug_offsets(v);
		ck_assert_int_eq(python_attach(&m.space, &t), 0);
		ck_assert(interp_threads_find(&t, 77, &slot));
		ck_assert_uint_eq(slot.head, THREAD + 56);
		for (size_t i = 0; i < ARRAY_LEN(debug_offsets); i++)
			is_held_to_word(v, i);
		put_debug_offsets(v);
		m.bytes[RUNTIME] ^= 1;
		ck_assert_int_eq(python_attach(&m.space, &t), -EBADMSG);
	}
}
END

/* --- lines ---------------------------------------------------------------- */

/* The lines of instructions 0 to 4 of a function that begins at line 10. */
static const struct {
	uint8_t table[12];
	size_t n;
	uint32_t lines[5];
} tables[] = {
	{{8, 0, 1, 4, 2, 2, (uint8_t)-3}, 7, {11, 11, 13, 10, 10}},
	{{9, 2, 1, 4, 127, 0, 100}, 7, {10, 11, 11, 238, 238}},
	{{10, 2, 1, 2, 0x80, 0, 5, 4, (uint8_t)-4}, 9, {11, 0, 12, 12, 0}},
	{{11, 0x80 | 10 << 3, 1, 2, 0x80 | 12 << 3 | 1, 1, 2, 0x80 | 15 << 3},
         8,
         {10, 12, 12, 0, 0}},
	{{0}, 0, {0, 0, 0, 0, 0}},
};

TEST(each_version_has_its_own_table_of_lines)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (uint32_t at = 0; at < 5; at++)
			ck_assert_msg(python_line(tables[i].table, tables[i].n,
			                          10,
			                          at) == tables[i].lines[at],
			              "table %zu, instruction %u: %u", i, at,
			              python_line(tables[i].table, tables[i].n,
			                          10, at));
}
END

/* --- a part of the interpreter elsewhere ---------------------------------- */

struct cold {
	uint64_t start, end;
};

static void
find_cold(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct cold *c = arg;

	if (!strcmp(name, "_PyEval_EvalFrameDefault.cold"))
		*c = (struct cold){sym->st_value, sym->st_value + sym->st_size};
}

TEST(a_part_of_the_interpreter_that_lies_elsewhere_is_found)
{
	CLEANUP_ELF struct elf_image *elf = NULL;
	struct cold cold = {0};
	struct interp_image image;
	char path[] = "/tmp/stoker-python-XXXXXX", command[256];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command),
	         "cc -O2 -shared -fPIC -o %s tests/targets/cold.c", path);
	ck_assert_int_eq(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	ck_assert_int_eq(elf_open_fd(fd, &elf), 0);
	ck_assert_int_eq(elf_symbols(elf, SHT_SYMTAB, find_cold, &cold), 0);
	if (!cold.start || elf->machine != EM_X86_64)
		SKIP("the compiler leaves functions whole");
	ck_assert_int_eq(python_recognise(elf, &image), 0);
	ck_assert_uint_eq(image.cold_start, cold.start);
	ck_assert_uint_eq(image.cold_end, cold.end);
}
END

SUITE("python");
