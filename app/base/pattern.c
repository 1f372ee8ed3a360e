#include "base/pattern.h"

#include <errno.h>
#include <string.h>

/* Checks the numbers of "{n,m}". Returns their end, or NULL if one is too
 * high. *most: the highest. */
static const char *
check_count(const char *p, size_t *most)
{
	for (p++; *p && *p != '}'; p++) {
		char *end;
		long n;

		if (*p < '0' || *p > '9')
			continue;
		n = strtol(p, &end, 10);
		if (n > PATTERN_COUNT_MAX)
			return NULL;
		if ((size_t)n > *most)
			*most = (size_t)n;
		p = end - 1;
	}
	return *p ? p : p - 1;
}

/* Returns the end of "[...]", in which no character is special. */
static const char *
skip_class(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	if (*p == ']')
		p++;
	while (*p && *p != ']')
		p++;
	return *p ? p : p - 1;
}

/*
 * What a count or a + repeats is copied in its compiled form, so each + on a
 * group that has another one doubles it. Time grows with the fourth power of
 * the number of nested loops: a hundred take seconds.
 *   Source   glibc 2.36, posix/regcomp.c, parse_dup_op() and
 *            calc_eclosure_iter()
 */
static bool
is_bounded(const char *p)
{
	size_t size = strlen(p), most = 1;
	bool group = false; /* a group or a repetition precedes */
	int counts = 0, loops = 0;

	for (; *p && size * most <= PATTERN_MAX * PATTERN_COUNT_MAX; p++) {
		if (*p == '+' && group) {
			size *= 2;
			loops *= 2; /* inner loops are copied */
		}
		if ((*p == '+' || *p == '*') && group &&
		    ++loops > PATTERN_LOOPS_MAX)
			return false;
		group = strchr(")+*?{", *p) != NULL;
		if (*p == '\\' && p[1] >= '0' && p[1] <= '9')
			return false;
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '[')
			p = skip_class(p);
		else if (*p == '{' &&
		         (++counts > 1 || !(p = check_count(p, &most))))
			return false;
	}
	return !*p && (size_t)loops * most <= PATTERN_LOOPS_MAX &&
	       size * most <= PATTERN_MAX * PATTERN_COUNT_MAX;
}

static int
compile(const char *text, size_t most, int flags, regex_t *out)
{
	regex_t re;
	int rc;

	if (strlen(text) > most)
		return -E2BIG;
	if (!is_bounded(text))
		return -EINVAL;
	rc = regcomp(&re, text, REG_EXTENDED | REG_NOSUB | flags);
	if (rc)
		return rc == REG_ESPACE ? -ENOMEM : -EINVAL;
	*out = re;
	return 0;
}

int
pattern_compile_within(const char *text, size_t most, bool any_case,
                       regex_t *out)
{
	return compile(text, most, any_case ? REG_ICASE : 0, out);
}

int
pattern_compile(const char *text, regex_t *out)
{
	return compile(text, PATTERN_MAX, 0, out);
}

int
pattern_compile_any_case(const char *text, regex_t *out)
{
	return compile(text, PATTERN_MAX, REG_ICASE, out);
}

bool
pattern_matches(const regex_t *re, const char *text)
{
	regmatch_t range = {0, (regoff_t)strnlen(text, PATTERN_TEXT_MAX)};

	return !regexec(re, text, 1, &range, REG_STARTEND);
}
