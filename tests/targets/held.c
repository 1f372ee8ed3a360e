/*
 * A program whose memory can't be read: a thread sleeps deep in its stack, and
 * higher pages of the stack never arrive, since nobody serves their
 * userfaultfd(2).
 *
 * 	held		prints "ready", or why the kernel refuses
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK ((size_t)1 << 20)
#define DEEP  ((size_t)256 << 10)
#define PAGE  ((uintptr_t)4096)

static sem_t asleep;
static volatile uintptr_t sleeper_at;

static void *
sleep_deep(void *arg)
{
	volatile char deep[DEEP];

	memset((char *)deep, 1, sizeof(deep));
	sleeper_at = (uintptr_t)deep;
	sem_post(&asleep);
	for (;;)
		pause();
	return arg;
}

/* Withholds half of the sleeper's room, from a page or two above it. */
static int
hold_back(void)
{
	uintptr_t from = (sleeper_at + 2 * PAGE) / PAGE * PAGE;
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {from, DEEP / 2},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range) ||
	    madvise((void *)from, DEEP / 2, MADV_DONTNEED))
		return -errno;
	return 0;
}

int
main(void)
{
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	sem_init(&asleep, 0, 0);
	pthread_attr_init(&attr);
	if (stack == MAP_FAILED || pthread_attr_setstack(&attr, stack, STACK) ||
	    pthread_create(&thread, &attr, sleep_deep, NULL))
		return 1;
	sem_wait(&asleep);
	rc = hold_back();
	puts(rc ? strerror(-rc) : "ready");
	fflush(stdout);
	while (!rc)
		pause();
	return 0;
}
