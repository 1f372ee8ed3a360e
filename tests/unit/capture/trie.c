#include "capture/recorder/trie.h"
#include "capture/recorder.h"

#include "lib/test.h"

#include <errno.h>

static const struct place overflow = {2, 0};
static const struct amount seven = {.value = 7, .events = AMOUNT_EVENT};

static uint32_t
count_of_all(const struct trie *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->nodes.n; i++)
		sum += t->counts[i].events;
	return (uint32_t)(sum / AMOUNT_EVENT);
}

TEST(equal_pairs_are_one_row)
{
	CLEANUP(pairs_done) struct pairs p = {.max = 100000};
	uint32_t row;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			ck_assert_int_eq(
				pairs_intern(&p, i % 7, i * 4096, &row), 0);
			ck_assert_uint_eq(row, i);
		}
	}
	ck_assert_uint_eq(p.n, 5000);
}
END

TEST(pairs_are_bounded)
{
	CLEANUP(pairs_done) struct pairs p = {.max = 2};
	uint32_t row = 77;

	ck_assert_int_eq(pairs_intern(&p, 1, 1, &row), 0);
	ck_assert_int_eq(pairs_intern(&p, 1, 2, &row), 0);
	row = 77;
	ck_assert_int_eq(pairs_intern(&p, 1, 3, &row), -E2BIG);
	ck_assert_uint_eq(row, 77);
	ck_assert_int_eq(pairs_intern(&p, 1, 1, &row), 0);
	ck_assert_uint_eq(row, 0);
}
END

TEST(a_tag_keeps_equal_stacks_apart_while_there_is_room)
{
	CLEANUP(trie_done) struct trie t = {0};
	const struct place a[] = {{5, 30}, {5, 20}};
	const struct place one = {7, 1}, other = {7, 2};
	uint32_t bare, first, again, second;

	ck_assert_int_eq(trie_init(&t, 5), 0);
	ck_assert_int_eq(trie_count(&t, a, 2, NULL, overflow, &seven, &bare),
	                 0);
	ck_assert_int_eq(trie_count(&t, a, 2, &one, overflow, &seven, &first),
	                 0);
	ck_assert_int_eq(trie_count(&t, a, 2, &one, overflow, &seven, &again),
	                 0);
	ck_assert_uint_ne(first, bare);
	ck_assert_uint_eq(again, first);
	ck_assert_uint_eq(t.nodes.rows[first].a, bare);
	ck_assert_uint_eq(t.counts[first].value, 14);
	ck_assert_int_eq(
		trie_count(&t, a, 2, &other, overflow, &seven, &second), 0);
	ck_assert_uint_eq(second, bare); /* no room for a sixth node */
	ck_assert_uint_eq(count_of_all(&t), 4);
	ck_assert_uint_eq(t.folded, 0);
}
END

TEST(stacks_share_what_they_have_in_common)
{
	CLEANUP(trie_done) struct trie t = {0};
	const struct place a[] = {{5, 30}, {5, 20}, {5, 10}};
	const struct place b[] = {{5, 40}, {5, 20}, {5, 10}};
	uint32_t node;

	ck_assert_int_eq(trie_init(&t, 1000), 0);
	ck_assert_int_eq(trie_count(&t, a, 3, NULL, overflow, &seven, &node),
	                 0);
	ck_assert_int_eq(trie_count(&t, b, 3, NULL, overflow, &seven, &node),
	                 0);
	ck_assert_int_eq(trie_count(&t, a, 3, NULL, overflow, &seven, &node),
	                 0);
	ck_assert_uint_eq(t.nodes.n, 1 + 1 + 4); /* root, overflow, ours */
	ck_assert_uint_eq(t.places.n, 1 + 4);
	ck_assert_uint_eq(t.samples, 3);
	ck_assert_uint_eq(count_of_all(&t), 3);
	ck_assert_uint_eq(t.total.value, 21);
}
END

TEST(one_address_in_two_modules_is_two_places)
{
	CLEANUP(trie_done) struct trie t = {0};
	const struct place a = {5, 30}, b = {6, 30};
	uint32_t node;

	ck_assert_int_eq(trie_init(&t, 1000), 0);
	ck_assert_int_eq(trie_count(&t, &a, 1, NULL, overflow, &seven, &node),
	                 0);
	ck_assert_int_eq(trie_count(&t, &b, 1, NULL, overflow, &seven, &node),
	                 0);
	ck_assert_uint_eq(t.places.n, 1 + 2);
}
END

