/* The watches of continuous profiling, by service. */
#include "worker/continuous/watches.h"

#include "base/clock.h"
#include "base/msg.h"
#include "lib/store.h"
#include "store/continuous.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct rig {
	struct test_store store;
	struct targets targets;
	struct watches w;
	int analyser, opener; /* their ends of sockets, or -1 */
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_done(struct rig *r)
{
	if (r->analyser >= 0) {
		close(r->w.analyser);
		close(r->w.events);
	}
	close_ptr(&r->analyser);
	close_ptr(&r->opener);
	watches_done(&r->w);
	targets_done(&r->targets);
	test_store_done(&r->store);
}

static void
rig_init(struct rig *r)
{
	*r = (struct rig){.store = test_store(),
	                  .targets = {.host = TEST_HOST},
	                  .w = WATCHES_INIT,
	                  .analyser = -1,
	                  .opener = -1};
	r->w.store = &r->store.s;
	r->w.host = TEST_HOST;
}

/* Enables continuous profiling of the tenant's service that has the same name
 * as the test store's. */
static void
enable(struct rig *r, const char *tenant)
{
	const struct continuous c = test_continuous(tenant);

	ck_assert_int_eq(continuous_put(&r->store.s, &c), 0);
	ck_assert_int_eq(targets_load(&r->targets, &r->store.s), 0);
	ck_assert_int_eq(watches_load(&r->w, &r->targets), 0);
}

static const struct watch *
watch_of(const struct rig *r, const char *tenant)
{
	for (size_t i = 0; i < r->w.n; i++)
		if (!strcmp(r->w.items[i].tenant, tenant))
			return &r->w.items[i];
	ck_abort_msg("no watch of %s", tenant);
	return NULL;
}

/* The other tenant is read first: its watch must not replace the existing
 * one. */
TEST(a_service_of_the_same_name_has_a_watch_of_its_own)
{
	CLEANUP_RIG struct rig r;
	char before[ID_MAX];

	rig_init(&r);
	enable(&r, TEST_TENANT);
	snprintf(before, sizeof(before), "%s", watch_of(&r, TEST_TENANT)->id);
	test_tenant(&r.store.s, "a");
	enable(&r, "a");
	ck_assert_uint_eq(r.w.n, 2);
	ck_assert_str_eq(watch_of(&r, TEST_TENANT)->id, before);
	ck_assert_str_ne(watch_of(&r, "a")->id, before);
}
END

/* The last row belongs to the watch, the others do not. */
TEST(no_more_windows_are_read_than_there_can_be_watches)
{
	CLEANUP_RIG struct rig r;
	const struct msg_windows m = {.type = MSG_WINDOWS};
	struct window_row row = {.start_ms = 1000, .duration_ms = 1000};
	int data = memfd_create("data", MFD_CLOEXEC);
	int rows = memfd_create("rows", MFD_CLOEXEC);

	rig_init(&r);
	enable(&r, TEST_TENANT);
	strcpy(row.id, watch_of(&r, TEST_TENANT)->id);
	for (off_t i = WORKER_MAX_CAPTURES - 1; i <= WORKER_MAX_CAPTURES; i++)
		ck_assert_int_eq(
			pwrite(rows, &row, sizeof(row), i * (off_t)sizeof(row)),
			sizeof(row));
	ck_assert_int_eq(ftruncate(rows, (off_t)1 << 40), 0);
	watches_take(&r.w, &m, data, rows, 1);
	ck_assert_int_eq(r.w.counts.stored, 1);
	ck_assert_int_eq(r.w.counts.dropped, WORKER_MAX_CAPTURES - 1);
	ck_assert_int_eq(r.w.rows, -1);
}
END

/* Takes a window of a file with that many bytes. Returns whether it is stored;
 * otherwise it is dropped. */
static bool
is_stored(struct rig *r, const struct window_row *row, off_t bytes)
{
	const struct msg_windows m = {.type = MSG_WINDOWS};
	const struct continuous_host before = r->w.counts;
	int data = memfd_create("data", MFD_CLOEXEC);
	int rows = memfd_create("rows", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(data, bytes), 0);
	ck_assert_int_eq(pwrite(rows, row, sizeof(*row), 0), sizeof(*row));
	watches_take(&r->w, &m, data, rows, 1);
	ck_assert_int_eq(r->w.rows, -1);
	ck_assert_int_eq(r->w.counts.stored + r->w.counts.dropped,
	                 before.stored + before.dropped + 1);
	return r->w.counts.stored > before.stored;
}

