#include "sandbox.h"

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

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
		return 0; /* a missing file needs no rule */
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	return syscall(SYS_landlock_add_rule, ruleset,
	               LANDLOCK_RULE_PATH_BENEATH, &rule, 0)
	               ? -errno
	               : 0;
}

/*
 * Restricts the process for good to reading the files of getaddrinfo(3).
 *   Errors   -errno, without effect: -ENOSYS or -EOPNOTSUPP if the kernel has
 *            no Landlock
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

/* --- lists of system calls ------------------------------------------------ */

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
	SCMP_SYS(newfstatat), /* glibc's fstat */
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
	/* the process */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
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

/* Further calls of the analyser, which forks finishers, and of threads, besides
 * clone(2). */
static const int children[] = {
	SCMP_SYS(wait4),         SCMP_SYS(waitid), SCMP_SYS(tgkill),
	SCMP_SYS(timer_create), /* privilege.c: limit of a child */
	SCMP_SYS(timer_settime),
};

/* Calls that fail with EACCES instead of killing, since libraries look for
 * files on their own. */
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

/* Further calls of processes that open files, and of libc in them. If a newer
 * call replaces an older one, both are listed, since libc chooses. */
static const int files[] = {
	SCMP_SYS(openat2), /* a filter cannot see its flags */
	SCMP_SYS(stat),         SCMP_SYS(lstat),
	SCMP_SYS(statx),        SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),      SCMP_SYS(access),
	SCMP_SYS(faccessat),    SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),     SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),   SCMP_SYS(readv),
	SCMP_SYS(preadv),       SCMP_SYS(preadv2),
	SCMP_SYS(pwritev),      SCMP_SYS(pwritev2),
	SCMP_SYS(sendfile),     SCMP_SYS(alarm),
	SCMP_SYS(setitimer),    SCMP_SYS(dup),
	SCMP_SYS(dup3),         SCMP_SYS(close_range),
	SCMP_SYS(select),       SCMP_SYS(pselect6),
	SCMP_SYS(getuid),       SCMP_SYS(geteuid),
	SCMP_SYS(getgid),       SCMP_SYS(getegid),
	SCMP_SYS(uname),        SCMP_SYS(time),
	SCMP_SYS(gettimeofday), SCMP_SYS(clock_getres),
	SCMP_SYS(nanosleep),    SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),  SCMP_SYS(getcpu),
	SCMP_SYS(sigaltstack),  SCMP_SYS(membarrier),
};

/* Further calls of the scheduler: for SQLite, and for the store's files and
 * directories. */
static const int storing[] = {
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rmdir),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(chmod),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fchown),
	SCMP_SYS(utimensat),
	SCMP_SYS(umask),
	SCMP_SYS(truncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(syncfs),
	SCMP_SYS(flock),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(msync),
	SCMP_SYS(dup2),
	SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch),
	SCMP_SYS(signalfd4),
	SCMP_SYS(socketpair),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(getsockopt),
	SCMP_SYS(times),
};

/* A reader also copies memory of targets, and runs the child that stops their
 * threads for a moment. */
static const int reading[] = {
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(kcmp),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(setfsuid), /* opener_files.c: files as their user sees them */
	SCMP_SYS(setfsgid),
};

/* Further calls of the opener: those for which it has capabilities, and those
 * that its children need before they enter their filters. */
static const int opening[] = {
	SCMP_SYS(perf_event_open),
	SCMP_SYS(bpf),
	SCMP_SYS(process_vm_writev), /* opener_rates.c */
	SCMP_SYS(setgroups),
	SCMP_SYS(setresgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(landlock_create_ruleset),
	SCMP_SYS(landlock_add_rule),
	SCMP_SYS(landlock_restrict_self),
};

/* All calls of an importer, besides those that map memory. */
static const int importing[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sysinfo), /* qsort asks for the size of memory */
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(restart_syscall),
};

static int
add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = seccomp_rule_add(ctx, action, calls[i], 0);
	return rc;
}

/* Allows a call whose argument has one of the listed values. */
static int
add_values(scmp_filter_ctx ctx, int call, unsigned argument,
           const unsigned *values, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, call, 1,
			SCMP_CMP(argument, SCMP_CMP_EQ, values[i]));
	return rc;
}

/* Allows creating Internet sockets only: no netlink, no local services. */
static int
add_sockets(scmp_filter_ctx ctx)
{
	static const unsigned families[] = {AF_INET, AF_INET6};

	return add_values(ctx, SCMP_SYS(socket), 0, families,
	                  ARRAY_LEN(families));
}

static int
add_opening_to_read(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	                        SCMP_A2(SCMP_CMP_MASKED_EQ,
	                                O_ACCMODE | O_CREAT | O_TRUNC,
	                                O_RDONLY));
}

