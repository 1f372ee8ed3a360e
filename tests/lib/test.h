/*
 * The frame of every test file: one suite per file, whose tests are named by
 * their claims.
 *
 *	TEST(a_buffer_past_its_ceiling_is_poisoned) { ... } END
 *	TEST_EACH(a_row_is_read, rows) { ... rows[_i] ... } END
 *	SUITE("buf");
 *
 * A test that this kernel or user can't run calls SKIP("why"): it counts as
 * skipped, with its reason, never as passed.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A test is run once for each value of _i below `times`. */
struct test_row {
	const TTest *const *test;
	int times;
};

/* Tests are in a section of the program, where main() finds them. */
#define TEST_TIMES(name, times)                                              \
	static const TTest *name;                                            \
	static struct test_row name##_row                                    \
		__attribute__((used, section("test_rows"),                   \
	                       aligned(sizeof(struct test_row)))) = {&name,  \
	                                                             times}; \
	START_TEST(name)
#define TEST(name)             TEST_TIMES(name, 1)
#define TEST_EACH(name, table) TEST_TIMES(name, ARRAY_LEN(table))
#define END                    END_TEST

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

extern const struct test_suite {
	const char *title;
	int seconds;          /* a test is killed after this time; 0: 30 */
	void (*before)(void); /* runs once before the tests; may be NULL */
} suite;
#define SUITE(...) const struct test_suite suite = {.title = __VA_ARGS__}

/* Marks the test as skipped, in the file that tests/run reads. */
void test_skipped(const char *test, const char *why);
#define SKIP(why)                            \
	do {                                 \
		test_skipped(__func__, why); \
		return;                      \
	} while (0)
/* Skips the test if there is a reason; NULL: there is none. */
#define SKIP_FOR(reason)                     \
	do {                                 \
		const char *why_ = (reason); \
                                             \
		if (why_)                    \
			SKIP(why_);          \
	} while (0)

/* For tests of a part in its sandbox, which limits memory and system calls. */
#define NEEDS_SANDBOX()                                           \
	do {                                                      \
		if (SANITIZED)                                    \
			SKIP("a sanitizer needs more than this"); \
	} while (0)
