#include "profile/analysis.h"
#include "base/clock.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "lib/test.h"
#include "profile/godump.h"

#include <errno.h>
#include <string.h>

#define WAITS(raw) "state=waiting,waitReasonRaw=" raw

static const struct leak_limits limits = {
	.group = 100,
	.share_percent = 5,
	.age_s = 300,
	.growth = 50,
	.growth_percent = 20,
	.survivors_percent = 95,
	.crowd = 1000,
	.allow = "pool.worker grpc.*",
};

static struct analysis *
analyse(const char *now, const char *base)
{
	CLEANUP_PROFILE struct profile *p = stacks_of(now);
	CLEANUP_PROFILE struct profile *b = base ? stacks_of(base) : NULL;
	struct analysis *a;

	ck_assert_int_eq(analysis_new(p, b, &limits, &a), 0);
	return a;
}

static const char *
frame(const struct analysis *a, uint32_t group, uint32_t i)
{
	const struct group *x = &a->groups->items[group];

	ck_assert_uint_lt(i, x->nframes);
	return groups_text(a->groups, group_frames(a->groups, x)[i].name);
}

TEST(goroutines_of_one_state_stack_and_creator_are_a_group)
{
	CLEANUP_ANALYSIS struct analysis *a = analyse(
		"3 " WAITS(
			"chan receive") ",createdBy=main.start,goid=1.."
					"|main.work:7 main.loop:9\n"
					"1 "
					"state=running,createdBy=main.start|"
					"main.work:7 main.loop:9\n"
					"2 " WAITS(
						"chan receive") ",createdBy="
								"main.other"
								"|main.work:7 "
								"main.loop:9\n"
								"4 " WAITS(
									"chan "
									"receiv"
									"e") ","
									     "c"
									     "r"
									     "e"
									     "a"
									     "t"
									     "e"
									     "d"
									     "B"
									     "y"
									     "="
									     "m"
									     "a"
									     "i"
									     "n"
									     "."
									     "s"
									     "t"
									     "a"
									     "r"
									     "t"
									     "|"
									     "m"
									     "a"
									     "i"
									     "n"
									     "."
									     "w"
									     "o"
									     "r"
									     "k"
									     ":"
									     "8"
									     " "
									     "m"
									     "a"
									     "i"
									     "n"
									     "."
									     "l"
									     "o"
									     "o"
									     "p"
									     ":"
									     "9"
									     "\n",
		NULL);

	ck_assert_int_eq(a->count, 10);
	ck_assert_uint_eq(a->groups->n, 4);
	ck_assert_int_eq(a->groups->items[0].count[1], 4);
	ck_assert_int_eq(a->groups->items[1].count[1], 3);
	ck_assert_str_eq(groups_text(a->groups, a->groups->items[1].creator),
	                 "main.start");
	ck_assert_str_eq(frame(a, 1, 0), "main.work");
	ck_assert_str_eq(
		groups_text(
			a->groups,
			group_frames(a->groups, &a->groups->items[1])[1].at),
		"app.go:9");
}
END

static const struct {
	const char *name, *shown;
} names[] = {
	{"main.F[go.shape.string]", "main.F[...]"},
	{"main.F[...]", "main.F[...]"},
	{"main.(*C[go.shape.[]uint8,int]).Get.func1",
         "main.(*C[...]).Get.func1"},
	{"main.F[int].G[int]", "main.F[...].G[...]"},
	{"Vec::operator[]", "Vec::operator[]"},
	{"str[abi:cxx11]", "str[abi:cxx11]"},
	{"f(char*[3])", "f(char*[3])"},
	{"main.F[int", "main.F[...]"}, /* cut */
};

TEST_EACH(type_arguments_are_three_dots, names)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1000);
	CLEANUP_ANALYSIS struct analysis *a = NULL;

	buf_addf(&text, "1 state=running|%s\n", names[_i].name);
	a = analyse(buf_str(&text), NULL);
	ck_assert_str_eq(frame(a, 0, 0), names[_i].shown);
}
END

