/* Stacks of this process that were copied only in part. */
#include "capture/process/process.h"

#include "base/clock.h"
#include "capture/event.h"
#include "lib/here.h"
#include "lib/test.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGE     4096u
#define HOLE     (4 * PAGE)
#define COPY     (64 << 10)

static struct {
	struct host host; /* answers from this machine */
	struct modules *modules;
	struct process proc;
	struct proc_stack stack;
	uint8_t copy[COPY];
	unsigned asked; /* questions for more of a stack */
	unsigned read;  /* questions for other memory */
	int refuse;     /* error that refuses what asked counts; 0: none */
	bool spoil;     /* answer with bytes that lead nowhere */
} the;

static void
give_nowhere(struct host_reply *reply, int fds[HOST_MAX_FDS], size_t *nfds)
{
	uint8_t nowhere[2 * HOLE];
	int fd = memfd_create("nowhere", MFD_CLOEXEC);

	memset(nowhere, 0xee, sizeof(nowhere));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, nowhere, sizeof(nowhere)), sizeof(nowhere));
	*reply = (struct host_reply){0};
	fds[0] = fd;
	*nfds = 1;
}

static int
ask(void *arg, const struct host_ask *ask, struct host_reply *reply,
    int fds[HOST_MAX_FDS], size_t *nfds)
{
	the.read += ask->op == HOST_RANGES;
	if (ask->op != HOST_STACK)
		return host_ask_here(arg, ask, reply, fds, nfds);
	the.asked++;
	if (the.spoil) {
		give_nowhere(reply, fds, nfds);
		return 0;
	}
	if (!the.refuse)
		return host_ask_here(arg, ask, reply, fds, nfds);
	*reply = (struct host_reply){.error = the.refuse};
	*nfds = 0;
	return 0;
}

/* Starts without the stack that will be walked, which is the caller's. */
static void
start(void)
{
	uint32_t threads;

	memset(&the, 0, sizeof(the));
	the.host = (struct host){.ask = ask, .arg = here.arg};
	ck_assert_int_eq(modules_new(&the.host, &the.modules), 0);
	the.proc.pid = the.proc.parent = the.proc.origin = (uint32_t)getpid();
	the.proc.modules = the.modules;
	ck_assert_int_eq(process_read_maps(&the.proc, the.modules, &threads),
	                 0);
}

static bool
is_present(uint64_t addr)
{
	unsigned char in = 0;

	ck_assert_int_eq(
		mincore((void *)(addr & ~(uint64_t)(PAGE - 1)), PAGE, &in), 0);
	return in & 1;
}

/* Copies a stack as the kernel does, including the gaps between variables. */
__attribute__((no_sanitize("address"))) static void
copy_stack(const uint8_t *from, size_t n)
{
	volatile uint8_t *to = the.copy;

	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static struct record
sample_of(const ucontext_t *uc, size_t len)
{
	const greg_t *g = uc->uc_mcontext.gregs;
	struct record r = {.kind = RECORD_SAMPLE,
	                   .time_ns = (uint64_t)clock_mono_ns()};

	r.sample.has_user = true;
	r.sample.regs[PERF_REG_X86_BX] = (uint64_t)g[REG_RBX];
	r.sample.regs[PERF_REG_X86_BP] = (uint64_t)g[REG_RBP];
	r.sample.regs[PERF_REG_X86_SP] = (uint64_t)g[REG_RSP];
	r.sample.regs[PERF_REG_X86_IP] = (uint64_t)g[REG_RIP];
	r.sample.regs[PERF_REG_X86_R12] = (uint64_t)g[REG_R12];
	r.sample.regs[PERF_REG_X86_R13] = (uint64_t)g[REG_R13];
	r.sample.regs[PERF_REG_X86_R14] = (uint64_t)g[REG_R14];
	r.sample.regs[PERF_REG_X86_R15] = (uint64_t)g[REG_R15];
	r.sample.stack = the.copy;
	r.sample.stack_len = len;
	copy_stack((const uint8_t *)g[REG_RSP], len);
	return r;
}

static void
walk(const struct record *r)
{
	process_stacks_begin(&the.stack);
	the.stack.topups_end_ns = UINT64_MAX;
	process_stack(&the.proc, r, &the.stack);
}

/* Returns how much the kernel copies: up to the first page that is missing. */
static size_t
up_to_hole(const ucontext_t *uc)
{
	uint64_t sp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP], at;

	for (at = (sp | (PAGE - 1)) + 1; is_present(at); at += PAGE)
		ck_assert_uint_lt(at - sp, COPY - PAGE);
	return at - sp;
}

