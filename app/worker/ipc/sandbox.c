#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* --- which files a process may still open: landlock(7) -------------------- */

/* Files that name resolution reads. Source: getaddrinfo(3), nsswitch.conf(5),
 * ld.so(8). */
static const char *const resolver_files[] = {
	"/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
	"/etc/host.conf",   "/etc/gai.conf", "/etc/services",
	"/etc/ld.so.cache", "/lib",          "/lib64",
	"/usr/lib",         "/usr/lib64",    "/run/systemd/resolve",
};

/* All rights that the first version of Landlock can deny. */
#define ALL_OF_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static int
add_path(int ruleset, const char *path)
{
	CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
		.parent_fd = fd,
	};
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 0; /* a file that does not exist need not be read */
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	return syscall(SYS_landlock_add_rule, ruleset,
	               LANDLOCK_RULE_PATH_BENEATH, &rule, 0)
	               ? -errno
	               : 0;
}

/*
 * Restricts the process for good to reading the files of getaddrinfo(3).
 *   Errors   -errno: -ENOSYS and -EOPNOTSUPP without Landlock in the kernel,
 *            and without effect
 */
static int
landlock_resolver_files(void)
{
	struct landlock_ruleset_attr all = {.handled_access_fs = ALL_OF_V1};
	CLEANUP_FD int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	int rc = ruleset < 0 ? -errno : 0;

	for (size_t i = 0; i < ARRAY_LEN(resolver_files) && !rc; i++)
		rc = add_path(ruleset, resolver_files[i]);
	if (!rc && syscall(SYS_landlock_restrict_self, ruleset, 0))
		rc = -errno;
	return rc;
}

/* --- which system calls, and how much of a machine ------------------------ */

static const int allowed[] = {
	/* its descriptors */
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), /* glibc's name of fstat */
	SCMP_SYS(ftruncate),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(fcntl),
	SCMP_SYS(ioctl),
	SCMP_SYS(memfd_create),
	SCMP_SYS(eventfd2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	/* memory */
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	/* libunwind, on its first step, prepares to test addresses of this
	 * process; steps over copied stacks never do. */
	SCMP_SYS(pipe2),
	SCMP_SYS(mincore),
	/* the process and its finishers */
	SCMP_SYS(clone),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(tgkill),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(prctl),
	SCMP_SYS(prlimit64),
	SCMP_SYS(getrlimit),
	SCMP_SYS(setrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo), /* qsort asks for the size of memory */
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(restart_syscall),
};

/* Calls that fail as if the file did not exist, since libraries look for
 * further files. */
static const int refused[] = {
	SCMP_SYS(open),       SCMP_SYS(openat), SCMP_SYS(openat2),
	SCMP_SYS(readlink),   SCMP_SYS(access), SCMP_SYS(faccessat2),
	SCMP_SYS(readlinkat), SCMP_SYS(stat),   SCMP_SYS(lstat),
};

/* Further calls of libcurl, TLS and the resolver's threads. */
static const int network[] = {
	SCMP_SYS(connect),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(shutdown),
	SCMP_SYS(socketpair),
	SCMP_SYS(clock_getres),
	SCMP_SYS(sched_yield),
	SCMP_SYS(uname),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(membarrier),
	SCMP_SYS(sched_getaffinity),
};

static int
add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = seccomp_rule_add(ctx, action, calls[i], 0);
	return rc;
}

/* Allows new sockets of the Internet only: no netlink, no local services. */
static int
add_sockets(scmp_filter_ctx ctx)
{
	static const unsigned families[] = {AF_INET, AF_INET6};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(families) && !rc; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
		                      SCMP_A0(SCMP_CMP_EQ, families[i]));
	return rc;
}

/* Allows opening for reading what Landlock permits, or nothing. */
static int
add_files(scmp_filter_ctx ctx, bool readable)
{
	if (!readable)
		return add_all(ctx, SCMP_ACT_ERRNO(EACCES), refused,
		               ARRAY_LEN(refused));
	return seccomp_rule_add(
		ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
		SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT, O_RDONLY));
}

static int
limit(int which, int64_t soft, int64_t hard)
{
	struct rlimit r = {(rlim_t)soft, (rlim_t)hard};

	return setrlimit(which, &r) ? -errno : 0;
}

static int
limit_memory(int64_t bytes)
{
	int rc = limit(RLIMIT_AS, bytes, bytes);

	return rc ? rc : limit(RLIMIT_CORE, 0, 0);
}

int
sandbox_enter(int64_t memory_bytes)
{
	scmp_filter_ctx ctx;
	int rc = limit_memory(memory_bytes);

	if (rc)
		return rc;
	tzset(); /* reads a file */
	ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!ctx)
		return -ENOMEM;
	rc = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
	if (!rc)
		rc = add_files(ctx, false);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc;
}

int
sandbox_enter_network(int64_t memory_bytes)
{
	bool names = !landlock_resolver_files();
	scmp_filter_ctx ctx;
	int rc = limit_memory(memory_bytes);

	if (rc)
		return rc;
	tzset();
	/* Third-party libraries may probe, so calls that are
	 * not listed fail. */
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return -ENOMEM;
	rc = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
	if (!rc)
		rc = add_all(ctx, SCMP_ACT_ALLOW, network, ARRAY_LEN(network));
	if (!rc)
		rc = add_sockets(ctx);
	if (!rc) /* glibc then uses clone() */
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS),
		                      SCMP_SYS(clone3), 0);
	if (!rc)
		rc = add_files(ctx, names);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc ? rc : !names;
}

int
sandbox_limit_cpu(int64_t seconds)
{
	struct rusage spent;

	if (getrusage(RUSAGE_SELF, &spent))
		return -errno;
	seconds += spent.ru_utime.tv_sec + spent.ru_stime.tv_sec;
	return limit(RLIMIT_CPU, seconds, seconds + 1);
}
