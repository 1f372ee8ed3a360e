/*
 * Waits in every way, one for each function, and measures the time. At SIGUSR1
 * it writes what it measured since the last signal to the file of its first
 * argument: lines "FUNCTION WAITS NANOSECONDS BYTES" and "lock NAME ADDRESS".
 * The second argument is a file that it writes, next to another one that it
 * maps. A thread called keeper holds the locks for which take_kept, take_robust
 * and take_lent wait.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS(x)                                                       \
	x(sleep_long) x(sleep_short) x(wait_pipe) x(wait_peer) x(take_hot) \
		x(take_cold) x(write_through) x(fault_in) x(take_kept)     \
			x(take_robust) x(take_lent) x(take_shared)         \
				x(take_whole) x(wait_signal) x(take_newer)

enum {
#define NUMBER(name) OF_##name,
	FUNCTIONS(NUMBER) ALL
};
static const char *const names[] = {
#define NAME(name) #name,
	FUNCTIONS(NAME)};
static struct {
	atomic_ulong waits, ns, bytes;
} measured[ALL];

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *cold; /* on the heap */
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_mutex_t robust, lent; /* lent: with priority inheritance */
} special;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t signalled = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signal_of = PTHREAD_COND_INITIALIZER;
static int pipe_fds[2], peer_fds[2], file_fd, mapped_fd;
#define MAPPED ((size_t)4 << 20)
static volatile char *mapped;

static unsigned long
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000ul +
	       (unsigned long)t.tv_nsec;
}

static void
count(int of, unsigned long since_ns, long bytes)
{
	measured[of].waits++;
	measured[of].ns += now_ns() - since_ns;
	measured[of].bytes += bytes > 0 ? (unsigned long)bytes : 0;
}

