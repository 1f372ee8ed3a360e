#include "capture/process/maps.h"

#include "lib/test.h"

#include <errno.h>
#include <string.h>

static void
add(struct maps *m, uint64_t start, uint64_t end, uint32_t module)
{
	struct map row = {start, end, 0, module};

	ck_assert_int_eq(maps_add(m, &row), 0);
}

static uint32_t
module_at(const struct maps *m, uint64_t addr)
{
	const struct map *row = maps_find(m, addr);

	return row ? row->module : UINT32_MAX;
}

TEST(an_address_finds_the_mapping_that_holds_it)
{
	CLEANUP(maps_done) struct maps m = {0};

	add(&m, 0x3000, 0x4000, 3);
	add(&m, 0x1000, 0x2000, 1);
	ck_assert_uint_eq(module_at(&m, 0xfff), UINT32_MAX);
	ck_assert_uint_eq(module_at(&m, 0x1000), 1);
	ck_assert_uint_eq(module_at(&m, 0x1fff), 1);
	ck_assert_uint_eq(module_at(&m, 0x2000), UINT32_MAX);
	ck_assert_uint_eq(module_at(&m, 0x3fff), 3);
	ck_assert_uint_eq(module_at(&m, 0x4000), UINT32_MAX);
}
END

TEST(a_new_mapping_replaces_what_it_covers)
{
	static const struct {
		uint64_t start, end;
		uint32_t at_0, at_1, at_2, at_3; /* modules, per page */
	} rows[] = {
		{0x1000, 0x2000, 9, 1, 1, 1}, /* the first page */
		{0x4000, 0x5000, 1, 1, 1, 9}, /* the last */
		{0x2000, 0x4000, 1, 9, 9, 1}, /* a hole in the middle */
		{0x1000, 0x5000, 9, 9, 9, 9}, /* all */
		{0x0000, 0x6000, 9, 9, 9, 9}, /* more than all */
		{0x0000, 0x3000, 9, 9, 1, 1}, /* over the start */
		{0x3000, 0x9000, 1, 1, 9, 9}, /* over the end */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(maps_done) struct maps m = {0};

		add(&m, 0x1000, 0x5000, 1);
		add(&m, rows[i].start, rows[i].end, 9);
		ck_assert_uint_eq(module_at(&m, 0x1000), rows[i].at_0);
		ck_assert_uint_eq(module_at(&m, 0x2000), rows[i].at_1);
		ck_assert_uint_eq(module_at(&m, 0x3000), rows[i].at_2);
		ck_assert_uint_eq(module_at(&m, 0x4fff), rows[i].at_3);
	}
}
END

TEST(a_mapping_replaces_several)
{
	CLEANUP(maps_done) struct maps m = {0};

	for (uint32_t i = 0; i < 100; i++)
		add(&m, i * 0x1000, (i + 1) * 0x1000, i);
	add(&m, 0x10800, 0x20800, 777);
	ck_assert_uint_eq(module_at(&m, 0x107ff), 16);
	ck_assert_uint_eq(module_at(&m, 0x10800), 777);
	ck_assert_uint_eq(module_at(&m, 0x207ff), 777);
	ck_assert_uint_eq(module_at(&m, 0x20800), 32);
	ck_assert_uint_eq(m.n, 100 - 15 + 1);
}
END

TEST(mappings_are_bounded)
{
	CLEANUP(maps_done) struct maps m = {0};
	struct map row = {0, 0, 0, 0};
	int rc = 0;

	ck_assert_int_eq(maps_add(&m, &row), -EINVAL);
	for (uint64_t i = 0; !rc && i <= MAPS_MAX; i++) {
		row = (struct map){i * 2, i * 2 + 1, 0, 1};
		rc = maps_add(&m, &row);
	}
	ck_assert_int_eq(rc, -E2BIG);
	ck_assert_uint_gt(m.n, MAPS_MAX - 2);
}
END

TEST(a_copy_is_independent)
{
	CLEANUP(maps_done) struct maps a = {0};
	CLEANUP(maps_done) struct maps b = {0};

	add(&a, 0x1000, 0x2000, 1);
	ck_assert_int_eq(maps_copy(&a, &b), 0);
	maps_clear(&a);
	ck_assert_uint_eq(module_at(&b, 0x1000), 1);
	ck_assert(maps_overlap(&b, 0x1fff, 0x3000));
	ck_assert(!maps_overlap(&b, 0x2000, 0x3000));
	ck_assert(!maps_overlap(&a, 0x1000, 0x2000));
}
END

TEST(lines_of_proc_maps_are_read)
{
	char line[] = "7f1e20a000-7f1e20b000 r-xp 00022000 fe:01 131 "
		      "            /usr/lib/a b.so";
	char none[] = "7ffc1000-7ffc2000 rw-p 00000000 00:00 0 ";
	struct map_seen seen;

	ck_assert_int_eq(maps_parse(line, &seen), 0);
	ck_assert_uint_eq(seen.start, 0x7f1e20a000);
	ck_assert_uint_eq(seen.end, 0x7f1e20b000);
	ck_assert_uint_eq(seen.offset, 0x22000);
	ck_assert_uint_eq(seen.major, 0xfe);
	ck_assert_uint_eq(seen.minor, 1);
	ck_assert_uint_eq(seen.inode, 131);
	ck_assert_str_eq(seen.path, "/usr/lib/a b.so");
	ck_assert(seen.executable);
	ck_assert_int_eq(maps_parse(none, &seen), 0);
	ck_assert_str_eq(seen.path, "");
	ck_assert(!seen.executable);
}
END

TEST(other_lines_are_refused)
{
	static const char *const lines[] = {
		"",
		"x",
		"1000-2000",
		"2000-1000 r-xp 0 00:00 0 /a",
		"1000-2000 r-x 0 00:00 0 /a",
		"1000-2000 r-xp zz 00:00 0 /a",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		CLEANUP_FREE char *line = strdup(lines[i]);
		struct map_seen seen;

		ck_assert_msg(maps_parse(line, &seen) == -EBADMSG, "%s",
		              lines[i]);
	}
}
END

SUITE("maps");
