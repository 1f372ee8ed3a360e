/* The functions in which a profile spends most, and their lines. */
#include "profile/hot.h"
#include "lib/test.h"
#include "profile/site.h"

/* Adds a sample of one function at an address and a line. */
static void
add(struct profile *p, uint32_t function, uint64_t address, int64_t line,
    int64_t value)
{
	const struct line at = {function, line};
	uint32_t location;

	ck_assert_int_eq(
		profile_location(p, PROFILE_NONE, address, &at, 1, &location),
		0);
	ck_assert_int_eq(profile_sample(p, &location, 1, NULL, 0, &value), 0);
}

TEST(a_line_has_the_cost_of_all_its_addresses)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_HOT struct hot *h = NULL;
	const struct hot_ask ask = {.most = 1};
	struct function f = {0};
	uint32_t id;

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_cstring(p, "work", &f.name), 0);
	ck_assert_int_eq(profile_cstring(p, "/src/work.c", &f.file), 0);
	ck_assert_int_eq(profile_function(p, &f, &id), 0);
	for (uint64_t i = 0; i < 8; i++)
		add(p, id, 0x100 + i, 10, 2);
	for (int64_t line = 11; line < 15; line++)
		add(p, id, 0x100 + (uint64_t)line * 16, line, 5);
	ck_assert_int_eq(hot_new(p, &ask, &h), 0);
	ck_assert_uint_eq(h->n, 1);
	ck_assert_int_eq(h->functions[0].total, 36);
	ck_assert_str_eq(h->functions[0].file, "/src/work.c");
	ck_assert_int_eq(h->functions[0].lines[0].line, 10);
	ck_assert_int_eq(h->functions[0].lines[0].value, 16);
	ck_assert_int_eq(h->functions[0].lines[1].value, 5);
}
END

/* A stripped server: an allocator calls a function without a name. */
TEST(a_function_without_a_name_that_an_allocator_calls_is_no_site)
{
	static const char *const names[] = {NULL, "AllocSetAlloc", "pstrdup",
	                                    NULL, "main"};
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_HOT struct hot *h = NULL;
	const struct hot_ask ask = {.most = 1, .sites = true};
	struct mapping m = {.start = 0x1000, .limit = 0x9000};
	uint32_t mapping, stack[ARRAY_LEN(names)];
	const int64_t value = 7;

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(profile_type(p, "inuse_space", "bytes"), 0);
	ck_assert_int_eq(profile_cstring(p, "/usr/bin/server", &m.file), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct line at = {0};
		struct function f = {0};

		if (names[i]) {
			ck_assert_int_eq(profile_cstring(p, names[i], &f.name),
			                 0);
			ck_assert_int_eq(profile_function(p, &f, &at.function),
			                 0);
		}
		ck_assert_int_eq(profile_location(p, mapping, 0x1100 + i * 256,
		                                  &at, !!names[i], &stack[i]),
		                 0);
	}
	ck_assert_int_eq(
		profile_sample(p, stack, ARRAY_LEN(stack), NULL, 0, &value), 0);
	ck_assert_int_eq(hot_new(p, &ask, &h), 0);
	ck_assert_str_eq(strings_get(h->names, h->functions[0].name, NULL),
	                 "pstrdup");
}
END

TEST(functions_of_interpreters_are_no_sites)
{
	static const struct {
		const char *function, *file;
		bool skipped;
	} rows[] = {
		{"node::Start", "node", true},
		{"node::Start", "bitcoind", false},
		{"node", "shop", false},
		{"PyObject_Malloc", "python3.11", true},
		{"python3.11+0x1df920", "", true},
		{"php_session_start", "php-fpm8.2", true},
		{"php8.2+0x261ed0", "php8.2", true},
		{"Perl_newSV", "libperl.so.5.36", true},
		{"Report::remember", "[php]", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(site_skips(rows[i].function, rows[i].file) ==
		                      rows[i].skipped,
		              "%s", rows[i].function);
}
END

TEST(allocators_of_well_known_programs_are_no_sites)
{
	static const char *const allocators[] = {
		"uwsgi_calloc",         "apr_palloc",    "Perl_safesysmalloc",
		"sqlite3DbMallocRawNN", "CRYPTO_zalloc", "luaM_realloc_"};

	for (size_t i = 0; i < ARRAY_LEN(allocators); i++)
		ck_assert_msg(site_skips(allocators[i], "program"), "%s",
		              allocators[i]);
	ck_assert(!site_skips("uwsgi_parse", "uwsgi"));
	ck_assert(!site_skips("sqlite3Step", "libsqlite3.so.0"));
}
END

TEST(methods_of_rust_s_library_are_no_sites)
{
	static const struct {
		const char *function;
		bool skipped;
	} rows[] = {
		{"<std::sys::sync::rwlock::futex::RwLock>::read_contended",
	         true},
		{"<alloc::vec::Vec<fn(u8) -> u8> as core::clone::Clone>::clone",
	         true},
		{"<&mut std::fs::File as std::io::Read>::read", true},
		{"<shop::Cart>::add", false},
		{"<shop::Cart as core::clone::Clone>::clone", false},
		{"<alloc::vec::Vec<T> as shop::Total>::total", false},
		{"<stdlib::Cart>::add", false},
		{"<std::", true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(site_skips(rows[i].function, "shop") ==
		                      rows[i].skipped,
		              "%s", rows[i].function);
}
END

SUITE("hot");
