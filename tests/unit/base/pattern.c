#include "base/pattern.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *pattern;
	int expected;
} compiled[] = {
	{"", 0},
	{"^/usr/bin/java .*-jar", 0},
	{"a{100}", 0},
	{"a{101}", -EINVAL},
	{"a{1,101}", -EINVAL},
	{"a{2}b{2}", -EINVAL},
	{"((a{9}){9}){9}", -EINVAL},
	{"(((a+)+)+)+", 0},
	{"(a)+(b)+(c|d+)+", 0},
	{"((((((((((((((((((((a)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+",
         -EINVAL},
	{"a++++++++++++++++++++", -EINVAL},
	{"((a|)*){16}", 0},
	{"((a|)*){17}", -EINVAL},
	{"a?++++", 0},
	{"a?+++++", -EINVAL},
	{"(a|)****************", 0},
	{"(a|)*****************", -EINVAL},
	{"(a){9}++++++++++++++++++++", -EINVAL},
	{"[+][+]+[++++++++++++++++++++++++++++]\\++", 0},
	{"[{]{2}[}{{]", 0},
	{"[]{][^]{]{3}", 0},
	{"\\{\\{\\{", 0},
	{"(a*)*\\1", -EINVAL},
	{"\\\\1", 0},
	{"(", -EINVAL},
	{"[", -EINVAL},
	{"a\\", -EINVAL},
	{"a{", -EINVAL},
};

TEST(patterns_are_bounded_before_they_are_compiled)
{
	for (size_t i = 0; i < ARRAY_LEN(compiled); i++) {
		regex_t re;
		int rc = pattern_compile(compiled[i].pattern, &re);

		ck_assert_msg(rc == compiled[i].expected, "%s: %d",
		              compiled[i].pattern, rc);
		if (!rc)
			regfree(&re);
	}
}
END

TEST(a_pattern_may_be_as_long_as_its_limit)
{
	char text[PATTERN_MAX + 2];
	regex_t re;

	memset(text, 'a', sizeof(text));
	text[PATTERN_MAX + 1] = '\0';
	ck_assert_int_eq(pattern_compile(text, &re), -E2BIG);
	text[PATTERN_MAX] = '\0';
	ck_assert_int_eq(pattern_compile(text, &re), 0);
	regfree(&re);
}
END

TEST(a_text_is_matched_up_to_its_limit)
{
	char text[PATTERN_TEXT_MAX + 2];
	regex_t re;

	memset(text, 'a', sizeof(text));
	text[PATTERN_TEXT_MAX] = 'x';
	text[PATTERN_TEXT_MAX + 1] = '\0';
	ck_assert_int_eq(pattern_compile("x", &re), 0);
	ck_assert(!pattern_matches(&re, text));
	text[PATTERN_TEXT_MAX - 1] = 'x';
	ck_assert(pattern_matches(&re, text));
	regfree(&re);
}
END

SUITE("pattern");
