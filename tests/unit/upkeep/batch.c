/*
 * Windows that were added up are kept as counts of the stacks of their minute,
 * and later of their hour: each keeps its contents, whatever happens to the
 * writer, and damage or retention costs no more than it must.
 */
#include "upkeep/batch.h"

#include "base/clock.h"
#include "base/counted.h"
#include "base/id.h"
#include "lib/faults.h"
#include "lib/folded.h"
#include "lib/stock.h"
#include "lib/windows.h"
#include "profile/merge.h"
#include "range/range.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_BYTES ((size_t)16 << 20)
#define MINUTE_MS INT64_C(60000)
#define T0        (28000000 * MINUTE_MS)
#define WINDOWS   6 /* in a minute */
#define FRAMES    40

/* Makes a profile whose stacks recur: about 3 KB of pprof. */
static struct profile *
profile_at(int64_t start_ms)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int seed = (int)(start_ms / 10000 % 97);

	for (int i = 0; i < 30; i++) {
		buf_puts(&text, "main");
		for (int k = 0; k < 3; k++)
			buf_addf(&text, ";a_function_with_a_long_name_%d",
			         (i * 7 + k * 5 + seed % 3) % FRAMES);
		buf_addf(&text, " %d\n", 1 + (i * seed) % 5);
	}
	return profile_of(buf_str(&text));
}

static void
add_minute(struct store *s, int64_t start_ms, char ids[WINDOWS][ID_MAX])
{
	for (int i = 0; i < WINDOWS; i++) {
		int64_t at = start_ms + i * 10000;
		CLEANUP_PROFILE struct profile *p = profile_at(at);

		p->time_ns = at * NS_PER_MS;
		p->duration_ns = 10 * NS_PER_S;
		test_window(s,
		            &(struct test_window){.start_ms = at,
		                                  .span_ms = 10000,
		                                  .profile = p},
		            ids[i]);
	}
}

struct summing {
	struct store *s;
	struct batch *batch;
};

static int
sum(void *arg, size_t group, struct buf *out)
{
	const struct summing *of = arg;
	struct batch_group *g = &of->batch->groups[group];
	CLEANUP_MERGE struct merge *m = NULL;
	int rc = merge_new(MAX_BYTES, &m);

	if (!rc && g->has_parts)
		merge_keep_parts(m);
	for (size_t i = 0; i < g->windows.n && !rc; i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

		rc = batch_profile(of->s, &g->windows, i, &bytes);
		if (!rc && bytes.len)
			rc = merge_add_file(m, bytes.p, bytes.len, MAX_BYTES,
			                    &why);
	}
	return rc ? rc : merge_encode(m, out);
}

/* Makes all rollups that are due at that time. */
static void
roll_up(struct store *s, int64_t now_ms)
{
	int rc;

	for (;;) {
		CLEANUP_BATCH struct batch *b = NULL;

		rc = batch_next(s, now_ms, &b);
		if (rc)
			break;
		ck_assert_int_eq(
			batch_store(s, b, sum, &(struct summing){s, b}), 0);
	}
	ck_assert_int_eq(rc, -ENOENT);
}

static struct window
window_of(struct store *s, const char *id)
{
	CLEANUP_SERIES struct series of = {0};
	struct window w = {0};

	ck_assert_int_eq(window_get(s, TEST_TENANT, id, &w, &of), 0);
	return w;
}

/* Reads and decodes a window; returns the error of either. */
static int
read_window(struct store *s, const struct window *w, struct profile **out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PACKED struct packed k = {0};

	return window_read(s, w, &bytes)
	               ?: packed_decode(bytes.p, bytes.len, MAX_BYTES, &k, &why)
	               ?: packed_profile(&k, MAX_BYTES, out);
}

