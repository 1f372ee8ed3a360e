/* Kinds of frames that views fold. */
#include "profile/kind.h"
#include "lib/test.h"

#include <string.h>

#define K(kind) KIND_BIT(KIND_##kind)

static const struct {
	const char *function, *file, *source;
	uint32_t kinds;
} rows[] = {
	{"finish_task_switch.isra.0", "[kernel.kallsyms]", "", K(kernel)},
	{"__vdso_clock_gettime", "[vdso]", "", K(kernel)},
	{"_int_malloc", "libc.so.6", "", K(allocator) | K(runtime)},
	{"operator new(unsigned long)", "libstdc++.so.6", "",
         K(allocator) | K(runtime)},
	{"je_arena_tcache_fill_small", "shop", "", K(allocator) | K(runtime)},
	{"free", "libjemalloc.so.2", "", K(allocator) | K(runtime)},
	{"runtime.mallocgc", "runtime", "/usr/local/go/src/runtime/malloc.go",
         K(allocator) | K(runtime)},
	{"_PyEval_EvalFrameDefault", "libpython3.11.so.1.0", "",
         K(interpreter) | K(runtime)},
	{"_PyEval_EvalFrameDefault", "python3.11", "Python/ceval.c",
         K(interpreter) | K(runtime)},
	{"checkout", "python3.11", "/srv/shop/cart.py", 0},
	{"BaseEventLoop.run_forever", "python3.11",
         "/usr/lib/python3.11/asyncio/base_events.py", K(async)},
	{"v8::internal::Heap::Scavenge()", "node", "",
         K(interpreter) | K(runtime)},
	{"tokio::runtime::task::harness::poll", "shop", "", K(async)},
	{"<tokio::runtime::Runtime as core::ops::Drop>::drop", "shop", "",
         K(async)},
	{"void boost::asio::detail::scheduler::run<int>(int)", "shop", "",
         K(boost)},
	{"boost::shared_ptr<shop::Cart>::get() const", "shop", "", K(boost)},
	{"shop::boost::price(int)", "shop", "", 0},
	{"int price(boost::any const&)", "shop", "", 0},
	{"mallocs", "shop", "", 0},
	{"", "", "", 0},
};

TEST(a_frame_is_of_a_kind_by_its_function_file_or_source)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t kinds = kinds_of(rows[i].function, rows[i].file,
		                          rows[i].source);

		ck_assert_msg(kinds == rows[i].kinds, "%s: %#x, expected %#x",
		              rows[i].function, kinds, rows[i].kinds);
	}
}
END

TEST(the_list_of_all_kinds_is_read_as_it_is_written)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	uint32_t bits;

	kinds_list(";", &text);
	ck_assert_int_eq(kinds_parse(buf_str(&text), &bits), 0);
	ck_assert_uint_eq(bits, (UINT32_C(1) << KINDS) - 1);
	ck_assert_int_eq(kinds_parse("boost", &bits), 0);
	ck_assert_uint_eq(bits, K(boost));
}
END

SUITE("kind");
