/* A pprof file holds all of a profile: reading it returns what was written. */
#include "lib/any_profile.h"
#include "lib/same_profile.h"
#include "lib/test.h"
#include "profile/pprof.h"

#define MAX_BYTES ((size_t)1 << 20)

TEST(no_field_of_any_profile_is_lost)
{
	for (unsigned seed = 0; seed < 500; seed++) {
		CLEANUP_PROFILE struct profile *a = any_profile(seed);
		CLEANUP_PROFILE struct profile *b = NULL;
		CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		const char *what;

		ck_assert_int_eq(pprof_encode(a, &file), 0);
		ck_assert_int_eq(
			pprof_decode(file.p, file.len, MAX_BYTES, &b, &why), 0);
		what = profile_differs(a, b);
		ck_assert_msg(!what, "%s, seed %u", what, seed);
	}
}
END

SUITE("pprof_again");
