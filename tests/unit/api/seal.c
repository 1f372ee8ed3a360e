#include "api/seal.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

TEST(what_is_sealed_opens_with_its_secret_alone)
{
	CLEANUP_BUF struct buf sealed = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf plain = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(seal("secret", "text", 4, &sealed), 0);
	ck_assert_ptr_null(strstr(buf_str(&sealed), "text"));
	ck_assert_int_eq(unseal("other", buf_str(&sealed), &plain), -EBADMSG);
	ck_assert_uint_eq(plain.len, 0);
	ck_assert_int_eq(unseal("secret", buf_str(&sealed), &plain), 0);
	ck_assert_uint_eq(plain.len, 4);
	ck_assert_int_eq(memcmp(plain.p, "text", 4), 0);
}
END

TEST(an_altered_text_does_not_open)
{
	CLEANUP_BUF struct buf sealed = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(seal("secret", "text", 4, &sealed), 0);
	for (size_t i = 0; i < sealed.len; i++) {
		CLEANUP_BUF struct buf plain = BUF_INIT(BUF_MAX_SMALL);
		char was = sealed.p[i];

		sealed.p[i] = was == '0' ? '1' : '0';
		ck_assert_int_eq(unseal("secret", sealed.p, &plain), -EBADMSG);
		sealed.p[i] = was;
	}
}
END

static const char *const broken[] = {"", "0", "zz", "00",
                                     "00000000000000000000000000000000000000"
                                     "00000000000000000"};

TEST(what_was_never_sealed_does_not_open)
{
	CLEANUP_BUF struct buf plain = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(broken); i++)
		ck_assert_int_eq(unseal("s", broken[i], &plain), -EBADMSG);
}
END

SUITE("seal", what_is_sealed_opens_with_its_secret_alone,
      an_altered_text_does_not_open, what_was_never_sealed_does_not_open)
