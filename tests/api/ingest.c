/* Pushes of Pyroscope's clients, through a real pool. */
#include "base/file.h"
#include "endpoint/call/pushes.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/gzip.h"
#include "profile/pprof.h"
#include "profile/stored/wire.h"
#include "store/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PUSH \
	"/ingest?name=shop%7Bregion%3Deu%7D&from=1768464000&until=1768464010"
#define PUSHED_TO(service)                                       \
	"/api/v1/observability/profiling/merge?service=" service \
	"&profileType=cpu&from=1768463990000&to=1768464020000"
#define PUSHED PUSHED_TO("shop")
#define FORM   "multipart/form-data; boundary=8a7b"

static const char *
unit_of(const char *type)
{
	static const char *const times[] = {"delay", "lock_time", "cpu",
	                                    "wall"};
	static const char *const sizes[] = {"alloc_space", "inuse_space",
	                                    "alloc_size", "space"};

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (!strcmp(times[i], type))
			return "nanoseconds";
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (!strcmp(sizes[i], type))
			return "bytes";
	return "count";
}

/* Writes a pprof file with these value types and one sample. */
static void
put_profile(const char *const *types, size_t n, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	int64_t v[4] = {1, 2, 3, 4};

	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(profile_type(p, types[i], unit_of(types[i])),
		                 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	ck_assert_int_eq(pprof_encode(p, out), 0);
}

static void
put_form(const struct buf *profile, const char *config, struct buf *out)
{
	buf_puts(out, "--8a7b\r\nContent-Disposition: form-data; "
	              "name=\"profile\"; filename=\"profile.pprof\"\r\n"
	              "Content-Type: application/octet-stream\r\n\r\n");
	buf_add(out, profile->p, profile->len);
	buf_addf(out,
	         "\r\n--8a7b\r\nContent-Disposition: form-data; "
	         "name=\"sample_type_config\"\r\n\r\n%s\r\n--8a7b--\r\n",
	         config);
}

/* Lists the series of this type of the service "shop"; "": of any type. */
static struct series_list
series_stored(struct test_api *a, const char *type)
{
	const struct series_filter f = {TEST_TENANT, "shop", type,
	                                WINDOW_PUSHED};
	struct series_list l = {0};

	ck_assert_int_eq(series_list(&a->store.s, &f, &l), 0);
	return l;
}

static struct window_list
windows_stored(struct test_api *a, const char *series)
{
	struct window_list l = {0};

	ck_assert_int_eq(window_between(&a->store.s, series, WINDOW_CAPTURED, 0,
	                                INT64_MAX, &l),
	                 0);
	return l;
}

static void
stored_types(struct test_api *a, char out[static 256])
{
	CLEANUP_SERIES_LIST struct series_list l = series_stored(a, "");

	out[0] = '\0';
	for (size_t i = 0; i < l.n; i++)
		strcat(strcat(out, i ? " " : ""), l.items[i].type);
}

static bool
has_all(const char *words, const char *const *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strstr(words, want[i]))
			return false;
	return true;
}

TEST(a_push_of_folded_stacks_is_a_window_of_its_application)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		api_send(&a, PUSH "&sampleRate=100", "", "main;work 3\n", 12);
	CLEANUP_SERIES_LIST struct series_list l = {0};
	CLEANUP_WINDOWS struct window_list w = {0};

	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_uint_eq(r.body.len, 0);
	l = series_stored(&a, "cpu");
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].labels,
	                 "{\"__values__\":\"samples/count,cpu/nanoseconds\","
	                 "\"region\":\"eu\"}");
	w = windows_stored(&a, l.items[0].id);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_int_eq(w.items[0].start_ms, 1768464000000);
	ck_assert_int_eq(w.items[0].end_ms, 1768464010000);
	ck_assert_int_eq(w.items[0].duration_ms, 10000);
	ck_assert_int_eq(w.items[0].sample_count, 3);
	ck_assert_int_eq(w.items[0].value, 30000000);
	ck_assert_uint_eq(sessions_stored(&a), 0);
}
END

