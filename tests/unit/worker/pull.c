/* Responses of net/http/pprof pages, exactly as Go sends them. */
#include "worker/analyser/pull_read.h"

#include "lib/test.h"
#include "profile/pprof.h"
#include "worker/captures/runs.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <string.h>

/* --- addresses ------------------------------------------------------------ */

#define BASE "http://localhost:6060"

static const struct {
	const char *base;
	enum pull_step step;
	const char *url;
} urls[] = {
	{BASE, PULL_STEP_CPU, BASE "/debug/pprof/profile?seconds=30"},
	{BASE "/", PULL_STEP_MEMORY, BASE "/debug/pprof/heap"},
	{BASE "/debug/pprof", PULL_STEP_ALLOC,
         BASE "/debug/pprof/allocs?seconds=30"},
	{BASE "/debug/pprof/", PULL_STEP_BLOCK,
         BASE "/debug/pprof/block?seconds=30"},
	{BASE "/own//", PULL_STEP_MUTEX, BASE "/own/mutex?seconds=30"},
	{BASE, PULL_STEP_GOROUTINE, BASE "/debug/pprof/goroutine"},
	{BASE, PULL_STEP_DUMP, BASE "/debug/pprof/goroutine?debug=2"},
};

TEST(pages_lie_below_the_address_of_the_service)
{
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		char url[URL_MAX + 1];

		ck_assert_int_eq(pull_url(urls[i].base, urls[i].step, 30, url),
		                 0);
		ck_assert_str_eq(url, urls[i].url);
	}
}
END

TEST(an_address_that_is_none_or_too_long_is_refused)
{
	char base[URL_MAX + 1], url[URL_MAX + 1];

	ck_assert_int_eq(pull_url("ftp://h", PULL_STEP_CPU, 1, url), -EINVAL);
	memset(base, 'a', URL_MAX);
	memcpy(base, "http://h/", 9);
	base[URL_MAX] = '\0';
	ck_assert_int_eq(pull_url(base, PULL_STEP_CPU, 1, url), -E2BIG);
}
END

TEST(a_page_is_asked_for_within_the_bounds_of_the_configuration)
{
	const struct conf conf = {.fetch_timeout = 30,
	                          .fetch_connect_timeout = 5,
	                          .fetch_max_bytes = 1000};
	struct runs c = {.conf = &conf, .last_fetch = 6};
	char tenant[sizeof(((struct fetch_ask *)NULL)->tenant) + 1];
	struct fetch_ask ask;

	memset(tenant, 't', sizeof(tenant));
	tenant[sizeof(tenant) - 2] = '\0';
	ck_assert_int_eq(
		runs_fetch_ask(&c, tenant, BASE, PULL_STEP_CPU, 20, &ask), 0);
	ck_assert_uint_eq(ask.type, MSG_FETCH);
	ck_assert_uint_eq(ask.method, FETCH_GET);
	ck_assert_uint_eq(ask.purpose, FETCH_PPROF);
	ck_assert_uint_eq(ask.id, 7);
	ck_assert_uint_eq(ask.connect_ms, 5000);
	ck_assert_uint_eq(ask.total_ms, 50000);
	ck_assert_uint_eq(ask.max_bytes, 1000);
	ck_assert_str_eq(ask.tenant, tenant);
	ck_assert_str_eq(ask.url, BASE "/debug/pprof/profile?seconds=20");
	ck_assert_int_eq(
		runs_fetch_ask(&c, "t", BASE, PULL_STEP_MEMORY, 20, &ask), 0);
	ck_assert_uint_eq(ask.id, 8);
	ck_assert_uint_eq(ask.total_ms, 30000);
	tenant[sizeof(tenant) - 2] = 't';
	tenant[sizeof(tenant) - 1] = '\0';
	ck_assert_int_eq(
		runs_fetch_ask(&c, tenant, BASE, PULL_STEP_CPU, 20, &ask),
		-EINVAL);
}
END