static struct profile *
merged(const struct profile *a, const struct profile *b)
{
	CLEANUP_MERGE struct merge *m = NULL;
	struct profile *out = NULL;

	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	ck_assert_int_eq(merge_add(m, a), 0);
	if (b)
		ck_assert_int_eq(merge_add(m, b), 0);
	ck_assert_int_eq(merge_end(m, &out), 0);
	return out;
}

/* Merging a window with the profile that it was made from adds no row, and
 * doubles each value. */
static void
check_window(struct store *s, const struct window *w)
{
	CLEANUP_PROFILE struct profile *p = profile_at(w->start_ms);
	CLEANUP_PROFILE struct profile *got = NULL, *once = NULL;
	CLEANUP_PROFILE struct profile *twice = NULL;

	ck_assert_int_eq(read_window(s, w, &got), 0);
	ck_assert_int_eq(got->time_ns, w->start_ms * NS_PER_MS);
	ck_assert_int_eq(got->duration_ns, 10 * NS_PER_S);
	once = merged(p, NULL);
	twice = merged(p, got);
	ck_assert_uint_eq(got->nfunctions, p->nfunctions);
	ck_assert_uint_eq(got->nlocations, p->nlocations);
	ck_assert_uint_eq(got->nlines, p->nlines);
	ck_assert_uint_eq(twice->nsamples, once->nsamples);
	ck_assert_uint_eq(twice->nlocations, once->nlocations);
	ck_assert_uint_eq(strings_count(twice->strings),
	                  strings_count(once->strings));
	for (size_t i = 0; i < (size_t)once->nsamples * once->ntypes; i++)
		ck_assert_int_eq(twice->values[i], 2 * once->values[i]);
}

static void
check_windows(struct store *s, char ids[WINDOWS][ID_MAX])
{
	for (int i = 0; i < WINDOWS; i++) {
		CLEANUP_WINDOW struct window w = window_of(s, ids[i]);

		check_window(s, &w);
	}
}

TEST(windows_of_a_minute_are_kept_as_counts_of_its_stacks)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window minute = {0};
	char ids[WINDOWS][ID_MAX];
	int64_t before = 0;

	add_minute(&t.s, T0, ids);
	for (int i = 0; i < WINDOWS; i++) {
		CLEANUP_WINDOW struct window w = window_of(&t.s, ids[i]);

		before += w.length;
	}
	roll_up(&t.s, T0 + 5 * MINUTE_MS);
	check_windows(&t.s, ids);
	for (int i = 0; i < WINDOWS; i++) {
		CLEANUP_WINDOW struct window w = window_of(&t.s, ids[i]);

		ck_assert_int_lt(w.length, before / WINDOWS / 4);
		window_done(&minute);
		minute = window_of(&t.s, w.parent);
		ck_assert_int_eq(minute.level, WINDOW_MINUTE);
		ck_assert_str_eq(w.segment, minute.segment);
	}
	/* the files that held them are deleted */
	while (window_reap(&t.s) > 0)
		;
	check_windows(&t.s, ids);
}
END

#define MINUTES 4
#define HOUR    (T0 + 100 * MINUTE_MS) /* the hours around T0 have ended */

static void
add_minutes(struct store *s, char ids[MINUTES][WINDOWS][ID_MAX])
{
	for (int i = 0; i < MINUTES; i++)
		add_minute(s, T0 + i * MINUTE_MS, ids[i]);
}

static void
check_minutes(struct store *s, char ids[MINUTES][WINDOWS][ID_MAX])
{
	for (int i = 0; i < MINUTES; i++)
		check_windows(s, ids[i]);
}

