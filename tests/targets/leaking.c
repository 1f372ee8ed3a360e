/*
 * Keeps memory by functions of its own, at a rate, beside others that release
 * what they allocate, and counts what is kept.
 *
 *	leaking FILE RATE	allocations a second
 *
 * At SIGUSR1 it writes what each function has kept since the last one, a line
 * "FUNCTION OBJECTS BYTES" each, to FILE.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define FUNCTIONS(x) \
	x(keep_most) x(keep_zeroed) x(keep_grown) x(keep_aligned) x(keep_late)

enum {
#define NUMBER(name) OF_##name,
	FUNCTIONS(NUMBER) ALL
};
static const char *const names[] = {
#define NAME(name) #name,
	FUNCTIONS(NAME)};
static volatile unsigned long objects[ALL], bytes[ALL];
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
	objects[of]++;
	bytes[of] += n;
}

NOINLINE static void
keep_most(void)
{
	made = malloc(800);
	count(OF_keep_most, 800);
}

NOINLINE static void
keep_zeroed(void)
{
	made = calloc(20, 20);
	count(OF_keep_zeroed, 400);
}

/* The memory that is replaced was allocated here, too, and is not kept. */
NOINLINE static void
keep_grown(void)
{
	void *p = malloc(900);

	__asm__ volatile("" : "+r"(p));
	p = realloc(p, 300);
	made = p;
	count(OF_keep_grown, 300);
}

NOINLINE static void
keep_aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 300))
		exit(1);
	made = p;
	count(OF_keep_aligned, 300);
}

/* Keeps one of two; another thread releases the other. */
static void *volatile to_release;

NOINLINE static void
keep_late(void)
{
	made = malloc(200);
	count(OF_keep_late, 200);
	if (!to_release)
		to_release = malloc(500);
}

static void *
release(void *arg)
{
	for (;;) {
		void *p = to_release;

		if (p) {
			free(p);
			to_release = NULL;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return arg;
}

NOINLINE static void
throw_away(void)
{
	void *p = malloc(200);

	__asm__ volatile("" : "+r"(p));
	p = realloc(p, 250);
	__asm__ volatile("" : "+r"(p));
	free(p);
}

static void *
work(void *arg)
{
	double start = now(), rate = *(double *)arg;

	for (double n = 0;; n += 19) {
		keep_most();
		keep_zeroed();
		keep_grown();
		keep_aligned();
		keep_late();
		for (int i = 0; i < 6; i++)
			throw_away();
		while (n > (now() - start) * rate)
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
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
		unsigned long o = objects[i], b = bytes[i];

		fprintf(out, "%s %lu %lu\n", names[i], o - told[i][0],
		        b - told[i][1]);
		told[i][0] = o;
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
	if (argc < 2 || pthread_create(&t, NULL, work, &rate) ||
	    pthread_create(&t, NULL, release, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	while (!sigwait(&told, &signal))
		tell(argv[1]);
	return 1;
}
