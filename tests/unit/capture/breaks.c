/* Reports about stacks that break off. */
#include "capture/process/breaks.h"

#include "base/json.h"
#include "lib/frames_image.h"
#include "lib/here.h"
#include "lib/test.h"

#include <elf.h>
#include <string.h>

struct world {
	struct modules *modules;
	struct breaks breaks;
	struct quality q;
};

static uint32_t
add(struct world *w, const char *path, int32_t pid, const char *section)
{
	/* .debug_frame of a function of one byte at 0 */
	static const uint8_t frames[] = {
		0x14, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00,
		0x01, 0x78, 0x10, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct map_seen seen = {.start = 0x1000, .end = 0x2000, .path = path};
	struct module *m;
	struct map row;

	ck_assert_int_eq(modules_resolve(w->modules, &pid, 1, &seen, &row), 0);
	m = w->modules->rows[row.module];
	if (section) {
		m->elf = frames_image(
			&(struct frames_image){.machine = EM_X86_64,
		                               .section = section,
		                               .vaddr = 0x1000,
		                               .frames = frames,
		                               .frames_size = sizeof(frames)});
		ck_assert_int_eq(unwind_table_new(m->elf, &m->table), 0);
	}
	return row.module;
}

static void
count(struct world *w, uint32_t module, enum unwind_end end, unsigned times)
{
	struct proc_stack *s = calloc(1, sizeof(*s));

	s->end = end;
	s->last_module = module;
	for (unsigned i = 0; i < times; i++)
		breaks_count(&w->breaks, s);
	w->q.kept += times;
	w->q.unwind_failed += end == UNWIND_ROOT ? 0 : times;
	free(s);
}

static void
start(struct world *w)
{
	*w = (struct world){0};
	ck_assert_int_eq(modules_new(&here, &w->modules), 0);
}

static void
finish(struct world *w)
{
	breaks_done(&w->breaks);
	modules_free(w->modules);
}

static void
expect(const struct world *w, uint32_t i, const char *module, int64_t stacks,
       enum quality_why why)
{
	ck_assert_uint_lt(i, w->q.nbreaks);
	ck_assert_str_eq(w->q.breaks[i].module, module);
	ck_assert_int_eq(w->q.breaks[i].stacks, stacks);
	ck_assert_int_eq(w->q.breaks[i].why, why);
}

TEST(the_modules_where_most_stacks_break_off_are_told_with_the_reason)
{
	uint32_t bare, tables, unread, generated;
	struct world w;

	start(&w);
	bare = add(&w, "/nowhere/bare", 0, ".comment");
	tables = add(&w, "/nowhere/tables", 0, ".debug_frame");
	unread = add(&w, "/nowhere/unread", 0, NULL);
	generated = add(&w, "", 7, NULL);
	count(&w, bare, UNWIND_NO_INFO, 9);
	count(&w, bare, UNWIND_ROOT, 100);
	count(&w, tables, UNWIND_NO_INFO, 8);
	count(&w, unread, UNWIND_NO_INFO, 7);
	count(&w, generated, UNWIND_BAD, 6);
	count(&w, MODULE_UNKNOWN, UNWIND_BAD, 5);
	breaks_report(&w.breaks, w.modules, &w.q);
	ck_assert_uint_eq(w.q.nbreaks, QUALITY_MAX_BREAKS);
	expect(&w, 0, "bare", 9, QUALITY_BREAK_NO_TABLES);
	expect(&w, 1, "tables", 8, QUALITY_BREAK_PARTLY);
	expect(&w, 2, "unread", 7, QUALITY_BREAK_UNREAD);
	expect(&w, 3, "[anon]", 6, QUALITY_BREAK_GENERATED);
	finish(&w);
}
END

/* A library that was replaced during the capture is two modules. */
TEST(modules_of_one_name_and_reason_are_one_and_rare_ones_are_left_out)
{
	uint32_t one, other, rare;
	struct world w;

	start(&w);
	one = add(&w, "/nowhere/it", 0, ".comment");
	other = add(&w, "/elsewhere/it", 0, ".comment");
	rare = add(&w, "/nowhere/rare", 0, ".comment");
	count(&w, one, UNWIND_NO_INFO, 300);
	count(&w, other, UNWIND_NO_INFO, 100);
	count(&w, rare, UNWIND_NO_INFO, 3);
	breaks_report(&w.breaks, w.modules, &w.q);
	ck_assert_uint_eq(w.q.nbreaks, 2);
	expect(&w, 0, "it", 400, QUALITY_BREAK_NO_TABLES);
	expect(&w, 1, "rare", 3, QUALITY_BREAK_NO_TABLES);
	count(&w, one, UNWIND_ROOT, 1000);
	breaks_report(&w.breaks, w.modules, &w.q);
	ck_assert_uint_eq(w.q.nbreaks, 1);
	finish(&w);
}
END

TEST(the_reason_is_that_of_most_stacks)
{
	static const struct {
		enum unwind_end few, most;
		enum quality_why why;
	} rows[] = {
		{UNWIND_NO_INFO, UNWIND_TRUNCATED, QUALITY_BREAK_DEEP},
		{UNWIND_NO_INFO, UNWIND_MAX, QUALITY_BREAK_DEEP},
		{UNWIND_TRUNCATED, UNWIND_SWITCHED, QUALITY_BREAK_SWITCHED},
		{UNWIND_TRUNCATED, UNWIND_BAD, QUALITY_BREAK_WRONG},
		{UNWIND_BAD, UNWIND_NO_INFO, QUALITY_BREAK_PARTLY},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		uint32_t module;

		start(&w);
		module = add(&w, "/nowhere/it", 0, ".debug_frame");
		count(&w, module, rows[i].few, 2);
		count(&w, module, rows[i].most, 3);
		breaks_report(&w.breaks, w.modules, &w.q);
		expect(&w, 0, "it", 5, rows[i].why);
		finish(&w);
	}
}
END

TEST(stacks_that_end_outside_of_code_or_in_32_bit_programs_are_told_apart)
{
	struct world w;
	uint32_t small;

	start(&w);
	small = add(&w, "/nowhere/small", 0, NULL);
	w.modules->rows[small]->is_32 = true;
	count(&w, small, UNWIND_NO_INFO, 5);
	count(&w, MODULE_UNKNOWN, UNWIND_BAD, 4);
	breaks_report(&w.breaks, w.modules, &w.q);
	expect(&w, 0, "small", 5, QUALITY_BREAK_BITS_32);
	expect(&w, 1, "[unknown]", 4, QUALITY_BREAK_NOWHERE);
	finish(&w);
}
END

/* Returns the report's text; free() it. */
static char *
report(const struct quality *q)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char *out = NULL;
	size_t n;

	quality_json(q, NULL, NULL, &text);
	ck_assert_int_eq(buf_take(&text, &out, &n), 0);
	return out;
}

