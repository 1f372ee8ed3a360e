/* Windows of svc in a store, as a worker would have left them. */
#pragma once

#include "lib/store.h"
#include "profile/profile.h"
#include "store/window.h"

/* Parameters of a test's window; 0 and NULL: the first of each. */
struct test_window {
	const char *type;   /* cpu */
	const char *host;   /* TEST_HOST */
	const char *labels; /* {} */
	enum window_level level;
	int64_t start_ms, span_ms;
	int64_t covered_ms; /* span_ms */
	int64_t windows;    /* 1 */
	const struct profile *profile;
};

/* Stores one; its id. */
void test_window(struct store *s, const struct test_window *w,
                 char id[static ID_MAX]);
/* Rolls everything up to a level, as the worker does. */
void test_rollup(struct store *s, enum window_level level);
