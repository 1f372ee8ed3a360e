/* The watches of continuous profiling, by service. */
#include "worker/continuous/watches.h"

#include "lib/store.h"
#include "store/continuous.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct rig {
	struct test_store store;
	struct targets targets;
	struct watches w;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_done(struct rig *r)
{
	watches_done(&r->w);
	targets_done(&r->targets);
	test_store_done(&r->store);
}

static void
rig_init(struct rig *r)
{
	*r = (struct rig){.store = test_store(),
	                  .targets = {.host = TEST_HOST},
	                  .w = WATCHES_INIT};
	r->w.store = &r->store.s;
	r->w.host = TEST_HOST;
}

/* Samples a tenant's service with the name of the test store's. */
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

/* The other tenant is read first: its watch must not replace the one that was
 * there. */
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
