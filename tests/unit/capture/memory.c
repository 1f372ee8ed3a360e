/*
 * Reads a target's memory in pieces, through the opener's handler. The target
 * is this process.
 */
#include "capture/host/memory.h"

#include "capture/ranges.h"
#include "lib/here.h"
#include "lib/test.h"

#include "worker/opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)

static unsigned questions, ranges;
static struct memory_spare spare;

static int
ask_counted(void *arg, const struct host_ask *ask, struct host_reply *reply,
            int fds[HOST_MAX_FDS], size_t *nfds)
{
	questions++;
	ranges += ask->count;
	return host_ask_here(arg, ask, reply, fds, nfds);
}

static struct conf conf;
static struct opener opener = {.conf = &conf};
static const struct host counted = {.ask = ask_counted, .arg = &conf};

static struct memory
mine(void)
{
	questions = ranges = 0;
	spare.n = 0;
	return (struct memory){&counted, getpid(), &spare};
}

/* Makes pages of ascending numbers, the last of which can't be read. */
static uint8_t *
make_pages(size_t n)
{
	uint8_t *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	for (size_t i = 0; i < (n - 1) * PAGE; i++)
		p[i] = (uint8_t)(i * 31 >> 3);
	munmap(p + (n - 1) * PAGE, PAGE);
	return p;
}

static uint64_t
addr_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void
expect(const struct memory_piece *piece, const uint8_t *at, uint32_t got)
{
	ck_assert_uint_eq(piece->got, got);
	if (got)
		ck_assert_mem_eq(piece->p, at, got);
}

TEST(pieces_come_back_in_any_order_and_may_overlap)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	uint8_t *p = make_pages(9);
	struct memory m = mine();
	static const struct {
		uint32_t at, len;
	} rows[] = {
		{20000, 100}, {5, 1},    {20050, 3000}, {5, 1},
		{0, 8},       {9000, 0}, {12345, 4096}, {20010, 10},
	};
	struct memory_piece pieces[ARRAY_LEN(rows)];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		pieces[i] = (struct memory_piece){
			.addr = addr_of(p) + rows[i].at, .len = rows[i].len};
	ck_assert_int_eq(memory_read(&m, pieces, ARRAY_LEN(rows), &b), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect(&pieces[i], p + rows[i].at, rows[i].len);
	ck_assert_uint_eq(questions, 1);
}
END

TEST(neighbours_are_read_as_one)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	uint8_t *p = make_pages(9);
	struct memory m = mine();
	struct memory_piece pieces[64];

	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		pieces[i] = (struct memory_piece){.addr = addr_of(p) + 480 * i,
		                                  .len = 360};
	ck_assert_int_eq(memory_read(&m, pieces, ARRAY_LEN(pieces), &b), 0);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		expect(&pieces[i], p + 480 * i, 360);
	ck_assert_uint_eq(ranges, 1);
}
END

TEST(what_cannot_be_read_ends_its_piece_only)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	uint8_t *p = make_pages(3), *q = make_pages(3);
	struct memory m = mine();
	struct memory_piece pieces[] = {
		{.addr = 16, .len = 8},
		{.addr = addr_of(p) + PAGE, .len = 2 * PAGE},
		{.addr = addr_of(q), .len = 100},
		{.addr = UINT64_MAX - 3, .len = 8},
	};

	ck_assert_int_eq(memory_read(&m, pieces, ARRAY_LEN(pieces), &b), 0);
	ck_assert_uint_eq(pieces[0].got, 0);
	expect(&pieces[1], p + PAGE, PAGE);
	expect(&pieces[2], q, 100);
	ck_assert_uint_eq(pieces[3].got, 0);
}
END

TEST(more_pieces_than_one_question_holds)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	const size_t n = RANGES_MAX + 100, apart = 2 * PAGE / 4;
	uint8_t *p = make_pages(n / 2 + 2);
	struct memory m = mine();
	CLEANUP_FREE struct memory_piece *pieces = calloc(n, sizeof(*pieces));

	for (size_t i = 0; i < n; i++)
		pieces[i] = (struct memory_piece){
			.addr = addr_of(p) + apart * i, .len = 8};
	ck_assert_int_eq(memory_read(&m, pieces, n, &b), 0);
	ck_assert_uint_eq(questions, 2);
	for (size_t i = 0; i < n; i++)
		expect(&pieces[i], p + apart * i, 8);
	munmap(p, (n / 2 + 1) * PAGE);
}
END

TEST(copies_are_whole_or_fail)
{
	uint8_t *p = make_pages(2), out[16] = {0};
	struct memory m = mine();

	ck_assert_int_eq(memory_copy(&m, addr_of(p) + 7, out, 9), 0);
	ck_assert_mem_eq(out, p + 7, 9);
	ck_assert_int_eq(memory_copy(&m, addr_of(p) + PAGE - 8, out, 16),
	                 -EFAULT);
	m.pid = 1 << 22; /* above any pid */
	ck_assert_int_eq(memory_copy(&m, addr_of(p), out, 8), -ESRCH);
}
END

TEST(the_opener_refuses_what_is_out_of_bounds)
{
	static const struct {
		uint32_t count, len;
		bool with; /* a file is sent along */
		int error;
	} rows[] = {
		{1, 8, true, 0},
		{0, 8, true, -EINVAL},
		{1, 8, false, -EINVAL},
		{1, 0, true, -EINVAL},
		{2, 8, true, -EINVAL}, /* more pieces than the file has */
		{RANGES_MAX + 1, 8, true, -EINVAL},
		{1, RANGES_MAX_BYTES, true, 0},
		{1, RANGES_MAX_BYTES + 1, true, -EINVAL},
	};
	uint8_t *p = make_pages(2);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host_ask ask = {.op = HOST_RANGES,
		                       .pid = getpid(),
		                       .count = rows[i].count};
		struct memory_range row = {addr_of(p), rows[i].len, 0};
		CLEANUP_FD int fd = memfd_create("ask", MFD_CLOEXEC);
		struct answer out;

		ck_assert_int_eq(write(fd, &row, sizeof(row)), sizeof(row));
		opener_answer(&opener, &ask, 0, rows[i].with ? fd : -1, NULL,
		              &out);
		ck_assert_msg(out.reply.error == rows[i].error, "row %zu: %d",
		              i, out.reply.error);
	}
}
END

TEST(the_opener_bounds_the_sum_of_all_pieces)
{
	const uint32_t half = RANGES_MAX_BYTES / 2;
	const struct {
		uint32_t len;
		int error;
	} rows[] = {{half, 0}, {half + 1, -E2BIG}};
	uint8_t *p = make_pages(2);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host_ask ask = {
			.op = HOST_RANGES, .pid = getpid(), .count = 2};
		struct memory_range pair[] = {{addr_of(p), half, 0},
		                              {addr_of(p), rows[i].len, 0}};
		CLEANUP_FD int fd = memfd_create("ask", MFD_CLOEXEC);
		struct answer out;

		ck_assert_int_eq(write(fd, pair, sizeof(pair)), sizeof(pair));
		opener_answer(&opener, &ask, 0, fd, NULL, &out);
		ck_assert_int_eq(out.reply.error, rows[i].error);
	}
}
END

SUITE("memory");