/* Checks that a minute is the sum of its windows. */
static void
check_minute(struct store *s, const struct window *minute)
{
	CLEANUP_PROFILE struct profile *got = NULL, *expected = NULL;
	CLEANUP_MERGE struct merge *m = NULL;

	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	for (int i = 0; i < WINDOWS; i++) {
		CLEANUP_PROFILE struct profile *p =
			profile_at(minute->start_ms + i * 10000);

		ck_assert_int_eq(merge_add(m, p), 0);
	}
	ck_assert_int_eq(merge_end(m, &expected), 0);
	ck_assert_int_eq(read_window(s, minute, &got), 0);
	ck_assert_uint_eq(got->nsamples, expected->nsamples);
	ck_assert_uint_eq(got->nlocations, expected->nlocations);
	ck_assert_int_eq(profile_total(got, 0), profile_total(expected, 0));
	ck_assert_int_eq(got->time_ns, minute->start_ms * NS_PER_MS);
	ck_assert_int_eq(got->duration_ns, 60 * NS_PER_S);
}

TEST(minutes_of_an_hour_and_their_windows_are_counts_of_its_stacks)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char ids[MINUTES][WINDOWS][ID_MAX];
	int64_t before[MINUTES];

	add_minutes(&t.s, ids);
	roll_up(&t.s, T0 + 15 * MINUTE_MS);
	for (int i = 0; i < MINUTES; i++) {
		CLEANUP_WINDOW struct window w = window_of(&t.s, ids[i][0]);
		CLEANUP_WINDOW struct window m = window_of(&t.s, w.parent);

		before[i] = m.length;
	}
	roll_up(&t.s, HOUR);
	while (window_reap(&t.s) > 0)
		;
	check_minutes(&t.s, ids);
	for (int i = 0; i < MINUTES; i++) {
		CLEANUP_WINDOW struct window w = window_of(&t.s, ids[i][1]);
		CLEANUP_WINDOW struct window m = window_of(&t.s, w.parent);
		CLEANUP_WINDOW struct window hour = window_of(&t.s, m.parent);

		ck_assert_int_eq(hour.level, WINDOW_HOUR);
		ck_assert_str_eq(w.segment, hour.segment);
		ck_assert_str_eq(m.segment, hour.segment);
		ck_assert_int_lt(m.length, before[i] / 2);
		check_minute(&t.s, &m);
	}
	if (!test_on_server()) /* a server has no file to verify */
		ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 0);
}
END

/* As an earlier release left it. */
TEST(minutes_of_an_hour_that_was_made_before_become_counts)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window w = {0}, m = {0}, hour = {0}, again = {0};
	CLEANUP_PROFILE struct profile *before = NULL, *after = NULL;
	char ids[MINUTES][WINDOWS][ID_MAX];

	add_minutes(&t.s, ids);
	roll_up(&t.s, T0 + 15 * MINUTE_MS);
	test_rollup(&t.s, WINDOW_HOUR);
	t.s.whole_ms = 0; /* as in a worker that starts */
	w = window_of(&t.s, ids[2][1]);
	m = window_of(&t.s, w.parent);
	hour = window_of(&t.s, m.parent);
	ck_assert_str_ne(m.segment, hour.segment);
	ck_assert_int_eq(read_window(&t.s, &hour, &before), 0);
	roll_up(&t.s, T0 + 15 * MINUTE_MS);
	while (window_reap(&t.s) > 0)
		;
	check_minutes(&t.s, ids);
	window_done(&m);
	m = window_of(&t.s, w.parent);
	ck_assert_str_eq(m.parent, hour.id);
	check_minute(&t.s, &m);
	again = window_of(&t.s, hour.id);
	ck_assert_str_eq(m.segment, again.segment);
	ck_assert_int_eq(again.value, hour.value);
	ck_assert_int_eq(read_window(&t.s, &again, &after), 0);
	ck_assert_uint_eq(after->nsamples, before->nsamples);
	ck_assert_int_eq(profile_total(after, 0), profile_total(before, 0));
	ck_assert_int_eq(after->duration_ns, before->duration_ns);
}
END