TEST(a_push_of_a_java_recording_is_a_window_of_each_of_its_types)
{
	static const struct {
		const char *type;
		int64_t count, value;
	} rows[] = {
		{"cpu", 3, 60000000},
		{"alloc", 2, 370000},
		{"mutex", 1, 1500000},
		{"block", 1, 25000000},
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf form = BUF_INIT(1 << 20);

	ck_assert_int_eq(
		file_read(AT_FDCWD, "tests/data/fuzz/import/jfr", &file), 0);
	buf_puts(&form, "--8a7b\r\nContent-Disposition: form-data; "
	                "name=\"jfr\"; filename=\"jfr\"\r\n\r\n");
	buf_add(&form, file.p, file.len);
	buf_puts(&form, "\r\n--8a7b--\r\n");
	for (int i = 0; i < 2; i++) {
		CLEANUP_REPLY struct client_reply r = api_send(
			&a, PUSH "&format=jfr&units=samples", i ? FORM : "",
			i ? form.p : file.p, i ? form.len : file.len);

		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_SERIES_LIST struct series_list l =
			series_stored(&a, rows[i].type);
		CLEANUP_WINDOWS struct window_list w = {0};

		ck_assert_uint_eq(l.n, 1);
		w = windows_stored(&a, l.items[0].id);
		ck_assert_uint_eq(w.n, 2);
		ck_assert_int_eq(w.items[0].sample_count, rows[i].count);
		ck_assert_int_eq(w.items[0].value, rows[i].value);
		ck_assert_int_eq(w.items[0].duration_ms, 2000);
	}
}
END

TEST(pushes_of_one_application_are_one_series)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_SERIES_LIST struct series_list l = {0};
	CLEANUP_WINDOWS struct window_list w = {0};

	for (int i = 0; i < 5; i++) {
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, PUSH, "", "main;work 3\n", 12);

		ck_assert_int_eq(r.status, 200);
	}
	l = series_stored(&a, "cpu");
	ck_assert_uint_eq(l.n, 1);
	w = windows_stored(&a, l.items[0].id);
	ck_assert_uint_eq(w.n, 5);
	/* in a database each push has its own segment */
	for (size_t i = 1; i < w.n && !test_on_server(); i++)
		ck_assert_str_eq(w.items[i].segment, w.items[0].segment);
}
END

/* A push that was answered with 200 is stored. */
TEST(a_process_that_is_killed_has_lost_no_push)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_SERIES_LIST struct series_list l = {0};
	CLEANUP_WINDOWS struct window_list w = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);

	for (int i = 0; i < 3; i++) {
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, PUSH, "", "main;work 3\n", 12);

		ck_assert_int_eq(r.status, 200);
		test_api_restart(&a, 0);
	}
	l = series_stored(&a, "cpu");
	ck_assert_uint_eq(l.n, 1);
	w = windows_stored(&a, l.items[0].id);
	ck_assert_uint_eq(w.n, 3);
	for (size_t i = 0; i < w.n; i++)
		ck_assert_int_eq(window_read(&a.store.s, &w.items[i], &file),
		                 0);
}
END

#define PUSHERS 4

static int
segments_of(const struct test_api *a)
{
	CLEANUP_FD int fd = openat(a->store.s.segments_fd, ".",
	                           O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fdopendir(fd);
	int n = 0;

	ck_assert_ptr_nonnull(d);
	fd = -1;
	for (struct dirent *e; (e = readdir(d));)
		n += strstr(e->d_name, ".seg") != NULL;
	closedir(d);
	return n;
}

/* Returns whether the whole reply to a push is 200. */
static bool
is_taken(int fd)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_REPLY);

	return !fd_read_all(fd, &raw) &&
	       memmem(raw.p, raw.len, "Status: 200", 11);
}

/* Pushes wait for the database, all in one queue, while processes are
 * killed. */
