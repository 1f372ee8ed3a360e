/* Answers of the symbolizer as they are cached. */
#include "capture/symbols/symbols_answer.h"
#include "lib/test.h"

#include <string.h>

static const struct sym_frame frames[] = {
	{"ns::inner(int)", "_ZN2ns5innerEi", "inner.cc", 12, 10},
	{"outer", "outer", "", 0, 0},
};

static struct symbols_piece
piece(struct buf *b)
{
	answer_write(frames, ARRAY_LEN(frames), true, b);
	ck_assert_int_eq(buf_err(b), 0);
	return (struct symbols_piece){b->p, b->len};
}

TEST(an_answer_comes_back_as_it_was)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct symbols_piece p = piece(&b);
	struct sym_frame out[4];
	size_t n;
	bool lacks;

	ck_assert(answer_open(&p, out, ARRAY_LEN(out), &n, &lacks));
	ck_assert_uint_eq(n, ARRAY_LEN(frames));
	ck_assert(lacks);
	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(out[i].name, frames[i].name);
		ck_assert_str_eq(out[i].system_name, frames[i].system_name);
		ck_assert_str_eq(out[i].file, frames[i].file);
		ck_assert_uint_eq(out[i].line, frames[i].line);
		ck_assert_uint_eq(out[i].start_line, frames[i].start_line);
	}
	ck_assert(answer_open(&p, out, 1, &n, &lacks));
	ck_assert_uint_eq(n, 1);
}
END

TEST(that_nothing_is_known_is_an_answer)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct sym_frame out[1];
	size_t n = 7;
	bool lacks = true;

	answer_write(NULL, 0, false, &b);
	ck_assert(answer_open(&(struct symbols_piece){b.p, b.len}, out, 1, &n,
	                      &lacks));
	ck_assert_uint_eq(n, 0);
	ck_assert(!lacks);
}
END

TEST(no_byte_of_an_answer_is_believed)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct symbols_piece p = piece(&b);
	struct sym_frame out[4];
	size_t n, whole = 0;
	bool lacks;

	for (size_t cut = 0; cut < p.n; cut++) {
		CLEANUP_FREE char *copy = malloc(cut + !cut);

		memcpy(copy, p.p, cut);
		whole += answer_open(&(struct symbols_piece){copy, cut}, out, 4,
		                     &n, &lacks);
	}
	ck_assert_uint_eq(whole, 0);
	for (size_t i = 0; i < p.n; i++) {
		CLEANUP_FREE char *copy = malloc(p.n);

		memcpy(copy, p.p, p.n);
		copy[i] = (char)0xff;
		if (!answer_open(&(struct symbols_piece){copy, p.n}, out, 4, &n,
		                 &lacks))
			continue;
		for (size_t j = 0; j < n; j++)
			whole += strlen(out[j].name) + strlen(out[j].file);
	}
	ck_assert_uint_gt(whole, 0);
}
END

SUITE("answer");