TEST(an_hour_that_has_lost_minutes_stays_as_it_was)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window w = {0}, m = {0}, hour = {0}, again = {0};
	const struct window_keep keep = {.level_ms = {[WINDOW_CAPTURED] = 1}};
	char ids[MINUTES][WINDOWS][ID_MAX], gone[100];

	add_minutes(&t.s, ids);
	roll_up(&t.s, T0 + 15 * MINUTE_MS);
	test_rollup(&t.s, WINDOW_HOUR);
	t.s.whole_ms = 0; /* as in a worker that starts */
	w = window_of(&t.s, ids[2][1]);
	m = window_of(&t.s, w.parent);
	hour = window_of(&t.s, m.parent);
	while (window_expire(&t.s, &keep) > 0)
		;
	snprintf(gone, sizeof(gone),
	         "DELETE FROM profile_window WHERE id = '%s'", m.id);
	test_sql(&t, gone, NULL, 0);
	roll_up(&t.s, T0 + 15 * MINUTE_MS);
	again = window_of(&t.s, hour.id);
	ck_assert_str_eq(again.segment, hour.segment);
	ck_assert_str_eq(again.checksum, hour.checksum);
}
END

/* As in a plan that was made before a rollup, and is read after it. */
TEST(a_row_read_before_a_rollup_is_of_bytes_that_are_gone_after_it)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	char ids[WINDOWS][ID_MAX];
	int rc;

	add_minute(&t.s, T0, ids);
	w = window_of(&t.s, ids[0]);
	roll_up(&t.s, T0 + 5 * MINUTE_MS);
	while (window_reap(&t.s) > 0)
		;
	rc = read_window(&t.s, &w, &p);
	ck_assert_msg(rc == -ENOENT || rc == -EBADMSG, "%d", rc);
}
END

static struct range
range_from(struct store *s, int64_t from_ms, int64_t to_ms)
{
	return (struct range){
		.store = s,
		.tenant = TEST_TENANT,
		.service = TEST_SERVICE,
		.type = "cpu",
		.host = "",
		.from_ms = from_ms,
		.to_ms = to_ms,
	};
}

TEST(a_range_planned_before_a_rollup_is_read_after_it)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL, *a = NULL, *b = NULL;
	CLEANUP_PROFILE struct profile *expected = NULL;
	CLEANUP_RANGE struct range r = range_from(&t.s, T0, T0 + 20000);
	char ids[WINDOWS][ID_MAX];

	add_minute(&t.s, T0, ids);
	ck_assert_int_eq(range_plan(&r), 0);
	ck_assert_uint_eq(r.n, 2);
	roll_up(&t.s, T0 + 5 * MINUTE_MS);
	while (window_reap(&t.s) > 0)
		;
	ck_assert_int_eq(range_merge(&r, &p, &why), 0);
	profile_free(p);
	roll_up(&t.s, HOUR);
	while (window_reap(&t.s) > 0)
		;
	ck_assert_int_eq(range_merge(&r, &p, &why), 0);
	a = profile_at(T0);
	b = profile_at(T0 + 10000);
	expected = merged(a, b);
	ck_assert_uint_eq(p->nsamples, expected->nsamples);
	ck_assert_int_eq(profile_total(p, 0), profile_total(expected, 0));
}
END

static void
check_pinned(int64_t rolled_ms)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct window_keep keep = {.all_ms = 1};
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_WINDOWS struct window_list left = {0};
	char ids[WINDOWS][ID_MAX];

	add_minute(&t.s, T0, ids);
	roll_up(&t.s, rolled_ms);
	ck_assert_int_eq(window_pin(&t.s, TEST_TENANT, ids[2], true), 0);
	while (window_expire(&t.s, &keep) > 0)
		;
	while (window_reap(&t.s) > 0)
		;
	w = window_of(&t.s, ids[2]);
	check_window(&t.s, &w);
	ck_assert_int_eq(window_pin(&t.s, TEST_TENANT, ids[2], false), 0);
	while (window_expire(&t.s, &keep) > 0)
		;
	for (int level = 0; level < WINDOW_LEVELS; level++) {
		ck_assert_int_eq(window_between(&t.s, w.series, level, 0,
		                                INT64_MAX, &left),
		                 0);
		ck_assert_uint_eq(left.n, 0);
		window_list_done(&left);
	}
}

