/*
 * The frame of every test file: one suite per file, whose tests are named by
 * their claims.
 *
 *	TEST(a_buffer_past_its_ceiling_is_poisoned) { ... }
 *	SUITE("buf", a_buffer_past_its_ceiling_is_poisoned, ...)
 *
 * A test that this kernel or user can't run calls SKIP("why"): it counts as
 * skipped, with its reason, never as passed.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define TEST(name) START_TEST(name)
#define END        END_TEST

/* 1 in a program with a sanitizer. GCC defines a macro for each; Clang 14 has
 * only __has_feature. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	__has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

Suite *suite(void);

/* Marks the test as skipped, in the file that tests/run reads. */
void test_skipped(const char *test, const char *why);
#define SKIP(why)                            \
	do {                                 \
		test_skipped(__func__, why); \
		return;                      \
	} while (0)

/* For tests of a part in its sandbox, which limits memory and system calls. */
#define NEEDS_SANDBOX()                                           \
	do {                                                      \
		if (SANITIZED)                                    \
			SKIP("a sanitizer needs more than this"); \
	} while (0)

/* A suite in which a test is killed after this many seconds. */
#define SUITE_TIMEOUT(title, seconds, ...)                                  \
	Suite *suite(void)                                                  \
	{                                                                   \
		const TTest *const tests[] = {__VA_ARGS__};                 \
		Suite *s = suite_create(title);                             \
		TCase *c = tcase_create(title);                             \
		tcase_set_timeout(c, seconds);                              \
		for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) \
			tcase_add_test(c, tests[i]);                        \
		suite_add_tcase(s, c);                                      \
		return s;                                                   \
	}
#define SUITE(title, ...) SUITE_TIMEOUT(title, 30, __VA_ARGS__)