TEST(frames_that_tracebacks_hide_are_left_out)
{
	CLEANUP_ANALYSIS struct analysis *a = analyse(
		"1 " WAITS("chan receive") "|runtime.gopark runtime.chanrecv1 "
					   "main.main "
					   "runtime.main\n"
					   "2 state=running|runtime.Gosched "
					   "main.spin\n"
					   "3 " WAITS(
						   "force gc (idle)") "|runtime"
								      ".gopark "
								      "runtime."
								      "forcegch"
								      "elper\n",
		NULL);

	ck_assert_str_eq(frame(a, 0, 0), "runtime.gopark"); /* all it has */
	ck_assert_uint_eq(a->groups->items[0].nframes, 2);
	ck_assert_str_eq(frame(a, 1, 0), "runtime.Gosched");
	ck_assert_str_eq(frame(a, 2, 0), "main.main");
	ck_assert_uint_eq(a->groups->items[2].nframes, 1);
}
END

static const struct {
	const char *labels, *reason;
	enum wait_class class;
} waits[] = {
	{WAITS("chan receive"), "channel receive", WAIT_CHANNEL},
	{WAITS("chan send (durable)"), "chan send (durable)", WAIT_CHANNEL},
	{WAITS("select"), "select", WAIT_CHANNEL},
	{WAITS("select (no cases)"), "select (no cases)", WAIT_FOREVER},
	{WAITS("chan send (nil chan)"), "channel send (nil channel)",
         WAIT_FOREVER},
	{WAITS("sync.Mutex.Lock"), "mutex", WAIT_SYNC},
	{WAITS("semacquire"), "semaphore", WAIT_SYNC},
	{WAITS("IO wait"), "input or output", WAIT_IO},
	{WAITS("sleep"), "sleep", WAIT_TIMER},
	{WAITS("GC worker (idle)"), "GC worker (idle)", WAIT_RUNTIME},
	{WAITS("something new"), "something new", WAIT_OTHER},
	/* of threads */
	{"state=waiting,waitReason=select,waitReasonRaw=pselect6", "select",
         WAIT_IO},
	{"state=waiting,waitReason=condition variable,waitReasonRaw=futex",
         "condition variable", WAIT_SYNC},
	{"state=waiting,waitReason=read pipe,waitReasonRaw=read", "read pipe",
         WAIT_IO},
	{"state=syscall,waitReason=fsync,waitReasonRaw=fsync", "fsync",
         WAIT_SYSCALL},
	{"state=runnable", "", WAIT_RUNNING},
	{"state=running,waitReasonRaw=running", "", WAIT_RUNNING},
	{"state=syscall,waitReasonRaw=syscall", "", WAIT_SYSCALL},
	{WAITS("chan receive") ",leaked=yes", "channel receive", WAIT_FOREVER},
};

TEST_EACH(every_wait_reason_has_a_name_and_a_class, waits)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1000);
	CLEANUP_ANALYSIS struct analysis *a = NULL;

	buf_addf(&text, "1 %s|main.f\n", waits[_i].labels);
	a = analyse(buf_str(&text), NULL);
	ck_assert_str_eq(groups_text(a->groups, a->groups->items[0].reason),
	                 waits[_i].reason);
	ck_assert_str_eq(wait_class_names[a->classes[0]],
	                 wait_class_names[waits[_i].class]);
}
END

static const struct {
	const char *frames, *state, *reason;
	enum wait_class class;
} leaves[] = {
	{"runtime.gopark runtime.chanrecv runtime.chanrecv1 main.f", "waiting",
         "channel receive", WAIT_CHANNEL},
	{"runtime.gopark runtime.selectgo main.f", "waiting", "select",
         WAIT_CHANNEL},
	{"runtime.gopark runtime.block main.f", "waiting", "select (no cases)",
         WAIT_FOREVER},
	{"runtime.gopark runtime.netpollblock internal/poll.runtime_pollWait",
         "waiting", "input or output", WAIT_IO},
	{"runtime.gopark runtime.goparkunlock runtime.semacquire1 "
         "sync.runtime_SemacquireMutex sync.(*Mutex).lockSlow main.f",
         "waiting", "mutex", WAIT_SYNC},
	{"runtime.gopark time.Sleep main.f", "waiting", "sleep", WAIT_TIMER},
	{"internal/runtime/syscall.Syscall6 syscall.read main.f", "syscall", "",
         WAIT_SYSCALL},
	{"main.spin main.f", "running", "", WAIT_RUNNING},
};