TEST(a_minute_and_an_hour_stay_while_a_pinned_window_needs_them)
{
	check_pinned(T0 + 5 * MINUTE_MS);
	check_pinned(HOUR);
}
END

/* Changes a byte of a window in its file. */
static void
harm(struct store *s, const struct window *w, int64_t at)
{
	char name[ID_MAX + 8];
	CLEANUP_FD int fd = -1;
	char c;

	snprintf(name, sizeof(name), "%s.seg", w->segment);
	fd = openat(s->segments_fd, name, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &c, 1, w->start + at), 1);
	c ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &c, 1, w->start + at), 1);
}

TEST(damage_is_found_and_costs_a_window_or_its_minute)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window w = {0}, minute = {0};
	char ids[WINDOWS][ID_MAX], next[WINDOWS][ID_MAX];

	if (test_on_server())
		return; /* segments are rows there */
	add_minute(&t.s, T0, ids);
	add_minute(&t.s, T0 + MINUTE_MS, next);
	roll_up(&t.s, T0 + 5 * MINUTE_MS);
	w = window_of(&t.s, ids[1]);
	minute = window_of(&t.s, w.parent);
	for (int64_t at = 0; at < w.length; at++) {
		CLEANUP_PROFILE struct profile *p = NULL;

		harm(&t.s, &w, at);
		ck_assert_int_eq(read_window(&t.s, &w, &p), -EBADMSG);
		harm(&t.s, &w, at);
	}
	ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 0);
	for (int64_t at = 0; at < minute.length; at++) {
		CLEANUP_PROFILE struct profile *p = NULL;

		harm(&t.s, &minute, at);
		/* changes of bytes without a meaning in gzip's header do no
		 * harm */
		if (!read_window(&t.s, &w, &p))
			check_window(&t.s, &w);
		harm(&t.s, &minute, at);
	}
	harm(&t.s, &minute, minute.length / 2);
	ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 1);
	check_windows(&t.s, next);
}
END

TEST(damage_to_a_minute_costs_its_windows_and_not_its_hour)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window w = {0}, minute = {0}, hour = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	char ids[MINUTES][WINDOWS][ID_MAX];

	if (test_on_server())
		return; /* segments are rows there */
	add_minutes(&t.s, ids);
	roll_up(&t.s, T0 + 15 * MINUTE_MS);
	w = window_of(&t.s, ids[1][0]);
	minute = window_of(&t.s, w.parent);
	harm(&t.s, &minute, minute.length / 2);
	roll_up(&t.s, HOUR);
	while (window_reap(&t.s) > 0)
		;
	for (int i = 0; i < MINUTES; i++)
		if (i != 1)
			check_windows(&t.s, ids[i]);
	window_done(&w);
	w = window_of(&t.s, ids[1][0]);
	ck_assert_int_eq(read_window(&t.s, &w, &p), -EBADMSG);
	window_done(&minute);
	minute = window_of(&t.s, w.parent);
	hour = window_of(&t.s, minute.parent);
	ck_assert_int_eq(read_window(&t.s, &hour, &p), 0);
	ck_assert_int_eq(p->duration_ns, (MINUTES - 1) * 60 * NS_PER_S);
}
END