/* Allows opening files for reading, within what Landlock permits, or none. */
static int
add_files(scmp_filter_ctx ctx, bool readable)
{
	return readable ? add_opening_to_read(ctx)
	                : add_all(ctx, SCMP_ACT_ERRNO(EACCES), refused,
	                          ARRAY_LEN(refused));
}

/* Makes clone3(), whose flags no filter can see, fail with ENOSYS; glibc then
 * uses clone(). */
static int
add_no_clone3(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
	                        0);
}

/* --- calls that are refused and logged ------------------------------------ */

/* Makes the refused call return -EPERM. The kernel has skipped the call, and
 * the program continues after it. */
static void
fail_call(ucontext_t *at)
{
#if defined(__x86_64__)
	at->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
	at->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#else
#error "the register of a system call's result is not known"
#endif
}

/* A signal handler may log here, since log_line() takes no lock and the kernel
 * raises SIGSYS only at a system call. */
static void
refuse(int signal, siginfo_t *info, void *at)
{
	static bool logged[1024];
	size_t call = (size_t)info->si_syscall;
	int saved = errno;

	(void)signal;
	if (call < ARRAY_LEN(logged) && !logged[call]) {
		logged[call] = true;
		log_warn("process %d was refused the system call %zu, which "
		         "this part of the worker should not need",
		         (int)getpid(), call);
	}
	errno = saved;
	fail_call(at);
}

static int
log_refusals(void)
{
	struct sigaction act = {.sa_sigaction = refuse,
	                        .sa_flags = SA_SIGINFO | SA_RESTART};

	return sigaction(SIGSYS, &act, NULL) ? -errno : 0;
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
		rc = add_all(ctx, SCMP_ACT_ALLOW, children,
		             ARRAY_LEN(children));
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 0);
	if (!rc)
		rc = add_files(ctx, false);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc;
}

/* Allows memory that is not executable. */
static int
add_data(scmp_filter_ctx ctx)
{
	static const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(calls) && !rc; i++)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, calls[i], 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return rc;
}

static int
add_importer(scmp_filter_ctx ctx)
{
	int rc = add_all(ctx, SCMP_ACT_ALLOW, importing, ARRAY_LEN(importing));

	if (!rc)
		rc = add_data(ctx);
	return rc ? rc : add_files(ctx, false);
}

/* Copies the filter from libseccomp, which writes it to a file. */
static int
export_filter(scmp_filter_ctx ctx, struct sock_fprog *out)
{
	CLEANUP_FD int fd = memfd_create("filter", MFD_CLOEXEC);
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	int rc = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);

	if (!rc && lseek(fd, 0, SEEK_SET))
		rc = -errno;
	if (!rc)
		rc = fd_read_all(fd, &bytes);
	if (rc)
		return rc;
	out->filter = malloc(bytes.len);
	if (!out->filter)
		return -ENOMEM;
	memcpy(out->filter, bytes.p, bytes.len);
	out->len = (unsigned short)(bytes.len / sizeof(*out->filter));
	return 0;
}

int
sandbox_make_importer(struct sock_fprog *out)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	/* seccomp_init() asks the kernel for the action, which a filter may
	 * refuse. */
	int rc = ctx ? add_importer(ctx) : -EOPNOTSUPP;

	if (!rc)
		rc = export_filter(ctx, out);
	seccomp_release(ctx);
	return rc;
}

int
sandbox_enter_made(const struct sock_fprog *filter)
{
	tzset(); /* reads a file */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0) ? -errno
	                                                                : 0;
}

int
sandbox_limit_data(int statm_fd, int64_t bytes)
{
	struct rlimit r;
	int rc = memory_bound_by(statm_fd, bytes);

	if (!rc && getrlimit(RLIMIT_DATA, &r))
		rc = -errno;
	if (!rc)
		rc = limit(RLIMIT_DATA, (int64_t)r.rlim_cur,
		           (int64_t)r.rlim_cur);
	return rc ? rc : limit(RLIMIT_CORE, 0, 0);
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
	/* Third-party libraries may probe, so calls that are not listed fail
	 * but do not kill. */
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return -ENOMEM;
	rc = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
	if (!rc)
		rc = add_all(ctx, SCMP_ACT_ALLOW, children,
		             ARRAY_LEN(children));
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 0);
	if (!rc)
		rc = add_all(ctx, SCMP_ACT_ALLOW, network, ARRAY_LEN(network));
	if (!rc)
		rc = add_sockets(ctx);
	if (!rc)
		rc = add_no_clone3(ctx);
	if (!rc)
		rc = add_files(ctx, names);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc ? rc : !names;
}