TEST_EACH(without_labels_the_leaf_frames_tell, leaves)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1000);
	CLEANUP_ANALYSIS struct analysis *a = NULL;
	const struct group *x;

	buf_addf(&text, "1 |%s\n", leaves[_i].frames);
	a = analyse(buf_str(&text), NULL);
	x = &a->groups->items[0];
	ck_assert_str_eq(groups_text(a->groups, x->state), leaves[_i].state);
	ck_assert_str_eq(groups_text(a->groups, x->reason), leaves[_i].reason);
	ck_assert_int_eq(a->classes[0], leaves[_i].class);
}
END

/* clang-format off */
#define LOCKS \
	"2 " WAITS("sync.Mutex.Lock") ",waitTarget=0xc0a0|main.lock main.a\n" \
	"1 " WAITS("sync.Mutex.Lock") ",waitTarget=0xc0a0|main.lock main.b\n" \
	"1 " WAITS("sync.Mutex.Lock") ",waitTarget=0xc0a0|main.lock main.a\n" \
	"9 " WAITS("chan receive") ",waitTarget=0xc0b0 len 0 cap 3|main.c\n" \
	"1 " WAITS("chan receive") ",waitTarget=0xc0c0|main.c\n" \
	"5 " WAITS("read") ",waitTarget=3 pipe:[7]|main.d\n" \
	"5 state=running|main.e\n"
/* clang-format on */

TEST(addresses_are_told_for_which_two_or_more_wait)
{
	CLEANUP_ANALYSIS struct analysis *a = analyse(LOCKS, LOCKS);
	const struct wait_target *t = a->targets;

	ck_assert_uint_eq(a->ntargets, 2);
	ck_assert_uint_eq(t[0].address, 0xc0b0);
	ck_assert_int_eq(t[0].count, 9);
	ck_assert_uint_eq(t[1].address, 0xc0a0);
	ck_assert_int_eq(t[1].count, 4);
	ck_assert_uint_eq(t[1].nstacks, 2);
	ck_assert_int_eq(t[1].most.count[1], 3);
	ck_assert_str_eq(
		groups_text(a->groups,
	                    group_frames(a->groups, &t[1].most)[1].name),
		"main.a");
}
END

