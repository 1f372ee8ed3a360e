/*
 * Allocates by functions of its own, at a rate, and counts what it asked for.
 *
 *	allocating FILE RATE	allocations a second
 *
 * At SIGUSR1 it writes what each function asked for since the last one, a line
 * "FUNCTION CALLS BYTES" each, to FILE.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FUNCTIONS(x) \
	x(get_small) x(get_large) x(get_zeroed) x(get_aligned) x(grow) x(begin)

enum {
#define NUMBER(name) OF_##name,
	FUNCTIONS(NUMBER) ALL
};
static const char *const names[] = {
#define NAME(name) #name,
	FUNCTIONS(NAME)};
static volatile unsigned long calls[ALL], bytes[ALL];
static void *volatile made;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
count(int of, unsigned long n)
{
	calls[of]++;
	bytes[of] += n;
}

__attribute__((noinline)) static void
get_small(void)
{
	count(OF_get_small, 200);
	made = malloc(200);
	free(made);
}

__attribute__((noinline)) static void
get_large(void)
{
	count(OF_get_large, 3000);
	made = malloc(3000);
	free(made);
}

__attribute__((noinline)) static void
get_zeroed(void)
{
	count(OF_get_zeroed, 1000);
	made = calloc(20, 50);
	free(made);
}

__attribute__((noinline)) static void
get_aligned(void)
{
	void *p = NULL;

	count(OF_get_aligned, 700);
	if (posix_memalign(&p, 64, 700))
		exit(1);
	made = p;
	free(made);
}

/* Grows what another function made: only the growth is its own. */
__attribute__((noinline)) static void *
grow(void *p)
{
	count(OF_grow, 1500);
	p = realloc(p, 1500);
	__asm__ volatile("" : "+r"(p));
	return p;
}

__attribute__((noinline)) static void *
begin(void)
{
	void *p;

	count(OF_begin, 900);
	p = realloc(NULL, 900);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *
work(void *arg)
{
	double start = now(), rate = *(double *)arg;

	for (double n = 0;; n += 9) {
		for (int i = 0; i < 4; i++)
			get_small();
		get_large();
		get_zeroed();
		get_aligned();
		made = begin();
		made = grow(made);
		free(made);
		/* As a server has nothing to do between requests. */
		while (n > (now() - start) * rate)
			nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	}
	return NULL;
}

static void
tell(const char *path)
{
	static unsigned long told[ALL][2];
	char part[4096];
	FILE *out;

	snprintf(part, sizeof(part), "%s.part", path);
	out = fopen(part, "w");
	if (!out)
		exit(1);
	for (int i = 0; i < ALL; i++) {
		unsigned long c = calls[i], b = bytes[i];

		fprintf(out, "%s %lu %lu\n", names[i], c - told[i][0],
		        b - told[i][1]);
		told[i][0] = c;
		told[i][1] = b;
	}
	if (fclose(out) || rename(part, path))
		exit(1);
}

int
main(int argc, char **argv)
{
	double rate = argc > 2 ? atof(argv[2]) : 10000;
	sigset_t told;
	pthread_t t;
	int signal;

	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &told, NULL);
	if (argc < 2 || pthread_create(&t, NULL, work, &rate))
		return 1;
	puts("ready");
	fflush(stdout);
	while (!sigwait(&told, &signal))
		tell(argv[1]);
	return 1;
}