TEST(pushes_that_wait_together_are_stored_once_though_processes_are_killed)
{
	CLEANUP_API struct test_api a = test_api(PUSHERS, "");
	CLEANUP_SERIES_LIST struct series_list l = {0};
	CLEANUP_WINDOWS struct window_list w = {0};
	CLEANUP_REPLY struct client_reply first =
		api_send(&a, PUSH, "", "main;work 3\n", 12);
	int fds[PUSHERS], taken = 0;

	if (test_on_server())
		SKIP("a database server groups commits itself");
	ck_assert_int_eq(first.status, 200);
	ck_assert_int_eq(store_begin(&a.store.s), 0);
	for (int i = 0; i < PUSHERS; i++)
		fds[i] = ask_begin(&a, (struct ask){.key = KEY_OPERATOR,
		                                    .method = "POST",
		                                    .path = PUSH,
		                                    .body = "main;work 3\n"});
	for (int i = 0; i < 100 && segments_of(&a) < PUSHERS; i++)
		poll(NULL, 0, 10); /* each process opens one */
	for (int i = 0; i < PUSHERS / 2; i++)
		test_api_restart(&a, i);
	store_rollback(&a.store.s);
	for (int i = 0; i < PUSHERS; i++) {
		taken += is_taken(fds[i]);
		close(fds[i]);
	}
	l = series_stored(&a, "cpu");
	w = windows_stored(&a, l.items[0].id);
	ck_assert_int_ge((int)w.n, 1 + taken);
	ck_assert_int_le((int)w.n, 1 + PUSHERS);
}
END

/* Writes a CPU profile with one value. */
static void
put_cpu(const char *unit, int64_t value, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();

	ck_assert_int_eq(profile_type(p, "cpu", unit), 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, &value), 0);
	ck_assert_int_eq(pprof_encode(p, out), 0);
}

/* Pushes a file whose gzip has two members, which Stoker never writes. */
static struct window_list
push_in_members(struct test_api *a, const struct buf *file, struct buf *sent)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_SERIES_LIST struct series_list l = {0};

	ck_assert_int_eq(gzip_inflate(file->p, file->len, &raw), 0);
	ck_assert_int_eq(gzip_deflate(raw.p, 1, sent), 0);
	ck_assert_int_eq(gzip_deflate(raw.p + 1, raw.len - 1, sent), 0);
	r = api_send(a, PUSH "&format=pprof", "", sent->p, sent->len);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	l = series_stored(a, "cpu");
	ck_assert_uint_eq(l.n, 1);
	return windows_stored(a, l.items[0].id);
}

TEST(a_gzipped_pprof_file_is_stored_as_it_came)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf sent = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_WINDOWS struct window_list w = {0};

	put_cpu("nanoseconds", 7000, &file);
	w = push_in_members(&a, &file, &sent);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_int_eq(w.items[0].value, 7000);
	ck_assert_int_eq(window_read(&a.store.s, &w.items[0], &stored), 0);
	ck_assert_uint_eq(stored.len, sent.len);
	ck_assert_mem_eq(stored.p, sent.p, sent.len);
}
END

TEST(a_pprof_file_in_other_units_is_stored_in_ours)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf sent = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_WINDOWS struct window_list w = {0};

	put_cpu("microseconds", 7, &file);
	w = push_in_members(&a, &file, &sent);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_int_eq(w.items[0].value, 7000);
	ck_assert_int_eq(window_read(&a.store.s, &w.items[0], &stored), 0);
	ck_assert_int_eq(
		pprof_decode(stored.p, stored.len, BUF_MAX_SMALL, &p, &why), 0);
	ck_assert_int_eq(p->values[0], 7000);
	ck_assert_str_eq(profile_text(p, p->types[0].unit), "nanoseconds");
}
END

