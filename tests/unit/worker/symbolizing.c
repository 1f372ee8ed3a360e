/* Uploads that are named again after debug files were fetched. The test plays
 * the analyser and the opener. */
#include "worker/captures/runs.h"

#include "base/clock.h"
#include "lib/store.h"
#include "store/session.h"
#include "store/symbolize.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct rig {
	struct test_store t;
	struct runs c;
	struct targets targets;
	int analyser, opener; /* the test's ends */
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_init(struct rig *r)
{
	int analyser[2], events[2];

	*r = (struct rig){.t = test_store()};
	ck_assert_int_eq(msg_pair(analyser), 0);
	ck_assert_int_eq(msg_pair(events), 0);
	r->analyser = analyser[0];
	r->opener = events[0];
	r->c = (struct runs){.store = &r->t.s,
	                     .analyser = analyser[1],
	                     .events = events[1],
	                     .fetcher = -1};
}

static void
rig_done(struct rig *r)
{
	symbolizing_done(&r->c.symbolizing);
	close(r->analyser);
	close(r->opener);
	close(r->c.analyser);
	close(r->c.events);
	test_store_done(&r->t);
}

static void
upload(struct rig *r, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	const struct session_result result = {.top_functions = "[]",
	                                      .quality = "{\"notes\":[]}"};
	struct blob b;

	ask.origin = SESSION_UPLOAD;
	test_blob(&r->t.s, "bytes", &b);
	ck_assert_int_eq(session_upload(&r->t.s, &ask, &result, &b, id), 0);
	ck_assert_int_eq(symbolize_ask(&r->t.s, TEST_TENANT, id, TEST_HOST), 0);
}

/* The analyser names this many of nine frames of an upload. */
static void
name(struct rig *r, const char *id, int64_t named, enum capture_error error)
{
	struct symbolizing *y = &r->c.symbolizing;
	struct msg_done m = {
		.type = MSG_DONE,
		.error = error,
		.quality = {.frames = 9, .symbolized = named},
	};
	CLEANUP_FD int fd = memfd_create("summary", MFD_CLOEXEC);

	ck_assert_int_eq(
		symbolizing_step(&r->c, &r->targets, TEST_HOST, y->next_ns), 0);
	ck_assert_ptr_nonnull(y->asked.session);
	ck_assert_str_eq(y->asked.session, id);
	ck_assert_int_gt(dprintf(fd, "{\"top\":[],\"unnamed\":[]}"), 0);
	strcpy(m.id, "sess-other");
	ck_assert(!symbolizing_take(y, &r->t.s, &m, fd));
	strcpy(m.id, id);
	ck_assert(symbolizing_take(y, &r->t.s, &m, fd));
}

static void
expect(struct rig *r, const char *id, const char *state)
{
	CLEANUP_SYMBOLIZE struct symbolize y = {0};

	ck_assert_int_eq(symbolize_get(&r->t.s, TEST_TENANT, id, &y), 0);
	ck_assert_str_eq(y.state, state);
}

/* This many files have been fetched, this long after the answers. */
static void
fetched(struct rig *r, uint64_t files, bool busy, int64_t later_ns)
{
	symbolizing_again(&r->c.symbolizing, &r->t.s, TEST_HOST, files, busy,
	                  clock_mono_ns() + later_ns);
}

TEST(all_uploads_that_lack_names_are_named_again_when_files_came)
{
	CLEANUP_RIG struct rig r;
	char lacks[2][ID_MAX], whole[ID_MAX];

	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(lacks); i++) {
		upload(&r, lacks[i]);
		name(&r, lacks[i], 8, CAPTURE_OK);
	}
	upload(&r, whole);
	name(&r, whole, 9, CAPTURE_OK);
	fetched(&r, 1, true, SYMBOLIZING_ASKS_NS); /* more are to come */
	expect(&r, lacks[0], "done");
	fetched(&r, 1, false, SYMBOLIZING_ASKS_NS);
	expect(&r, lacks[0], "queued");
	expect(&r, lacks[1], "queued");
	expect(&r, whole, "done");
}
END

TEST(an_upload_for_which_no_file_came_is_not_named_again)
{
	CLEANUP_RIG struct rig r;
	char id[ID_MAX];

	rig_init(&r);
	fetched(&r, 3, false, 0);
	upload(&r, id);
	name(&r, id, 0, CAPTURE_OK);
	fetched(&r, 3, false, SYMBOLIZING_ASKS_NS);
	expect(&r, id, "done");
	fetched(&r, 4, false, SYMBOLIZING_ASKS_NS); /* for another upload */
	expect(&r, id, "done");
}
END

TEST(an_upload_waits_for_a_busy_analyser_and_fails_with_one_that_can_not)
{
	CLEANUP_RIG struct rig r;
	char id[ID_MAX];

	rig_init(&r);
	upload(&r, id);
	name(&r, id, 0, CAPTURE_BUSY);
	expect(&r, id, "queued");
	ck_assert_int_eq(symbolizing_step(&r.c, &r.targets, TEST_HOST,
	                                  r.c.symbolizing.next_ns - 1),
	                 0);
	ck_assert_ptr_null(r.c.symbolizing.asked.session);
	name(&r, id, 0, CAPTURE_INTERNAL);
	expect(&r, id, "failed");
}
END

SUITE("symbolizing");