static const struct {
	const char *name, *base, *now;
	const char *rule; /* NULL: no suspect */
	enum leak_severity severity;
} leaks[] = {
	{"nil channel", NULL, "1 " WAITS("chan receive (nil chan)") "|main.f\n",
         "no-partner", LEAK_CERTAIN},
	{"a select without cases", NULL,
         "1 " WAITS("select (no cases)") ",createdBy=main.main|main.f\n",
         "no-partner", LEAK_CERTAIN},
	{"main waits while others work", NULL,
         "1 " WAITS("select (no cases)") "|main.serve main.main\n", NULL, 0},
	{"the collector says so", NULL,
         "1 " WAITS("chan receive") ",leaked=yes|main.f\n", "unreachable",
         LEAK_CERTAIN},
	{"an allowed one that is certain", NULL,
         "1 " WAITS("select (no cases)") "|pool.worker\n", "no-partner",
         LEAK_CERTAIN},
	{"many without a base", NULL, "999 " WAITS("chan receive") "|main.f\n",
         NULL, 0},
	{"a crowd", NULL, "1000 " WAITS("chan receive") "|main.f\n", "crowd",
         LEAK_SUSPECT},
	{"a crowd of two stacks at one place", NULL,
         "600 " WAITS("chan send") "|runtime.gopark main.f main.a\n"
                                   "500 " WAITS("chan send") "|runtime.gopark "
                                                             "main.f main.b\n",
         "crowd", LEAK_SUSPECT},
	{"a crowd in the network", NULL, "5000 " WAITS("IO wait") "|main.f\n",
         NULL, 0},
	{"growth", "100 " WAITS("chan send") ",goid=1..|main.f\n",
         "200 " WAITS("chan send") ",goid=1..|main.f\n", "growing",
         LEAK_SUSPECT},
	{"growth that has waited for long",
         "100 " WAITS("chan send") ",goid=1..|main.f\n",
         "200 " WAITS("chan send") ",goid=1..,waitMinutes=6|main.f\n", "stuck",
         LEAK_LIKELY},
	{"growth by too few", "100 " WAITS("chan send") ",goid=1..|main.f\n",
         "149 " WAITS("chan send") ",goid=1..|main.f\n", NULL, 0},
	{"growth by too little", "900 " WAITS("chan send") ",goid=1..|main.f\n",
         "999 " WAITS("chan send") ",goid=1..|main.f\n", NULL, 0},
	{"more requests in flight, none of them of before",
         "40 " WAITS("chan receive") ",goid=1..|main.handle\n",
         "400 " WAITS("chan receive") ",goid=1000..|main.handle\n", NULL, 0},
	{"many in one row, still there",
         "1 " WAITS("chan send") ",goids=1-60|main.f\n"
                                 "99 " WAITS("chan send") "|main.f\n",
         "1 " WAITS("chan send") ",goids=1-50;52;53-61;...|main.f\n"
                                 "300 " WAITS("chan send") "|main.f\n",
         "growing", LEAK_SUSPECT},
	{"many in one row, others",
         "1 " WAITS("chan send") ",goids=1-60|main.f\n"
                                 "99 " WAITS("chan send") "|main.f\n",
         "1 " WAITS("chan send") ",goids=40-99|main.f\n"
                                 "300 " WAITS("chan send") "|main.f\n",
         NULL, 0},
	{"a healthy pool", "500 " WAITS("chan receive") ",goid=1..|main.w\n",
         "500 " WAITS("chan receive") ",goid=1..|main.w\n", NULL, 0},
	{"more connections", "10 " WAITS("IO wait") ",goid=1..|main.f\n",
         "900 " WAITS("IO wait") ",goid=1..|main.f\n", NULL, 0},
	{"a new stack", "1 state=running|main.main\n",
         "100 " WAITS("chan send") ",goid=9..|main.f\n", NULL, 0},
	{"a new stack on which nobody stays", "1 state=running|main.main\n",
         "100 " WAITS("chan send") ",waitSince=900000000|main.f\n", NULL, 0},
	{"a new stack on which they stay", "1 state=running|main.main\n",
         "100 " WAITS("chan send") ",waitSince=1900000000|main.f\n", "growing",
         LEAK_SUSPECT},
	{"a new stack of few", "1 state=running|main.main\n",
         "99 " WAITS("chan send") ",goid=9..,waitSince=9000000000|main.f\n",
         NULL, 0},
	{"allowed", "100 " WAITS("select") "|pool.worker\n",
         "300 " WAITS("select") "|pool.worker\n", NULL, 0},
	{"allowed by its creator", "1 state=running|main.main\n",
         "300 " WAITS("select") ",createdBy=grpc.Dial|main.f\n", NULL, 0},
	{"threads without numbers",
         "20 state=waiting,waitReason=mutex,waitReasonRaw=futex|f g\n",
         "80 state=waiting,waitReason=mutex,waitReasonRaw=futex|f g\n",
         "growing", LEAK_SUSPECT},
	{"only the state changed", "200 state=running|main.f\n",
         "200 " WAITS("chan send") "|main.f\n", NULL, 0},
};

TEST_EACH(leaks_are_told_by_the_rules, leaks)
{
	CLEANUP_ANALYSIS struct analysis *a =
		analyse(leaks[_i].now, leaks[_i].base);

	ck_assert_msg(!a->nsuspects == !leaks[_i].rule, "%s: %zu suspects",
	              leaks[_i].name, a->nsuspects);
	if (!leaks[_i].rule)
		return;
	ck_assert_msg(!strcmp(a->suspects[0].rule->name, leaks[_i].rule),
	              "%s: %s", leaks[_i].name, a->suspects[0].rule->name);
	ck_assert_int_eq(a->suspects[0].rule->severity, leaks[_i].severity);
}
END

