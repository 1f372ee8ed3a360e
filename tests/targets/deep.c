/*
 * Stops itself at the bottom of a known call chain.
 *
 * 	deep calls|signal|thread|jit
 *
 * calls   main, deep_a, qsort of libc, deep_b, deep_c, raise of libc
 * signal  the same below a signal handler's frame
 * thread  the same below a thread's start
 * jit     the same below code that has a frame pointer and no tables
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

static inline __attribute__((always_inline)) void
deep_folded(int x)
{
	sink = x;
	raise(SIGSTOP);
	sink++;
}

/* Has a large frame and no tail call, so that nothing is walked by chance. */
static NOINLINE int
deep_c(int x)
{
	volatile char pad[3000];

	memset((char *)pad, x, sizeof(pad));
	deep_folded(x);
	return pad[x & 1023] + sink;
}

static NOINLINE int
deep_b(const void *a, const void *b)
{
	return deep_c(*(const int *)a - *(const int *)b) + sink;
}

static NOINLINE int
deep_a(int x)
{
	int two[] = {x, 1};

	qsort(two, 2, sizeof(*two), deep_b);
	return two[0] + sink;
}

static void
deep_handler(int sig)
{
	sink = deep_a(sig) + sink;
}

static void *
deep_thread(void *arg)
{
	sink = deep_a(3) + sink;
	return arg;
}

/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const unsigned char jitted[] = {0x55, 0x48, 0x89, 0xe5,
                                       0xff, 0xd6, 0x5d, 0xc3};

static NOINLINE int
deep_jit(void)
{
	int (*f)(int, int (*)(int));
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(EXIT_FAILURE);
	memcpy(page, jitted, sizeof(jitted));
	memcpy(&f, &page, sizeof(f));
	return f(3, deep_a) + sink;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "calls";
	pthread_t t;

	if (!strcmp(mode, "signal")) {
		signal(SIGUSR1, deep_handler);
		raise(SIGUSR1);
	} else if (!strcmp(mode, "thread")) {
		if (pthread_create(&t, NULL, deep_thread, NULL))
			return EXIT_FAILURE;
		pthread_join(t, NULL);
	} else if (!strcmp(mode, "jit")) {
		sink = deep_jit() + sink;
	} else {
		sink = deep_a(3) + sink;
	}
	return sink == -1;
}