TEST(damage_to_an_hour_costs_its_minutes_and_no_other_hour)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_WINDOW struct window w = {0}, minute = {0}, hour = {0};
	char ids[WINDOWS][ID_MAX], next[WINDOWS][ID_MAX];

	if (test_on_server())
		return; /* segments are rows there */
	add_minute(&t.s, T0, ids);
	add_minute(&t.s, T0 + 60 * MINUTE_MS, next);
	roll_up(&t.s, T0 + 200 * MINUTE_MS);
	w = window_of(&t.s, ids[2]);
	minute = window_of(&t.s, w.parent);
	hour = window_of(&t.s, minute.parent);
	for (int64_t at = 0; at < w.length; at++) {
		CLEANUP_PROFILE struct profile *p = NULL;

		harm(&t.s, &w, at);
		ck_assert_int_eq(read_window(&t.s, &w, &p), -EBADMSG);
		harm(&t.s, &w, at);
	}
	for (int64_t at = 0; at < hour.length; at++) {
		CLEANUP_PROFILE struct profile *p = NULL;

		harm(&t.s, &hour, at);
		if (!read_window(&t.s, &w, &p))
			check_window(&t.s, &w);
		harm(&t.s, &hour, at);
	}
	harm(&t.s, &hour, hour.length / 2);
	ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 1);
	check_windows(&t.s, next);
}
END

TEST(a_backup_has_windows_that_are_counts)
{
	CLEANUP_STOCK struct stock k = stock();
	struct test_store restored;
	struct store *s = &k.t.s;
	char ids[WINDOWS][ID_MAX], next[WINDOWS][ID_MAX];

	if (test_on_server())
		return; /* the server has its own backups */
	add_minute(s, T0, ids);
	add_minute(s, T0 + 60 * MINUTE_MS, next);
	roll_up(s, T0 + 65 * MINUTE_MS); /* an hour, and a minute of the next */
	while (window_reap(s) > 0)
		;
	stock_backup(&k);
	stock_whole(k.backup, true);
	stock_restore(&k, k.restored, false);
	stock_whole(k.restored, false);
	snprintf(restored.dir, sizeof(restored.dir), "%.63s", k.restored);
	restored.s = test_store_again(&restored, true);
	check_windows(&restored.s, ids);
	check_windows(&restored.s, next);
	store_close(&restored.s);
}
END

#define DAY_MS      (24 * 60 * MINUTE_MS)
#define FAR         (T0 + 1000 * DAY_MS) /* all that is stored has expired */
#define KILLS       1000 /* more than the writes of one round of rollups */
#define KILLS_LEAST 20

/* Writes that this process may still make before it is killed. */
static long writes_left;

static void
count_write(void)
{
	if (!writes_left--)
		kill(getpid(), SIGKILL);
}

static int
at_call(void *arg, const char *call, const char *path)
{
	(void)arg, (void)path;
	if (strcmp(call, "malloc") && strcmp(call, "pread") &&
	    strncmp(call, "open", 4))
		count_write();
	return 0;
}

/* Writes of SQLite, which lib/faults.h does not see. */
static ssize_t
db_write(int fd, const void *p, size_t n, off_t at)
{
	count_write();
	return syscall(SYS_pwrite64, fd, p, n, at);
}

/* Makes all rollups in a process that is killed at its nth write; false if it
 * makes fewer. */
static bool
kill_at(const struct test_store *t, long n)
{
	static const char *const names[] = {"pwrite", "pwrite64"};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		struct store s = test_store_again(t, true);

		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			vfs->xSetSystemCall(vfs, names[i],
			                    (sqlite3_syscall_ptr)db_write);
		writes_left = n;
		fault_watch(at_call, NULL);
		roll_up(&s, FAR);
		while (window_reap(&s) > 0)
			;
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) || !WEXITSTATUS(status));
	return WIFSIGNALED(status);
}

/* A store in memory if possible, for tests that sync a lot. */
static struct test_store
quick_store(void)
{
	struct test_store t = {.dir = "/dev/shm/stoker-test.XXXXXX"};

	if (test_on_server() || access("/dev/shm", W_OK))
		return test_store();
	ck_assert_ptr_nonnull(mkdtemp(t.dir));
	test_store_in(t.dir, &t.s);
	return t;
}

