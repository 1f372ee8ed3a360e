#include "order.h"

#include "base/cleanup.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define FEW  12   /* up to this many are sorted by insertion */
#define MANY 1024 /* this many or more are sorted by digits */

/* --- words ---------------------------------------------------------------- */

static void
sort_few(uint64_t *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t x = v[i];
		uint32_t k = i;

		for (; k && v[k - 1] >> 32 > x >> 32; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Merges v[0..half) and v[half..n), each sorted, using room[0..half). */
static void
merge_halves(uint64_t *v, uint32_t half, uint32_t n, uint64_t *room)
{
	uint32_t i = 0, k = half, to = 0;

	if (v[half - 1] >> 32 <= v[half] >> 32)
		return;
	memcpy(room, v, half * sizeof(*v));
	while (i < half && k < n)
		v[to++] = room[i] >> 32 <= v[k] >> 32 ? room[i++] : v[k++];
	memcpy(v + to, room + i, (half - i) * sizeof(*v));
}

/* Merge sort, like qsort(), but without a call for each comparison. */
static void
sort_some(uint64_t *v, uint32_t n, uint64_t *room)
{
	uint32_t half = n / 2;

	if (n <= FEW) {
		sort_few(v, n);
		return;
	}
	sort_some(v, half, room);
	sort_some(v + half, n - half, room);
	merge_halves(v, half, n, room);
}

#define DIGIT  11 /* bits */
#define DIGITS (1u << DIGIT)

static uint32_t
digit_of(uint64_t word, unsigned shift)
{
	return word >> shift & (DIGITS - 1);
}

/* Moves words to their places by one digit. */
static void
sort_digit(const uint64_t *v, uint32_t n, unsigned shift, uint64_t *to)
{
	uint32_t at[DIGITS] = {0}, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		at[digit_of(v[i], shift)]++;
	for (uint32_t i = 0; i < DIGITS; i++) {
		uint32_t count = at[i];

		at[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[at[digit_of(v[i], shift)]++] = v[i];
}

/* Sorts by the digits in which words differ, the lowest first. */
static void
sort_many(uint64_t *v, uint32_t n, uint64_t differ, uint64_t *room)
{
	uint64_t *from = v, *to = room;

	for (unsigned shift = 32; shift < 64; shift += DIGIT) {
		uint64_t *other = to;

		if (!digit_of(differ, shift))
			continue;
		sort_digit(from, n, shift, to);
		to = from;
		from = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

void
words_sort(uint64_t *v, uint32_t n, uint64_t *room)
{
	uint64_t differ = 0;

	for (uint32_t i = 1; i < n; i++)
		differ |= v[i] ^ v[0];
	if (!(differ >> 32))
		return;
	if (n < MANY)
		sort_some(v, n, room);
	else
		sort_many(v, n, differ, room);
}

/* --- names ---------------------------------------------------------------- */

#define STEP 4 /* bytes of a name that are in a word, above its id */

/* Returns how many words at the start have the same upper half. */
static uint32_t
alike(const uint64_t *v, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && v[i] >> 32 == v[0] >> 32)
		i++;
	return i;
}

/* Compares the rest of two names that are alike up to `from`. */
static int
by_rest(const struct strings *names, uint32_t a, uint32_t b, size_t from)
{
	size_t n, m;
	const char *s = strings_get(names, a, &n);
	const char *t = strings_get(names, b, &m);
	size_t both = n < m ? n : m;
	int r = from < both ? memcmp(s + from, t + from, both - from) : 0;

	return r ? r : (n > m) - (n < m);
}

static void
sort_few_names(const struct strings *names, uint64_t *v, uint32_t n,
               size_t from)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t x = v[i];
		uint32_t k = i;

		for (; k && by_rest(names, (uint32_t)v[k - 1], (uint32_t)x,
		                    from) > 0;
		     k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static size_t
length_of(const struct strings *names, uint32_t id)
{
	size_t n;

	strings_get(names, id, &n);
	return n;
}

/* Moves names of length from to the front, sorted: they are prefixes of all
 * longer ones. Returns their number. */
static uint32_t
take_ended(const struct strings *names, uint64_t *v, uint32_t n, size_t from,
           uint64_t *room)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = (uint32_t)v[i];
		size_t len = length_of(names, id);

		if (len > from)
			continue;
		v[i] = v[ended];
		v[ended++] = (uint64_t)len << 32 | id;
	}
	words_sort(v, ended, room);
	return ended;
}

/* Puts the next bytes of each name above its id; zeros follow its end. */
static void
take_parts(const struct strings *names, uint64_t *v, uint32_t n, size_t from)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t len;
		uint32_t id = (uint32_t)v[i], part = 0;
		const char *text = strings_get(names, id, &len) + from;

		memcpy(&part, text, len - from < STEP ? len - from : STEP);
		v[i] = (uint64_t)be32toh(part) << 32 | id;
	}
}

/* Sorts names that are alike up to `from`. The loop handles the largest group
 * that remains alike, so that recursion is no deeper than n has bits. */
static void
sort_names(const struct strings *names, uint64_t *v, uint32_t n, size_t from,
           uint64_t *room)
{
	while (n > FEW) {
		uint32_t ended = take_ended(names, v, n, from, room);
		struct group {
			uint32_t lo, n;
		} large = {0}, next;

		v += ended;
		n -= ended;
		take_parts(names, v, n, from);
		words_sort(v, n, room);
		from += STEP;
		for (uint32_t lo = 0; lo < n; lo += next.n) {
			struct group other;

			next = (struct group){lo, alike(v + lo, n - lo)};
			other = next.n > large.n ? large : next;
			if (next.n > large.n)
				large = next;
			sort_names(names, v + other.lo, other.n, from, room);
		}
		v += large.lo;
		n = large.n;
	}
	sort_few_names(names, v, n, from);
}

int
names_rank(const struct strings *names, uint32_t **out_rank,
           uint32_t **out_sorted)
{
	uint32_t n = strings_count(names);
	CLEANUP_FREE uint64_t *words = calloc(2 * (size_t)n, sizeof(*words));
	CLEANUP_FREE uint32_t *sorted = calloc(n, sizeof(*sorted));
	CLEANUP_FREE uint32_t *rank = calloc(n, sizeof(*rank));

	if (!words || !sorted || !rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		words[i] = i;
	sort_names(names, words, n, 0, words + n);
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = (uint32_t)words[i];
		rank[sorted[i]] = i;
	}
	*out_rank = TAKE(rank);
	*out_sorted = TAKE(sorted);
	return 0;
}
