/*
 * Loads the programs that run in the kernel, as the opener does, and prints
 * what the kernel had to do. One line per set of programs: its name, ms of CPU
 * time of loading it, and the instructions that the verifier processed for one
 * of its programs, at most; or the error of a kernel that refuses them.
 *
 *	kernel
 *	kernel python|asyncio|php|perl|luajit FRAMES
 *	kernel context|query|nothing BYTES
 *	kernel interrupts HZ
 *	kernel switches
 *
 * Given a number, prints ns that the program spends on a sample of a thread
 * with that many frames of Python 3.11, PHP 8.2, Perl 5.36 or LuaJIT: this
 * process makes such frames, and samples itself for half a second. The least of
 * five times, since interrupts count, too.
 *
 * An OpenTelemetry context of BYTES bytes, or what is read of a PostgreSQL
 * process, takes the place of frames; with nothing there is neither.
 *
 * The others do the least of what captures do, until they are killed: interrupt
 * each CPU HZ times a second of its time, by an event that records nothing; or
 * run two programs that do nothing at each switch from one thread to another.
 */
#include "capture/allocs.h"
#include "capture/event.h"
#include "capture/host/filter_layout.h"
#include "capture/interp/interp_layout.h"
#include "capture/inuse.h"
#include "capture/waits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double
ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

/* Returns the instructions that the verifier processed for a program, or for a
 * link's program; 0 for other descriptors. */
static uint32_t
processed(int fd)
{
	struct bpf_prog_info prog = {0};
	struct bpf_link_info link = {0};
	CLEANUP_FD int own = -1;
	uint32_t bytes = sizeof(link);
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return 0;
	if (!strcmp(target, "anon_inode:bpf_link")) {
		if (bpf_obj_get_info_by_fd(fd, &link, &bytes))
			return 0;
		own = bpf_prog_get_fd_by_id(link.prog_id);
		return own < 0 ? 0 : processed(own);
	}
	bytes = sizeof(prog);
	if (strcmp(target, "anon_inode:bpf-prog") ||
	    bpf_obj_get_info_by_fd(fd, &prog, &bytes))
		return 0;
	return prog.verified_insns;
}

static uint32_t
filter_cpus(void)
{
	return (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
}

static int
open_filter(int fds[static WAITS_FDS])
{
	const struct filter_ask ask = {filter_cpus(), FILTER_LEAST_RING};
	struct filter f;
	int rc = filter_open(&ask, &f);

	if (rc)
		return rc;
	if (f.nfds < FILTER_FDS)
		return -E2BIG;
	fds[0] = f.fds[FILTER_PROGRAM];
	return 1;
}

static int
open_waits(int fds[static WAITS_FDS])
{
	const struct waits_ask ask = {.results = false};
	struct waits w;
	int rc = waits_open(&ask, &w);

	if (rc)
		return rc;
	memcpy(fds, w.fds, sizeof(w.fds));
	return WAITS_FDS;
}

static int
open_results(int fds[static WAITS_FDS])
{
	const struct waits_ask ask = {.results = true};
	struct waits w;
	int rc = waits_open(&ask, &w);

	if (rc)
		return rc;
	memcpy(fds, w.fds, sizeof(w.fds));
	return WAITS_FDS;
}

static int
open_allocs(int fds[static WAITS_FDS])
{
	struct allocs a;
	int rc = allocs_open(&a);

	if (rc)
		return rc;
	fds[0] = a.prog_fd;
	return 1;
}

static int
open_inuse(int fds[static WAITS_FDS])
{
	struct inuse u;
	int rc = inuse_open(&u);

	if (rc)
		return rc;
	fds[0] = u.hold_fd;
	fds[1] = u.free_fd;
	return 2;
}

static const struct set {
	const char *name;
	int (*open)(int fds[static WAITS_FDS]); /* number, or -errno */
} sets[] = {
	{"filter", open_filter},   {"waits", open_waits},
	{"results", open_results}, {"allocs", open_allocs},
	{"inuse", open_inuse},
};

/* --- loading -------------------------------------------------------------- */

static void
load(const struct set *set)
{
	struct rusage before, after;
	int fds[WAITS_FDS], n;
	uint32_t most = 0;

	getrusage(RUSAGE_SELF, &before);
	n = set->open(fds);
	getrusage(RUSAGE_SELF, &after);
	if (n < 0) {
		printf("%s %s\n", set->name, strerror(-n));
		return;
	}
	for (int i = 0; i < n; i++)
		if (processed(fds[i]) > most)
			most = processed(fds[i]);
	printf("%s %.1f %u\n", set->name,
	       ms_of(after.ru_utime) - ms_of(before.ru_utime) +
	               ms_of(after.ru_stime) - ms_of(before.ru_stime),
	       most);
}

/* --- a sample ------------------------------------------------------------- */

#define PERIOD_NS  50000
#define FRAME      16 /* words of a frame */
#define FUNCTION   32
#define CONTEXT    13 /* words of a Perl context; a frame has two */
#define MOST       (2 * CONTEXT)
#define ROUNDS     5
#define SECONDS(t) ((double)(t).tv_sec + (double)(t).tv_nsec / 1e9)

static uint8_t *rings;
static uint32_t ring_bytes, nrings;

static bool
map_rings(const struct filter *f, uint32_t ncpus)
{
	ring_bytes = filter_ring_bytes(FILTER_LEAST_RING);
	nrings = ncpus;
	rings = mmap(NULL, (size_t)ring_bytes * ncpus, PROT_READ | PROT_WRITE,
	             MAP_SHARED, f->fds[FILTER_RINGS], 0);
	return rings != MAP_FAILED;
}

/* Makes room for more samples, with little of the stack. */
static void
empty_rings(void)
{
	for (uint32_t i = 0; i < nrings; i++) {
		struct filter_ring *ring =
			(void *)(rings + (size_t)i * ring_bytes);

		ring->stack_bytes = EVENT_MIN_STACK;
		__atomic_store_n(&ring->tail, ring->head, __ATOMIC_RELEASE);
	}
}

static void
spin(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = SECONDS(t) + seconds;
	while (SECONDS(t) < end) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		empty_rings();
	}
}