TEST(a_writer_that_is_killed_at_any_write_loses_no_window)
{
	CLEANUP_TEST_STORE struct test_store t = quick_store();
	char ids[KILLS][WINDOWS][ID_MAX];
	bool killed = true;
	int n = 0;

	if (test_on_server())
		return; /* the worker has the store alone */
	for (; killed; n++) {
		ck_assert_int_lt(n, KILLS);
		add_minute(&t.s, T0 + n * DAY_MS, ids[n]);
		/* no connection of the parent may pass through fork() */
		store_close(&t.s);
		killed = kill_at(&t, n);
		t.s = test_store_again(&t, true);
		check_windows(&t.s, ids[n ? n - 1 : 0]);
		check_windows(&t.s, ids[n]);
	}
	ck_assert_int_gt(n, KILLS_LEAST);
	for (int i = 0; i < n; i++)
		check_windows(&t.s, ids[i]);
	ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 0);
}
END

/* Makes all rollups with files that cannot grow past a size, as on a full
 * disk. */
static void
roll_full(const struct test_store *t, rlim_t bytes)
{
	const struct rlimit most = {bytes, bytes};
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		struct store s = test_store_again(t, true);
		int rc = 0;

		if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
		    setrlimit(RLIMIT_FSIZE, &most))
			_exit(1);
		while (!rc) {
			CLEANUP_BATCH struct batch *b = NULL;

			rc = batch_next(&s, HOUR, &b)
			             ?: batch_store(&s, b, sum,
			                            &(struct summing){&s, b});
			(void)!window_reap(&s);
		}
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

TEST(a_full_disk_loses_no_window)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char ids[MINUTES][WINDOWS][ID_MAX];

	if (test_on_server())
		return; /* the server uses another disk */
	add_minutes(&t.s, ids);
	for (rlim_t bytes = 0; bytes < 16384; bytes += 509) {
		store_close(&t.s);
		roll_full(&t, bytes);
		t.s = test_store_again(&t, true);
		check_minutes(&t.s, ids);
	}
	roll_up(&t.s, HOUR);
	while (window_reap(&t.s) > 0)
		;
	check_minutes(&t.s, ids);
	ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 0);
}
END

#define DAYS 30 /* stored by an earlier release */

/* The ranges of a store that are read: for each day, an hour and a minute. */
static void
plan_days(struct store *s, struct range r[DAYS][2])
{
	for (int i = 0; i < DAYS; i++) {
		int64_t at = T0 + i * DAY_MS;
		int64_t hour = window_floor(WINDOW_HOUR, at);

		r[i][0] = range_from(s, hour, hour + 60 * MINUTE_MS);
		r[i][1] = range_from(s, at, at + MINUTE_MS);
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(range_plan(&r[i][k]), 0);
	}
}

static int64_t
minute_total(int64_t start_ms)
{
	int64_t total = 0;

	for (int i = 0; i < WINDOWS; i++) {
		CLEANUP_PROFILE struct profile *p =
			profile_at(start_ms + i * 10000);

		total += profile_total(p, 0);
	}
	return total;
}

static void
check_days(struct range r[DAYS][2])
{
	for (int i = 0; i < DAYS; i++) {
		int64_t at = T0 + i * DAY_MS, first = minute_total(at);
		int64_t both = first + minute_total(at + MINUTE_MS);

		for (int k = 0; k < 2; k++) {
			CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
			CLEANUP_PROFILE struct profile *p = NULL;

			ck_assert_int_eq(range_merge(&r[i][k], &p, &why), 0);
			ck_assert_uint_eq(r[i][k].lost.n, 0);
			ck_assert_int_eq(profile_total(p, 0), k ? first : both);
			range_done(&r[i][k]);
		}
	}
}

/* For each byte that it reads, makes the minutes of one hour counts of the
 * hour's stacks, and writes a byte. */
static void
convert(const struct test_store *t, int from, int to)
{
	struct store s = test_store_again(t, true);
	char c;

	while (read(from, &c, 1) == 1) {
		CLEANUP_BATCH struct batch *b = NULL;
		int rc = batch_next(&s, T0, &b);

		if (rc)
			_exit(rc == -ENOENT ? 0 : 1);
		if (batch_store(&s, b, sum, &(struct summing){&s, b}))
			_exit(1);
		while (window_reap(&s) > 0)
			;
		if (write(to, &c, 1) != 1)
			break;
	}
	_exit(1);
}