#define IDLE    "1 " WAITS("select") ",goid=1|main.idle\n"
#define SECONDS "000000000"

static const struct {
	const char *name, *base, *now;
	int64_t between_s;
	bool suspect;
} loads[] = {
	{"new and older than half of the time between", IDLE,
         "100 " WAITS("chan send") ",waitSince=30" SECONDS "|main.f\n", 60,
         true},
	{"new and younger", IDLE,
         "100 " WAITS("chan send") ",waitSince=29" SECONDS "|main.f\n", 60,
         false},
	{"new since a day, and there for leak_age", IDLE,
         "100 " WAITS("chan send") ",waitSince=300" SECONDS "|main.f\n", 86400,
         true},
	{"new, and not collected yet", IDLE,
         "150 " WAITS("chan receive") ",goid=9..|main.handle\n" IDLE, 60,
         false},
	{"connections that are kept, with other requests",
         "100 " WAITS("chan receive") ",goid=9..|main.handle\n",
         "300 " WAITS("chan receive") ",goid=9..|main.handle\n"
                                      "1 " WAITS(
					      "select") ",waitSince=59" SECONDS
                                                        "|main.idle\n",
         60, false},
	{"connections whose requests are as long as the time between",
         "100 " WAITS("chan receive") ",goid=9..|main.handle\n",
         "300 " WAITS("chan receive") ",goid=9..,waitSince=1" SECONDS
                                      "|main.handle\n"
                                      "1 " WAITS(
					      "select") ",waitSince=60" SECONDS
                                                        "|main.idle\n",
         60, true},
	{"before any collection it can't be told",
         "100 " WAITS("chan receive") ",goid=9..|main.handle\n",
         "300 " WAITS("chan receive") ",goid=9..|main.handle\n" IDLE, 60, true},
	{"one collection that is not over",
         "100 " WAITS("chan receive") ",goid=9..|main.handle\n",
         "300 " WAITS("chan receive") ",goid=9..|main.handle\n"
                                      "1 " WAITS("select") ",waitSince=900000"
                                                           "|main.idle\n",
         60, true},
};

TEST_EACH(load_that_comes_and_goes_is_no_suspect, loads)
{
	CLEANUP_PROFILE struct profile *base = stacks_of(loads[_i].base);
	CLEANUP_PROFILE struct profile *now = stacks_of(loads[_i].now);
	CLEANUP_ANALYSIS struct analysis *a = NULL;

	now->time_ns = loads[_i].between_s * NS_PER_S;
	ck_assert_int_eq(analysis_new(now, base, &limits, &a), 0);
	ck_assert_msg((a->nsuspects > 0) == loads[_i].suspect,
	              "%s: %zu suspects", loads[_i].name, a->nsuspects);
}
END

TEST(a_suspect_is_told_once_for_all_states_and_lines_of_a_stack)
{
	CLEANUP_ANALYSIS struct analysis *a = analyse(
		"90 " WAITS("chan send") "|main.f:1\n"
					 "80 " WAITS(
						 "chan send") "|main.f:2\n"
							      "5 "
							      "state=running|"
							      "main.f:3\n",
		"10 " WAITS("chan send") "|main.f:1\n");

	ck_assert_uint_eq(a->nsuspects, 1);
	ck_assert_int_eq(a->suspects[0].count, 175);
	ck_assert_int_eq(a->suspects[0].base_count, 10);
}
END

TEST(a_place_is_the_first_function_of_ones_own)
{
	CLEANUP_ANALYSIS struct analysis *a = analyse(
		"2 " WAITS("semacquire") "|sync.runtime_Semacquire "
					 "sync.(*WaitGroup).Wait main.wait "
					 "main.main\n"
					 "1 "
					 "state=waiting,waitReason=mutex,"
					 "waitReasonRaw=futex"
					 "|__lll_lock_wait pthread_mutex_lock "
					 "app::lock start\n",
		NULL);

	ck_assert_str_eq(frame(a, 0, a->sites[0]), "main.wait");
	ck_assert_str_eq(frame(a, 1, a->sites[1]), "app::lock");
}
END