/* Allows signal 0, which asks whether a process exists, and abort(3). */
static int
add_signals(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1,
	                          SCMP_A1(SCMP_CMP_EQ, 0));

	return rc ? rc
	          : seccomp_rule_add(
			    ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
			    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
}

static int
add_scheduler(scmp_filter_ctx ctx)
{
	int rc = add_all(ctx, SCMP_ACT_ALLOW, files, ARRAY_LEN(files));

	if (!rc)
		rc = add_all(ctx, SCMP_ACT_ALLOW, storing, ARRAY_LEN(storing));
	return rc ? rc : add_signals(ctx);
}

/* Allows stopping a thread, reading its registers, and letting it go on. */
static int
add_tracing(scmp_filter_ctx ctx)
{
	static const unsigned requests[] = {PTRACE_SEIZE, PTRACE_INTERRUPT,
	                                    PTRACE_GETREGSET, PTRACE_DETACH};

	return add_values(ctx, SCMP_SYS(ptrace), 0, requests,
	                  ARRAY_LEN(requests));
}

/* Allows fork(3), but no thread and no namespace. */
static int
add_fork(scmp_filter_ctx ctx)
{
	const scmp_datum_t fork = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID |
	                          CSIGNAL;
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
	                          SCMP_A0(SCMP_CMP_MASKED_EQ, ~fork, 0));

	return rc ? rc : add_no_clone3(ctx);
}

static int
add_reader(scmp_filter_ctx ctx)
{
	int rc = add_all(ctx, SCMP_ACT_ALLOW, files, ARRAY_LEN(files));

	if (!rc)
		rc = add_all(ctx, SCMP_ACT_ALLOW, reading, ARRAY_LEN(reading));
	if (!rc)
		rc = add_opening_to_read(ctx);
	if (!rc)
		rc = add_tracing(ctx);
	return rc ? rc : add_fork(ctx);
}

/* Allows processes and threads, but no namespace. */
static int
add_children(scmp_filter_ctx ctx)
{
	const scmp_datum_t namespaces = CLONE_NEWNS | CLONE_NEWUSER |
	                                CLONE_NEWPID | CLONE_NEWNET |
	                                CLONE_NEWIPC | CLONE_NEWUTS |
	                                CLONE_NEWCGROUP;
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
	                          SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));

	return rc ? rc : add_no_clone3(ctx);
}

/* Allows local sockets, to notify the service manager and to ask JVMs, and the
 * fetcher's sockets. */
static int
add_local_sockets(scmp_filter_ctx ctx)
{
	static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6};

	return add_values(ctx, SCMP_SYS(socket), 0, families,
	                  ARRAY_LEN(families));
}

/* Allows killing processes that hang, and SIGQUIT, which makes a JVM listen. */
static int
add_opener_signals(scmp_filter_ctx ctx)
{
	static const unsigned signals[] = {0, SIGTERM, SIGKILL, SIGQUIT};

	return add_values(ctx, SCMP_SYS(kill), 1, signals, ARRAY_LEN(signals));
}

static int
add_opener(scmp_filter_ctx ctx)
{
	static const struct {
		const int *calls;
		size_t n;
	} lists[] = {
		{opening, ARRAY_LEN(opening)}, {files, ARRAY_LEN(files)},
		{storing, ARRAY_LEN(storing)}, {reading, ARRAY_LEN(reading)},
		{network, ARRAY_LEN(network)},
	};
	int rc = add_all(ctx, SCMP_ACT_ALLOW, children, ARRAY_LEN(children));

	for (size_t i = 0; i < ARRAY_LEN(lists) && !rc; i++)
		rc = add_all(ctx, SCMP_ACT_ALLOW, lists[i].calls, lists[i].n);
	if (!rc)
		rc = add_children(ctx);
	if (!rc)
		rc = add_local_sockets(ctx);
	if (!rc)
		rc = add_tracing(ctx);
	return rc ? rc : add_opener_signals(ctx);
}

/* Allows what each part needs and what add() allows; refuses and logs the
 * rest. */
static int
enter_logged(int (*add)(scmp_filter_ctx ctx))
{
	scmp_filter_ctx ctx;
	int rc = log_refusals();

	if (rc)
		return rc;
	ctx = seccomp_init(SCMP_ACT_TRAP);
	if (!ctx)
		return -ENOMEM;
	rc = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
	if (!rc)
		rc = add(ctx);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc;
}

int
sandbox_enter_scheduler(void)
{
	return enter_logged(add_scheduler);
}

int
sandbox_enter_opener(void)
{
	return enter_logged(add_opener);
}

int
sandbox_enter_reader(void)
{
	return enter_logged(add_reader);
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
