#include "capture/symbols/kallsyms.h"
#include "capture/symbols/perfmap.h"
#include "capture/symbols/symtab.h"
#include "lib/test.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static struct buf
text(const char *s)
{
	struct buf b = BUF_INIT(KALLSYMS_MAX_BYTES);

	buf_puts(&b, s);
	return b;
}

static const char KERNEL[] = "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 t start_here\n"
			     "ffffffff81000100 W alias_of_it\n"
			     "ffffffff81000200 D a_variable\n"
			     "ffffffff81000090 T __ia32_sys_getppid\n"
			     "ffffffff81000090 T __x64_sys_getppid\n"
			     "not a line\n"
			     "ffffffff81000300 T\n"
			     "ffffffffc0000000 t ext4_read\t[ext4]\n"
			     "ffffffff81000080 T out_of_order";

static int
build(const char *lines, struct buf *out)
{
	CLEANUP_BUF struct buf b = text(lines);

	return kallsyms_build(&b, out);
}

TEST(kernel_functions_are_found_by_address)
{
	static const struct {
		uint64_t addr;
		const char *name;
	} rows[] = {
		{0xffffffff81000000, "_stext"},
		{0xffffffff8100007f, "_stext"},
		{0xffffffff81000080, "out_of_order"},
		{0xffffffff81000100, "start_here"},
		{0xffffffff81000090, "__x64_sys_getppid"},
		{0xffffffff81000210, "start_here"},
		{0xffffffffc0000010, "ext4_read"},
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct symtab t;

	ck_assert_int_eq(build(KERNEL, &out), 0);
	ck_assert_int_eq(
		symtab_open(&(struct symbols_piece){out.p, out.len}, &t), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_str_eq(symtab_lookup(&t, rows[i].addr), rows[i].name);
	ck_assert_ptr_null(symtab_lookup(&t, 0xffffffff80ffffff));
	ck_assert_ptr_null(symtab_lookup(&t, 0x1000));
}
END

TEST(a_gap_behind_a_function_is_not_that_function)
{
	static const uint64_t last = 0xffffffff81000100;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct symtab t;

	ck_assert_int_eq(build(KERNEL, &out), 0);
	ck_assert_int_eq(
		symtab_open(&(struct symbols_piece){out.p, out.len}, &t), 0);
	ck_assert_str_eq(symtab_lookup(&t, last + KALLSYMS_MAX_SIZE - 1),
	                 "start_here");
	ck_assert_ptr_null(symtab_lookup(&t, last + KALLSYMS_MAX_SIZE));
}
END

TEST(zero_addresses_mean_that_we_may_not_know)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(build("0000000000000000 T _stext\n"
	                       "0000000000000000 t f\n",
	                       &out),
	                 -EACCES);
}
END

TEST(a_text_without_functions_is_no_data)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"ffffffff81000200 D a\n",
		"11112222333344445 T too_many_digits\n",
		"ffffffff81000200 T",
		"ffffffff81000200 ",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(build(texts[i], &out), -ENODATA);
	}
}
END

TEST(this_kernel_names_its_functions_or_refuses)
{
	CLEANUP_BUF struct buf b = BUF_INIT(KALLSYMS_MAX_BYTES);
	CLEANUP_BUF struct buf out = BUF_INIT(SYMBOLS_MAX_PIECE);
	int r;

	if (file_read(AT_FDCWD, "/proc/kallsyms", &b) || !b.len)
		SKIP("this kernel has no /proc/kallsyms");
	r = kallsyms_build(&b, &out);
	ck_assert_msg(r == 0 || r == -EACCES, "%d", r);
}
END

TEST(jitted_functions_are_found_by_address)
{
	CLEANUP_BUF struct buf b = text("1000 10 first one\n"
	                                "2000 100 early\n"
	                                "2040 10 inner later\n"
	                                "3000 20 replaced\n"
	                                "3000 20 LazyCompile:~f x.js:1\n"
	                                "4000 0 empty\n"
	                                "0x5000 10 prefix\n"
	                                "ffffffffffffffff 10 wraps\n"
	                                "6000 10 \n"
	                                "7000 10 last");
	CLEANUP_PERFMAP struct perfmap *m = NULL;

	ck_assert_int_eq(perfmap_new(&b, &m), 0);
	ck_assert_str_eq(perfmap_lookup(m, 0x1000), "first one");
	ck_assert_str_eq(perfmap_lookup(m, 0x100f), "first one");
	ck_assert_ptr_null(perfmap_lookup(m, 0x1010));
	ck_assert_ptr_null(perfmap_lookup(m, 0xfff));
	ck_assert_str_eq(perfmap_lookup(m, 0x203f), "early");
	ck_assert_str_eq(perfmap_lookup(m, 0x2040), "inner later");
	ck_assert_str_eq(perfmap_lookup(m, 0x3000), "LazyCompile:~f x.js:1");
	ck_assert_ptr_null(perfmap_lookup(m, 0x4000));
	ck_assert_str_eq(perfmap_lookup(m, 0x5000), "prefix");
	ck_assert_ptr_null(perfmap_lookup(m, UINT64_MAX));
	ck_assert_ptr_null(perfmap_lookup(m, 0x6000));
	ck_assert_str_eq(perfmap_lookup(m, 0x700f), "last");
}
END

SUITE("kallsyms");