/* The remembered path of the previous stack is not a stack itself. */
TEST(stacks_deeper_than_the_path_remembered_are_told_apart)
{
	CLEANUP(trie_done) struct trie t = {0};
	struct place stack[2 * TRIE_PATH];
	uint32_t first, other, again, outer;

	ck_assert_int_eq(trie_init(&t, 4 * ARRAY_LEN(stack)), 0);
	for (size_t i = 0; i < ARRAY_LEN(stack); i++)
		stack[i] = (struct place){5, i};
	ck_assert_int_eq(trie_count(&t, stack, ARRAY_LEN(stack), NULL, overflow,
	                            &seven, &first),
	                 0);
	stack[0].vaddr = 1000;
	ck_assert_int_eq(trie_count(&t, stack, ARRAY_LEN(stack), NULL, overflow,
	                            &seven, &other),
	                 0);
	stack[0].vaddr = 0;
	ck_assert_int_eq(trie_count(&t, stack, ARRAY_LEN(stack), NULL, overflow,
	                            &seven, &again),
	                 0);
	ck_assert_int_eq(trie_count(&t, stack + TRIE_PATH, TRIE_PATH, NULL,
	                            overflow, &seven, &outer),
	                 0);
	ck_assert_uint_ne(first, other);
	ck_assert_uint_eq(first, again);
	ck_assert_uint_eq(t.counts[first].events, 2 * AMOUNT_EVENT);
	ck_assert_uint_eq(t.counts[other].events, AMOUNT_EVENT);
	ck_assert_uint_eq(t.counts[outer].events, AMOUNT_EVENT);
	ck_assert_uint_eq(t.nodes.n, 1 + 1 + ARRAY_LEN(stack) + 1);
}
END

TEST(a_full_tree_folds_stacks_and_keeps_their_number)
{
	CLEANUP(trie_done) struct trie t = {0};
	uint32_t node;

	ck_assert_int_eq(trie_init(&t, 50), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		struct place at = {5, i};

		ck_assert_int_eq(
			trie_count(&t, &at, 1, NULL, overflow, &seven, &node),
			0);
	}
	ck_assert_uint_le(t.nodes.n, 50);
	ck_assert_uint_eq(t.samples, 1000);
	ck_assert_uint_eq(count_of_all(&t), 1000);
	ck_assert_uint_eq(t.folded, 1000 - 48);
}
END

#define MANY UINT64_C(100000)

static size_t
bytes_of(const struct trie *t)
{
	return (t->nodes.cap + t->places.cap) *
	               (sizeof(struct pair) + 2 * sizeof(uint32_t)) +
	       t->counts_cap * sizeof(*t->counts);
}

TEST(a_hundred_thousand_stacks_stay_within_the_bytes_told)
{
	CLEANUP(trie_done) struct trie t = {0};
	uint32_t node;

	ck_assert_int_eq(trie_init(&t, 1u << 17), 0);
	for (uint64_t i = 0; i < 2 * MANY; i++) {
		const uint64_t n = i % MANY;
		const struct place stack[] = {
			{5, n}, {5, n / 10 % 100}, {5, n / 1000}};

		ck_assert_int_eq(
			trie_count(&t, stack, 3, NULL, overflow, &seven, &node),
			0);
	}
	ck_assert_uint_eq(t.folded, 0);
	ck_assert_uint_eq(count_of_all(&t), 2 * MANY);
	ck_assert_uint_eq(t.total.value, 2 * MANY * 7);
	ck_assert_uint_le(bytes_of(&t), RECORDER_NODE_BYTES << 17);
}
END

TEST(what_a_program_makes_up_adds_up_to_63_bits_at_most)
{
	CLEANUP(trie_done) struct trie t = {0};
	const struct amount huge = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	const struct place a = {5, 30}, b = {5, 40};
	uint32_t node, other;

	ck_assert_int_eq(trie_init(&t, 1000), 0);
	ck_assert_int_eq(trie_count(&t, &a, 1, NULL, overflow, &seven, &node),
	                 0);
	ck_assert_int_eq(trie_count(&t, &a, 1, NULL, overflow, &huge, &node),
	                 0);
	ck_assert_int_eq(trie_count(&t, &b, 1, NULL, overflow, &huge, &other),
	                 0);
	ck_assert_uint_eq(t.counts[node].value, t.total.value);
	ck_assert_uint_le(t.total.value, INT64_MAX);
	ck_assert_uint_le(t.total.events + AMOUNT_EVENT / 2, INT64_MAX);
	ck_assert_uint_eq(t.counts[other].value, 0);
	ck_assert_uint_eq(t.samples, 3);
}
END

SUITE("trie");