/* --- claims, each below a hole in the stack of a separate thread ------- */

static NOINLINE void
read_on(void)
{
	ucontext_t uc;
	struct record r;
	size_t len;

	getcontext(&uc);
	len = up_to_hole(&uc);
	r = sample_of(&uc, len);
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert(the.stack.topped_up);
	ck_assert_uint_ge(the.stack.n, 4);
	ck_assert_uint_eq(the.asked, 1);
	the.stack.topups = 0; /* what was read is known until the next drain */
	process_stack(&the.proc, &r, &the.stack);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert(the.stack.topped_up);
	ck_assert_uint_eq(the.asked, 1);
	ck_assert(is_present(r.sample.regs[PERF_REG_X86_SP] + len));
}

/* Such a short copy cannot show whether the stack changed meanwhile. */
static NOINLINE void
fill_close_hole(void)
{
	ucontext_t uc;
	struct record r;
	uint64_t hole;

	getcontext(&uc);
	hole = (uint64_t)uc.uc_mcontext.gregs[REG_RSP] + up_to_hole(&uc);
	/* looks like a sample taken just below the hole, in a stack that goes
	 * on below it */
	*(volatile char *)(hole - 65) = 1;
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)(hole - 64);
	uc.uc_mcontext.gregs[REG_RBP] = (greg_t)(hole + 64);
	r = sample_of(&uc, 64);
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_TRUNCATED);
	ck_assert(!the.stack.topped_up);
	ck_assert(is_present(hole));
}

static NOINLINE void
give_up(void)
{
	ucontext_t uc;
	struct record r;

	the.refuse = -EFAULT;
	getcontext(&uc);
	r = sample_of(&uc, up_to_hole(&uc));
	for (int i = 0; i < 3; i++)
		walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_TRUNCATED);
	ck_assert_uint_eq(the.asked, 1);
	r.time_ns += (uint64_t)NS_PER_S;
	walk(&r);
	ck_assert_uint_eq(the.asked, 2);
}

/* Stale answers and spoiled bytes stop the walk of a stack only until the next
 * drain. */
static NOINLINE void
go_on(void)
{
	ucontext_t uc;
	struct record r;
	size_t len;

	getcontext(&uc);
	len = up_to_hole(&uc);
	r = sample_of(&uc, len);
	the.refuse = -ESTALE;
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_TRUNCATED);
	the.refuse = 0;
	the.spoil = true;
	walk(&r);
	ck_assert_int_ne(the.stack.end, UNWIND_ROOT);
	ck_assert(the.stack.topped_up);
	the.spoil = false;
	process_stacks_begin(&the.stack);
	the.stack.topups = 0;
	process_stack(&the.proc, &r, &the.stack);
	ck_assert_int_eq(the.stack.end, UNWIND_TRUNCATED);
	ck_assert_uint_eq(the.asked, 2);
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert_uint_eq(the.asked, 3);
}

static NOINLINE void
try_always(void)
{
	ucontext_t uc;
	struct record r;

	the.refuse = -ESTALE;
	getcontext(&uc);
	r = sample_of(&uc, up_to_hole(&uc));
	r.sample.stack_cut = true;
	for (unsigned i = 1; i <= 3; i++) {
		walk(&r);
		ck_assert(the.stack.cut);
		ck_assert_uint_eq(the.asked, i);
	}
}

/* Below a frame of a megabyte, whose lowest page is in the copy. */
static NOINLINE void
leap(void)
{
	ucontext_t uc;
	struct record r;
	struct proc_thread t;

	getcontext(&uc);
	r = sample_of(&uc, PAGE);
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert(the.stack.topped_up);
	ck_assert_uint_ge(the.stack.n, 4);
	ck_assert_uint_eq(the.asked, 0);
	ck_assert_uint_eq(the.read, 1);
	t = (struct proc_thread){
		.regs = r.sample.regs, .stack = the.copy, .len = PAGE};
	process_thread_stack(&the.proc, &t, &the.stack);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	process_stacks_begin(&the.stack);
	the.stack.topups = 0;
	process_stack(&the.proc, &r, &the.stack);
	ck_assert_int_eq(the.stack.end, UNWIND_TRUNCATED);
}

static NOINLINE void
below_large_frame(void)
{
	volatile char room[1 << 20];

	room[0] = 1;
	leap();
	room[sizeof(room) - 1] = 1;
}

static uint8_t handler_stack[16 * PAGE];

