/*
 * Records and rings from memory, good ones and impossible ones.
 */
#include "capture/sampler/ring.h"
#include "capture/event.h"
#include "capture/host/record.h"

#include "lib/test.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <string.h>

#define RING 4096

/* A sample has NREGS registers, with the values 100, 101, ...; these are some
 * of them. */
static const struct {
	unsigned reg, value;
} registers[] = {
#if defined(__aarch64__)
#define NREGS 33
	{PERF_REG_ARM64_X0, 100},
	{PERF_REG_ARM64_LR, 130},
	{PERF_REG_ARM64_SP, 131},
	{PERF_REG_ARM64_PC, 132},
#else
#define NREGS 17
	{PERF_REG_X86_AX, 100},
	{PERF_REG_X86_SP, 107},
	{PERF_REG_X86_IP, 108},
	{PERF_REG_X86_R15, 116},
#endif
};

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	struct trailer trailer;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[16];
	struct trailer trailer;
};

struct sample_record {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t nchain, chain[2];
	uint64_t abi, regs[NREGS];
	uint64_t stack_size;
	uint8_t stack[64];
	uint64_t stack_filled;
};

static struct fork_record
fork_at(uint64_t time)
{
	return (struct fork_record){
		.header = {PERF_RECORD_FORK, 0, sizeof(struct fork_record)},
		.pid = 20,
		.ppid = 10,
		.tid = 20,
		.ptid = 10,
		.time = time,
		.trailer = {.time = time},
	};
}

static struct sample_record
sample(void)
{
	struct sample_record r = {
		.header = {PERF_RECORD_SAMPLE, 0, sizeof(r)},
		.ip = 0x1234,
		.pid = 10,
		.tid = 11,
		.time = 99,
		.nchain = 2,
		.chain = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000},
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.stack_size = 64,
		.stack_filled = 48,
	};

	for (unsigned i = 0; i < NREGS; i++)
		r.regs[i] = 100 + i;
	return r;
}

TEST(a_sample_is_read)
{
	struct sample_record raw = sample();
	struct record r;

	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert_int_eq(r.kind, RECORD_SAMPLE);
	ck_assert_uint_eq(r.pid, 10);
	ck_assert_uint_eq(r.tid, 11);
	ck_assert_uint_eq(r.time_ns, 99);
	ck_assert_uint_eq(r.sample.nchain, 2);
	ck_assert(r.sample.has_user);
	for (unsigned i = 0; i < ARRAY_LEN(registers); i++)
		ck_assert_uint_eq(r.sample.regs[registers[i].reg],
		                  registers[i].value);
	ck_assert_uint_eq(r.sample.stack_len, 48);
	ck_assert_ptr_eq(r.sample.stack, raw.stack);
}
END

TEST(what_follows_a_sample_of_the_clock_is_left_for_interpreters)
{
	struct {
		struct sample_record sample;
		uint64_t behind[2];
	} raw = {.sample = sample()};
	struct record r;

	ck_assert_int_eq(record_parse(&raw, sizeof(raw.sample), false, &r), 0);
	ck_assert_uint_eq(r.sample.behind_len, 0);
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert_ptr_eq(r.sample.behind, raw.behind);
	ck_assert_uint_eq(r.sample.behind_len, sizeof(raw.behind));
}
END

TEST(a_stack_may_go_on_above_a_copy_of_full_size_alone)
{
	struct sample_record raw = sample();
	struct record r;

	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert(!r.sample.stack_cut);
	raw.stack_filled = raw.stack_size;
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert(r.sample.stack_cut);
}
END

TEST(a_thread_without_a_user_part_is_told_from_one_of_32_bits)
{
	struct sample_record raw = sample();
	struct record r;

	raw.abi = PERF_SAMPLE_REGS_ABI_NONE;
	raw.regs[0] = 0; /* here it is the stack's size */
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert(r.sample.no_user && !r.sample.has_user);
	raw = sample();
	raw.abi = PERF_SAMPLE_REGS_ABI_32;
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert(!r.sample.no_user && !r.sample.has_user);
	ck_assert(r.sample.is_32);
}
END

TEST(a_sample_cut_anywhere_is_refused)
{
	struct sample_record whole = sample();

	for (size_t n = 0; n < sizeof(whole); n++) {
		/* Allocates exactly n bytes, so that a sanitizer sees a read
		 * beyond them. */
		CLEANUP_FREE char *cut = malloc(n + 1);
		struct record r;

		memcpy(cut, &whole, n);
		ck_assert_int_eq(record_parse(cut, n, false, &r), -EBADMSG);
	}
}
END

