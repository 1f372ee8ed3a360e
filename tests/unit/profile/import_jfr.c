#include "base/file.h"
#include "lib/imported.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The recordings are small files with the classes, constants and events of a
 * JVM or of async-profiler. Values and stacks: jfr print of OpenJDK 17. */

TEST(execution_samples_of_a_jvm_are_cpu_time_by_the_period_that_was_set)
{
	imported_file_is(
		"", "jfr", 0,
		"jfr cpu samples/count cpu/nanoseconds\n"
		"java.lang.Thread.run;com.shop.Cart.total;com.shop.Cart.price "
		"2 40000000\n"
		"java.lang.Thread.run;com.shop.Cart.total 1 20000000\n"
		"it also has alloc, mutex, block: --type chooses\n"
		"1 jdk.NativeMethodSample left out: threads in native code may "
		"be waiting\n");
}
END

TEST(allocations_and_waits_of_a_recording_are_profiles_of_their_types)
{
	static const char *const rows[][2] = {
		{"alloc",
	         "jfr alloc alloc_samples/count alloc_space/bytes\n"
	         "java.lang.Thread.run;com.shop.Cart.total 1 300000\n"
	         "java.lang.Thread.run;com.shop.Cart.total;com.shop.Cart.price "
	         "1 70000\n"
	         "it also has cpu, mutex, block: --type chooses\n"},
		{"mutex",
	         "jfr mutex mutex_count/count mutex_duration/nanoseconds\n"
	         "java.lang.Thread.run;com.shop.Cart.total 1 1500000\n"
	         "it also has cpu, alloc, block: --type chooses\n"},
		{"block",
	         "jfr block contentions/count delay/nanoseconds\n"
	         "java.lang.Thread.run;com.shop.Cart.total 1 25000000\n"
	         "it also has cpu, alloc, mutex: --type chooses\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		imported_file_is(rows[i][0], "jfr", 0, rows[i][1]);
	imported_file_is("wall", "jfr", -EBADMSG,
	                 "it has no values of a wall profile; its types are "
	                 "cpu, alloc, mutex, block");
}
END

TEST(a_recording_of_async_profiler_has_its_own_intervals)
{
	imported_file_is(
		"", "jfr.async", 0,
		"jfr cpu samples/count cpu/nanoseconds\n"
		"java.lang.Thread.run;com.shop.Cart.total;com.shop.Cart.price "
		"1 5000000\n"
		"W$$Lambda.run;__memcpy 1 5000000\n"
		"it also has wall, alloc: --type chooses\n"
		"stacks that the recorder cut: 1; "
		"-XX:FlightRecorderOptions=stackdepth=512 keeps more\n");
	imported_file_is(
		"wall", "jfr.async", 0,
		"jfr wall samples/count wall/nanoseconds\n"
		"java.lang.Thread.run;com.shop.Cart.total 7 700000000\n"
		"java.lang.Thread.run;com.shop.Cart.total;com.shop.Cart.price "
		"1 100000000\n"
		"it also has cpu, alloc: --type chooses\n");
	imported_file_is("", "jfr.wall", 0,
	                 "jfr wall samples/count wall/nanoseconds\n"
	                 "java.lang.Thread.run;com.shop.Cart.total;"
	                 "com.shop.Cart.price 1 50000000\n"
	                 "java.lang.Thread.run;com.shop.Cart.total 1 "
	                 "50000000\n");
}
END

TEST(a_new_buffer_stands_for_all_that_was_allocated_in_the_last)
{
	imported_file_is("alloc", "jfr.async", 0,
	                 "jfr alloc alloc_samples/count alloc_space/bytes\n"
	                 "java.lang.Thread.run;com.shop.Cart.total 2 4194304\n"
	                 "it also has cpu, wall: --type chooses\n"
	                 "1 jdk.ObjectAllocationSample left out: the events of "
	                 "buffers have all allocations\n");
}
END

TEST(chunks_of_a_recording_are_added_up_each_in_its_ticks)
{
	imported_file_is(
		"", "jfr.chunks", 0,
		"jfr cpu samples/count cpu/nanoseconds\n"
		"java.lang.Thread.run;com.shop.Cart.total;com.shop.Cart.price "
		"1 10000000\n"
		" 1 10000000\n"
		"java.lang.Thread.run;com.shop.Cart.total 1 30000000\n"
		"1 jdk.ExecutionSample left out: jdk.CPUTimeSample has the CPU "
		"time\n"
		"samples without a stack, which the recorder could not read: "
		"1\n");
}
END

TEST(the_samples_of_each_chunk_last_as_its_settings_say)
{
	CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	size_t n;
	char *set;

	ck_assert_int_eq(file_read(AT_FDCWD, "tests/data/fuzz/import/jfr", &in),
	                 0);
	n = in.len;
	buf_add(&in, in.p, n);
	set = memmem(in.p + n, n, "20 ms", 5);
	ck_assert_ptr_nonnull(set);
	*set = '4';
	ck_assert_int_eq(imported("cpu", in.p, in.len, &got), 0);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&got), "com.shop.Cart.price 4 120000000\n"));
}
END

TEST(a_recording_without_such_events_is_refused_with_how_to_record)
{
	imported_file_is("", "jfr.none", -EBADMSG,
	                 "it has no events of CPU time, wall time, "
	                 "allocations or locks: record with "
	                 "-XX:StartFlightRecording=settings=profile");
}
END

static void
load(struct buf *out)
{
	ck_assert_int_eq(file_read(AT_FDCWD, "tests/data/fuzz/import/jfr", out),
	                 0);
}

TEST(what_the_jvm_lost_is_noted)
{
	imported_file_is(
		"", "jfr.lost", 0,
		"jfr cpu samples/count cpu/nanoseconds\n"
		"java.lang.Thread.run;com.shop.Cart.total;com.shop.Cart.price "
		"2 40000000\n"
		"java.lang.Thread.run;com.shop.Cart.total 1 20000000\n"
		"it also has mutex, block: --type chooses\n"
		"samples of CPU time that the JVM lost: 1\n"
		"the JVM lost 370000 bytes of events: "
		"-XX:FlightRecorderOptions=memorysize=50m loses less\n");
}
END

TEST(a_recording_that_is_cut_off_or_not_finished_is_refused)
{
	CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);

	load(&in);
	for (size_t n = 4; n < in.len; n++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(imported("", in.p, n, &got), -EBADMSG);
		ck_assert_str_eq(
			buf_str(&got),
			n < 68 ? "chunk 1, byte 0: no chunk begins "
				 "here"
			       : "chunk 1, byte 0: the chunk is longer "
				 "than the file");
	}
	memset(in.p + 8, 0, 8);
	{
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(imported("", in.p, in.len, &got), -EBADMSG);
		ck_assert_str_eq(buf_str(&got),
		                 "chunk 1, byte 0: the recording is not "
		                 "finished: stop it, or dump it with `jcmd PID "
		                 "JFR.dump`");
	}
}
END

TEST(any_wrong_byte_of_a_recording_is_survived)
{
	CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);

	load(&in);
	for (size_t i = 0; i < in.len; i++)
		for (int by = 1; by < 256; by *= 4) {
			CLEANUP_BUF struct buf got = BUF_INIT(1 << 20);
			int rc;

			in.p[i] ^= (char)by;
			rc = imported("", in.p, in.len, &got);
			in.p[i] ^= (char)by;
			ck_assert_msg(!rc || got.len > 0, "byte %zu", i);
		}
}
END

SUITE("import_jfr");