/* A heap profile of what was released since the last one. */
TEST(negative_values_are_kept)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_SERIES_LIST struct series_list l = {0};
	CLEANUP_WINDOWS struct window_list w = {0};

	ck_assert_int_eq(profile_type(p, "inuse_objects", "count"), 0);
	ck_assert_int_eq(profile_type(p, "inuse_space", "bytes"), 0);
	ck_assert_int_eq(
		profile_sample(p, NULL, 0, NULL, 0, (int64_t[]){-2, -4096}), 0);
	ck_assert_int_eq(pprof_encode(p, &file), 0);
	r = api_send(&a, PUSH "&format=pprof", "", file.p, file.len);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	l = series_stored(&a, "memory");
	ck_assert_uint_eq(l.n, 1);
	w = windows_stored(&a, l.items[0].id);
	ck_assert_uint_eq(w.n, 1);
	ck_assert_int_eq(w.items[0].value, -4096);
	ck_assert_int_eq(w.items[0].sample_count, -2);
}
END

/* Sums of the values must fit into 64 bits. */
TEST(values_past_all_measure_are_refused)
{
	static const struct {
		int64_t bytes;
		int status;
	} rows[] = {{PUSH_MAX_VALUE, 200},
	            {PUSH_MAX_VALUE + 1, 413},
	            {-PUSH_MAX_VALUE - 1, 413}};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = profile_new();
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};

		ck_assert_int_eq(profile_type(p, "inuse_space", "bytes"), 0);
		ck_assert_int_eq(
			profile_sample(p, NULL, 0, NULL, 0, &rows[i].bytes), 0);
		ck_assert_int_eq(pprof_encode(p, &file), 0);
		r = api_send(&a, PUSH "&format=pprof", "", file.p, file.len);
		ck_assert_int_eq(r.status, rows[i].status);
	}
}
END

TEST(a_push_of_several_value_types_is_a_window_of_each)
{
	static const char *const heap[] = {"alloc_objects", "alloc_space",
	                                   "inuse_objects", "inuse_space"};
	static const char *const want[] = {"alloc", "memory"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf form = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = {0};
	char types[256];

	put_profile(heap, 4, &file);
	put_form(&file, "{}", &form);
	r = api_send(&a, PUSH "&spyName=gospy", FORM, form.p, form.len);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	stored_types(&a, types);
	ck_assert_msg(has_all(types, want, 2), "%s", types);
}
END

TEST(lock_waits_are_told_from_others_by_their_display_names)
{
	static const char *const waits[] = {"contentions", "delay"};
	static const char *const configs[] = {
		"{\"delay\":{\"display-name\":\"mutex_duration\"}}",
		"{\"delay\":{\"display-name\":\"block_duration\"}}"};
	static const char *const want[] = {"mutex", "block mutex"};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < 2; i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf form = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};
		char types[256];

		put_profile(waits, 2, &file);
		put_form(&file, configs[i], &form);
		r = api_send(&a, PUSH, FORM, form.p, form.len);
		ck_assert_int_eq(r.status, 200);
		stored_types(&a, types);
		ck_assert_uint_eq(strlen(types), strlen(want[i]));
	}
}
END

TEST(a_type_at_the_end_of_a_name_is_no_part_of_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	static const char *const ends[] = {
		"cpu",        "inuse_space",    "alloc_space",
		"goroutines", "mutex_duration", "block_duration"};
	char types[256];

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		char path[64];
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(path, sizeof(path), "/ingest?name=shop.%s", ends[i]);
		r = api_send(&a, path, "", "main;work 3\n", 12);
		ck_assert_msg(r.status == 200, "%s: %s", ends[i],
		              buf_str(&r.body));
	}
	stored_types(&a, types);
	ck_assert_msg(
		has_all(types,
	                (const char *const[]){"cpu", "memory", "alloc",
	                                      "goroutine", "mutex", "block"},
	                6),
		"%s", types);
}
END

