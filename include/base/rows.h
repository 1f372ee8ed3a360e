/*
 * Arrays that grow as rows are added: their size doubles, so that adding n rows
 * copies fewer than 2n.
 *
 *	struct stack { struct item *items; uint32_t n, cap; } s = {0};
 *
 *	rc = ROWS_ROOM(s.items, s.cap, s.n, 1);
 *	if (!rc)
 *		s.items[s.n++] = item;
 */
#pragma once

#include "base/cleanup.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define ROWS_MAX (1u << 26)

/*
 * Makes room for `more` rows after the used ones.
 *
 *   Shape    rows is the address of the pointer to the array, which is NULL
 *            while *cap is 0
 *   Owns     the array is the caller's; free() it
 *   Errors   -ENOMEM, -E2BIG past ROWS_MAX; the array is unchanged
 */
MUST_CHECK int rows_room(void *rows, uint32_t *cap, uint64_t used,
                         uint64_t more, size_t row_size);
/*
 * Makes room for a row with this number. New rows are zeroed. Errors are those
 * of rows_room().
 */
MUST_CHECK int
rows_reach(void *rows, uint32_t *cap, uint64_t row, size_t row_size);
#define ROWS_ROOM(rows, cap, used, more) \
	rows_room(&(rows), &(cap), used, more, sizeof(*(rows)))
/* As ROWS_ROOM(), but -E2BIG past `most` rows. */
#define ROWS_ROOM_OF(rows, cap, used, more, most) \
	((uint64_t)(used) + (more) > (most)       \
	         ? -E2BIG                         \
	         : ROWS_ROOM(rows, cap, used, more))
/* Makes room for one more row of the array o->NAME, which has o->NAME_cap and
 * o->nNAME beside it; -E2BIG past `most` rows. */
#define ROWS_ONE_MORE(o, name, most) \
	ROWS_ROOM_OF((o)->name, (o)->name##_cap, (o)->n##name, 1, most)
#define ROWS_REACH(rows, cap, row) \
	rows_reach(&(rows), &(cap), row, sizeof(*(rows)))
/*
 * Counts the rows, of n, that a condition holds for: it holds for the first
 * ones, and for none of those behind them. This is a binary search.
 *
 *	n = ROWS_WHILE(t->n, i, t->rows[i].start <= address);
 */
#define ROWS_WHILE(n, i, condition)                                      \
	({                                                               \
		__typeof__((n) + 0u) from_ = 0, to_ = (n);               \
                                                                         \
		while (from_ < to_) {                                    \
			__typeof__(from_) i = from_ + (to_ - from_) / 2; \
                                                                         \
			if (condition)                                   \
				from_ = i + 1;                           \
			else                                             \
				to_ = i;                                 \
		}                                                        \
		from_;                                                   \
	})