/* Windows of a second, unless they say otherwise. */
static const struct {
	struct window_row row;
	off_t bytes;
	bool stored;
} written[] = {
	{{.start_ms = 1}, 0, true},
	{{.start_ms = 0}, 0, false},
	{{.start_ms = INT64_MAX / 2}, 0, false},
	{{.start_ms = 2000, .duration_ms = -1}, 0, false},
	{{.start_ms = 2000, .duration_ms = INT64_MAX / 2}, 0, false},
	{{.start_ms = 2000, .samples = -1}, 0, false},
	{{.start_ms = 2000, .value = -1}, 0, false},
	{{.start_ms = 2000, .quota_ms = -1}, 0, false},
	{{.start_ms = 2000, .quota_ms = INT64_MAX / 2}, 0, false},
	{{.start_ms = 3000, .offset = 3, .length = 7}, 10, true},
	{{.start_ms = 4000, .offset = 3, .length = 8}, 10, false},
	{{.start_ms = 5000, .offset = 10}, 10, true},
	{{.start_ms = 6000, .offset = 11}, 10, false},
	{{.start_ms = 7000, .length = WINDOW_MAX_BYTES + 1},
         WINDOW_MAX_BYTES + 1,
         false},
};

/* The analyser may do as a target wants. */
TEST(a_window_that_makes_no_sense_is_dropped_and_in_nobodys_way)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	enable(&r, TEST_TENANT);
	for (size_t i = 0; i < ARRAY_LEN(written); i++) {
		struct window_row row = written[i].row;

		strcpy(row.id, watch_of(&r, TEST_TENANT)->id);
		row.duration_ms = row.duration_ms ?: 1000;
		ck_assert_msg(is_stored(&r, &row, written[i].bytes) ==
		                      written[i].stored,
		              "row %zu", i);
	}
}
END

/* --- time ----------------------------------------------------------------- */

#define T0        (1000 * NS_PER_S)
#define WINDOW_NS (10 * NS_PER_S)

static const struct conf roomy = {.continuous_window = 10};
static const struct conf full = {.continuous_window = 10,
                                 .continuous_min_free = INT64_MAX};

/* Watches a service, with the ends of an analyser and an opener. */
static void
begin(struct rig *r)
{
	int analyser[2], opener[2];

	rig_init(r);
	enable(r, TEST_TENANT);
	ck_assert_int_eq(msg_pair(analyser) | msg_pair(opener), 0);
	r->analyser = analyser[1];
	r->opener = opener[1];
	r->w.events = opener[0];
	r->w.conf = &roomy;
	watches_analyser(&r->w, analyser[0]);
}

/* Takes a step. Returns how many messages of that type the analyser got. */
static unsigned
step(struct rig *r, int64_t now_ns, enum msg_type type)
{
	struct msg_capture m;
	unsigned n = 0;

	watches_step(&r->w, &r->targets, now_ns);
	while (recv(r->analyser, &m, sizeof(m), MSG_DONTWAIT) > 0)
		n += m.type == type;
	return n;
}

static void
answer(struct rig *r, int64_t now_ns)
{
	const struct msg_windows m = {.type = MSG_WINDOWS};

	watches_take(&r->w, &m, -1, -1, now_ns);
}

TEST(a_window_is_cut_once_the_one_before_has_come_or_is_overdue)
{
	int64_t late_ns = T0 + WINDOW_NS + 60 * NS_PER_S;
	CLEANUP_RIG struct rig r;

	begin(&r);
	ck_assert_uint_eq(step(&r, T0, MSG_CUT), 0);
	ck_assert_uint_eq(step(&r, T0 + WINDOW_NS - 1, MSG_CUT), 0);
	ck_assert_uint_eq(step(&r, T0 + WINDOW_NS, MSG_CUT), 1);
	ck_assert_uint_eq(step(&r, T0 + 2 * WINDOW_NS, MSG_CUT), 0);
	ck_assert_uint_eq(step(&r, late_ns, MSG_CUT), 0);
	ck_assert_uint_eq(step(&r, late_ns + 1, MSG_CUT), 1);
	answer(&r, late_ns + 2);
	ck_assert_uint_eq(step(&r, late_ns + WINDOW_NS, MSG_CUT), 0);
	ck_assert_uint_eq(step(&r, late_ns + 1 + WINDOW_NS, MSG_CUT), 1);
}
END

