/*
 * Threads that wait in every common way, and one that works.
 *
 * 	threads COUNT [still|restless]
 *
 * COUNT threads take the kinds below in turn; each has the name of its kind and
 * begins with begin(). Another one, "spin", works all the time, unless "still"
 * is given; with "restless", two threads "ping" and "pong" wake each other
 * instead. Prints "ready" when all have arrived. Each line on stdin is then
 * answered by the nanoseconds for which "spin" has been neither on a CPU nor
 * waiting for one: since it never sleeps, it was stopped then.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MAX      20000
#define STACK    (256 << 10)
#define DEEP     40 /* frames below, at most */

static pthread_mutex_t free_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static int silent[2]; /* a pipe */
static int event, listener, epoll;
static volatile uint64_t work;
static long arrived; /* threads just before their wait */

static void
arrive(void)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
}

NOINLINE void
wait_cond(void)
{
	pthread_mutex_lock(&free_mutex);
	arrive();
	for (;;)
		pthread_cond_wait(&never, &free_mutex);
}

NOINLINE void
wait_mutex(void)
{
	arrive();
	pthread_mutex_lock(&held_mutex);
	abort(); /* main holds it */
}

NOINLINE void
wait_sem(void)
{
	arrive();
	while (sem_wait(&empty))
		;
	abort();
}

NOINLINE void
wait_epoll(void)
{
	struct epoll_event e;

	arrive();
	while (epoll_wait(epoll, &e, 1, -1) <= 0)
		;
	abort();
}

NOINLINE void
wait_poll(void)
{
	struct pollfd p[] = {{silent[0], POLLIN, 0}, {event, POLLIN, 0}};

	arrive();
	while (poll(p, 2, -1) <= 0)
		;
	abort();
}

NOINLINE void
wait_read(void)
{
	char c;

	arrive();
	while (read(silent[0], &c, 1) < 0)
		;
	abort();
}

NOINLINE void
wait_event(void)
{
	uint64_t n;

	arrive();
	while (read(event, &n, sizeof(n)) < 0)
		;
	abort();
}

NOINLINE void
wait_accept(void)
{
	arrive();
	while (accept(listener, NULL, NULL) < 0)
		;
	abort();
}

NOINLINE void
wait_sleep(void)
{
	struct timespec day = {86400, 0};

	arrive();
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL))
		;
	abort();
}

static const struct kind {
	const char *name;
	void (*wait)(void);
} kinds[] = {
	{"cond", wait_cond},   {"mutex", wait_mutex},   {"sem", wait_sem},
	{"epoll", wait_epoll}, {"poll", wait_poll},     {"read", wait_read},
	{"event", wait_event}, {"accept", wait_accept}, {"sleep", wait_sleep},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* --- threads -------------------------------------------------------------- */

NOINLINE void
descend(const struct kind *kind, int left)
{
	volatile char room[100];

	room[0] = (char)left;
	if (left)
		descend(kind, left - 1);
	else
		kind->wait();
	room[1] = room[0];
}

static void *
begin(void *arg)
{
	intptr_t i = (intptr_t)arg;
	const struct kind *kind = &kinds[(size_t)i % KINDS];

	pthread_setname_np(pthread_self(), kind->name);
	descend(kind, (int)(i % DEEP));
	return NULL;
}

static int64_t
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Returns the time spent waiting for a CPU; the current wait is included. */
static int64_t
waited(void)
{
	long long ran = 0, wait = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (!f || fscanf(f, "%lld %lld", &ran, &wait) != 2)
		abort();
	fclose(f);
	return wait;
}

/* Returns the clock minus the time on a CPU and waiting for one. Repeats the
 * reading if the thread lost its CPU meanwhile. */
static int64_t
not_runnable(void)
{
	int64_t wait, again = waited(), t;

	do {
		wait = again;
		t = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
		again = waited();
	} while (again != wait);
	return t - wait;
}

static int asked;
static int64_t answer;
static sem_t answered;

NOINLINE void
spin_on(void)
{
	for (;; work++) {
		if (!__atomic_exchange_n(&asked, 0, __ATOMIC_ACQ_REL))
			continue;
		answer = not_runnable();
		sem_post(&answered);
	}
}

static void *
begin_spin(void *arg)
{
	pthread_setname_np(pthread_self(), "spin");
	arrive();
	spin_on();
	return arg;
}

static int to_ping[2], to_pong[2];

NOINLINE void
pass_on(const int from[2], const int to[2])
{
	char c;

	while (read(from[0], &c, 1) == 1 && write(to[1], &c, 1) == 1)
		;
	abort();
}

static void *
begin_ping(void *arg)
{
	pthread_setname_np(pthread_self(), "ping");
	arrive();
	pass_on(to_ping, to_pong);
	return arg;
}

static void *
begin_pong(void *arg)
{
	pthread_setname_np(pthread_self(), "pong");
	arrive();
	pass_on(to_pong, to_ping);
	return arg;
}

static void
start(void *(*run)(void *), intptr_t arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&thread, &attr, run, (void *)arg)) {
		perror("threads");
		exit(1);
	}
	pthread_attr_destroy(&attr);
}

static void
start_restless(void)
{
	if (pipe(to_ping) || pipe(to_pong) || write(to_ping[1], "!", 1) != 1)
		abort();
	start(begin_ping, 0);
	start(begin_pong, 0);
}

/* --- where they are ------------------------------------------------------- */

/* Returns whether the thread sleeps, or is the one that never does. */
static int
is_settled(const char *tid)
{
	char path[300], text[512] = "";
	const char *close;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", tid);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		abort();
	fclose(f);
	close = strrchr(text, ')');
	return strtol(tid, NULL, 10) == getpid() || strstr(text, "(spin)") ||
	       strstr(text, "(ping)") || strstr(text, "(pong)") ||
	       (close && close[1] && close[2] == 'S');
}

static void
wait_until_settled(void)
{
	const struct dirent *e;
	int unsettled;
	DIR *dir = opendir("/proc/self/task");

	if (!dir)
		abort();
	do {
		sched_yield();
		rewinddir(dir);
		for (unsettled = 0; (e = readdir(dir));)
			if (e->d_name[0] != '.')
				unsettled += !is_settled(e->d_name);
	} while (unsettled);
	closedir(dir);
}

static void
open_all(void)
{
	if (pipe(silent) || sem_init(&empty, 0, 0) || sem_init(&answered, 0, 0))
		abort();
	event = eventfd(0, 0);
	epoll = epoll_create1(0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (event < 0 || epoll < 0 || listen(listener, 1))
		abort();
	pthread_mutex_lock(&held_mutex);
}

int
main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : (long)KINDS;
	int spins = argc < 3, restless = !spins && argv[2][0] == 'r';
	char line[16];

	if (count < 0 || count > MAX)
		return 2;
	open_all();
	for (long i = 0; i < count; i++)
		start(begin, i);
	if (spins)
		start(begin_spin, 0);
	if (restless)
		start_restless();
	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) <
	       count + spins + 2 * restless)
		sched_yield();
	pthread_mutex_lock(&free_mutex); /* now cond waits */
	pthread_mutex_unlock(&free_mutex);
	wait_until_settled();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		__atomic_store_n(&asked, spins, __ATOMIC_RELEASE);
		if (spins && sem_wait(&answered))
			abort();
		printf("%lld\n", (long long)answer);
		fflush(stdout);
	}
	return 0;
}
