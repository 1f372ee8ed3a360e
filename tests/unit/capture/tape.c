#include "capture/recorder/tape.h"

#include "lib/test.h"

#include <errno.h>
#include <string.h>

#define START_NS UINT64_C(5000000000)
#define ROOM     ((size_t)1 << 20)

static uint64_t
at(uint64_t us)
{
	return START_NS + us * 1000;
}

static struct timeline *
finish(const struct tape *t)
{
	static const uint32_t rows[] = {0, 10, 11, 12};
	struct timeline *line = NULL;

	ck_assert_int_eq(tape_timeline(t, rows, &line), 0);
	return line;
}

TEST(samples_name_the_rows_that_their_nodes_became)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);
	CLEANUP_TIMELINE struct timeline *line = NULL;

	tape_sample(t, 7, 7, at(10), 3, 100);
	tape_sample(t, 7, 8, at(20), 1, 200);
	tape_sample(t, 7, 7, at(30), 3, 100);
	line = finish(t);
	ck_assert_uint_eq(line->nsamples, 3);
	ck_assert_uint_eq(line->samples[0].sample, 12);
	ck_assert_uint_eq(line->samples[1].sample, 10);
	ck_assert_uint_eq(line->samples[1].weight_ns, 200);
	ck_assert_uint_eq(line->samples[2].time_us, 30);
	ck_assert_uint_eq(line->samples[2].thread, line->samples[0].thread);
	ck_assert_uint_eq(line->nthreads, 2);
	ck_assert_uint_eq(line->threads[1].tid, 8);
	ck_assert_uint_eq(line->threads[1].started_us, TIMELINE_UNSEEN);
}
END

TEST(time_never_runs_back)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);
	CLEANUP_TIMELINE struct timeline *line = NULL;

	tape_sample(t, 7, 7, START_NS - 1, 1, 1);
	tape_sample(t, 7, 7, at(50), 1, 1);
	tape_sample(t, 7, 7, at(40), 1, 1);
	line = finish(t);
	ck_assert_uint_eq(line->samples[0].time_us, 0);
	ck_assert_uint_eq(line->samples[1].time_us, 50);
	ck_assert_uint_eq(line->samples[2].time_us, 50);
}
END

TEST(a_new_thread_has_its_makers_name_until_it_takes_its_own)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);

	tape_named(t, 7, 7, "main", 16);
	tape_born(t, 7, 8, at(10), 7, 7);
	ck_assert_str_eq(t->line->threads[1].name, "main");
	ck_assert_uint_eq(t->line->threads[1].started_us, 10);
	tape_named(t, 7, 8, "not ended by NUL", 5);
	ck_assert_str_eq(t->line->threads[1].name, "not e");
}
END

TEST(samples_keep_the_name_of_the_program_that_they_are_of)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);

	tape_named(t, 7, 7, "sh", 16);
	tape_executed(t, 7, 7, at(1), "make", 16); /* without samples */
	tape_sample(t, 7, 7, at(2), 0, 1);
	tape_executed(t, 7, 7, at(3), "cc1", 16);
	tape_sample(t, 7, 7, at(4), 0, 1);
	ck_assert_uint_eq(t->line->nthreads, 2);
	ck_assert_str_eq(t->line->threads[0].name, "make");
	ck_assert_str_eq(t->line->threads[1].name, "cc1");
	ck_assert_uint_eq(t->line->threads[0].started_us, TIMELINE_UNSEEN);
	ck_assert_uint_eq(t->line->threads[0].ended_us, 3);
	ck_assert_uint_eq(t->line->threads[1].started_us, 3);
	ck_assert_uint_eq(t->line->threads[1].ended_us, TIMELINE_UNSEEN);
	ck_assert_uint_eq(t->line->samples[0].thread, 0);
	ck_assert_uint_eq(t->line->samples[1].thread, 1);
}
END

