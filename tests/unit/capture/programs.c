/* The kernel's verifier refuses a program if it must process more than a
 * million instructions. Ours leave room for more languages. */
#include "capture/event.h"
#include "capture/waits.h"
#include "lib/test.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#define MOST 200000

static uint32_t
processed(int prog)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	ck_assert_int_eq(bpf_obj_get_info_by_fd(prog, &info, &bytes), 0);
	return info.verified_insns;
}

TEST(the_filter_follows_frames_and_is_soon_verified)
{
	const struct filter_ask ask = {(uint32_t)sysconf(_SC_NPROCESSORS_CONF),
	                               FILTER_LEAST_RING};
	struct filter f;
	int rc = filter_open(&ask, &f);

	if (rc == -EPERM || rc == -EACCES)
		SKIP("may not load programs");
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(f.nfds, FILTER_FDS);
	ck_assert_uint_le(processed(f.fds[FILTER_PROGRAM]), MOST);
	filter_close(&f);
}
END

TEST(programs_that_measure_waits_are_soon_verified)
{
	const struct waits_ask ask = {.results = false};
	struct waits w;
	int rc = waits_open(&ask, &w);

	if (rc == -EPERM || rc == -EACCES)
		SKIP("may not load programs");
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_le(processed(w.fds[WAITS_FAULTS]), MOST);
	for (int i = 0; i < WAITS_FDS; i++)
		close(w.fds[i]);
}
END

SUITE("programs");