TEST(a_service_whose_name_ends_so_keeps_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = ask(
		&a,
		(struct ask){.key = KEY_ADMIN,
	                     .method = "POST",
	                     .path = "/api/v1/services",
	                     .type = "application/json",
	                     .body = "{\"name\":\"shop.wall\"}",
	                     .body_len = strlen("{\"name\":\"shop.wall\"}")});
	CLEANUP_REPLY struct client_reply r =
		api_send(&a, "/ingest?name=shop.wall", "", "main;work 3\n", 12);
	char types[256];

	ck_assert_int_eq(made.status, 201);
	ck_assert_int_eq(r.status, 200);
	stored_types(&a, types); /* those of shop */
	ck_assert_str_eq(types, "");
}
END

TEST(a_push_is_of_the_type_that_its_units_or_its_name_say)
{
	static const struct {
		const char *path, *type;
	} rows[] = {
		{"/ingest?name=shop&units=samples", "cpu"},
		{"/ingest?name=shop&units=bytes", "alloc"},
		{"/ingest?name=shop&units=bytes&aggregationType=average",
	         "memory"},
		{"/ingest?name=shop&units=lock_nanoseconds", "mutex"},
		{"/ingest?name=shop&units=goroutines", "goroutine"},
		{"/ingest?name=shop.wall&units=samples", "wall"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_API struct test_api a = test_api(1, "");
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, rows[i].path, "", "main;work 3\n", 12);
		char types[256];

		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
		stored_types(&a, types);
		ck_assert_str_eq(types, rows[i].type);
	}
}
END

/* Value types that .NET, Node and Python send. */
TEST(a_push_without_a_format_is_what_its_bytes_say)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;work 3\n");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply taken = {0}, other = {0};

	ck_assert_int_eq(pprof_encode(p, &file), 0);
	taken = api_send(&a, PUSH, "", file.p, file.len);
	ck_assert_msg(taken.status == 200, "%s", buf_str(&taken.body));
	other = api_send(&a, PUSH "&format=folded", "", file.p, file.len);
	assert_error(&other, 422, "IngestFailed");
	ck_assert_ptr_nonnull(
		strstr(buf_str(&other.body),
	               "its format looks like pprof, not folded"));
}
END

TEST(every_value_of_a_known_type_is_stored)
{
	static const struct {
		const char *types[4];
		size_t n;
		const char *config, *want[3];
		size_t nwant;
	} rows[] = {
		{{"lock_count", "lock_time", "alloc_size", "cpu"},
	         4,
	         "{\"alloc_size\":{\"display-name\":\"alloc_space\"},"
	         "\"lock_time\":{\"display-name\":\"mutex_duration\"}}",
	         {"alloc", "cpu", "mutex"},
	         3},
		{{"samples", "wall"}, 2, "{}", {"wall"}, 1},
		{{"objects", "space"}, 2, "{}", {"memory"}, 1},
		{{"samples"}, 1, "{}", {"cpu"}, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_API struct test_api a = test_api(1, "");
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf form = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};
		size_t length = 0;
		char types[256];

		put_profile(rows[i].types, rows[i].n, &file);
		put_form(&file, rows[i].config, &form);
		r = api_send(&a, PUSH, FORM, form.p, form.len);
		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
		stored_types(&a, types);
		for (size_t k = 0; k < rows[i].nwant; k++)
			length += strlen(rows[i].want[k]) + (k > 0);
		ck_assert_msg(has_all(types, rows[i].want, rows[i].nwant) &&
		                      strlen(types) == length,
		              "row %zu: %s", i, types);
	}
}
END