/* --- refusals ------------------------------------------------------------- */

static const struct {
	uint32_t status;
	const char *body, *code;
} refusals[] = {
	{500, "Could not enable CPU profiling: cpu profiling already in use\n",
         "TargetProfilerBusy"},
	{404, "Unknown profile\n", "EndpointUnknownProfile"},
	{400, "seconds and debug params are incompatible\n", "EndpointRefused"},
	{400, "invalid value for \"seconds\" - must be a positive integer\n",
         "EndpointRefused"},
	{400, "\"seconds\" parameter is not supported for this profile type\n",
         "EndpointRefused"},
	{400, "profile duration exceeds server's WriteTimeout\n",
         "EndpointWriteTimeout"},
	{500, "failed to collect profile\n", "EndpointFailed"},
	{500, "failed to compute delta\n", "EndpointFailed"},
	{408, "context canceled\n", "EndpointFailed"},
	{401, "", "EndpointForbidden"},
	{403, "<html>", "EndpointForbidden"},
	{302, "", "EndpointRedirects"},
	{404, "404 page not found\n", "EndpointNotPprof"},
	{502, "Bad Gateway", "EndpointFailed"},
	{204, "", "EndpointFailed"},
	{200, "<html><body>Log in</body></html>", "EndpointNotPprof"},
	{200, "", "EndpointNotPprof"},
};

static struct pull_answer
answer(enum pull_step step, uint32_t status, const char *body, size_t n)
{
	return (struct pull_answer){.p = body,
	                            .n = n,
	                            .status = status,
	                            .step = step,
	                            .start_ms = 1700000000000,
	                            .elapsed_ms = 1500};
}

TEST(every_refusal_of_go_has_its_error)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct pull_answer a = answer(PULL_STEP_CPU, refusals[i].status,
		                              refusals[i].body,
		                              strlen(refusals[i].body));
		struct profile *p = NULL;
		struct quality q;
		enum capture_error e = pull_read(&a, &p, &q);

		ck_assert_msg(!strcmp(capture_error_code(e), refusals[i].code),
		              "%u %s: %s", a.status, refusals[i].body,
		              capture_error_code(e));
		ck_assert_ptr_null(p);
	}
}
END

/* --- profiles ------------------------------------------------------------- */

/* Makes a file with one sample of main.f that has these values. */
static void
file_of(const char *const types[][2], uint32_t ntypes, const int64_t *values,
        struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct function f = {0};
	struct line l = {0};
	uint32_t location;

	for (uint32_t i = 0; i < ntypes; i++)
		ck_assert_int_eq(profile_type(p, types[i][0], types[i][1]), 0);
	ck_assert_int_eq(profile_cstring(p, "main.f", &f.name), 0);
	ck_assert_int_eq(profile_function(p, &f, &l.function), 0);
	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 1, &l, 1, &location),
	                 0);
	ck_assert_int_eq(profile_sample(p, &location, 1, NULL, 0, values), 0);
	ck_assert_int_eq(pprof_encode(p, out), 0);
}

static const char *const heap[][2] = {{"alloc_objects", "count"},
                                      {"alloc_space", "bytes"},
                                      {"inuse_objects", "count"},
                                      {"inuse_space", "bytes"}};

static const char *
shown(const struct profile *p)
{
	return profile_text(p, p->types[profile_type_index(p, NULL)].type);
}

TEST(memory_is_what_is_in_use)
{
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	CLEANUP_PROFILE struct profile *p = NULL;
	static const int64_t values[] = {10, 1000, 3, 300};
	struct pull_answer a;
	struct quality q;

	file_of(heap, 4, values, &file);
	a = answer(PULL_STEP_MEMORY, 200, file.p, file.len);
	ck_assert_int_eq(pull_read(&a, &p, &q), CAPTURE_OK);
	ck_assert_str_eq(shown(p), "inuse_space");
	ck_assert_uint_eq(p->ntypes, 4);
	ck_assert_int_eq(q.kept, 3);
	ck_assert_int_eq(q.frames, 1);
	ck_assert_int_eq(q.symbolized, 1);
	ck_assert_uint_eq(q.source, QUALITY_ENDPOINT);
	ck_assert_int_eq(p->time_ns / 1000000, a.start_ms);
}
END

