#include "profile/timeline.h"

#include "lib/folded.h"
#include "lib/test.h"
#include "profile/gzip.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <string.h>

static struct timeline *
example(void)
{
	static const struct timeline_thread threads[] = {
		{7, 7, TIMELINE_UNSEEN, TIMELINE_UNSEEN, "main"},
		{7, 9, 0, 90, "\xFF\"worker"},
	};
	static const struct timeline_sample samples[] = {
		{10, 10101010, 0, 0, TIMELINE_CPU},
		{10, 10101010, 1, 2, TIMELINE_CPU},
		{80, 5, 1, 0, TIMELINE_BLOCKED},
		{TIMELINE_MAX_US - 1, UINT64_MAX, 0, 1, TIMELINE_CPU},
	};
	static const struct timeline_event events[] = {
		{0, 1, TIMELINE_FORK, 7, 7, ""},
		{50, 0, TIMELINE_EXEC, 7, 7, "other"},
		{60, 3, TIMELINE_LOST, 0, 0, ""},
	};
	static const struct timeline_counter counters[] = {
		{0, UINT64_C(1) << 40, 12, 7}, {500000, 0, 17, 7}};
	struct timeline *t = timeline_new();

	ck_assert_ptr_nonnull(t);
	t->start_ns = -1;
	t->duration_us = 99;
	t->period_ns = 10101010;
	t->cpus = 64;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		ck_assert_int_eq(timeline_thread(t, &threads[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		ck_assert_int_eq(timeline_sample(t, &samples[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		ck_assert_int_eq(timeline_event(t, &events[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		ck_assert_int_eq(timeline_counter(t, &counters[i]), 0);
	return t;
}

static int
decode(const struct buf *b, struct timeline **out)
{
	return timeline_decode(b->p, b->len, TIMELINE_MAX_BYTES, out);
}

/* Reads these bytes after packing them as a file. */
static int
decode_raw(const void *p, size_t n)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TIMELINE struct timeline *t = NULL;

	ck_assert_int_eq(gzip_deflate(p, n, &file), 0);
	return decode(&file, &t);
}

TEST(what_is_written_is_read)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf again = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TIMELINE struct timeline *a = example(), *b = NULL;

	ck_assert_int_eq(timeline_encode(a, &file), 0);
	ck_assert_int_eq(decode(&file, &b), 0);
	ck_assert_int_eq(b->start_ns, -1);
	ck_assert_uint_eq(b->duration_us, 99);
	ck_assert_uint_eq(b->period_ns, 10101010);
	ck_assert_uint_eq(b->cpus, 64);
	ck_assert_uint_eq(b->nsamples, a->nsamples);
	for (uint32_t i = 0; i < a->nsamples; i++) {
		ck_assert_uint_eq(b->samples[i].time_us, a->samples[i].time_us);
		ck_assert_uint_eq(b->samples[i].weight_ns,
		                  a->samples[i].weight_ns);
		ck_assert_uint_eq(b->samples[i].thread, a->samples[i].thread);
		ck_assert_uint_eq(b->samples[i].sample, a->samples[i].sample);
		ck_assert_uint_eq(b->samples[i].kind, a->samples[i].kind);
	}
	ck_assert_uint_eq(b->threads[0].started_us, TIMELINE_UNSEEN);
	ck_assert_uint_eq(b->threads[1].started_us, 0);
	ck_assert_uint_eq(b->threads[1].ended_us, 90);
	ck_assert_str_eq(b->threads[1].name, "\xFF\"worker");
	ck_assert_str_eq(b->events[1].name, "other");
	ck_assert_uint_eq(b->counters[1].cpu_us, 17);
	ck_assert_int_eq(timeline_encode(b, &again), 0);
	ck_assert_uint_eq(again.len, file.len);
	ck_assert_mem_eq(again.p, file.p, file.len);
}
END

TEST(an_empty_timeline_is_one)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TIMELINE struct timeline *a = timeline_new(), *b = NULL;

	ck_assert_int_eq(timeline_encode(a, &file), 0);
	ck_assert_int_eq(decode(&file, &b), 0);
	ck_assert_uint_eq(b->nsamples, 0);
}
END

TEST(samples_are_rows_of_the_profile)
{
	CLEANUP_TIMELINE struct timeline *t = example();
	CLEANUP_PROFILE struct profile *three = profile_of("a 1\nb 1\nc 1\n");
	CLEANUP_PROFILE struct profile *two = profile_of("a 1\nb 1\n");

	ck_assert_int_eq(timeline_fits(t, three), 0);
	ck_assert_int_eq(timeline_fits(t, two), -EBADMSG);
}
END

TEST(what_is_cut_short_is_refused_or_shorter)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TIMELINE struct timeline *t = example();
	int rc = 0;

	ck_assert_int_eq(timeline_encode(t, &file), 0);
	ck_assert_int_eq(gzip_inflate(file.p, file.len, &raw), 0);
	ck_assert_int_eq(decode_raw(raw.p, raw.len), 0);
	for (size_t n = raw.len - 1; n; n--) {
		rc = decode_raw(raw.p, n);
		ck_assert(rc == 0 || rc == -EBADMSG || rc == -EPROTONOSUPPORT);
	}
}
END

/* A column is a key, a length and one-byte varints. */
TEST(columns_and_rows_must_make_sense)
{
	static const struct {
		const char *what, *bytes;
		size_t n;
		int rc;
	} files[] = {
		{"version 1", "\x08\x01", 2, 0},
		{"no version", "", 0, -EPROTONOSUPPORT},
		{"version 2", "\x08\x02", 2, -EPROTONOSUPPORT},
		{"a thread and its sample",
	         "\x08\x01\x2a\x00\x42\x01\x00\x4a\x01\x00\x52\x01\x00\x5a\x01"
	         "\x00\x62\x01\x00",
	         19, 0},
		{"a sample of no thread",
	         "\x08\x01\x42\x01\x00\x4a\x01\x00\x52\x01\x00\x5a\x01\x00\x62"
	         "\x01\x00",
	         17, -EBADMSG},
		{"a kind that is none",
	         "\x08\x01\x2a\x00\x42\x01\x00\x4a\x01\x00\x52\x01\x00\x5a\x01"
	         "\x00\x62\x01\x02",
	         19, -EBADMSG},
		{"a column too short",
	         "\x08\x01\x2a\x00\x42\x01\x00\x4a\x01\x00\x52\x01\x00\x5a\x01"
	         "\x00",
	         16, -EBADMSG},
		{"a column too long",
	         "\x08\x01\x2a\x00\x42\x01\x00\x4a\x02\x00\x00\x52\x01\x00\x5a"
	         "\x01\x00\x62\x01\x00",
	         20, -EBADMSG},
		{"an event of no kind", "\x08\x01\x32\x02\x10\x07", 6,
	         -EBADMSG},
		{"events back in time",
	         "\x08\x01\x32\x02\x08\x02\x32\x02\x08\x01", 10, -EBADMSG},
		{"counters back in time",
	         "\x08\x01\x3a\x02\x08\x02\x3a\x02\x08\x01", 10, -EBADMSG},
		{"an unknown field", "\x08\x01\xf8\x01\x05", 5, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		ck_assert_msg(decode_raw(files[i].bytes, files[i].n) ==
		                      files[i].rc,
		              "%s", files[i].what);
}
END

TEST(names_and_times_have_bounds)
{
	static const struct {
		size_t name;
		uint64_t started;
		int rc;
	} rows[] = {
		{TIMELINE_NAME_MAX - 1, TIMELINE_MAX_US, 0},
		{TIMELINE_NAME_MAX, 1, -EBADMSG},
		{1, TIMELINE_MAX_US + 1, -EBADMSG},
	};
	static const char name[TIMELINE_NAME_MAX] = "";

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_SMALL);
		size_t place;

		wire_put_number(&raw, 1, TIMELINE_VERSION);
		place = wire_open(&raw, 5);
		wire_put_bytes(&raw, 3, name, rows[i].name);
		wire_put_number(&raw, 4, rows[i].started);
		wire_close(&raw, place);
		ck_assert_int_eq(decode_raw(raw.p, raw.len), rows[i].rc);
	}
}
END

TEST(more_threads_than_allowed_are_refused)
{
	CLEANUP_TIMELINE struct timeline *t = timeline_new();
	struct timeline_thread row = {.pid = 1};

	for (uint32_t i = 0; i < TIMELINE_MAX_THREADS; i++)
		ck_assert_int_eq(timeline_thread(t, &row), 0);
	ck_assert_int_eq(timeline_thread(t, &row), -E2BIG);
	ck_assert_uint_eq(t->nthreads, TIMELINE_MAX_THREADS);
}
END

TEST(a_file_that_inflates_past_the_limit_is_refused)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TIMELINE struct timeline *t = example(), *back = NULL;

	ck_assert_int_eq(timeline_encode(t, &file), 0);
	ck_assert_int_eq(timeline_decode(file.p, file.len, 16, &back), -E2BIG);
	ck_assert_int_eq(timeline_decode("x", 1, 16, &back), -EBADMSG);
	ck_assert_ptr_null(back);
}
END

/* --- parts --- */

#define STEP_US 1000

/* Puts the samples of a profile, in order, alternately into the two threads of
 * a timeline. */
static struct timeline *
line_of(const struct profile *p)
{
	struct timeline *t = timeline_new();
	struct timeline_sample s = {.weight_ns = FOLDED_PERIOD_NS};

	for (uint32_t tid = 7; tid <= 8; tid++)
		ck_assert_int_eq(timeline_thread(t,
		                                 &(struct timeline_thread){
							 .pid = 7, .tid = tid}),
		                 0);
	for (; s.sample < p->nsamples; s.sample++)
		for (int64_t i = 0; i < p->values[s.sample * p->ntypes]; i++) {
			ck_assert_int_eq(timeline_sample(t, &s), 0);
			s.time_us += STEP_US;
			s.thread = !s.thread;
		}
	t->duration_us = s.time_us;
	return t;
}

static const char all_of_it[] = "a 3\nb 2\nc 4\n";
#define ALL UINT64_MAX

static const struct {
	struct timeline_part parts[2];
	int64_t counts[3]; /* samples in the first part, by row */
} halves[] = {
	{{{0, 4000, 0}, {4000, ALL, 0}}, {3, 1, 0}},
	{{{0, 3999, 0}, {3999, ALL, 0}}, {3, 1, 0}},
	{{{0, 4001, 0}, {4001, ALL, 0}}, {3, 2, 0}},
	{{{0, ALL, 7}, {0, ALL, 8}}, {2, 1, 2}},
	{{{0, ALL, 0}, {ALL, ALL, 0}}, {3, 2, 4}},
	{{{0, ALL, 9}, {0, ALL, 0}}, {0, 0, 0}},
};

TEST_EACH(parts_of_a_profile_add_up_to_it, halves)
{
	CLEANUP_PROFILE struct profile *whole = profile_of(all_of_it);
	CLEANUP_TIMELINE struct timeline *t = line_of(whole);
	int64_t sums[3][2] = {{0}};

	for (size_t k = 0; k < 2; k++) {
		CLEANUP_PROFILE struct profile *p = profile_of(all_of_it);

		ck_assert_int_eq(
			timeline_cut_profile(t, &halves[_i].parts[k], p), 0);
		for (uint32_t i = 0; i < p->nsamples; i++) {
			const int64_t *v = &p->values[i * p->ntypes];

			if (!k)
				ck_assert_int_eq(v[0], halves[_i].counts[i]);
			ck_assert_int_eq(v[1], v[0] * FOLDED_PERIOD_NS);
			sums[i][0] += v[0];
			sums[i][1] += v[1];
		}
	}
	for (uint32_t i = 0; i < whole->nsamples; i++)
		for (uint32_t k = 0; k < 2; k++)
			ck_assert_int_eq(sums[i][k], whole->values[i * 2 + k]);
}
END

TEST(a_part_has_its_share_of_values_that_are_neither_samples_nor_time)
{
	CLEANUP_PROFILE struct profile *p = profile_of(all_of_it);
	CLEANUP_TIMELINE struct timeline *t = line_of(p);
	const struct timeline_part part = {.to_us = 4000};
	static const int64_t values[] = {300, 201, 400}, cut[] = {300, 100, 0};

	ck_assert_int_eq(profile_cstring(p, "bytes", &p->types[1].unit), 0);
	for (uint32_t i = 0; i < p->nsamples; i++)
		p->values[i * p->ntypes + 1] = values[i];
	ck_assert_int_eq(timeline_cut_profile(t, &part, p), 0);
	for (uint32_t i = 0; i < p->nsamples; i++)
		ck_assert_int_eq(p->values[i * p->ntypes + 1], cut[i]);
}
END

TEST(times_of_a_part_begin_with_it)
{
	CLEANUP_TIMELINE struct timeline *t = example();

	timeline_cut(t, &(struct timeline_part){.from_us = 10, .to_us = 90});
	ck_assert_uint_eq(t->nsamples, 3);
	ck_assert_uint_eq(t->samples[0].time_us, 0);
	ck_assert_uint_eq(t->samples[2].time_us, 70);
	ck_assert_uint_eq(t->nevents, 2);
	ck_assert_uint_eq(t->events[0].time_us, 40);
	ck_assert_uint_eq(t->ncounters, 0);
	ck_assert_uint_eq(t->duration_us, 80);
	ck_assert_int_eq(t->start_ns, -1 + 10000);
	ck_assert_uint_eq(t->threads[1].started_us, TIMELINE_UNSEEN);
	ck_assert_uint_eq(t->threads[1].ended_us, TIMELINE_UNSEEN);
}
END

TEST(a_timeline_of_another_profile_cuts_nothing)
{
	CLEANUP_TIMELINE struct timeline *t = example();
	CLEANUP_PROFILE struct profile *two = profile_of("a 1\nb 1\n");
	const struct timeline_part part = {.to_us = 50};

	ck_assert_int_eq(timeline_cut_profile(t, &part, two), -EBADMSG);
	ck_assert_int_eq(two->values[0], 1);
}
END

SUITE("timeline");
