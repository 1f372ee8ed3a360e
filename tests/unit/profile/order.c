#include "profile/model/order.h"
#include "base/cleanup.h"
#include "lib/random.h"
#include "lib/test.h"

#include <string.h>

#define MANY 3000

/* Names of at most this many bytes; most differ late, some only in length. */
static struct strings *
drawn_names(uint64_t seed, uint32_t n, size_t longest)
{
	static const char letters[] = {'\0', 'a', 'a', 'a', 'a', '\x7f'};
	struct strings *names = strings_new();

	ck_assert_ptr_nonnull(names);
	while (n-- > 0) {
		char text[64];
		size_t len = random_next(&seed) % (longest + 1);
		uint32_t id;

		for (size_t i = 0; i < len; i++)
			text[i] = letters[random_next(&seed) % sizeof(letters)];
		ck_assert_int_eq(strings_add_stored(names, text, len, &id), 0);
	}
	return names;
}

static void
assert_before(const struct strings *names, uint32_t a, uint32_t b)
{
	size_t n, m;
	const char *s = strings_get(names, a, &n);
	const char *t = strings_get(names, b, &m);
	int r = memcmp(s, t, n < m ? n : m);

	ck_assert(r < 0 || (!r && n < m));
}

TEST(names_are_ranked_by_their_bytes_and_then_by_length)
{
	static const size_t longest[] = {0, 3, 8, 60};

	for (uint64_t seed = 0; seed < 40; seed++) {
		CLEANUP_STRINGS struct strings *names = drawn_names(
			seed, seed % 2 ? 20 : MANY, longest[seed / 2 % 4]);
		CLEANUP_FREE uint32_t *rank = NULL;
		CLEANUP_FREE uint32_t *sorted = NULL;

		ck_assert_int_eq(names_rank(names, &rank, &sorted), 0);
		for (uint32_t i = 0; i < strings_count(names); i++) {
			ck_assert_uint_eq(rank[sorted[i]], i);
			if (i)
				assert_before(names, sorted[i - 1], sorted[i]);
		}
	}
}
END

/* Their lower halves count up, as they do in the groups of a tree. */
TEST(words_are_sorted_by_their_upper_halves_and_else_stay_in_order)
{
	static uint64_t v[MANY], room[MANY];

	for (uint64_t seed = 0; seed < 60; seed++) {
		uint32_t n = (uint32_t)(seed < 20 ? seed : MANY / 60 * seed);
		uint64_t at = seed;

		for (uint32_t i = 0; i < n; i++)
			v[i] = (random_next(&at) >> seed % 50) << 32 | i;
		words_sort(v, n, room);
		for (uint32_t i = 1; i < n; i++)
			ck_assert_uint_lt(v[i - 1], v[i]);
	}
}
END

SUITE("order");
