/*
 * What pushes of Pyroscope's clients or, with FORM=otlp, of OpenTelemetry's
 * exporters cost: ten services push a profile of 200
 * samples for every ten seconds of MINUTES, each drawn from a recorded program
 * (lib/draw.h), by FastCGI, four at a time.
 *
 *	PROFILES="FILE ..." [MINUTES=360] [FORM=otlp|folded] push
 *
 * Prints: "pushed", pushes a second, microseconds of CPU time of the API for
 * each, and how many; "fresh" and "summed", bytes on disk for each push before
 * and after rollups, with those of segments alone; "hour", "2h" and "6h", the
 * median time of a flame graph of so long, and the API's CPU time for each, in
 * milliseconds, and how many; "memory", the most that an API
 * process has held, and what all hold in the end, in MiB. With a FORM, only
 * "pushed".
 */
#include "base/clock.h"
#include "base/file.h"
#include "lib/api.h"
#include "lib/draw.h"
#include "profile/export.h"
#include "profile/gzip.h"
#include "profile/merge.h"
#include "profile/pprof.h"
#include "upkeep/batch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVICES     10
#define SENDERS      4
#define SAMPLES      200
#define STEP_MS      (10 * MS_PER_S)
#define MINUTE_MS    (60 * MS_PER_S)
#define HOUR_MS      (60 * MINUTE_MS)
#define PERIOD_NS    (NS_PER_S / 100)
#define MAX_BYTES    ((size_t)256 << 20)
#define RANGES       60
#define UPKEEP_EVERY 1000 /* pushes */

struct bench {
	struct test_api api;
	struct profile *recorded[SERVICES];
	struct draw draw[SERVICES];
	struct buf *pushes; /* by time, then service */
	int64_t from_ms, steps;
	const char *form; /* otlp, folded; "": pprof */
	bool otlp;
};

/* --- what is pushed ------------------------------------------------------- */

static void
read_profiles(struct bench *b)
{
	CLEANUP_FREE char *paths = strdup(getenv("PROFILES") ?: "");
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct profile *read[SERVICES];
	char *left = paths;
	int n = 0;

	for (char *path; n < SERVICES && (path = strsep(&left, " "));) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);

		ck_assert_int_eq(file_read(AT_FDCWD, path, &bytes), 0);
		ck_assert_int_eq(pprof_decode(bytes.p, bytes.len, MAX_BYTES,
		                              &read[n], &why),
		                 0);
		if (read[n]->nsamples) /* only if the program did run */
			n++;
		else
			profile_free(read[n]);
	}
	for (int i = 0; i < SERVICES; i++) {
		ck_assert_int_eq(draw_longer(read[i % n], 1, &b->recorded[i]),
		                 0);
		ck_assert_int_eq(draw_init(&b->draw[i], b->recorded[i],
		                           (uint64_t)i << 32),
		                 0);
	}
	while (n)
		profile_free(read[--n]);
}

/* Writes a profile as an exporter sends it, compressed like the other
 * pushes. */
static void
put_otlp(const struct bench *b, size_t i, const struct profile *p,
         struct buf *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_TREE struct tree *t = NULL;
	char service[24];
	const struct export_meta meta = {
		.title = service,
		.id = "",
		.service = service,
		.type = "cpu",
		.time_ms = b->from_ms + (int64_t)(i / SERVICES) * STEP_MS,
		.duration_ms = STEP_MS,
	};

	snprintf(service, sizeof(service), "bench%zu", i % SERVICES);
	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("otlp")->write(t, &meta, &bytes), 0);
	ck_assert_int_eq(gzip_deflate(bytes.p, bytes.len, out), 0);
}

static void
put_folded(const struct profile *p, struct buf *out)
{
	const struct export_meta meta = {.title = "", .id = "", .type = "cpu"};
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, out), 0);
}

static void
draw_pushes(struct bench *b)
{
	size_t n = (size_t)b->steps * SERVICES;

	b->pushes = calloc(n, sizeof(*b->pushes));
	ck_assert_ptr_nonnull(b->pushes);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;

		b->pushes[i] = BUF_INIT(MAX_BYTES);
		ck_assert_int_eq(draw_profile(&b->draw[i % SERVICES], SAMPLES,
		                              PERIOD_NS, &p),
		                 0);
		if (b->otlp)
			put_otlp(b, i, p, &b->pushes[i]);
		else if (*b->form)
			put_folded(p, &b->pushes[i]);
		else
			ck_assert_int_eq(pprof_encode(p, &b->pushes[i]), 0);
	}
}

