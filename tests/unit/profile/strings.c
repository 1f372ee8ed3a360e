#include "profile/model/strings.h"
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

static uint32_t
add(struct strings *s, const char *text)
{
	uint32_t id = UINT32_MAX;

	ck_assert_int_eq(strings_add(s, text, strlen(text), &id), 0);
	return id;
}

TEST(id_0_is_the_empty_string)
{
	CLEANUP_STRINGS struct strings *s = strings_new();

	ck_assert_uint_eq(strings_count(s), 1);
	ck_assert_uint_eq(add(s, ""), 0);
	ck_assert_str_eq(strings_get(s, 0, NULL), "");
}
END

TEST(equal_text_has_equal_ids)
{
	CLEANUP_STRINGS struct strings *s = strings_new();
	uint32_t a = add(s, "main"), b = add(s, "work");

	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(add(s, "main"), a);
	ck_assert_uint_eq(strings_count(s), 3);
}
END

TEST(text_may_hold_nul_and_ends_with_one)
{
	CLEANUP_STRINGS struct strings *s = strings_new();
	uint32_t with, without;
	size_t n;

	ck_assert_int_eq(strings_add(s, "a\0b", 3, &with), 0);
	ck_assert_int_eq(strings_add(s, "a", 1, &without), 0);
	ck_assert_uint_ne(with, without);
	ck_assert_mem_eq(strings_get(s, with, &n), "a\0b", 4);
	ck_assert_uint_eq(n, 3);
}
END

TEST(text_never_moves)
{
	CLEANUP_STRINGS struct strings *s = strings_new();
	const char *first = strings_get(s, add(s, "first"), NULL);
	char text[32];

	for (int i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "string %d", i);
		ck_assert_uint_eq(add(s, text), (uint32_t)i + 2);
	}
	ck_assert_ptr_eq(strings_get(s, 1, NULL), first);
	ck_assert_str_eq(first, "first");
	ck_assert_uint_eq(add(s, "string 77777"), 77779);
}
END

TEST(a_string_longer_than_a_chunk_is_kept)
{
	CLEANUP_STRINGS struct strings *s = strings_new();
	size_t n = (size_t)3 << 20, got;
	CLEANUP_FREE char *text = malloc(n);
	uint32_t id;

	memset(text, 'x', n);
	ck_assert_int_eq(strings_add(s, text, n, &id), 0);
	ck_assert_mem_eq(strings_get(s, id, &got), text, n);
	ck_assert_uint_eq(got, n);
}
END

TEST(bytes_that_are_not_utf8_are_escaped)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"\xff", "\\xff"},
		{"a\xff\xfe;b", "a\\xff\\xfe;b"},
		{"\xe2\x82", "\\xe2\\x82"},          /* cut short */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
		{"\xc0\xaf", "\\xc0\\xaf"},          /* overlong form of / */
		{"\xe2\x82\xac", "\xe2\x82\xac"},    /* the euro sign */
		{"\xe2\x82\xac\x80", "\xe2\x82\xac\\x80"},
	};
	CLEANUP_STRINGS struct strings *s = strings_new();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_str_eq(strings_get(s, add(s, rows[i].text), NULL),
		                 rows[i].want);
	/* Latin-1 names stay different */
	ck_assert_uint_ne(add(s, "h\xe9"), add(s, "h\xe8"));
}
END

TEST(strings_added_at_once_are_mended_too)
{
	const struct string text[] = {{"a\xff", 2}, {"b", 1}};
	CLEANUP_STRINGS struct strings *s = strings_new();
	uint32_t id[ARRAY_LEN(text)];

	ck_assert_int_eq(strings_add_all(s, text, ARRAY_LEN(text), id), 0);
	ck_assert_str_eq(strings_get(s, id[0], NULL), "a\\xff");
	ck_assert_str_eq(strings_get(s, id[1], NULL), "b");
}
END

TEST(stored_text_keeps_its_ids)
{
	CLEANUP_STRINGS struct strings *s = strings_new();
	uint32_t a, b;

	ck_assert_int_eq(strings_add_stored(s, "\xff", 1, &a), 0);
	ck_assert_int_eq(strings_add_stored(s, "\xfe", 1, &b), 0);
	ck_assert_uint_eq(a, 1);
	ck_assert_uint_eq(b, 2);
}
END

SUITE("strings");
