/* LuaJIT: recorded processes are in interp.c and jit.c. */
#include "capture/luajit/luajit.h"

#include "lib/test.h"

#define AT   UINT64_C(0x1000)
#define CODE (AT + LUAJIT_PROTO)

/* The memory of a target may name any address as the next instruction. */
TEST(an_instruction_is_one_of_its_function_or_the_first)
{
	static const struct {
		uint64_t next;
		uint32_t position;
	} rows[] = {
		{0, 0},         {AT, 0},        {CODE - 1, 0},  {CODE, 0},
		{CODE + 1, 0},  {CODE + 3, 0},  {CODE + 4, 0},  {CODE + 8, 1},
		{CODE + 11, 1}, {CODE + 40, 9}, {CODE + 44, 0}, {UINT64_MAX, 0},
	};
	const struct luajit_proto p = {.at = AT, .size = 10};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_uint_eq(luajit_position(&p, rows[i].next),
		                  rows[i].position);
}
END

SUITE("luajit");