TEST(a_number_used_again_is_another_thread)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);

	tape_born(t, 7, 8, at(10), 7, 7);
	tape_sample(t, 7, 8, at(11), 1, 1);
	tape_died(t, 7, 8, at(20));
	tape_born(t, 7, 8, at(30), 7, 7);
	tape_sample(t, 7, 8, at(31), 1, 1);
	ck_assert_uint_eq(t->line->nthreads, 3);
	ck_assert_uint_ne(t->line->samples[0].thread,
	                  t->line->samples[1].thread);
	ck_assert_uint_eq(t->line->threads[1].ended_us, 20);
	ck_assert_uint_eq(t->line->threads[2].ended_us, TIMELINE_UNSEEN);
}
END

/* The kernel reports the end of a thread before its last moment on a CPU. */
TEST(a_sample_after_the_end_of_a_thread_is_that_thread_s)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);

	tape_named(t, 7, 7, "cc1", 16);
	tape_sample(t, 7, 7, at(10), 0, 1);
	tape_died(t, 7, 7, at(20));
	tape_sample(t, 7, 7, at(21), 0, 1);
	ck_assert_uint_eq(t->line->nthreads, 1);
	ck_assert_uint_eq(t->line->samples[1].thread, 0);
	ck_assert_uint_eq(t->line->threads[0].ended_us, 21);
	tape_named(t, 7, 7, "as", 16);
	ck_assert_uint_eq(t->line->nthreads, 2);
}
END

/* Expects that the tape reports once that it is full, as its last event. */
static void
expect_full(const struct tape *t)
{
	const struct timeline *l = t->line;

	ck_assert(t->full);
	ck_assert_uint_ge(l->nevents, 1);
	ck_assert_uint_eq(l->events[l->nevents - 1].kind, TIMELINE_FULL);
	for (uint32_t i = 0; i + 1 < l->nevents; i++)
		ck_assert_uint_ne(l->events[i].kind, TIMELINE_FULL);
}

TEST(used_up_room_ends_the_timeline_and_says_so)
{
	const struct timeline_event e = {.kind = TIMELINE_LOST};
	const struct timeline_counter c = {.pid = 7};

	for (int what = 0; what < 4; what++) {
		CLEANUP(tape_free_ptr)
		struct tape *t = tape_new(START_NS, 4096);
		uint32_t samples;

		for (uint32_t i = 1; i < 4096; i++) {
			if (what == 0)
				tape_sample(t, 7, 7, at(i), 1, 1);
			else if (what == 1)
				tape_event(t, at(i), &e);
			else if (what == 2)
				tape_born(t, 7, i, at(i), 7, 7);
			else
				tape_counter(t, at(i), &c);
		}
		expect_full(t);
		samples = t->line->nsamples;
		tape_sample(t, 7, 7, at(9999), 1, 1);
		ck_assert_uint_eq(t->line->nsamples, samples);
	}
}
END

TEST(all_of_it_fits_into_its_room)
{
	CLEANUP(tape_free_ptr) struct tape *t = tape_new(START_NS, ROOM);
	const struct timeline *l = t->line;

	for (uint32_t i = 0; !t->full; i++)
		tape_sample(t, 7, 7 + i % 4, at(i), 1, 1);
	ck_assert_uint_le(l->nsamples * sizeof(*l->samples), ROOM / 2);
	ck_assert_uint_ge((l->nsamples + 1) * sizeof(*l->samples), ROOM / 2);
}
END

TEST(without_a_tape_nothing_is_kept_and_nothing_fails)
{
	const struct timeline_event e = {0};
	const struct timeline_counter c = {0};

	ck_assert_ptr_null(tape_new(START_NS, 0));
	tape_sample(NULL, 1, 1, 1, 1, 1);
	tape_born(NULL, 1, 1, 1, 1, 1);
	tape_died(NULL, 1, 1, 1);
	tape_named(NULL, 1, 1, "", 1);
	tape_event(NULL, 1, &e);
	tape_counter(NULL, 1, &c);
}
END

SUITE("tape");
