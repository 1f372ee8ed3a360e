/*
 * Samples itself in known calls as the kernel would: registers and the stack
 * from sp upwards, in the middle of a leaf function and wherever a timer
 * interrupts.
 *
 * 	calls DIR	writes DIR/maps, DIR/samples (tests/tools/walk.c)
 *
 * main calls call_sort three ways: directly, in a thread, and below a signal
 * handler that ends in code of this program, as musl's do.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE  __attribute__((noinline, noclone))
#define BY_TIMER  150  /* samples in each of the three ways */
#define IN_LEAF   4    /* and of these */
#define PERIOD_US 1000 /* of the timer */
#define RESTORER  0x04000000

extern char **environ;
void call_restore_begin(void);
long call_large(long x);

static volatile long sink;
static int out;
static char *top;                   /* end of the current stack */
static volatile sig_atomic_t armed; /* set while the calls run */
static volatile sig_atomic_t taken; /* samples by timer */
static volatile sig_atomic_t leafs; /* samples to take in the leaf function */

/* Has no frame; the caller is only in x30. */
static NOINLINE long
call_leaf(long x)
{
	for (int i = 0; i < 4; i++)
		x = x * 31 + (x >> 3);
	if (leafs)
		__asm__ volatile("brk #1");
	return x;
}

/* Its frame is larger than an immediate operand can subtract from sp. */
NOINLINE long
call_large(long x)
{
	volatile long pad[900];

	pad[x & 511] = x;
	pad[899] = call_leaf(x * 2) + call_leaf(1);
	return pad[899] + pad[x & 511];
}

/* Has no table. It works before and after its call, and in loops, one of which
 * is left in the middle. */
__asm__(".text\n"
        ".globl call_bare\n"
        ".type call_bare, %function\n"
        "call_bare:\n"
        "	mov x9, #8\n"
        "	str x30, [sp, #-32]!\n"
        "	stp d8, d9, [sp, #16]\n"
        "1:	subs x9, x9, #1\n"
        "	b.ne 1b\n"
        "	bl call_large\n"
        "	mov x9, #8\n"
        "2:	cbz x9, 3f\n"
        "	sub x9, x9, #1\n"
        "	b 2b\n"
        "3:	ldp d8, d9, [sp, #16]\n"
        "	ldr x30, [sp], #32\n"
        "	mov x10, x9\n"
        "	ret\n"
        ".size call_bare, . - call_bare\n");
long call_bare(long x);

/* Its frame can be found only with x29. */
static NOINLINE long
call_dynamic(long x)
{
	volatile char *room = __builtin_alloca((size_t)(x & 15) * 16 + 16);

	room[x & 7] = (char)x;
	return call_bare(x) + room[x & 7];
}

static NOINLINE int
call_compare(const void *a, const void *b)
{
	sink += call_dynamic(*(const long *)a - *(const long *)b);
	return (*(const long *)a > *(const long *)b) + (int)(sink & 0);
}

static NOINLINE long
call_sort(long x)
{
	long four[] = {x, 1, 4, 2};

	qsort(four, 4, sizeof(*four), call_compare);
	return four[0] + sink;
}

/* Repeats the calls until the timer has taken enough samples. */
static NOINLINE long
call_often(void)
{
	int enough = taken + BY_TIMER;
	long x = 0;

	leafs = IN_LEAF;
	armed = 1;
	while (taken < enough)
		x += call_sort(3);
	armed = 0;
	return x;
}

static NOINLINE void
call_handler(int sig)
{
	sink += call_often() + sig;
}

/* --- signals -------------------------------------------------------------- */

__asm__(".text\n"
        ".globl call_restore\n"
        ".type call_restore, %function\n"
        "call_restore:\n"
        "	nop\n" /* names are looked up before a return address */
        "call_restore_begin:\n"
        "	mov x8, #139\n"
        "	svc #0\n"
        ".size call_restore, . - call_restore\n");

struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static NOINLINE long
call_signal(void)
{
	struct kernel_action a = {call_handler, RESTORER, call_restore_begin,
	                          0};

	if (syscall(SYS_rt_sigaction, SIGUSR1, &a, NULL, sizeof(a.mask)))
		return -1;
	return raise(SIGUSR1) + sink;
}

/* --- samples -------------------------------------------------------------- */

static void
put(const void *p, size_t n)
{
	if (write(out, p, n) != (ssize_t)n)
		_exit(3);
}

static void
sampled(int sig, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	uint64_t len = (uint64_t)top - m->sp;

	(void)info;
	if (armed) {
		put(m->regs, sizeof(m->regs));
		put(&m->sp, sizeof(m->sp));
		put(&m->pc, sizeof(m->pc));
		put(&len, sizeof(len));
		put((void *)m->sp, len);
		taken += sig == SIGALRM;
	}
	if (sig == SIGTRAP) {
		leafs--;
		m->pc += 4;
	}
}

static int
take_samples(void)
{
	static char own_stack[64 << 10];
	stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
	struct sigaction a = {.sa_sigaction = sampled,
	                      .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	struct itimerval every = {{0, PERIOD_US}, {0, PERIOD_US}};

	sigfillset(&a.sa_mask);
	return sigaltstack(&stack, NULL) || sigaction(SIGTRAP, &a, NULL) ||
	       sigaction(SIGALRM, &a, NULL) ||
	       setitimer(ITIMER_REAL, &every, NULL);
}

static int
copy_maps(void)
{
	int in = open("/proc/self/maps", O_RDONLY);
	int to = open("maps", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char part[4096];
	ssize_t n;

	if (in < 0 || to < 0)
		return -1;
	while ((n = read(in, part, sizeof(part))) > 0)
		if (write(to, part, (size_t)n) != n)
			return -1;
	close(in);
	close(to);
	return 0;
}

static void *
call_thread(void *arg)
{
	pthread_attr_t attr;
	sigset_t alarm;
	void *start;
	size_t size;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (pthread_getattr_np(pthread_self(), &attr) ||
	    pthread_attr_getstack(&attr, &start, &size) || take_samples() ||
	    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL))
		_exit(4);
	top = (char *)start + size;
	sink += call_often();
	return arg;
}

static int
in_thread(void)
{
	pthread_t t;
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	return pthread_sigmask(SIG_BLOCK, &alarm, NULL) ||
	       pthread_create(&t, NULL, call_thread, NULL) ||
	       pthread_join(t, NULL);
}

int
main(int argc, char **argv)
{
	if (argc != 2 || chdir(argv[1]))
		return 2;
	out = open("samples", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (out < 0 || copy_maps() || take_samples())
		return 2;
	top = (char *)environ;
	sink = call_often();
	sink += call_signal();
	return in_thread() || sink == -1;
}