/* --- the API -------------------------------------------------------------- */

/* Reads a line of /proc/PID/status, in KiB. */
static long
status_kb(pid_t pid, const char *name)
{
	size_t n = strlen(name);
	char path[64], line[128];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			kb = atol(line + n + 1);
	fclose(f);
	return kb;
}

static void
tell_memory(const struct bench *b)
{
	long most = 0, held = 0;

	for (int i = 0; i < b->api.n; i++) {
		long kb = status_kb(b->api.pids[i], "VmHWM");

		most = kb > most ? kb : most;
		held += status_kb(b->api.pids[i], "RssAnon");
	}
	printf("memory\t%.1f\t%.1f\n", (double)most / 1024,
	       (double)held / 1024);
}

/* Does what the worker does to a store every few seconds. */
static void
upkeep(struct bench *b)
{
	int rc = db_upkeep(b->api.store.s.db);

	ck_assert(!rc || rc == -EBUSY);
}

static void
push_one(struct bench *b, size_t i)
{
	int64_t from = b->from_ms + (int64_t)(i / SERVICES) * STEP_MS;
	CLEANUP_REPLY struct client_reply r = {0};
	char path[160];

	snprintf(path, sizeof(path),
	         "/ingest?name=bench%zu&from=%lld&until=%lld&format=%s",
	         i % SERVICES, (long long)(from / MS_PER_S),
	         (long long)((from + STEP_MS) / MS_PER_S),
	         *b->form ? "folded" : "pprof");
	r = ask(&b->api,
	        (struct ask){.key = KEY_OPERATOR,
	                     .method = "POST",
	                     .path = b->otlp ? "/v1development/profiles" : path,
	                     .type = b->otlp ? "application/x-protobuf"
	                                     : "application/octet-stream",
	                     .body = b->pushes[i].p,
	                     .body_len = b->pushes[i].len});
	if (r.status != 200 || (b->otlp && r.body.len))
		fprintf(stderr, "push: %d %s\n", r.status, buf_str(&r.body));
	ck_assert_int_eq(r.status, 200);
	ck_assert(!b->otlp || !r.body.len); /* nothing is rejected */
}