/* The next window begins on time, unless a whole one was missed. */
TEST(a_window_that_is_cut_late_is_counted_as_wider)
{
	static const struct {
		int64_t late_ns, next_ns;
		int widened;
	} rows[] = {
		{0, T0 + 2 * WINDOW_NS, 0},
		{WINDOW_NS / 2, T0 + 2 * WINDOW_NS, 0},
		{WINDOW_NS / 2 + 1, T0 + 2 * WINDOW_NS, 1},
		{WINDOW_NS - 1, T0 + 2 * WINDOW_NS, 1},
		{WINDOW_NS, T0 + 3 * WINDOW_NS, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t at_ns = T0 + WINDOW_NS + rows[i].late_ns;
		CLEANUP_RIG struct rig r;

		begin(&r);
		ck_assert_uint_eq(step(&r, T0, MSG_CUT), 0);
		ck_assert_uint_eq(step(&r, at_ns, MSG_CUT), 1);
		ck_assert_msg(r.w.counts.widened == rows[i].widened, "row %zu",
		              i);
		answer(&r, at_ns);
		ck_assert_msg(step(&r, rows[i].next_ns - 1, MSG_CUT) == 0,
		              "row %zu", i);
		ck_assert_msg(step(&r, rows[i].next_ns, MSG_CUT) == 1,
		              "row %zu", i);
	}
}
END

TEST(nothing_is_sampled_while_the_disk_is_nearly_full)
{
	CLEANUP_RIG struct rig r;

	begin(&r);
	ck_assert_uint_eq(step(&r, T0, MSG_CUT), 0);
	r.w.items[0].stamp = 1; /* the analyser samples its processes */
	r.w.conf = &full;
	ck_assert_uint_eq(step(&r, T0 + 1, MSG_STOP), 1);
	ck_assert_int_eq(r.w.state, CONTINUOUS_HOST_REFUSED);
	ck_assert_int_eq(r.w.counts.refused, 1);
	ck_assert_uint_eq(step(&r, T0 + WINDOW_NS, MSG_STOP), 0);
	ck_assert_int_eq(r.w.counts.refused, 1);
	ck_assert_uint_eq(step(&r, T0 + WINDOW_NS + 1, MSG_CUT), 0);
	ck_assert_int_eq(r.w.counts.refused, 2);
	r.w.conf = &roomy;
	ck_assert_uint_eq(step(&r, T0 + 2 * WINDOW_NS, MSG_CUT), 0);
	ck_assert_int_eq(r.w.state, CONTINUOUS_HOST_RUNNING);
	ck_assert_uint_eq(step(&r, T0 + 3 * WINDOW_NS - 1, MSG_CUT), 0);
	ck_assert_uint_eq(step(&r, T0 + 3 * WINDOW_NS, MSG_CUT), 1);
}
END

/* --- failures ------------------------------------------------------------- */

TEST(a_service_whose_windows_end_the_process_that_makes_them_rests)
{
	static const struct {
		enum capture_error error, noted;
		bool named;
		int64_t rest_ns;
	} rows[] = {
		{CAPTURE_FINISH_DIED, CAPTURE_FINISH_DIED, true,
	         600 * NS_PER_S},
		{CAPTURE_FINISH_DIED, CAPTURE_OK, false, 0},
		{CAPTURE_INTERNAL, CAPTURE_OK, true, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct msg_windows m = {.type = MSG_WINDOWS,
		                        .error = rows[i].error};
		const struct watch *v;
		CLEANUP_RIG struct rig r;

		begin(&r);
		v = watch_of(&r, TEST_TENANT);
		if (rows[i].named)
			strcpy(m.failed, v->id);
		watches_take(&r.w, &m, -1, -1, T0);
		ck_assert_int_eq(r.w.counts.gaps, 1);
		ck_assert_msg(v->error == rows[i].noted, "row %zu", i);
		ck_assert_msg(
			v->retry_ns ==
				(rows[i].rest_ns ? T0 + rows[i].rest_ns : 0),
			"row %zu", i);
	}
}
END

TEST(a_watch_that_fails_is_a_gap_unless_its_service_does_not_run)
{
	static const struct {
		uint32_t error;
		enum capture_error noted;
		int64_t rest_ns;
	} rows[] = {
		{CAPTURE_NO_PROCESS, CAPTURE_OK, NS_PER_S},
		{CAPTURE_PERF_PARANOID, CAPTURE_PERF_PARANOID, 60 * NS_PER_S},
		{CAPTURE_ERRORS, CAPTURE_INTERNAL, 60 * NS_PER_S},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct msg_done m = {.type = MSG_DONE, .error = rows[i].error};
		const struct watch *v;
		CLEANUP_RIG struct rig r;

		begin(&r);
		v = watch_of(&r, TEST_TENANT);
		ck_assert(!watches_failed(&r.w, &m, T0)); /* a capture's */
		strcpy(m.id, v->id);
		ck_assert(watches_failed(&r.w, &m, T0));
		ck_assert_msg(v->error == rows[i].noted, "row %zu", i);
		ck_assert_int_eq(r.w.counts.gaps, rows[i].noted != CAPTURE_OK);
		ck_assert_int_eq(v->retry_ns, T0 + rows[i].rest_ns);
	}
}
END

/* --- settings ------------------------------------------------------------- */

static void
set_service(struct rig *r, const char *allow, const char *source)
{
	CLEANUP_SERVICE struct service s = {0};

	ck_assert_int_eq(
		service_get(&r->store.s, TEST_TENANT, TEST_SERVICE, &s), 0);
	free(s.allow);
	free(s.source);
	free(s.pprof_url);
	s.allow = strdup(allow);
	s.source = strdup(source);
	s.pprof_url = strdup("http://127.0.0.1:6060/");
	ck_assert_int_eq(service_replace(&r->store.s, &s), 0);
}

TEST(a_watch_lasts_as_long_as_its_settings)
{
	static const struct {
		int64_t rate, enabled;
		const char *allow, *source;
		bool same, watched;
	} rows[] = {
		{19, 1, "{}", "auto", true, true},
		{20, 1, "{}", "auto", false, true},
		{20, 1, "{\"threadNames\":true}", "auto", false, true},
		{20, 1, "{\"threadNames\":true}", "auto", true, true},
		{20, 1, "{\"threadNames\":true}", "endpoint", false, false},
		{20, 1, "{\"threadNames\":true}", "auto", false, true},
		{20, 0, "{\"threadNames\":true}", "auto", false, false},
	};
	struct continuous c = test_continuous(TEST_TENANT);
	char id[ID_MAX];
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	enable(&r, TEST_TENANT);
	strcpy(id, watch_of(&r, TEST_TENANT)->id);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		c.sample_rate = rows[i].rate;
		c.enabled = rows[i].enabled;
		set_service(&r, rows[i].allow, rows[i].source);
		ck_assert_int_eq(continuous_put(&r.store.s, &c), 0);
		ck_assert_int_eq(targets_load(&r.targets, &r.store.s), 0);
		ck_assert_int_eq(watches_load(&r.w, &r.targets), 0);
		ck_assert_msg(r.w.n == rows[i].watched, "row %zu", i);
		if (!r.w.n)
			continue;
		ck_assert_msg(!strcmp(r.w.items[0].id, id) == rows[i].same,
		              "row %zu", i);
		strcpy(id, r.w.items[0].id);
	}
}
END

/* --- labels --------------------------------------------------------------- */

/* Looks at two processes of the service, in containers with these versions;
 * returns the labels of the newest series. */
static void
labels_with(struct rig *r, const char *first, const char *second,
            char out[static 256])
{
	struct conf_tenant scope = {.tenant = TEST_TENANT, .exe = (char *)"*"};
	const struct conf conf = {.tenants = &scope, .ntenants = 1};
	const char *const versions[] = {first, second};
	CLEANUP_SERVICE struct service of = {0};
	struct series_list l = {0};
	struct container in[2];
	struct proc items[2];
	struct proc_table procs = {.items = items, .proc_fd = -1};

	ck_assert_int_eq(
		service_get(&r->store.s, TEST_TENANT, TEST_SERVICE, &of), 0);
	for (size_t i = 0; i < 2; i++) {
		if (!versions[i])
			continue;
		in[i] = (struct container){
			.facts = {
				.facts = {[CONTAINER_IMAGE] =
		                                  (char *)"shop/web",
		                          [CONTAINER_POD] =
		                                  (char *)versions[i]},
				.labels = {{(char *)"org.opencontainers.image."
		                                    "version",
		                            (char *)versions[i]}},
				.nlabels = 1}};
		items[procs.n++] = (struct proc){.pid = 10 + (int32_t)i,
		                                 .start_time = 1 + i,
		                                 .exe = of.match_value,
		                                 .cmdline = (char *)"x",
		                                 .unit = (char *)"",
		                                 .container = &in[i]};
	}
	ck_assert_int_eq(targets_match(&r->targets, &conf, &procs), 0);
	ck_assert_int_eq(targets_load(&r->targets, &r->store.s), 0);
	ck_assert_int_eq(watches_load(&r->w, &r->targets), 0);
	ck_assert_int_eq(
		series_list(&r->store.s,
	                    &(struct series_filter){TEST_TENANT, "", "", ""},
	                    &l),
		0);
	for (size_t i = 0; i < l.n; i++)
		if (!strcmp(l.items[i].id, watch_of(r, TEST_TENANT)->series))
			snprintf(out, 256, "%s", l.items[i].labels);
	series_list_done(&l);
}

TEST(windows_have_the_labels_that_all_containers_of_the_service_agree_on)
{
	static const struct {
		const char *first, *second; /* NULL: no process */
		const char *labels;
		bool changed;
	} rows[] = {
		{"1.0", "1.0", "{\"image\":\"shop/web\",\"version\":\"1.0\"}",
	         true},
		{"1.0", NULL, "{\"image\":\"shop/web\",\"version\":\"1.0\"}",
	         false},
		{NULL, NULL, "{\"image\":\"shop/web\",\"version\":\"1.0\"}",
	         false},
		{"1.0", "1.1", "{\"image\":\"shop/web\"}", true},
		{NULL, "1.1", "{\"image\":\"shop/web\",\"version\":\"1.1\"}",
	         true},
	};
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	enable(&r, TEST_TENANT);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char labels[256] = "";

		r.targets.relabelled = false;
		labels_with(&r, rows[i].first, rows[i].second, labels);
		ck_assert_str_eq(labels, rows[i].labels);
		ck_assert_int_eq(r.targets.relabelled, rows[i].changed);
	}
}
END

