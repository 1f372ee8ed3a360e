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
	struct windows w;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_done(struct rig *r)
{
	windows_done(&r->w);
	targets_done(&r->targets);
	test_store_done(&r->store);
}

static void
rig_init(struct rig *r)
{
	*r = (struct rig){.store = test_store(),
	                  .targets = {.host = TEST_HOST},
	                  .w = WINDOWS_INIT};
	r->w.store = &r->store.s;
	r->w.host = TEST_HOST;
}

/* Samples a service of the name that the test store's has. */
static void
enable(struct rig *r, const char *tenant)
{
	const struct continuous c = test_continuous(tenant);

	ck_assert_int_eq(continuous_put(&r->store.s, &c), 0);
	ck_assert_int_eq(targets_load(&r->targets, &r->store.s), 0);
	ck_assert_int_eq(windows_load(&r->w, &r->targets), 0);
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

/* The other tenant is read first: its watch must not take that of the one that
 * was there. */
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

/* The last row that is read is of the watch; none of the others is. */
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
	windows_take(&r.w, &m, data, rows, 1);
	ck_assert_int_eq(r.w.counts.stored, 1);
	ck_assert_int_eq(r.w.counts.dropped, WORKER_MAX_CAPTURES - 1);
	ck_assert_int_eq(r.w.rows, -1);
}
END

SUITE("watches", a_service_of_the_same_name_has_a_watch_of_its_own,
      no_more_windows_are_read_than_there_can_be_watches)