/* Fills a store with minutes and hours as an earlier release left them. */
static void
fill_days(struct store *s, char ids[DAYS][WINDOWS][ID_MAX])
{
	char more[WINDOWS][ID_MAX];

	for (int i = 0; i < DAYS; i++) {
		int64_t at = T0 + i * DAY_MS;

		add_minute(s, at, ids[i]);
		add_minute(s, at + MINUTE_MS, more);
		roll_up(s, at + 15 * MINUTE_MS);
		test_rollup(s, WINDOW_HOUR);
	}
	while (window_reap(s) > 0)
		;
}

TEST(a_store_of_thirty_days_is_converted_while_it_is_read)
{
	CLEANUP_TEST_STORE struct test_store t = quick_store();
	struct range r[DAYS][2];
	char ids[DAYS][WINDOWS][ID_MAX], c = 0;
	int ask[2], answer[2], status, hours = 0;
	pid_t pid;

	if (test_on_server())
		return; /* the worker has the store alone */
	fill_days(&t.s, ids);
	ck_assert_int_eq(pipe2(ask, 0) || pipe2(answer, 0), 0);
	store_close(&t.s); /* no connection may pass through fork() */
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		close(ask[1]);
		convert(&t, ask[0], answer[1]);
	}
	close(answer[1]);
	t.s = test_store_again(&t, false);
	for (;; hours++) {
		plan_days(&t.s, r);
		ck_assert_int_eq(write(ask[1], &c, 1), 1);
		check_days(r); /* meanwhile */
		if (read(answer[0], &c, 1) != 1)
			break;
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(hours, DAYS);
	for (int i = 0; i < DAYS; i++) {
		CLEANUP_WINDOW struct window w = window_of(&t.s, ids[i][1]);
		CLEANUP_WINDOW struct window m = window_of(&t.s, w.parent);
		CLEANUP_WINDOW struct window hour = window_of(&t.s, m.parent);

		ck_assert_str_eq(m.segment, hour.segment);
		check_windows(&t.s, ids[i]);
	}
	ck_assert_int_eq(stock_flaws(t.dir, false, FLAW_DAMAGED), 0);
}
END

static int
sum_as_told(void *arg, size_t group, struct buf *out)
{
	const struct buf *bytes = arg;

	(void)group;
	buf_add(out, bytes->p, bytes->len);
	return buf_err(out);
}

/* The answer of a process without privileges is not trusted. */
TEST(a_bundle_whose_lengths_do_not_add_up_is_no_sum)
{
	static const struct {
		const char *p;
		size_t n;
	} rows[] = {
#define ROW(text) {text, sizeof(text) - 1}
		ROW("x"),
		ROW("SPK1\0\0\0\0\5\0\0\0"),
		ROW("SPK1\1\0\0\0\4\0\0\0"),
		ROW("SPK1\xff\xff\xff\xff\4\0\0\0"),
		ROW("SPK1\2\0\0\0\1\0\0\0\4\0\0\0"),
#undef ROW
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP_BATCH struct batch *b = NULL;
		CLEANUP_WINDOW struct window w = {0}, minute = {0};
		char ids[WINDOWS][ID_MAX];
		struct buf bytes = {.p = (char *)rows[i].p, .len = rows[i].n};

		add_minute(&t.s, T0, ids);
		ck_assert_int_eq(batch_next(&t.s, T0 + 5 * MINUTE_MS, &b), 0);
		ck_assert_int_eq(batch_store(&t.s, b, sum_as_told, &bytes), 0);
		w = window_of(&t.s, ids[0]);
		minute = window_of(&t.s, w.parent);
		ck_assert_int_eq(minute.length, 0);
		check_windows(&t.s, ids);
	}
}
END

SUITE("batch", .seconds = 120);