/* Each start of a pod has another name. */
TEST(the_name_of_a_pod_is_a_label_of_captures_not_of_windows)
{
	CLEANUP_RIG struct rig r;
	const struct target *t;
	char labels[256] = "";

	rig_init(&r);
	enable(&r, TEST_TENANT);
	labels_with(&r, "web-7d9-x2", "web-7d9-x2", labels);
	ck_assert_ptr_null(strstr(labels, "pod"));
	t = targets_find(&r.targets, TEST_TENANT, TEST_SERVICE);
	ck_assert_str_eq(
		json_string_value(json_object_get(t->start_labels, "pod")),
		"web-7d9-x2");
	labels_with(&r, "web-7d9-x2", "web-7d9-k8", labels);
	t = targets_find(&r.targets, TEST_TENANT, TEST_SERVICE);
	ck_assert_uint_eq(json_object_size(t->start_labels), 0);
}
END

TEST(a_label_of_a_container_that_is_too_long_is_left_out)
{
	CLEANUP_RIG struct rig r;
	char longest[CONTAINER_PROFILE_LABEL_TEXT + 1], labels[256] = "";

	memset(longest, '1', sizeof(longest));
	longest[CONTAINER_PROFILE_LABEL_TEXT] = '\0';
	rig_init(&r);
	enable(&r, TEST_TENANT);
	labels_with(&r, longest, NULL, labels);
	ck_assert_str_eq(labels, "{\"image\":\"shop/web\"}");
}
END

SUITE("watches");