TEST(most_stacks_broken_is_a_poor_profile_that_names_the_module)
{
	CLEANUP_FREE char *text = NULL;
	struct world w;
	uint32_t bare;

	start(&w);
	bare = add(&w, "/usr/lib/bare.so", 0, ".comment");
	count(&w, bare, UNWIND_NO_INFO, 61);
	count(&w, bare, UNWIND_ROOT, 39);
	breaks_report(&w.breaks, w.modules, &w.q);
	quality_conclude_stacks(&w.q);
	text = report(&w.q);
	ck_assert_ptr_nonnull(strstr(text, "\"verdict\":\"poor\""));
	ck_assert_ptr_nonnull(strstr(
		text, ": 61 % in bare.so, which has no unwind tables\""));
	ck_assert_ptr_nonnull(strstr(
		text, "\"stackBreaks\":[{\"module\":\"bare.so\",\"stacks\":61,"
		      "\"percent\":61,\"reason\":"));
	finish(&w);
}
END

TEST(a_report_of_whoever_takes_no_more_than_its_rows)
{
	struct quality q = {.kept = 1,
	                    .nbreaks = UINT32_MAX,
	                    .notes = QUALITY_NOTE_OF(BROKEN)};
	CLEANUP_FREE char *text = NULL;
	CLEANUP_JSON json_t *j = NULL;

	for (unsigned i = 0; i < QUALITY_MAX_BREAKS; i++) {
		memset(q.breaks[i].module, '\n', sizeof(q.breaks[i].module));
		q.breaks[i].why = UINT32_MAX;
	}
	text = report(&q);
	j = json_loads(text, 0, NULL);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "stackBreaks")),
	                  QUALITY_MAX_BREAKS);
	ck_assert_ptr_null(strchr(json_string_value(json_array_get(
					  json_object_get(j, "reasons"), 0)),
	                          '\n'));
}
END

SUITE("breaks");
