#include "capture/symbols/jitdump.h"

#include "lib/test.h"

#include <errno.h>
#include <string.h>

static struct buf file;

static bool
read_file(void *arg, uint64_t at, void *out, size_t n)
{
	(void)arg;
	if (at > file.len || file.len - at < n)
		return false;
	memcpy(out, file.p + at, n);
	return true;
}

static void
put32(uint32_t v)
{
	buf_add(&file, &v, sizeof(v));
}

static void
put64(uint64_t v)
{
	buf_add(&file, &v, sizeof(v));
}

static void
put_text(const char *s)
{
	buf_add(&file, s, strlen(s) + 1);
}

static void
begin(void)
{
	static const uint32_t head[10] = {0x4a695444, 1, 40, 62};

	buf_done(&file);
	file = BUF_INIT(BUF_MAX_SMALL);
	buf_add(&file, head, sizeof(head));
}

static void
put_record(uint32_t id, size_t size)
{
	put32(id);
	put32((uint32_t)(16 + size));
	put64(0);
}

static void
put_load(uint64_t addr, uint64_t size, const char *name)
{
	put_record(0, 40 + strlen(name) + 1 + size);
	put64(0);
	put64(addr);
	put64(addr);
	put64(size);
	put64(0);
	put_text(name);
	for (uint64_t i = 0; i < size; i++)
		buf_putc(&file, 'c');
}

static void
put_move(uint64_t from, uint64_t to, uint64_t size)
{
	put_record(1, 48);
	put64(0);
	put64(to);
	put64(from);
	put64(to);
	put64(size);
	put64(0);
}

static void
put_lines(uint64_t addr)
{
	put_record(2, 16 + 3 * 16 - 0 + sizeof("a.js") + 2 * sizeof("\xff"));
	put64(addr);
	put64(3);
	put64(addr + 8);
	put32(12);
	put32(0);
	put_text("a.js");
	put64(addr);
	put32(10);
	put32(0);
	put_text("\xff");
	put64(addr + 12);
	put32(13);
	put32(0);
	put_text("\xff");
}

static void
dump_free(struct jitdump **d)
{
	jitdump_free(*d);
}

static struct jitdump *
dump(void)
{
	struct jitdump *d = NULL;

	ck_assert_int_eq(jitdump_new(read_file, NULL, &d), 0);
	return d;
}
#define DUMP() CLEANUP(dump_free) struct jitdump *d = dump()

static void
is(const struct jitdump *d, uint64_t addr, const char *name, uint32_t line)
{
	struct jit_place at;

	ck_assert(jitdump_lookup(d, addr, &at));
	ck_assert_str_eq(at.name, name);
	ck_assert_uint_eq(at.line, line);
	if (line)
		ck_assert_str_eq(at.file, "a.js");
}

TEST(functions_are_found_by_address)
{
	struct jit_place at;

	begin();
	put_load(0x1000, 16, "first");
	put_load(0x2000, 16, "second");
	{
		DUMP();

		is(d, 0x1000, "first", 0);
		is(d, 0x100f, "first", 0);
		is(d, 0x2008, "second", 0);
		ck_assert(!jitdump_lookup(d, 0x1010, &at));
		ck_assert(!jitdump_lookup(d, 0xfff, &at));
	}
}
END

TEST(lines_go_with_the_function_that_follows)
{
	begin();
	put_lines(0x1000);
	put_load(0x1000, 16, "lined");
	put_load(0x2000, 16, "bare");
	{
		DUMP();

		is(d, 0x1000, "lined", 10);
		is(d, 0x1007, "lined", 10);
		is(d, 0x1008, "lined", 12);
		is(d, 0x100f, "lined", 13);
		is(d, 0x2000, "bare", 0);
	}
}
END

TEST(each_function_has_its_own_lines)
{
	begin();
	put_lines(0x1000);
	put_load(0x1000, 16, "first");
	put_lines(0x2000);
	put_load(0x2000, 16, "second");
	{
		DUMP();

		is(d, 0x1000, "first", 10);
		is(d, 0x100c, "first", 13);
		is(d, 0x2000, "second", 10);
		is(d, 0x2008, "second", 12);
		is(d, 0x200c, "second", 13);
	}
}
END

TEST(moved_code_keeps_name_and_lines)
{
	begin();
	put_lines(0x1000);
	put_load(0x1000, 16, "moved");
	put_move(0x1000, 0x9000, 16);
	put_move(0x9000, 0x5000, 16);
	put_move(0x7777, 0x6000, 16);
	{
		struct jit_place at;
		DUMP();

		is(d, 0x9008, "moved", 12);
		is(d, 0x5008, "moved", 12);
		ck_assert(!jitdump_lookup(d, 0x6000, &at));
	}
}
END

TEST(later_code_replaces_what_it_overlaps)
{
	begin();
	put_load(0x1000, 32, "early");
	put_load(0x1010, 32, "late");
	put_load(0x1000, 4, "latest");
	{
		DUMP();

		is(d, 0x1000, "latest", 0);
		is(d, 0x1018, "late", 0);
		is(d, 0x102f, "late", 0);
	}
}
END

TEST(a_dump_that_breaks_off_is_good_up_to_there)
{
	begin();
	put_load(0x1000, 16, "whole");
	put_load(0x2000, 16, "broken");
	file.len -= 20;
	{
		struct jit_place at;
		DUMP();

		is(d, 0x1000, "whole", 0);
		ck_assert(!jitdump_lookup(d, 0x2000, &at));
	}
}
END

TEST(another_file_is_no_dump)
{
	struct jitdump *d = NULL;

	begin();
	file.p[0] ^= 1;
	ck_assert_int_eq(jitdump_new(read_file, NULL, &d), -ENOEXEC);
	file.len = 39;
	ck_assert_int_eq(jitdump_new(read_file, NULL, &d), -ENOEXEC);
}
END

TEST(dumps_are_known_by_their_names)
{
	ck_assert(jitdump_is_path("/tmp/jit-12.dump"));
	ck_assert(jitdump_is_path("/a b/jit-0.dump"));
	ck_assert(!jitdump_is_path("/tmp/jit-.dump"));
	ck_assert(!jitdump_is_path("/tmp/jit-12.dump2"));
	ck_assert(!jitdump_is_path("/tmp/ajit-12.dump"));
	ck_assert(!jitdump_is_path("jit-12.dump"));
}
END

SUITE("jitdump");
