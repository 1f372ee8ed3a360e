#include "capture/listing/disasm.h"

#include "lib/test.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Decodes bytes at 0x1000, and returns the number of lines. */
static size_t
decode(uint16_t machine, const char *bytes, size_t n, struct disasm_line *out,
       size_t max)
{
	CLEANUP_DISASM struct disasm *d = NULL;
	struct disasm_code code = {(const uint8_t *)bytes, n, 0x1000};
	size_t k = 0;

	ck_assert_int_eq(disasm_new(machine, &d), 0);
	while (k < max && disasm_next(d, &code, &out[k]))
		k++;
	return k;
}
#define DECODE(machine, bytes, out) \
	decode(machine, bytes, sizeof(bytes) - 1, out, ARRAY_LEN(out))

TEST(instructions_of_x86_64_are_written_as_the_gnu_tools_do)
{
	struct disasm_line l[8];

	ck_assert_uint_eq(DECODE(EM_X86_64,
	                         "\x48\x89\xe5"
	                         "\xe8\x10\x00\x00\x00"
	                         "\xc3",
	                         l),
	                  3);
	ck_assert_str_eq(l[0].text, "movq %rsp, %rbp");
	ck_assert_uint_eq(l[0].size, 3);
	ck_assert_uint_eq(l[0].target, 0);
	ck_assert_uint_eq(l[1].address, 0x1003);
	ck_assert_uint_eq(l[1].target, 0x1018);
	ck_assert_str_eq(l[2].text, "retq");
}
END

TEST(instructions_of_aarch64_are_decoded)
{
	struct disasm_line l[8];

	ck_assert_uint_eq(DECODE(EM_AARCH64,
	                         "\x04\x00\x00\x94"
	                         "\xc0\x03\x5f\xd6",
	                         l),
	                  2);
	ck_assert_uint_eq(l[0].target, 0x1010);
	ck_assert_str_eq(l[1].text, "ret");
}
END

TEST(bytes_that_are_no_instruction_do_not_end_the_code)
{
	struct disasm_line l[8];

	ck_assert_uint_eq(DECODE(EM_X86_64, "\x06\xc3\x0f", l), 3);
	ck_assert_str_eq(l[0].text, ".byte 0x06");
	ck_assert_uint_eq(l[0].target, 0);
	ck_assert_str_eq(l[1].text, "retq");
	ck_assert_uint_eq(l[2].address, 0x1002);
}
END

TEST(other_machines_are_refused)
{
	struct disasm *d;

	ck_assert_int_eq(disasm_new(EM_386, &d), -ENOTSUP);
	ck_assert_int_eq(disasm_new(EM_RISCV, &d), -ENOTSUP);
}
END

SUITE("disasm");