static uint64_t function[FUNCTION] = {2, 1};

static uint64_t
address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Makes contexts of Perl: a sub, and a loop in it, for each frame. */
static const void *
make_contexts(uint64_t *frames, size_t n)
{
	static uint64_t sub[] = {0}, stack[7], interpreter[3];
	uint64_t *context = frames;

	sub[0] = address(function);
	for (size_t i = 0; i < n; i++) {
		context[0] = 9;
		context[2] = context[6] = address(function);
		context[9] = address(sub);
		context[CONTEXT] = 8;
		context += MOST;
	}
	stack[1] = address(frames);
	stack[4] = 2 * n - 1;
	interpreter[0] = address(function);
	interpreter[2] = address(stack);
	return interpreter;
}

/* Makes a Lua state that has called a C function, which is its innermost
 * frame, as in the other languages. */
#define LUA_FRAME 4 /* words of a frame */
static const void *
make_state(uint64_t *frames, size_t n)
{
	enum { BEFORE = 32, LAYOUT = 8 };
	static uint64_t global[BEFORE + 1], state[11], c[512];
	static uint32_t call[] = {2 << 8, 0};
	const uint64_t *dispatch = global + BEFORE;

	for (size_t i = 0; i < n; i++) {
		uint64_t *frame = frames + (i + 1) * LUA_FRAME;

		frame[2] = address(function) | UINT64_C(0x1fff7) << 47;
		frame[3] = i ? address(call + 1) : LUA_FRAME * 8 + 1;
	}
	global[BEFORE - LAYOUT] = address(state);
	state[2] = address(dispatch - 1);
	state[4] = state[6] = address(frames + (n + 1) * LUA_FRAME);
	state[7] = address(frames + LUA_FRAME) - 16;
	state[10] = address(c);
	return dispatch;
}

static uint64_t made_own; /* own[1], if a function of make sets it */

/* Makes frames of Python 3.11, the innermost of which belongs to a task. Two
 * more tasks await it, each by two coroutines. */