/* The same goroutines as a text dump, read by the dump parser. */
TEST(a_dump_as_text_is_analysed_alike)
{
	static const char dump[] =
		"goroutine 1 [running]:\nmain.main()\n\t/a/main.go:9 +0x1\n\n"
		"goroutine 7 [chan receive, 6 minutes]:\n"
		"main.worker(...)\n\t/a/main.go:20 +0x1\n"
		"created by main.startWorker in goroutine 1\n"
		"\t/a/main.go:30 +0x5\n";
	CLEANUP_BUF struct buf why = BUF_INIT(1000);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_ANALYSIS struct analysis *a = NULL;
	struct godump_seen seen;
	const struct group *x;

	ck_assert_int_eq(godump_parse(dump, sizeof(dump) - 1, &p, &seen, &why),
	                 0);
	ck_assert_int_eq(analysis_new(p, NULL, &limits, &a), 0);
	ck_assert_uint_eq(a->groups->n, 2);
	x = &a->groups->items[1];
	ck_assert_str_eq(frame(a, 1, 0), "main.worker");
	ck_assert_str_eq(groups_text(a->groups, x->state), "waiting");
	ck_assert_str_eq(groups_text(a->groups, x->reason), "channel receive");
	ck_assert_str_eq(groups_text(a->groups, x->creator),
	                 "main.startWorker");
	ck_assert_int_eq(x->age_s, 360);
}
END

/* --- two profiles --- */

static struct groups *
both(struct profile *base, struct profile *now)
{
	struct groups *g;

	ck_assert_int_eq(groups_new(GROUP_BY_STACK, &g), 0);
	ck_assert_int_eq(groups_add(g, now, 1), 0);
	ck_assert_int_eq(groups_add(g, base, 0), 0);
	profile_free(base);
	profile_free(now);
	return g;
}

TEST(a_change_of_state_is_no_new_stack)
{
	CLEANUP_GROUPS struct groups *g =
		both(stacks_of("3 state=running|main.f:1 main.main\n"),
	             stacks_of("3 " WAITS("sleep") "|main.f:2 main.main\n"));

	ck_assert_uint_eq(g->n, 1);
	ck_assert_int_eq(g->items[0].count[0], 3);
	ck_assert_int_eq(g->items[0].count[1], 3);
}
END

TEST(another_creator_is_another_stack)
{
	CLEANUP_GROUPS struct groups *g =
		both(stacks_of("3 state=running,createdBy=main.a|main.f\n"),
	             stacks_of("3 state=running,createdBy=main.b|main.f\n"));

	ck_assert_uint_eq(g->n, 2);
}
END

/* Whatever the stacks, no sample is lost, and groups count samples. */
TEST(groups_add_up_to_the_profile)
{
	unsigned seed = 3;

	for (int round = 0; round < 50; round++) {
		struct buf text[2] = {BUF_INIT(BUF_MAX_SMALL),
		                      BUF_INIT(BUF_MAX_SMALL)};
		int64_t want[2] = {0, 0}, got[2] = {0, 0};

		for (int i = 0; i < 100; i++) {
			int side = rand_r(&seed) & 1;
			int n = 1 + rand_r(&seed) % 9;

			buf_addf(&text[side], "f%d;g%d;h%d %d\n",
			         rand_r(&seed) % 3, rand_r(&seed) % 3,
			         rand_r(&seed) % 3, n);
			want[side] += n;
		}
		CLEANUP_GROUPS struct groups *g =
			both(profile_of(buf_str(&text[0])),
		             profile_of(buf_str(&text[1])));

		for (uint32_t i = 0; i < g->n; i++)
			for (int side = 0; side < 2; side++)
				got[side] += g->items[i].count[side];
		ck_assert_uint_le(g->n, 27);
		for (int side = 0; side < 2; side++) {
			ck_assert_int_eq(got[side], want[side]);
			ck_assert_int_eq(g->total[side], want[side]);
		}
		buf_done(&text[0]);
		buf_done(&text[1]);
	}
}
END

SUITE("analysis");