TEST(what_is_not_taken_is_refused)
{
	static const struct {
		const char *path, *type, *body;
		int status;
		const char *code;
	} rows[] = {
		{PUSH "&format=trie", "", "x", 415, "UnsupportedMediaType"},
		{PUSH "&format=tree", "", "x", 415, "UnsupportedMediaType"},
		{"/ingest?name=%7Ba%3Db%7D", "", "a 1", 400,
	         "InvalidParameter"},
		{"/ingest?name=/", "", "a 1", 400, "InvalidParameter"},
		{"/ingest?name=a&from=yesterday", "", "a 1", 400,
	         "InvalidParameter"},
		{"/ingest?name=a&sampleRate=0", "", "a 1", 400,
	         "InvalidParameter"},
		{"/ingest?name=a&from=0", "", "a 1", 400, "InvalidParameter"},
		{"/ingest?name=a&from=9999999999", "", "a 1", 400,
	         "InvalidParameter"},
		{"/ingest?name=a&from=now&until=now%2B25h", "", "a 1", 400,
	         "InvalidParameter"},
		{"/ingest?name=a&from=now&until=now-1m", "", "a 1", 400,
	         "InvalidParameter"},
		{"/ingest?name=a&from=now-32d&until=now", "", "a 1", 400,
	         "InvalidParameter"},
		{PUSH "&units=objects", "", "a 1", 422, "IngestFailed"},
		{PUSH "&units=lock_samples", "", "a 1", 422, "IngestFailed"},
		{PUSH "&units=exceptions", "", "a 1", 422, "IngestFailed"},
		{"/ingest?name=shop.alloc_objects", "", "a 1", 422,
	         "IngestFailed"},
		{PUSH, FORM, "--8a7b--\r\n", 400, "InvalidParameter"},
		{PUSH, "multipart/form-data", "--8a7b--\r\n", 400,
	         "InvalidParameter"},
		{PUSH, "multipart/form-data; boundary=", "--\r\n", 400,
	         "InvalidParameter"},
		{PUSH, "", "no count", 422, "IngestFailed"},
		{PUSH "&format=pprof", "", "no pprof", 422, "IngestFailed"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	char types[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			api_send(&a, rows[i].path, rows[i].type, rows[i].body,
		                 strlen(rows[i].body));

		assert_error(&r, rows[i].status, rows[i].code);
	}
	stored_types(&a, types);
	ck_assert_str_eq(types, "");
}
END

TEST(a_push_without_a_known_value_makes_no_service)
{
	static const char *const types[] = {"exceptions"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply push = {0}, service = {0};

	put_profile(types, 1, &file);
	push = api_send(&a, PUSH "&format=pprof", "", file.p, file.len);
	assert_error(&push, 422, "IngestFailed");
	service = api_get(&a, "/api/v1/services/shop");
	assert_error(&service, 404, "UnknownService");
}
END

TEST(labels_of_pushes_are_bounded)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[upload]\nmax_series = 1\n");
	CLEANUP_REPLY struct client_reply first = {0}, other = {0}, again = {0};

	first = api_send(&a, PUSH, "", "a 1\n", 4);
	other = api_send(&a, "/ingest?name=shop%7Brequest%3D1%7D", "", "a 1\n",
	                 4);
	again = api_send(&a, PUSH, "", "b 1\n", 4);
	ck_assert_int_eq(first.status, 200);
	assert_error(&other, 422, "TooManyPushedSeries");
	ck_assert_int_eq(again.status, 200);
}
END

TEST(services_are_made_only_where_configured)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[upload]\ncreate_services = 0\n");
	CLEANUP_REPLY struct client_reply r =
		api_send(&a, PUSH, "", "a 1\n", 4);

	assert_error(&r, 404, "UnknownService");
}
END

static struct client_reply
push_basic(struct test_api *a, const char *path, const char *user_password,
           const char *org)
{
	char text[512] = "Basic ";

	EVP_EncodeBlock((unsigned char *)text + 6,
	                (const unsigned char *)user_password,
	                (int)strlen(user_password));
	return ask(a, (struct ask){
			      .authorization = text,
			      .method = "POST",
			      .path = path,
			      .body = "a 1\n",
			      .type = "text/plain",
			      .org = org,
		      });
}

TEST(a_key_may_come_as_basic_password_on_ingest_alone)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, no = {0}, other = {0},
					  weak = {0};
	char pair[256];

	snprintf(pair, sizeof(pair), "anyone:%s", a.keys[KEY_OPERATOR]);
	r = push_basic(&a, PUSH, pair, NULL);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	no = push_basic(&a, PUSH, "anyone:secret", NULL);
	assert_error(&no, 401, "Unauthorized");
	other = push_basic(&a, API_PROFILES "/start", pair, NULL);
	assert_error(&other, 401, "Unauthorized");
	snprintf(pair, sizeof(pair), "anyone:%s", a.keys[KEY_VIEWER]);
	weak = push_basic(&a, PUSH, pair, NULL);
	assert_error(&weak, 403, "Forbidden");
}
END