static void
pass(long us)
{
	const struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void
sleep_long(void)
{
	unsigned long since = now_ns();

	pass(20000);
	count(OF_sleep_long, since, 0);
}

__attribute__((noinline)) static void
sleep_short(void)
{
	unsigned long since = now_ns();

	pass(1000);
	count(OF_sleep_short, since, 0);
}

__attribute__((noinline)) static void
wait_pipe(void)
{
	unsigned long since = now_ns();
	char bytes[16];

	count(OF_wait_pipe, since, read(pipe_fds[0], bytes, sizeof(bytes)));
}

__attribute__((noinline)) static void
wait_peer(void)
{
	unsigned long since = now_ns();
	char bytes[256];

	count(OF_wait_peer, since, recv(peer_fds[0], bytes, sizeof(bytes), 0));
}

__attribute__((noinline)) static void
write_through(void)
{
	static char bytes[4096];
	unsigned long since = now_ns();
	long n = pwrite(file_fd, bytes, sizeof(bytes), 0);

	fdatasync(file_fd);
	count(OF_write_through, since, n);
	pass(10000);
}

__attribute__((noinline)) static void
fault_in(size_t at)
{
	unsigned long since = now_ns();

	(void)mapped[at];
	count(OF_fault_in, since, 0);
}

/* Touches pages that are on the disk but not in memory. */
__attribute__((noinline)) static void
use_mapped(void)
{
	static size_t at;

	madvise((void *)mapped, MAPPED, MADV_DONTNEED);
	posix_fadvise(mapped_fd, 0, 0, POSIX_FADV_DONTNEED);
	for (int i = 0; i < 8; i++) {
		at = (at + 37 * 4096) % MAPPED;
		fault_in(at);
	}
	pass(10000);
}

static void
take(pthread_mutex_t *lock, int of, long held_us)
{
	unsigned long since = now_ns();

	if (pthread_mutex_trylock(lock)) {
		pthread_mutex_lock(lock);
		count(of, since, 0);
	}
	pass(held_us);
	pthread_mutex_unlock(lock);
	pass(500);
}

__attribute__((noinline)) static void
take_hot(void)
{
	take(&hot, OF_take_hot, 6000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
take_cold(void)
{
	take(cold, OF_take_cold, 1000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
take_kept(void)
{
	take(&kept, OF_take_kept, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
take_robust(void)
{
	take(&special.robust, OF_take_robust, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
take_lent(void)
{
	take(&special.lent, OF_take_lent, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
take_shared(void)
{
	unsigned long since = now_ns();

	if (pthread_rwlock_tryrdlock(&shared)) {
		pthread_rwlock_rdlock(&shared);
		count(OF_take_shared, since, 0);
	}
	pass(2000);
	pthread_rwlock_unlock(&shared);
	pass(1000);
}

__attribute__((noinline)) static void
take_whole(void)
{
	unsigned long since = now_ns();

	if (pthread_rwlock_trywrlock(&shared)) {
		pthread_rwlock_wrlock(&shared);
		count(OF_take_whole, since, 0);
	}
	pass(4000);
	pthread_rwlock_unlock(&shared);
	pass(1000);
}

/* Waits in futex_wait(2), which Linux has from 6.7 on, for a lock whose word is
 * 2 while others wait. */
static atomic_uint newer;
#define FUTEX2_WAIT  455
#define FUTEX2_FLAGS 130 /* 32 bits, of this process only */

static void
wait_for_newer(void)
{
	if (syscall(FUTEX2_WAIT, &newer, 2ul, 0xfffffffful, FUTEX2_FLAGS, NULL,
	            0) < 0 &&
	    errno == ENOSYS)
		syscall(SYS_futex, &newer, FUTEX_WAIT_PRIVATE, 2, NULL);
}

__attribute__((noinline)) static void
take_newer(void)
{
	unsigned long since = now_ns();
	unsigned free = 0;

	if (!atomic_compare_exchange_strong(&newer, &free, 1)) {
		while (atomic_exchange(&newer, 2))
			wait_for_newer();
		count(OF_take_newer, since, 0);
	}
	pass(3000);
	if (atomic_exchange(&newer, 0) == 2)
		syscall(SYS_futex, &newer, FUTEX_WAKE_PRIVATE, 1);
	pass(500);
}

__attribute__((noinline)) static void
wait_signal(void)
{
	unsigned long since = now_ns();

	pthread_mutex_lock(&signalled);
	pthread_cond_wait(&signal_of, &signalled);
	pthread_mutex_unlock(&signalled);
	count(OF_wait_signal, since, 0);
}

__attribute__((noinline)) static void
send_signal(void)
{
	pass(8000);
	pthread_cond_signal(&signal_of);
}

__attribute__((noinline)) static void
keep(void)
{
	pthread_mutex_t *const locks[] = {&kept, &special.robust,
	                                  &special.lent};

	for (int i = 0; i < 3; i++)
		pthread_mutex_lock(locks[i]);
	pass(5000);
	for (int i = 0; i < 3; i++)
		pthread_mutex_unlock(locks[i]);
	pass(1000);
}

static void
make_locks(void)
{
	pthread_mutexattr_t of;

	cold = malloc(sizeof(*cold));
	if (!cold || pthread_mutex_init(cold, NULL) ||
	    pthread_mutexattr_init(&of) ||
	    pthread_mutexattr_setrobust(&of, PTHREAD_MUTEX_ROBUST) ||
	    pthread_mutex_init(&special.robust, &of) ||
	    pthread_mutexattr_init(&of) ||
	    pthread_mutexattr_setprotocol(&of, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(&special.lent, &of))
		exit(1);
}

__attribute__((noinline)) static void
feed_pipe(void)
{
	pass(5000);
	(void)!write(pipe_fds[1], "0123456789abcde", 16);
}

__attribute__((noinline)) static void
feed_peer(void)
{
	pass(7000);
	(void)!send(peer_fds[1], measured, 100, 0);
}

static void *
repeat(void *function)
{
	if (function == (void *)keep)
		pthread_setname_np(pthread_self(), "keeper");
	for (;;)
		((void (*)(void))function)();
	return NULL;
}

static void
connect_pair(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (void *)&at, sizeof(at)) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &n))
		exit(1);
	peer_fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(peer_fds[0], (void *)&at, sizeof(at)))
		exit(1);
	peer_fds[1] = accept(listener, NULL, NULL);
	printf("peer 127.0.0.1:%u\n", ntohs(at.sin_port));
}

static void
map_file(const char *beside)
{
	static const char page[4096];
	char path[4096];

	snprintf(path, sizeof(path), "%s.mapped", beside);
	mapped_fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (size_t n = 0; n < MAPPED; n += sizeof(page))
		if (write(mapped_fd, page, sizeof(page)) != sizeof(page))
			exit(1);
	mapped = mmap(NULL, MAPPED, PROT_READ, MAP_SHARED, mapped_fd, 0);
	if (fsync(mapped_fd) || mapped == MAP_FAILED ||
	    madvise((void *)mapped, MAPPED, MADV_RANDOM))
		exit(1);
}

static void
tell(const char *path)
{
	char part[4096];
	FILE *out;

	snprintf(part, sizeof(part), "%s.part", path);
	out = fopen(part, "w");
	if (!out)
		exit(1);
	for (int i = 0; i < ALL; i++)
		fprintf(out, "%s %lu %lu %lu\n", names[i],
		        atomic_exchange(&measured[i].waits, 0),
		        atomic_exchange(&measured[i].ns, 0),
		        atomic_exchange(&measured[i].bytes, 0));
	fprintf(out, "lock cold %p\n", (void *)cold);
	if (fclose(out) || rename(part, path))
		exit(1);
}

int
main(int argc, char **argv)
{
	static void (*const functions[])(void) = {
		sleep_long,  sleep_short, wait_pipe,     wait_peer,
		feed_pipe,   feed_peer,   take_hot,      take_hot,
		take_cold,   take_cold,   write_through, use_mapped,
		keep,        take_kept,   take_robust,   take_lent,
		take_shared, take_whole,  wait_signal,   send_signal,
		take_newer,  take_newer};
	sigset_t told;
	pthread_t t;
	int signal;

	if (argc < 3 || pipe(pipe_fds))
		return 1;
	file_fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	map_file(argv[2]);
	connect_pair();
	make_locks();
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &told, NULL);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (pthread_create(&t, NULL, repeat, (void *)functions[i]))
			return 1;
	puts("ready");
	fflush(stdout);
	while (!sigwait(&told, &signal))
		tell(argv[1]);
	return 1;
}
