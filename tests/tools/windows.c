/*
 * Fills a store with past windows, for a worker to add up.
 *
 * 	windows DIR TENANT SERVICE HOST MINUTES
 *
 * Writes six windows a minute, until two minutes ago, each with a few stacks,
 * some of which are in all windows. Prints the number of samples.
 */
#include "base/clock.h"
#include "base/log.h"
#include "lib/store.h"
#include "profile/pprof.h"
#include "store/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_MS 10000
#define STACKS  20

static int
add_stack(struct profile *p, int window, int i)
{
	int64_t values[] = {i + 1, (i + 1) * INT64_C(10000000)};
	uint32_t stack[2], function;
	char name[32];
	int rc = 0;

	for (int depth = 0; depth < 2 && !rc; depth++) {
		struct function f = {0};
		struct line line = {0};

		snprintf(name, sizeof(name), "f%d_%d", depth,
		         i % 2 ? i : window * STACKS + i);
		rc = profile_cstring(p, name, &f.name)
		             ?: profile_function(p, &f, &function);
		line.function = function;
		if (!rc)
			rc = profile_location(p, PROFILE_NONE, 0, &line, 1,
			                      &stack[depth]);
	}
	return rc ? rc : profile_sample(p, stack, 2, NULL, 0, values);
}

static int
make(int window, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	int rc = p ? profile_type(p, "samples", "count")
	                     ?: profile_type(p, "cpu", "nanoseconds")
	                                ?: profile_cstring(p, "cpu",
	                                                   &p->default_type)
	           : -ENOMEM;

	for (int i = 0; i < STACKS && !rc; i++)
		rc = add_stack(p, window, i);
	return rc ? rc : pprof_encode(p, out);
}

static int
add_window(struct segment *g, const char *series, int64_t start_ms, int window,
           struct window_ask *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_REPLY);
	int64_t samples = STACKS * (STACKS + 1) / 2;
	int rc = make(window, &bytes);

	*out = (struct window_ask){
		.series = series,
		.start_ms = start_ms,
		.end_ms = start_ms + SPAN_MS,
		.duration_ms = SPAN_MS,
		.windows = 1,
		.sample_count = samples,
		.value = samples * 10000000,
	};
	return rc ? rc : segment_append(g, bytes.p, bytes.len, out);
}

static int
fill(struct store *s, char **argv, int64_t minutes)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	int64_t start = window_floor(WINDOW_MINUTE, clock_wall_ms()) -
	                (minutes + 2) * 60000;
	int64_t n = minutes * 60000 / SPAN_MS, samples = 0;
	char series[ID_MAX];
	int rc = series_of(s, argv[2], argv[3], "cpu", argv[4], "{}", series)
	                 ?: segment_create(s, argv[4], &g);

	for (int i = 0; i < n && !rc; i++) {
		struct window_ask w;

		rc = add_window(&g, series, start + i * SPAN_MS, i, &w)
		             ?: segment_sync(&g)
		                        ?: window_commit(s, &g, &w, 1, NULL);
		samples += w.sample_count;
	}
	if (!rc)
		printf("%lld\n", (long long)samples);
	return rc;
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_STORE struct store s = {.profiles_fd = -1, .segments_fd = -1};
	struct conf conf;
	int rc;

	if (argc != 6)
		return 2;
	conf = test_conf(argv[1]);
	rc = store_open(&conf, false, &s, &why)
	             ?: fill(&s, argv, strtol(argv[5], NULL, 10));
	if (rc)
		fprintf(stderr, "windows: %s %s\n", strerror(-rc),
		        buf_str(&why));
	return rc != 0;
}