TEST(of_a_difference_only_what_was_allocated_is_kept)
{
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	CLEANUP_PROFILE struct profile *p = NULL;
	static const int64_t values[] = {10, 1000, -3, -300};
	struct pull_answer a;
	struct quality q;

	file_of(heap, 4, values, &file);
	a = answer(PULL_STEP_ALLOC, 200, file.p, file.len);
	ck_assert_int_eq(pull_read(&a, &p, &q), CAPTURE_OK);
	ck_assert_str_eq(shown(p), "alloc_space");
	ck_assert_uint_eq(p->ntypes, 2);
	ck_assert_int_eq(p->values[0], 10);
	ck_assert_int_eq(p->values[1], 1000);
	ck_assert_int_eq(q.kept, 10);
	ck_assert_int_eq(p->duration_ns / 1000000, a.elapsed_ms);
}
END

TEST(a_profile_of_another_type_is_refused)
{
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	static const int64_t values[] = {1, 2, 3, 4};
	struct profile *p = NULL;
	struct pull_answer a;
	struct quality q;

	file_of(heap, 4, values, &file);
	for (enum pull_step step = 0; step < PULL_STEPS; step++) {
		if (step == PULL_STEP_MEMORY || step == PULL_STEP_ALLOC)
			continue;
		a = answer(step, 200, file.p, file.len);
		ck_assert_str_eq(capture_error_code(pull_read(&a, &p, &q)),
		                 "EndpointNotPprof");
		ck_assert_ptr_null(p);
	}
}
END

TEST(half_a_profile_is_refused)
{
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	static const int64_t values[] = {1, 2, 3, 4};
	struct profile *p = NULL;
	struct pull_answer a;
	struct quality q;

	file_of(heap, 4, values, &file);
	for (size_t n = 0; n < file.len; n++) {
		a = answer(PULL_STEP_MEMORY, 200, file.p, n);
		ck_assert_int_ne(pull_read(&a, &p, &q), CAPTURE_OK);
		ck_assert_ptr_null(p);
	}
}
END

static struct profile *
dump(const char *text, struct quality *q)
{
	struct pull_answer a = answer(PULL_STEP_DUMP, 200, text, strlen(text));
	struct profile *p = NULL;

	ck_assert_int_eq(pull_read(&a, &p, q), CAPTURE_OK);
	return p;
}

TEST(a_dump_tells_the_state_of_each_goroutine)
{
	struct quality q;
	CLEANUP_PROFILE struct profile *p =
		dump("goroutine 1 [chan receive]:\nmain.f()\n\t/f.go:1 +0x1\n\n"
	             "goroutine 2 [running]:\n"
	             "\tgoroutine running on other thread; stack unavailable\n",
	             &q);

	ck_assert_int_eq(q.kept, 2);
	ck_assert_int_eq(q.unread, 1);
	ck_assert_int_eq(p->duration_ns, 0);
}
END

TEST(a_dump_that_ends_within_a_goroutine_is_said_to_be_cut)
{
	struct quality q;
	CLEANUP_PROFILE struct profile *p =
		dump("goroutine 1 [chan receive]:\nmain.f()\n\t/f.go:1 +0x1\n\n"
	             "goroutine 2 [select]:\nmain.g()\n\t/f.g",
	             &q);

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(q.kept, 1);
	ck_assert(q.notes & QUALITY_NOTE_OF(DUMP_CUT));
}
END

/* Makes a goroutine profile of functions f0, f1, ... with these counts; 0: left
 * out. */