static const void *
make_tasks(uint64_t *frames, size_t n)
{
	enum { TASKS = 3, CORO = 17, FRAME_AT = 10, TOP = 18 };
	static uint64_t dict[5], keys[9] = {1, 0, 0, 1}, task[TASKS][20],
				 callback[TASKS][10], coro[TASKS][2][24],
				 name[12];
	const uint64_t type = address(name);

	for (size_t i = 0; i < n; i++) {
		uint64_t *frame = frames + i * FRAME;

		frame[4] = frame[7] = address(function);
		frame[6] = i + 1 < n ? address(frame + FRAME) : 0;
	}
	((uint8_t *)frames)[69] = 1; /* owned by a coroutine */
	for (size_t i = 0; i < TASKS; i++) {
		for (size_t k = 0; k < 2; k++) {
			uint64_t *at = coro[i][k];

			at[1] = type;
			at[FRAME_AT + 4] = at[FRAME_AT + 7] = address(function);
			at[TOP] = 1;
			at[TOP + 1] = address(k ? dict : coro[i][1]);
		}
		task[i][1] = type;
		task[i][3] = address(callback[i]);
		task[i][CORO] = i ? address(coro[i][0]) : address(frames) - 80;
		task[i][CORO + 1] = address(name);
		callback[i][3] = i + 1 < TASKS ? address(task[i + 1]) : 0;
	}
	dict[4] = address(keys);
	keys[1] = 0; /* its index takes a byte: the entries are not aligned */
	memcpy((uint8_t *)keys + 33 + 16, &(uint64_t){address(task[0])}, 8);
	made_own = address(dict) | UINT64_C(11) << 48;
	return frames;
}

/* Slots, and the words of a frame that point to its code or function, its
 * instruction and its caller's frame; or the function that makes other
 * frames. */
static const struct kind {
	const char *name;
	uint16_t language, layout;
	size_t code, instr, previous;
	const void *(*make)(uint64_t *frames, size_t n);
	uint64_t hop, own; /* own[1] */
} kinds[] = {
	{"python", LANGUAGE_PYTHON, 2, 4, 7, 6, NULL, 0, 0},
	{"asyncio", LANGUAGE_PYTHON, 2, 0, 0, 0, make_tasks, 0, 0},
	{"php", LANGUAGE_PHP, 152, 3, 0, 6, NULL, 0, 0},
	{"perl", LANGUAGE_PERL, 0, 0, 0, 0, make_contexts, 0, 0},
	{"luajit", LANGUAGE_LUAJIT, 8, 0, 0, 0, make_state, INTERP_HERE,
         UINT64_C(8) << 32},
};

static const void *
make_list(const struct kind *kind, uint64_t *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t *frame = frames + i * FRAME;

		frame[kind->code] = address(function);
		frame[kind->instr] = address(function);
		frame[kind->previous] = i + 1 < n ? address(frame + FRAME) : 0;
	}
	return frames;
}

static void
put_slot(const struct filter *f, const struct kind *kind, const uint64_t *head)
{
	struct interp_table *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
	                              MAP_SHARED, f->fds[FILTER_INTERPS], 0);
	uint32_t tid = (uint32_t)getpid();

	if (t == MAP_FAILED)
		abort();
	t->slots[tid % INTERP_SLOTS] = (struct interp_slot){
		.tid = tid,
		.language = kind->language,
		.layout = kind->layout,
		.head = address(head),
		.hop = kind->hop,
		.key = tid,
		.own = {0, kind->own ? kind->own : made_own},
	};
}

/* A context, and the variable of this thread that leads to it. */
static uint8_t context[INTERP_CONTEXT];
static _Thread_local const uint8_t *context_of_thread;
static const uint8_t *entry = context; /* PostgreSQL's */

/* Has the kernel read a context, or an entry, at each sample. */
static void
put_context(const struct filter *f, const char *kind, size_t bytes)
{
	struct interp_table *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
	                              MAP_SHARED, f->fds[FILTER_INTERPS], 0);
	const uint32_t pid = (uint32_t)getpid();
	struct context_at at = {.pid = pid};

	if (t == MAP_FAILED || bytes < 28 || bytes > sizeof(context))
		abort();
	context[24] = 1;
	context[26] = (uint8_t)(bytes - 28);
	context[27] = (uint8_t)((bytes - 28) >> 8);
	context_of_thread = context;
	if (!strcmp(kind, "query")) {
		at.pointer = address(&entry);
		at.bytes = (uint32_t)bytes;
	} else {
		at.offset = (const char *)&context_of_thread -
		            (const char *)__builtin_thread_pointer();
	}
	t->contexts[pid % INTERP_LISTS] = at;
	t->has_contexts = 1;
}

