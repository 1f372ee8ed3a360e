#include "sandbox.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <time.h>

static const int allowed[] = {
	/* descriptors that it has */
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), /* how glibc spells fstat */
	SCMP_SYS(ftruncate),
	SCMP_SYS(fcntl),
	SCMP_SYS(ioctl),
	SCMP_SYS(memfd_create),
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
	/* itself and its finishers */
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
	SCMP_SYS(sysinfo), /* qsort asks how much memory there is */
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(restart_syscall),
};

/* Libraries look for more files; they are told that there are none. */
static const int refused[] = {
	SCMP_SYS(open),       SCMP_SYS(openat), SCMP_SYS(openat2),
	SCMP_SYS(readlink),   SCMP_SYS(access), SCMP_SYS(faccessat2),
	SCMP_SYS(readlinkat), SCMP_SYS(stat),   SCMP_SYS(lstat),
};

static int
add_rules(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(allowed) && !rc; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(refused) && !rc; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES), refused[i],
		                      0);
	return rc;
}

static int
limit(int which, int64_t soft, int64_t hard)
{
	struct rlimit r = {(rlim_t)soft, (rlim_t)hard};

	return setrlimit(which, &r) ? -errno : 0;
}

int
sandbox_enter(int64_t memory_bytes)
{
	scmp_filter_ctx ctx;
	int rc = limit(RLIMIT_AS, memory_bytes, memory_bytes);

	if (!rc)
		rc = limit(RLIMIT_CORE, 0, 0);
	if (rc)
		return rc;
	tzset(); /* reads a file */
	ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!ctx)
		return -ENOMEM;
	rc = add_rules(ctx);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc;
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