TEST(the_tenant_may_come_as_scope_org_id)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, no = {0};
	char pair[256];

	snprintf(pair, sizeof(pair), "u:%s", a.keys[KEY_ADMIN]);
	r = push_basic(&a, PUSH, pair, "t2");
	ck_assert_int_eq(r.status, 200);
	no = push_basic(&a, PUSH, pair, "other");
	assert_error(&no, 403, "TenantForbidden");
}
END

/* Makes a push of one series with a profile. */
static void
put_message(const char *service, const struct buf *profile, struct buf *out)
{
	size_t series = wire_open(out, 1), place;
	const char *const labels[][2] = {{"__name__", "process_cpu"},
	                                 {"service_name", service},
	                                 {"region", "eu"}};

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		place = wire_open(out, 1);
		wire_put_bytes(out, 1, labels[i][0], strlen(labels[i][0]));
		wire_put_bytes(out, 2, labels[i][1], strlen(labels[i][1]));
		wire_close(out, place);
	}
	place = wire_open(out, 2);
	wire_put_bytes(out, 1, profile->p, profile->len);
	wire_close(out, place);
	wire_close(out, series);
}

TEST(a_push_by_connect_is_a_window_of_its_service)
{
	static const char *const types[] = {"samples", "cpu"};
	static const char path[] = "/push.v1.PusherService/Push";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf profile = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf good = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf bare = BUF_INIT(1 << 20);
	CLEANUP_REPLY struct client_reply r = {0}, nameless = {0}, cut = {0},
					  text = {0};
	CLEANUP_SERIES_LIST struct series_list l = {0};

	put_profile(types, ARRAY_LEN(types), &profile);
	put_message("shop", &profile, &good);
	put_message("", &profile, &bare);
	r = api_send(&a, path, "application/proto", good.p, good.len);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_uint_eq(r.body.len, 0);
	l = series_stored(&a, "cpu");
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].labels,
	                 "{\"__values__\":\"samples/count,cpu/nanoseconds\","
	                 "\"region\":\"eu\"}");
	nameless = api_send(&a, path, "application/proto", bare.p, bare.len);
	ck_assert_int_eq(nameless.status, 400);
	ck_assert(strstr(buf_str(&nameless.body), "service_name"));
	ck_assert_str_eq(reply_text(&nameless, "code"), "invalid_argument");
	cut = api_send(&a, path, "application/proto", good.p, good.len - 1);
	ck_assert_int_eq(cut.status, 400);
	text = api_send(&a, path, "text/plain", good.p, good.len);
	assert_error(&text, 415, "UnsupportedMediaType");
}
END

/* Source: the call with curl in Pyroscope's "Server HTTP API". */
static void
put_json(const char *profile_name, const char *base64, struct buf *out)
{
	buf_addf(out,
	         "{\"series\":[{\"labels\":["
	         "{\"name\":\"__name__\",\"value\":\"process_cpu\"},"
	         "{\"name\":\"service_name\",\"value\":\"shop\"},"
	         "{\"name\":\"region\",\"value\":\"eu\"}],"
	         "\"samples\":[{\"ID\":\"1\",\"%s\":\"%s\"}],"
	         "\"annotations\":null}]}",
	         profile_name, base64);
}

