#include "endpoint/call/counters.h"
#include "lib/store.h"
#include "lib/test.h"

#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t bounds[] = COUNTERS_BOUNDS;

/* Returns the number of requests of a histogram up to a bound. */
static long
up_to(const char *text, int64_t bound)
{
	char le[48];
	const char *at;

	snprintf(le, sizeof(le), ",le=\"%g\"} ", (double)bound / 1e6);
	at = strstr(text, le);
	ck_assert_ptr_nonnull(at);
	return strtol(at + strlen(le), NULL, 10);
}

TEST(a_request_is_counted_up_to_the_bound_that_it_does_not_exceed)
{
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
		char dir[] = "/tmp/stoker-test.XXXXXX";
		struct counters *c;

		ck_assert_ptr_nonnull(mkdtemp(dir));
		ck_assert_int_eq(counters_open(dir, 2, 1, &c), 0);
		counters_request(c, 0, 200, bounds[i]);
		counters_request(c, 0, 200, bounds[i] + 1);
		counters_write(c, &text);
		counters_close(c);
		test_remove(dir);
		ck_assert_int_eq(up_to(buf_str(&text), bounds[i]), 1);
		if (i)
			ck_assert_int_eq(up_to(buf_str(&text), bounds[i - 1]),
			                 0);
	}
}
END

/* A write to a mapped page for which the disk has no room ends the process.
 * Source: mmap(2), SIGBUS. */
TEST(the_page_of_a_pool_has_its_room_on_the_disk)
{
	char dir[] = "/tmp/stoker-test.XXXXXX", path[128];
	struct counters *c;
	struct stat st;
	glob_t names;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(counters_open(dir, 2, 1, &c), 0);
	snprintf(path, sizeof(path), "%s/pool-*", dir);
	ck_assert_int_eq(glob(path, 0, NULL, &names), 0);
	ck_assert_int_eq(stat(names.gl_pathv[0], &st), 0);
	ck_assert_int_gt(st.st_size, 0);
	ck_assert_int_ge(st.st_blocks * 512, st.st_size);
	globfree(&names);
	counters_close(c);
	test_remove(dir);
}
END

SUITE("counters");