TEST(lengths_that_do_not_fit_are_refused)
{
	struct record r;
	struct sample_record raw = sample();

	raw.nchain = UINT64_MAX;
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), -EBADMSG);
	raw = sample();
	raw.nchain = UINT64_MAX / 8;
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), -EBADMSG);
	raw = sample();
	raw.stack_size = UINT64_MAX;
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), -EBADMSG);
	raw = sample();
	raw.stack_filled = 65;
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), -EBADMSG);
}
END

TEST(a_name_without_its_end_is_refused)
{
	struct comm_record raw = {
		.header = {PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
	                   sizeof(raw)},
		.pid = 5,
		.name = "true",
	};
	struct record r;

	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), 0);
	ck_assert_str_eq(r.comm.name, "true");
	ck_assert(r.comm.exec);
	memset(raw.name, 'x', sizeof(raw.name));
	ck_assert_int_eq(record_parse(&raw, sizeof(raw), false, &r), -EBADMSG);
}
END

/* --- rings, in memory of our own ------------------------------------------ */

struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[RING];
	uint8_t straight[RING_RECORD];
	struct ring ring;
};

static struct fake *
fake_new(uint64_t tail)
{
	struct fake *f = calloc(1, sizeof(*f));

	ck_assert_ptr_nonnull(f);
	f->page.data_head = f->page.data_tail = tail;
	f->ring = (struct ring){.fd = -1,
	                        .page = &f->page,
	                        .data = f->data,
	                        .size = RING,
	                        .tail = tail,
	                        .straight = f->straight};
	return f;
}

static void
put(struct fake *f, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f->data[(f->page.data_head + i) % RING] =
			((const uint8_t *)p)[i];
	f->page.data_head += n;
}

TEST(a_record_that_wraps_is_made_straight)
{
	CLEANUP_FREE struct fake *f = fake_new(RING * 3 - 24);
	struct fork_record raw = fork_at(7);
	struct record r;
	const void *p;
	size_t n;

	put(f, &raw, sizeof(raw));
	ring_look(&f->ring);
	ck_assert(ring_peek(&f->ring, &p, &n));
	ck_assert_uint_eq(record_time(p, n), 7);
	ck_assert_int_eq(record_parse(p, n, false, &r), 0);
	ck_assert_uint_eq(r.fork.ppid, 10);
	ring_next(&f->ring, n);
	ck_assert(!ring_peek(&f->ring, &p, &n));
	ck_assert_uint_eq(f->page.data_tail, f->page.data_head);
}
END

TEST(a_borrowed_ring_s_record_goes_on_behind_the_end)
{
	const struct fork_record one = fork_at(1), two = fork_at(2);
	struct perf_event_mmap_page page = {0};
	_Alignas(8) uint8_t data[RING + sizeof(one)];
	const size_t at = RING - sizeof(one) / 2;
	const void *p;
	struct ring r;
	size_t n;

	page.data_head = at; /* records that are there already are skipped */
	ring_borrow(&page, data, RING, sizeof(one), &r);
	ck_assert_uint_eq(page.data_tail, at);
	memcpy(data + at, &one, sizeof(one));
	memcpy(data + (at + sizeof(one)) % RING, &two, sizeof(two));
	page.data_head += 2 * sizeof(one);
	ring_look(&r);
	ck_assert(ring_peek(&r, &p, &n));
	ck_assert_ptr_eq(p, data + at);
	ring_next(&r, n);
	ck_assert(ring_peek(&r, &p, &n));
	ck_assert_mem_eq(p, &two, sizeof(two));
	ring_next(&r, n);
	ck_assert(!ring_peek(&r, &p, &n));
	ck_assert_uint_eq(page.data_tail, page.data_head);
	ring_close(&r);
}
END

TEST(what_came_after_the_look_waits)
{
	CLEANUP_FREE struct fake *f = fake_new(0);
	struct fork_record raw = fork_at(7);
	const void *p;
	size_t n;

	put(f, &raw, sizeof(raw));
	ring_look(&f->ring);
	put(f, &raw, sizeof(raw));
	ck_assert(ring_peek(&f->ring, &p, &n));
	ring_next(&f->ring, n);
	ck_assert(!ring_peek(&f->ring, &p, &n));
	ring_look(&f->ring);
	ck_assert(ring_peek(&f->ring, &p, &n));
}
END

TEST(an_impossible_length_empties_the_ring)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 65528};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		CLEANUP_FREE struct fake *f = fake_new(64);
		struct fork_record raw = fork_at(7);
		const void *p;
		size_t n;

		raw.header.size = sizes[i];
		put(f, &raw, sizeof(raw));
		ring_look(&f->ring);
		ck_assert(!ring_peek(&f->ring, &p, &n));
		ck_assert_uint_eq(f->ring.bad, 1);
		ck_assert_uint_eq(f->page.data_tail, f->page.data_head);
	}
}
END

SUITE("ring");