TEST(a_push_by_connect_in_json_is_a_window_of_its_service)
{
	static const char *const types[] = {"samples", "cpu"};
	static const char path[] = "/push.v1.PusherService/Push";
	static const char *const names[] = {"rawProfile", "raw_profile"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf profile = BUF_INIT(1 << 20);
	char base64[2048];

	put_profile(types, ARRAY_LEN(types), &profile);
	ck_assert_uint_lt(profile.len, sizeof(base64) / 2);
	EVP_EncodeBlock((unsigned char *)base64,
	                (const unsigned char *)profile.p, (int)profile.len);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(1 << 20);
		CLEANUP_REPLY struct client_reply r = {0};
		CLEANUP_SERIES_LIST struct series_list l = {0};

		put_json(names[i], base64, &body);
		r = api_send(&a, path, "application/json", body.p, body.len);
		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
		ck_assert_str_eq(buf_str(&r.body), "{}\n");
		l = series_stored(&a, "cpu");
		ck_assert_uint_eq(l.n, 1);
		ck_assert_str_eq(
			l.items[0].labels,
			"{\"__values__\":\"samples/count,cpu/nanoseconds\","
			"\"region\":\"eu\"}");
	}
}
END

TEST(a_push_in_json_that_is_not_understood_says_what_was_expected)
{
	static const struct {
		const char *body, *want;
	} bad[] = {
		{"", "not the JSON of a push"},
		{"[]", "not the JSON of a push"},
		{"{\"series\":[", "not the JSON of a push"},
		{"{\"series\":[]} x", "not the JSON of a push"},
		{"{\"series\":{}}", "series must be a list"},
		{"{\"series\":[1]}", "series must be a list of objects"},
		{"{\"series\":[{}]}", "service_name"},
		{"{\"series\":[{\"labels\":[{\"name\":1}]}]}",
	         "name must be a text"},
		{"{\"series\":[{\"samples\":[{\"rawProfile\":\"a\"}]}]}",
	         "rawProfile must be base64"},
		{"{\"series\":[{\"samples\":[{\"rawProfile\":\"YQ=a\"}]}]}",
	         "rawProfile must be base64"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = api_send(
			&a, "/push.v1.PusherService/Push", "application/json",
			bad[i].body, strlen(bad[i].body));

		ck_assert_msg(r.status == 400, "%zu: %d", i, r.status);
		ck_assert_str_eq(reply_text(&r, "code"), "invalid_argument");
		ck_assert_msg(strstr(buf_str(&r.body), bad[i].want), "%zu: %s",
		              i, buf_str(&r.body));
	}
}
END

/* Clients name their frames: a worker does not name windows afterwards. */
TEST(a_range_of_pushed_frames_without_names_says_so)
{
	static const char want[] = "1 of 1 frames have no function name";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply bare = {0}, named = {0};
	CLEANUP_REPLY struct client_reply pushed = {0}, ok = {0};
	const json_t *notices;
	const int64_t one = 1;
	uint32_t at;

	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 0x10, NULL, 0, &at),
	                 0);
	ck_assert_int_eq(profile_sample(p, &at, 1, NULL, 0, &one), 0);
	ck_assert_int_eq(pprof_encode(p, &file), 0);
	pushed = api_send(&a, PUSH "&format=pprof", "", file.p, file.len);
	ck_assert_int_eq(pushed.status, 200);
	bare = api_get(&a, PUSHED);
	notices = json_object_get(bare.json, "notices");
	ck_assert_uint_eq(json_array_size(notices), 1);
	ck_assert_ptr_nonnull(
		strstr(json_string_value(json_array_get(notices, 0)), want));
	ok = api_send(&a, "/ingest?name=named&from=1768464000&until=1768464010",
	              "", "main;work 3\n", 12);
	ck_assert_int_eq(ok.status, 200);
	named = api_get(&a, PUSHED_TO("named"));
	ck_assert_uint_eq(
		json_array_size(json_object_get(named.json, "notices")), 0);
}
END

SUITE("ingest", .seconds = 60);