static NOINLINE void
look_back(int sig)
{
	ucontext_t uc;
	struct record r;

	(void)sig;
	getcontext(&uc);
	r = sample_of(&uc, (size_t)(handler_stack + sizeof(handler_stack) -
	                            (uint8_t *)uc.uc_mcontext.gregs[REG_RSP]));
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert_uint_eq(the.read, 1);
	the.stack.topups = 0; /* what was read is known until the next drain */
	process_stack(&the.proc, &r, &the.stack);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert(the.stack.topped_up);
	ck_assert_uint_eq(the.read, 1);
	walk(&r);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	ck_assert_uint_eq(the.read, 2);
}

static NOINLINE void
interrupt(void)
{
	struct sigaction a = {.sa_handler = look_back, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = handler_stack,
	                 .ss_size = sizeof(handler_stack)},
		own;

	ck_assert_int_eq(sigaltstack(&stack, &own), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &a, NULL), 0);
	ck_assert_int_eq(raise(SIGUSR1), 0);
	ck_assert_int_eq(sigaltstack(&own, NULL), 0);
}

static NOINLINE void
below_hole(void (*claim)(void))
{
	volatile char room[HOLE];

	__asm__ volatile("" : : "r"(room) : "memory");
	claim();
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void *
in_thread(void *claim)
{
	below_hole((void (*)(void))claim);
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return NULL;
}

static void
prove(void (*claim)(void))
{
	pthread_t thread;

	start();
	ck_assert_int_eq(
		pthread_create(&thread, NULL, in_thread, (void *)claim), 0);
	pthread_join(thread, NULL);
	process_stacks_end(&the.stack);
	unwinder_free(the.proc.unwinder);
	maps_done(&the.proc.maps);
	modules_free(the.modules);
}

TEST(a_copy_that_ends_at_a_page_not_in_memory_is_read_on_and_fills_it)
{
	prove(read_on);
}
END

TEST(a_hole_close_above_the_stack_pointer_is_filled_for_later_copies)
{
	prove(fill_close_hole);
}
END

TEST(an_end_that_cannot_be_read_on_is_left_alone_for_a_second)
{
	prove(give_up);
}
END

TEST(a_read_that_came_too_late_does_not_keep_later_ones_from_being_made)
{
	prove(go_on);
}
END

TEST(a_copy_of_full_size_is_read_on_whatever_came_of_the_last)
{
	prove(try_always);
}
END

TEST(a_frame_of_a_megabyte_is_left_by_what_lies_beyond_it)
{
	prove(below_large_frame);
}
END

/* Takes a sample in the kernel whose user part is at this address. */
static void
take_in_kernel(uint64_t pc)
{
	static const uint64_t chain[] = {PERF_CONTEXT_KERNEL,
	                                 0xffffffff81000000};
	struct record r = {.kind = RECORD_SAMPLE};

	r.sample.chain = (const void *)chain;
	r.sample.nchain = ARRAY_LEN(chain);
	r.sample.has_user = true;
	r.sample.regs[EVENT_PC] = pc;
	process_stack(&the.proc, &r, &the.stack);
}

static NOINLINE void
load(void)
{
	the.proc.loading = true;
	take_in_kernel(0);
	ck_assert_uint_eq(the.stack.n, 1);
	ck_assert_int_eq(the.stack.end, UNWIND_ROOT);
	take_in_kernel((uintptr_t)load);
	ck_assert_uint_gt(the.stack.n, 1);
	take_in_kernel(0);
	ck_assert_int_ne(the.stack.end, UNWIND_ROOT);
}

TEST(a_program_that_is_being_loaded_has_no_user_part_until_its_code_is_mapped)
{
	prove(load);
}
END

static NOINLINE void
have_32_bits(void)
{
	struct record r = {.kind = RECORD_SAMPLE};

	r.sample.is_32 = true;
	r.sample.regs[PERF_REG_X86_IP] = (uintptr_t)have_32_bits;
	process_stack(&the.proc, &r, &the.stack);
	ck_assert_uint_eq(the.stack.n, 1);
	ck_assert(the.stack.is_32);
	ck_assert_uint_eq(
		the.stack.places[0].module,
		process_place(&the.proc, (uintptr_t)have_32_bits).module);
	ck_assert_uint_eq(the.stack.last_module, the.stack.places[0].module);
}

TEST(a_sample_of_32_bits_is_a_leaf_of_its_module)
{
	prove(have_32_bits);
}
END

TEST(the_stack_that_a_handler_has_left_is_read_once_in_a_drain)
{
	prove(interrupt);
}
END

SUITE("proc_stack");