static double
ns_of(int prog)
{
	struct bpf_prog_info before = {0}, after = {0};
	uint32_t bytes = sizeof(before);

	if (bpf_obj_get_info_by_fd(prog, &before, &bytes))
		abort();
	spin(0.5);
	if (bpf_obj_get_info_by_fd(prog, &after, &bytes) ||
	    after.run_cnt == before.run_cnt)
		abort();
	return (double)(after.run_time_ns - before.run_time_ns) /
	       (double)(after.run_cnt - before.run_cnt);
}

/* Opens the filter with room for what it writes. */
static int
begin(struct filter *f)
{
	const struct filter_ask want = {filter_cpus(), FILTER_LEAST_RING};

	return bpf_enable_stats(BPF_STATS_RUN_TIME) < 0 ||
	       filter_open(&want, f) || f->nfds < FILTER_FDS ||
	       !map_rings(f, want.ncpus);
}

/* Prints what a sample of this process costs. */
static int
measure(const struct filter *f)
{
	struct event_ask ask = {.task = getpid(),
	                        .cpu = 0,
	                        .period_ns = PERIOD_NS,
	                        .stack_bytes = EVENT_MIN_STACK};
	bool user_only;
	double least = 0;
	int fd;

	for (ask.cpu = 0; ask.cpu < filter_cpus(); ask.cpu++)
		if (event_open(&ask, &fd, &user_only) ||
		    ioctl(fd, PERF_EVENT_IOC_SET_BPF, f->fds[FILTER_PROGRAM]) ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			return 1;
	for (int i = 0; i < ROUNDS; i++) {
		double ns = ns_of(f->fds[FILTER_PROGRAM]);

		if (!i || ns < least)
			least = ns;
	}
	printf("%.0f\n", least);
	return 0;
}

static int
sample(const struct kind *kind, size_t nframes)
{
	CLEANUP_FREE uint64_t *frames = calloc(nframes, MOST * 8);
	uint64_t head;
	struct filter f;

	if (!frames || begin(&f))
		return 1;
	head = address(kind->make ? kind->make(frames, nframes)
	                          : make_list(kind, frames, nframes));
	put_slot(&f, kind, kind->hop ? (const void *)(uintptr_t)head : &head);
	return measure(&f);
}

static int
sample_context(const char *kind, size_t bytes)
{
	struct filter f;

	if (begin(&f))
		return 1;
	if (strcmp(kind, "nothing") != 0)
		put_context(&f, kind, bytes);
	return measure(&f);
}

/* A shell that starts this in the background makes it ignore SIGINT. */
static void
wait_for_end(void)
{
	signal(SIGINT, SIG_DFL);
	pause();
}

/* --- an interrupt --------------------------------------------------------- */

/* An event without a ring has nowhere to write to. */
static int
interrupt(const char *hz)
{
	struct event_ask ask = {.task = EVENT_ALL,
	                        .period_ns = 1000000000 / strtoul(hz, NULL, 10),
	                        .stack_bytes = EVENT_MIN_STACK};
	bool user_only;
	int fd;

	for (; ask.cpu < filter_cpus(); ask.cpu++)
		if (event_open(&ask, &fd, &user_only) ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			return 1;
	wait_for_end();
	return 0;
}

/* --- a program that does nothing ------------------------------------------ */

static int
load_nothing(enum bpf_prog_type type, enum bpf_attach_type attach, int btf_id)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach,
	            .attach_btf_id = (uint32_t)btf_id);

	return bpf_prog_load(type, "nothing", "GPL", code, ARRAY_LEN(code),
	                     &opts);
}

static int
trace_switches(void)
{
	static const char *const points[] = {"sched_switch", "sched_exit_tp"};

	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		int id =
			libbpf_find_vmlinux_btf_id(points[i], BPF_TRACE_RAW_TP);

		if (bpf_raw_tracepoint_open(
			    NULL, load_nothing(BPF_PROG_TYPE_TRACING,
		                               BPF_TRACE_RAW_TP, id)) < 0)
			return 1;
	}
	wait_for_end();
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "interrupts"))
		return interrupt(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "switches"))
		return trace_switches();

	for (size_t i = 0; argc > 2 && i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			return sample(&kinds[i], strtoul(argv[2], NULL, 10));
	if (argc > 2)
		return sample_context(argv[1], strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		load(&sets[i]);
}
