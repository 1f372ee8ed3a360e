#include "capture/symbols/demangle.h"
#include "lib/test.h"

#include <string.h>

static const struct {
	const char *mangled, *readable;
} NAMES[] = {
	{"_Z3foov", "foo"},
	{"_ZNSt6vectorIiSaIiEE9push_backEOi",
         "std::vector<int, std::allocator<int> >::push_back"},
	{"_ZNK2ns1S1mEi", "ns::S::m"},
	{"_Z3addIiET_S0_S0_", "add<int>"},
	{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
	{"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f"},
	{"_Z3foov.constprop.0", "foo"},
	{"_Z3foov@plt", "foo@plt"},
	{"_ZN4core3fmt5Write9write_str17h0123456789abcdefE",
         "core::fmt::Write::write_str"},
	{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
};

static const char *const PLAIN[] = {
	"main", "qsort", "f.constprop.0", "",       "_",
	"_Z",   "_R",    "_Zxyz",         "_start",
};

TEST(mangled_names_become_readable_without_parameters)
{
	char out[DEMANGLE_MAX];

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++) {
		ck_assert_msg(demangle(NAMES[i].mangled, out), "%s",
		              NAMES[i].mangled);
		ck_assert_str_eq(out, NAMES[i].readable);
	}
}
END

TEST(other_names_are_left_alone)
{
	char out[DEMANGLE_MAX];

	for (size_t i = 0; i < sizeof(PLAIN) / sizeof(*PLAIN); i++)
		ck_assert_msg(!demangle(PLAIN[i], out), "%s", PLAIN[i]);
}
END

/* Every template argument refers twice to the one before it, so the text
 * doubles with each, to gigabytes in the end. */
TEST(a_name_that_stands_for_gigabytes_is_cut)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
	char name[1024] = "_Z1fISt4pairIiiE", out[DEMANGLE_MAX];
	size_t n = strlen(name);

	for (int i = 0; i < 32; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n,
		                      "S_IS%c_S%c_E", digits[i], digits[i]);
	snprintf(name + n, sizeof(name) - n, "Evv");
	ck_assert(demangle(name, out));
	ck_assert_uint_eq(strlen(out), DEMANGLE_MAX - 1);
	ck_assert_str_eq(out + DEMANGLE_MAX - 4, "...");
}
END

TEST(names_of_more_than_the_limit_are_left_alone)
{
	char name[DEMANGLE_MAX_INPUT + 8], out[DEMANGLE_MAX];

	memset(name, 'x', sizeof(name));
	memcpy(name, "_Z1fv.", 6);
	name[DEMANGLE_MAX_INPUT] = '\0';
	ck_assert(demangle(name, out));
	name[DEMANGLE_MAX_INPUT] = 'x';
	name[DEMANGLE_MAX_INPUT + 1] = '\0';
	ck_assert(!demangle(name, out));
}
END

TEST(the_cache_gives_equal_names_the_same_text)
{
	static const char first[] = "_Z3foov", second[] = "_Z3foov";
	struct demangle_cache *c = demangle_cache_new();
	char many[2000][16];

	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(demangle_cached(c, first), "foo");
	ck_assert_ptr_eq(demangle_cached(c, first), demangle_cached(c, second));
	for (int i = 0; i < 2000; i++) {
		snprintf(many[i], sizeof(many[i]), "_Z5f%04dv", i);
		ck_assert_mem_eq(demangle_cached(c, many[i]), many[i] + 3, 5);
	}
	demangle_cache_free(c);
}
END

SUITE("demangle");
