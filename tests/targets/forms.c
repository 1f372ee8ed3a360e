/*
 * Unusual processes that profilers have misunderstood. Each uses the CPU in a
 * separate function.
 *
 * 	forms memory	children that share the memory of their parent
 * 	forms nowhere	a program that is in no file system
 * 	forms again	a second libc, in a namespace of the linker
 * 	forms brief	one thread after another, 2 ms each
 * 	forms ranks	a thread of real-time priority, and one that may only idle
 * 	forms killed	children that the kernel kills at a system call
 * 	forms ring	waits for timeouts of an io_uring
 * 	forms strict	a thread that may only read, write and end, and allocates
 * 	forms within ARG...	the interpreter of libpython, with these arguments
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long done;
static void *volatile made;

static void
ready(void)
{
	puts("ready");
	fflush(stdout);
}

static inline __attribute__((always_inline)) void
burn(long ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 10000; i++)
			done++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 +
	                 (now.tv_nsec - start.tv_nsec) / 1000000 <
	         ms);
}

/* --- forms ---------------------------------------------------------------- */

NOINLINE static int
in_shared_memory(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	burn(50);
	return arg != NULL;
}

static int
share_memory(void)
{
	static char stack[65536];

	ready();
	for (;;) {
		pid_t child = clone(in_shared_memory, stack + sizeof(stack),
		                    CLONE_VM | SIGCHLD, NULL);

		if (child < 0)
			return 1;
		waitpid(child, NULL, 0);
	}
}

NOINLINE static int
of_no_file(void)
{
	ready();
	for (;;)
		done++;
}

static int
leave_the_files(const char *self)
{
	char *words[] = {(char *)self, (char *)"nowhere", (char *)"now", NULL};
	FILE *f = fopen(self, "rb");
	int fd = memfd_create("nowhere", MFD_CLOEXEC);
	struct stat st;

	if (!f || fstat(fileno(f), &st) ||
	    sendfile(fd, fileno(f), NULL, (size_t)st.st_size) != st.st_size)
		return 1;
	fexecve(fd, words, environ);
	return 1;
}

static int
compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE static int
by_second_libc(void)
{
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	void (*sort)(void *, size_t, size_t,
	             int (*)(const void *, const void *)) =
		libc ? (__typeof__(sort))dlsym(libc, "qsort") : NULL;
	static int numbers[10000];

	if (!sort)
		return 1;
	ready();
	for (unsigned next = 1;;) {
		for (int i = 0; i < 10000; i++)
			numbers[i] =
				(int)((next = next * 1103515245 + 12345) >> 8);
		sort(numbers, 10000, sizeof(*numbers), compare);
	}
}

NOINLINE static void *
in_brief_thread(void *arg)
{
	burn(2);
	return arg;
}

static int
live_briefly(void)
{
	pthread_t t;

	ready();
	while (!pthread_create(&t, NULL, in_brief_thread, NULL))
		pthread_join(t, NULL);
	return 1;
}

/* Sleeps most of the time, so that others can run. */
NOINLINE static void *
in_real_time(void *arg)
{
	const struct sched_param p = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		exit(1);
	for (;;) {
		burn(1);
		usleep(9000);
	}
	return arg;
}

NOINLINE static void *
in_idle_time(void *arg)
{
	const struct sched_param p = {.sched_priority = 0};

	if (sched_setscheduler(0, SCHED_IDLE, &p))
		exit(1);
	for (;;)
		burn(1);
	return arg;
}

static int
run_in_ranks(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_real_time, NULL) ||
	    pthread_create(&t, NULL, in_idle_time, NULL))
		return 1;
	ready();
	for (;;)
		pause();
}

NOINLINE static void
until_killed(void)
{
	burn(20);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	burn(20);
	(void)getppid();
}

static int
be_killed(void)
{
	int status = SIGKILL;

	ready();
	while (WIFSIGNALED(status)) {
		pid_t child = fork();

		if (!child)
			until_killed();
		if (child <= 0 || waitpid(child, &status, 0) != child)
			return 1;
	}
	return 1;
}

/* Each entry ends 10 ms later. */
NOINLINE static int
wait_for_ring(void)
{
	static const struct __kernel_timespec rest = {.tv_nsec = 10000000};
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &p);
	char *queue = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
	                   IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry = mmap(NULL, sizeof(*entry),
	                                  PROT_READ | PROT_WRITE, MAP_SHARED,
	                                  ring, IORING_OFF_SQES);

	if (ring < 0 || queue == MAP_FAILED || entry == MAP_FAILED)
		return 1;
	*entry = (struct io_uring_sqe){.opcode = IORING_OP_TIMEOUT,
	                               .addr = (uintptr_t)&rest,
	                               .len = 1};
	ready();
	for (;;) {
		__atomic_add_fetch((unsigned *)(queue + p.sq_off.tail), 1,
		                   __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1,
		            IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return 1;
		__atomic_add_fetch((unsigned *)(queue + p.cq_off.head), 1,
		                   __ATOMIC_RELEASE);
	}
}

/* Allocates memory that it has released before, for which libc needs no system
 * call; seldom enough to be watched call by call on a fast machine, too. */
NOINLINE static void *
in_strict_mode(void *arg)
{
	free(malloc(4000));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		exit(1);
	for (;;) {
		for (int i = 0; i < 500000; i++)
			done++;
		made = malloc(4000);
		free(made);
	}
	return arg;
}

static int
be_strict(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_strict_mode, NULL))
		return 1;
	ready();
	for (;;)
		pause();
}

static int
interpret(int argc, char **argv)
{
	void *library = dlopen("libpython3.11.so.1.0", RTLD_NOW | RTLD_GLOBAL);
	int (*run)(int, char **) =
		library ? (__typeof__(run))dlsym(library, "Py_BytesMain")
			: NULL;

	return run ? run(argc, argv) : 1;
}

int
main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";

	return !strcmp(form, "memory") ? share_memory()
	       : !strcmp(form, "nowhere")
	               ? (argc > 2 ? of_no_file() : leave_the_files(argv[0]))
	       : !strcmp(form, "again")  ? by_second_libc()
	       : !strcmp(form, "brief")  ? live_briefly()
	       : !strcmp(form, "ranks")  ? run_in_ranks()
	       : !strcmp(form, "killed") ? be_killed()
	       : !strcmp(form, "ring")   ? wait_for_ring()
	       : !strcmp(form, "strict") ? be_strict()
	       : !strcmp(form, "within") ? interpret(argc - 1, argv + 1)
	                                 : 2;
}
