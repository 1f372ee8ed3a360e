/* Frames that were stored without names, and how they get some. The test plays
 * the analyser and the opener. */
#include "worker/captures/runs.h"

#include "base/clock.h"
#include "lib/store.h"
#include "profile/pprof.h"
#include "store/names.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOW (1000 * NS_PER_S)

static const struct names_place place = {
	"00112233445566778899aabbccddeeff00112233", "/srv/web", 0x400000,
	0x405000, 0};
static const uint64_t asked[] = {0x401000, 0x401010};

struct rig {
	struct test_store t;
	struct runs c;
	struct targets targets;
	int analyser, opener; /* the test's ends */
};
#define CLEANUP_RIG CLEANUP(rig_done)

/* A module waits for names. */
static void
rig_init(struct rig *r)
{
	const struct names_wanted w = {place, asked, ARRAY_LEN(asked)};
	int analyser[2], events[2];

	*r = (struct rig){.t = test_store()};
	ck_assert_int_eq(msg_pair(analyser) | msg_pair(events), 0);
	r->analyser = analyser[0];
	r->opener = events[0];
	r->c = (struct runs){.store = &r->t.s,
	                     .analyser = analyser[1],
	                     .events = events[1],
	                     .fetcher = -1};
	test_heartbeat(&r->t.s, TEST_HOST, 1);
	ck_assert_int_eq(names_want(&r->t.s, TEST_TENANT, TEST_SERVICE, &w, 1),
	                 0);
}

static void
rig_done(struct rig *r)
{
	naming_done(&r->c.naming);
	close(r->analyser);
	close(r->opener);
	close(r->c.analyser);
	close(r->c.events);
	test_store_done(&r->t);
}

/* Takes a step. Returns whether a module is being named then. */
static bool
step(struct rig *r, int64_t now_ns)
{
	ck_assert_int_eq(naming_step(&r->c, &r->targets, TEST_HOST, now_ns), 0);
	return r->c.naming.asked.id;
}

/* Writes what the analyser does: names of addresses. */
static void
write_names(struct rig *r, const uint64_t *addresses, size_t n)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	const struct mapping m = {.start = place.start, .limit = place.limit};
	struct function f = {0};
	struct line line = {0};
	const int64_t one = 1;
	uint32_t mapping, location;

	ck_assert_int_eq(profile_type(p, "frames", "count"), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(profile_cstring(p, "serve", &f.name), 0);
	ck_assert_int_eq(profile_function(p, &f, &line.function), 0);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(profile_location(p, mapping, addresses[i],
		                                  &line, 1, &location),
		                 0);
		ck_assert_int_eq(profile_sample(p, &location, 1, NULL, 0, &one),
		                 0);
	}
	ck_assert_int_eq(pprof_encode(p, &bytes), 0);
	ck_assert_int_eq(pwrite(r->c.naming.made, bytes.p, bytes.len, 0),
	                 (ssize_t)bytes.len);
}

static bool
take(struct rig *r, const char *id, enum capture_error error)
{
	struct msg_done m = {.type = MSG_DONE, .error = error};

	snprintf(m.id, sizeof(m.id), "%s", id);
	return naming_take(&r->c.naming, &r->t.s, &m);
}

/* Returns the number of frames that have names. */
static size_t
named(struct rig *r)
{
	CLEANUP_NAMES struct names l = {0};

	ck_assert_int_eq(names_get(&r->t.s, TEST_TENANT, &place, &l), 0);
	for (size_t i = 0; i < l.n; i++)
		ck_assert_int_eq(l.items[i].address, (int64_t)asked[0]);
	return l.n;
}

/* The analyser may name addresses for which nobody asked. */
TEST(frames_that_were_asked_for_get_names_and_no_others)
{
	static const uint64_t found[] = {0x401000, 0x402000};
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	ck_assert(step(&r, NOW));
	ck_assert_uint_eq(r.c.naming.n, ARRAY_LEN(asked));
	write_names(&r, found, ARRAY_LEN(found));
	ck_assert(!take(&r, "sess-other", CAPTURE_OK));
	ck_assert_uint_eq(named(&r), 0);
	ck_assert(take(&r, r.c.naming.asked.id, CAPTURE_OK));
	ck_assert_uint_eq(named(&r), 1);
	ck_assert(!step(&r, NOW)); /* nothing else waits */
}
END

TEST(a_module_is_given_up_when_no_answer_comes_in_time)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	ck_assert(step(&r, NOW));
	ck_assert(step(&r, NOW + OVERDUE_NS));
	ck_assert(!step(&r, NOW + OVERDUE_NS + 1));
}
END

/* One that could not be named is looked at again when files came, or after ten
 * minutes; not while more files are to come. */
TEST(frames_that_got_no_names_are_looked_at_again_when_there_is_a_reason)
{
	static const struct {
		uint64_t fetched;
		bool busy;
		int64_t later_ns;
		bool again;
	} rows[] = {
		{1, false, 0, true}, /* the first files */
		{1, false, 600 * NS_PER_S - 1, false},
		{2, true, 0, false},
		{2, false, 0, true},
		{1, false, 600 * NS_PER_S, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct naming *g;
		CLEANUP_RIG struct rig r;

		rig_init(&r);
		g = &r.c.naming;
		g->fetched = i > 0;
		g->again_ns = i > 0 ? NOW + 600 * NS_PER_S : 0;
		ck_assert(step(&r, NOW));
		ck_assert(take(&r, g->asked.id, CAPTURE_INTERNAL));
		ck_assert_uint_eq(named(&r), 0);
		ck_assert(!step(&r, NOW));
		naming_again(g, &r.t.s, TEST_HOST, rows[i].fetched,
		             rows[i].busy, NOW + rows[i].later_ns);
		ck_assert_msg(step(&r, NOW) == rows[i].again, "row %zu", i);
	}
}
END

SUITE("naming");