static void
goroutines_of(const char *type, const int64_t *counts, uint32_t n,
              struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();

	ck_assert_int_eq(profile_type(p, type, "count"), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct function f = {0};
		struct line l = {0};
		uint32_t location;
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		ck_assert_int_eq(profile_cstring(p, name, &f.name), 0);
		ck_assert_int_eq(profile_function(p, &f, &l.function), 0);
		ck_assert_int_eq(profile_location(p, PROFILE_NONE, i + 1, &l, 1,
		                                  &location),
		                 0);
		if (counts[i])
			ck_assert_int_eq(profile_sample(p, &location, 1, NULL,
			                                0, &counts[i]),
			                 0);
	}
	ck_assert_int_eq(pprof_encode(p, out), 0);
}

/* Returns how many goroutines of a function are marked as leaked, or as
 * not. */
static int64_t
count_of(const struct profile *p, const char *function, bool leaked)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];
		const struct location *l = &p->locations[p->stack[s->stack0]];
		const char *name = profile_text(
			p, p->functions[p->lines[l->line0].function].name);

		ck_assert_int_gt(p->values[i], 0);
		ck_assert_uint_le(s->nlabels, 1);
		if (!strcmp(name, function) && leaked == (s->nlabels == 1))
			n += p->values[i];
	}
	return n;
}

TEST(those_that_leaked_are_marked_and_counted_once)
{
	static const int64_t all[] = {7, 5, 3, 0}, leaked[] = {0, 5, 1, 2};
	CLEANUP_BUF struct buf before = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf page = BUF_INIT(1 << 20);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct pull_answer a;
	struct quality q;

	goroutines_of("goroutine", all, 4, &before);
	goroutines_of("goroutineleak", leaked, 4, &page);
	a = answer(PULL_STEP_LEAKS, 200, page.p, page.len);
	a.all = before.p;
	a.all_n = before.len;
	ck_assert_int_eq(pull_read(&a, &p, &q), CAPTURE_OK);
	ck_assert_str_eq(shown(p), "goroutine");
	for (uint32_t i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		ck_assert_int_eq(count_of(p, name, true), leaked[i]);
		ck_assert_int_eq(count_of(p, name, false),
		                 all[i] > leaked[i] ? all[i] - leaked[i] : 0);
	}
	ck_assert_int_eq(q.kept, 7 + 5 + 3 + 2); /* two leaked since */
}
END

TEST(what_is_no_page_of_leaks_marks_nothing)
{
	static const int64_t counts[] = {7, INT64_MIN};
	CLEANUP_BUF struct buf all = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf other = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf least = BUF_INIT(1 << 20);
	const struct buf *pages[] = {&all, &other, &least};
	struct profile *p = NULL;
	struct quality q;

	goroutines_of("goroutine", counts, 1, &all);
	goroutines_of("threadcreate", counts, 1, &other);
	goroutines_of("goroutineleak", counts, 2, &least);
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		struct pull_answer a = answer(PULL_STEP_LEAKS, 200, pages[i]->p,
		                              pages[i]->len);

		a.all = all.p;
		a.all_n = all.len;
		ck_assert_int_ne(pull_read(&a, &p, &q), CAPTURE_OK);
		ck_assert_ptr_null(p);
	}
}
END

TEST(a_profile_that_the_program_does_not_keep_is_told)
{
	static const char *const delay[][2] = {{"contentions", "count"},
	                                       {"delay", "nanoseconds"}};
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	CLEANUP_PROFILE struct profile *empty = profile_new(), *p = NULL;
	struct pull_answer a;
	struct quality q;

	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(profile_type(empty, delay[i][0], delay[i][1]),
		                 0);
	ck_assert_int_eq(pprof_encode(empty, &file), 0);
	a = answer(PULL_STEP_MUTEX, 200, file.p, file.len);
	ck_assert_int_eq(pull_read(&a, &p, &q), CAPTURE_OK);
	ck_assert(q.notes & QUALITY_NOTE_OF(NOT_KEPT));
}
END

SUITE("pull");