static void
push_some(struct bench *b, size_t first, size_t end)
{
	for (size_t k = 0; k < SENDERS; k++) {
		if (fork())
			continue;
		for (size_t i = first + k; i < end; i += SENDERS)
			push_one(b, i);
		_exit(0);
	}
	for (int k = 0; k < SENDERS; k++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
}

static void
push_all(struct bench *b)
{
	size_t n = (size_t)b->steps * SERVICES;
	int64_t began = clock_mono_ns();
	double cpu = test_api_cpu_s(&b->api);

	for (size_t i = 0; i < n; i += UPKEEP_EVERY) {
		push_some(b, i, i + UPKEEP_EVERY < n ? i + UPKEEP_EVERY : n);
		upkeep(b);
	}
	printf("pushed\t%.0f\t%.0f\t%zu\n",
	       (double)n * NS_PER_S / (double)(clock_mono_ns() - began),
	       1e6 * (test_api_cpu_s(&b->api) - cpu) / (double)n, n);
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Reads flame graphs of ranges with random starts. */
static void
read_ranges(struct bench *b, const char *name, int64_t length_ms)
{
	int64_t spare = b->steps * STEP_MS - length_ms;
	double ms[RANGES], cpu = test_api_cpu_s(&b->api);

	if (spare < 0)
		return;
	for (int i = 0; i < RANGES; i++) {
		int64_t from = b->from_ms + spare * i / RANGES;
		int64_t began = clock_mono_ns();
		CLEANUP_REPLY struct client_reply r = {0};
		char path[240];

		snprintf(path, sizeof(path),
		         API_PROFILES "/merge?service=bench%d&profileType=cpu"
		                      "&from=%lld&to=%lld&format=html",
		         i % SERVICES, (long long)from,
		         (long long)(from + length_ms));
		r = ask(&b->api, (struct ask){.key = KEY_VIEWER, .path = path});
		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
		ms[i] = (double)(clock_mono_ns() - began) / NS_PER_MS;
	}
	qsort(ms, RANGES, sizeof(*ms), by_value);
	printf("%s\t%.2f\t%.2f\t%d\n", name, ms[RANGES / 2],
	       1e3 * (test_api_cpu_s(&b->api) - cpu) / RANGES, RANGES);
}

/* --- the store ------------------------------------------------------------ */

static int
sum_group(void *arg, size_t group, struct buf *out)
{
	struct batch *batch = ((void **)arg)[0];
	const struct store *s = ((void **)arg)[1];
	struct batch_group *g = &batch->groups[group];
	struct window_list *l = &g->windows;
	CLEANUP_MERGE struct merge *m = NULL;
	int rc = merge_new(MAX_BYTES, &m);

	if (!rc && g->has_parts)
		merge_keep_parts(m);
	for (size_t i = 0; i < l->n && !rc; i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

		rc = batch_profile(s, l, i, &bytes)
		             ?: merge_add_file(m, bytes.p, bytes.len, MAX_BYTES,
		                               &why);
	}
	return rc ? rc : merge_encode(m, out);
}

/* Makes all rollups, as a worker does. */
static void
roll_up(struct bench *b)
{
	struct store *s = &b->api.store.s;
	int rc = store_adopt(s); /* from the API's host name */

	ck_assert_int_eq(rc, 0);
	for (;;) {
		CLEANUP_BATCH struct batch *batch = NULL;

		rc = batch_next(s, clock_wall_ms(), &batch);
		if (rc)
			break;
		ck_assert_int_eq(
			batch_store(s, batch, sum_group, (void *[]){batch, s}),
			0);
	}
	ck_assert_int_eq(rc, -ENOENT);
	/* a restart closes segments, which else takes five minutes */
	for (int i = 0; i < b->api.n; i++)
		test_api_restart(&b->api, i);
	while ((rc = window_reap(s)) > 0)
		;
	ck_assert_int_eq(rc, 0);
}

/* Returns the disk space of the files in a folder, without SQLite's log, which
 * does not grow with pushes. */
static int64_t
disk_bytes(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int64_t n = 0;
	struct dirent *e;
	struct stat st;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || strstr(e->d_name, "-wal") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		n += S_ISDIR(st.st_mode) ? disk_bytes(fd, e->d_name)
		                         : st.st_blocks * 512;
	}
	closedir(d);
	return n;
}

static void
tell_bytes(struct bench *b, const char *name)
{
	double n = (double)b->steps * SERVICES;

	upkeep(b);
	printf("%s\t%.0f\t%.0f\t%.0f\n", name,
	       (double)disk_bytes(AT_FDCWD, b->api.store.dir) / n,
	       (double)disk_bytes(b->api.store.s.segments_fd, ".") / n, n);
}

/* The harness of the API's tests works only inside a test. */
TEST(measure)
{
	const char *minutes = getenv("MINUTES"), *form = getenv("FORM");
	struct bench *b = calloc(1, sizeof(*b));

	ck_assert_ptr_nonnull(b);
	b->form = form ? form : "";
	b->otlp = !strcmp(b->form, "otlp");
	b->steps = (minutes ? atoll(minutes) : 360) * MINUTE_MS / STEP_MS;
	b->from_ms = window_floor(WINDOW_DAY, clock_wall_ms()) -
	             b->steps * STEP_MS;
	read_profiles(b);
	draw_pushes(b);
	b->api = test_api(4, "kept_bytes = 0\n");
	push_all(b);
	if (!*b->form) {
		tell_bytes(b, "fresh");
		roll_up(b);
		tell_bytes(b, "summed");
		read_ranges(b, "hour", HOUR_MS);
		read_ranges(b, "2h", 2 * HOUR_MS);
		read_ranges(b, "6h", 6 * HOUR_MS);
		tell_memory(b);
	}
	test_api_done(&b->api);
}
END

SUITE("push", .seconds = INT32_MAX);
