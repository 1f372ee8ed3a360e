/* Windows of svc in a store, as a worker would store them. */
#pragma once

#include "lib/store.h"
#include "profile/profile.h"
#include "store/window.h"

/* Parameters of a window; 0 and NULL stand for these defaults. */
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

/* Stores a window; returns its id. */
void test_window(struct store *s, const struct test_window *w,
                 char id[static ID_MAX]);
/* Makes all rollups up to a level, as the worker does. */
void test_rollup(struct store *s, enum window_level level);
