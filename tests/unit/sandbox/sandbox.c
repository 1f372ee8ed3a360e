/*
 * The sandboxes of the scheduler, the opener, the opener's readers, the fetcher
 * and importers, tried by an attacker who has taken them over; and the user
 * that parts of the worker run as.
 */
#include "sandbox/sandbox.h"

#include "base/file.h"
#include "lib/test.h"
#include "sandbox/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static long
start_a_program(void)
{
	char name[] = "true";
	char *words[] = {name, NULL};

	return execve("/bin/true", words, words + 1);
}

static long
start_a_process(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long
reach_the_network(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long
reach_a_service_of_the_host(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long
signal_another_process(void)
{
	return kill(getppid(), SIGTERM);
}

static long
trace_another_process(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static long
read_memory_of_another(void)
{
	char byte;
	struct iovec mine = {&byte, 1}, theirs = {&byte, 1};

	return process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0);
}

static long
load_a_program_into_the_kernel(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static long
open_an_event(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
	                               .size = sizeof(attr)};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long
use_an_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long
write_memory_of_another(void)
{
	char byte = 0;
	struct iovec mine = {&byte, 1}, theirs = {&byte, 1};

	return process_vm_writev(getppid(), &mine, 1, &theirs, 1, 0);
}

static long
change_memory_of_a_traced_one(void)
{
	return ptrace(PTRACE_POKEDATA, getppid(), NULL, NULL);
}

static long
start_a_process_in_a_namespace(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

static long
create_a_file(void)
{
	return open("/tmp", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
}

static long
empty_a_file(void)
{
	return open("/proc/self/comm", O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static long
enter_a_namespace(void)
{
	return setns(STDIN_FILENO, CLONE_NEWNS);
}

static long
mount_a_file_system(void)
{
	return mount("none", "/nowhere", "tmpfs", 0, NULL);
}

static long
load_a_module(void)
{
	return syscall(SYS_finit_module, STDIN_FILENO, "", 0);
}

static long
make_a_key(void)
{
	return syscall(SYS_add_key, "user", "stoker-test", "x", 1, -3);
}

static long
reach_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static long
signal_by_stopping(void)
{
	return kill(getppid(), SIGSTOP);
}

static const struct {
	const char *label;
	int (*enter)(void);
	long (*call)(void);
	long number;
} rows[] = {
	{"a program", sandbox_enter_scheduler, start_a_program, SYS_execve},
	{"a process", sandbox_enter_scheduler, start_a_process, SYS_clone},
	{"the network", sandbox_enter_scheduler, reach_the_network, SYS_socket},
	{"a service", sandbox_enter_scheduler, reach_a_service_of_the_host,
         SYS_socket},
	{"a signal", sandbox_enter_scheduler, signal_another_process, SYS_kill},
	{"a trace", sandbox_enter_scheduler, trace_another_process, SYS_ptrace},
	{"memory", sandbox_enter_scheduler, read_memory_of_another,
         SYS_process_vm_readv},
	{"a BPF map", sandbox_enter_scheduler, load_a_program_into_the_kernel,
         SYS_bpf},
	{"an event", sandbox_enter_scheduler, open_an_event,
         SYS_perf_event_open},
	{"io_uring", sandbox_enter_scheduler, use_an_io_uring,
         SYS_io_uring_setup},
	{"the opener's program", sandbox_enter_opener, start_a_program,
         SYS_execve},
	{"the opener's namespace", sandbox_enter_opener,
         start_a_process_in_a_namespace, SYS_clone},
	{"the opener's way into a namespace", sandbox_enter_opener,
         enter_a_namespace, SYS_setns},
	{"the opener's mount", sandbox_enter_opener, mount_a_file_system,
         SYS_mount},
	{"the opener's module", sandbox_enter_opener, load_a_module,
         SYS_finit_module},
	{"the opener's key", sandbox_enter_opener, make_a_key, SYS_add_key},
	{"the opener's netlink", sandbox_enter_opener, reach_netlink,
         SYS_socket},
	{"the opener's signal", sandbox_enter_opener, signal_by_stopping,
         SYS_kill},
	{"the opener's change of a traced one", sandbox_enter_opener,
         change_memory_of_a_traced_one, SYS_ptrace},
	{"the opener's io_uring", sandbox_enter_opener, use_an_io_uring,
         SYS_io_uring_setup},
	{"a reader's program", sandbox_enter_reader, start_a_program,
         SYS_execve},
	{"a reader's namespace", sandbox_enter_reader,
         start_a_process_in_a_namespace, SYS_clone},
	{"a reader's network", sandbox_enter_reader, reach_the_network,
         SYS_socket},
	{"a reader's service", sandbox_enter_reader,
         reach_a_service_of_the_host, SYS_socket},
	{"a reader's signal", sandbox_enter_reader, signal_another_process,
         SYS_kill},
	{"a reader's trace", sandbox_enter_reader, trace_another_process,
         SYS_ptrace},
	{"a reader's change of memory", sandbox_enter_reader,
         write_memory_of_another, SYS_process_vm_writev},
	{"a reader's change of a traced one", sandbox_enter_reader,
         change_memory_of_a_traced_one, SYS_ptrace},
	{"a reader's new file", sandbox_enter_reader, create_a_file,
         SYS_openat},
	{"a reader's empty file", sandbox_enter_reader, empty_a_file,
         SYS_openat},
	{"a reader's BPF map", sandbox_enter_reader,
         load_a_program_into_the_kernel, SYS_bpf},
	{"a reader's event", sandbox_enter_reader, open_an_event,
         SYS_perf_event_open},
	{"a reader's io_uring", sandbox_enter_reader, use_an_io_uring,
         SYS_io_uring_setup},
};

/* Makes the last call twice, with the log being a file; then exits, with 0 if
 * both were refused. */
static _Noreturn void
be_taken_over(int (*enter)(void), long (*call)(void), int log)
{
	bool refused = dup2(log, STDERR_FILENO) >= 0 && !enter();

	for (int i = 0; i < 2 && refused; i++) {
		long got = call();

		if (!got && (call == start_a_process ||
		             call == start_a_process_in_a_namespace))
			_exit(2); /* no child may exist */
		refused = got == -1 && errno == EPERM;
	}
	_exit(!refused);
}

static int
lines_of(const char *text)
{
	int n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

TEST(a_part_taken_over_gets_no_more_and_the_log_says_what_it_asked)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FD int log = memfd_create("log", MFD_CLOEXEC);
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		char want[64];
		int status;
		pid_t pid = fork();

		if (!pid)
			be_taken_over(rows[i].enter, rows[i].call, log);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(status == 0, "%s: status %d", rows[i].label,
		              status);
		ck_assert_int_eq(lseek(log, 0, SEEK_SET), 0);
		ck_assert_int_eq(fd_read_all(log, &text), 0);
		snprintf(want, sizeof(want), "refused the system call %ld,",
		         rows[i].number);
		ck_assert_msg(strstr(buf_str(&text), want), "%s: %s",
		              rows[i].label, buf_str(&text));
		ck_assert_int_eq(lines_of(buf_str(&text)), 1);
	}
}
END

/* Does what the scheduler does with files. */
static int
work(const char *dir)
{
	CLEANUP_FD int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int fd =
		openat(folder, "a", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) ||
	       renameat(folder, "a", folder, "b") || unlinkat(folder, "b", 0) ||
	       kill(getpid(), 0);
}

TEST(files_stay_the_schedulers_own)
{
	char dir[] = "/tmp/stoker-sandbox-XXXXXX";
	int status;
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	pid = fork();
	if (!pid)
		_exit(sandbox_enter_scheduler() || work(dir));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(status, 0);
}
END

/* Reads a file and another process's memory, and forks, as a reader does. */
static int
read_all(void)
{
	static char here = 'x';
	char byte = 0;
	struct iovec mine = {&byte, 1}, theirs = {&here, 1};
	CLEANUP_FD int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int status = 1;
	pid_t pid;

	if (fd < 0 || read(fd, &byte, 1) != 1 ||
	    process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0) != 1 ||
	    byte != here)
		return 1;
	pid = fork();
	if (!pid)
		_exit(0);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

TEST(files_and_memory_stay_a_readers_own)
{
	int status;
	pid_t pid;

	/* For systems where only a parent may read a child's memory. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pid = fork();
	if (!pid)
		_exit(sandbox_enter_reader() || read_all());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END

static void *
be_a_thread(void *out)
{
	*(bool *)out = true;
	return NULL;
}

static long
start_a_thread(void)
{
	bool ran = false;
	pthread_t thread;

	errno = pthread_create(&thread, NULL, be_a_thread, &ran);
	if (errno)
		return -1;
	errno = pthread_join(thread, NULL);
	return ran ? 0 : -1;
}

static long
write_a_file(void)
{
	return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static long
read_names_of_hosts(void)
{
	return open("/etc/hosts", O_RDONLY | O_CLOEXEC);
}

static long
read_a_file_of_the_host(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static const struct {
	const char *label;
	long (*call)(void);
	bool allowed;
} fetchers[] = {
	{"a connection", reach_the_network, true},
	{"a thread", start_a_thread, true}, /* libcurl resolves names in one */
	{"names of hosts", read_names_of_hosts, true},
	{"a service", reach_a_service_of_the_host, false},
	{"a program", start_a_program, false},
	{"a file to write", write_a_file, false},
	{"a file of the host", read_a_file_of_the_host, false},
	{"a trace", trace_another_process, false},
	{"memory", read_memory_of_another, false},
	{"a BPF map", load_a_program_into_the_kernel, false},
	{"io_uring", use_an_io_uring, false},
};

/* Exits with 0 if the fetcher's sandbox allows the call as expected. Without
 * Landlock in the kernel no file is readable. */
static _Noreturn void
be_a_fetcher(long (*call)(void), bool allowed)
{
	int rc = sandbox_enter_network(INT64_MAX);

	if (rc == 1 && call == read_names_of_hosts)
		allowed = false;
	_exit(rc < 0 || (call() >= 0) != allowed);
}

TEST(a_fetcher_may_do_what_a_connection_needs_and_no_more)
{
	NEEDS_SANDBOX();
	for (size_t i = 0; i < ARRAY_LEN(fetchers); i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			be_a_fetcher(fetchers[i].call, fetchers[i].allowed);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(status == 0, "%s: status %d", fetchers[i].label,
		              status);
	}
}
END

static long
read_any_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long
make_memory_that_runs(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static long
take_a_connection(void)
{
	return accept4(STDIN_FILENO, NULL, NULL, 0);
}

static long
raise_a_limit_of_another(void)
{
	const struct rlimit none = {0, 0};

	return prlimit(getppid(), RLIMIT_NOFILE, &none, NULL);
}

static long
kill_a_thread_of_another(void)
{
	return syscall(SYS_tgkill, getppid(), getppid(), SIGTERM);
}

static long
pass_a_descriptor(void)
{
	return recvmsg(STDIN_FILENO, NULL, 0);
}

static const struct {
	const char *label;
	long (*call)(void);
	bool refused; /* it fails; other calls kill */
} importers[] = {
	{"a file", read_any_file, true},
	{"a file to write", write_a_file, true},
	{"a program", start_a_program, false},
	{"a process", start_a_process, false},
	{"the network", reach_the_network, false},
	{"a service", reach_a_service_of_the_host, false},
	{"a connection of the API", take_a_connection, false},
	{"a descriptor", pass_a_descriptor, false},
	{"a signal", signal_another_process, false},
	{"a signal to a thread", kill_a_thread_of_another, false},
	{"a limit of another", raise_a_limit_of_another, false},
	{"a trace", trace_another_process, false},
	{"memory of another", read_memory_of_another, false},
	{"memory that runs", make_memory_that_runs, false},
	{"a BPF map", load_a_program_into_the_kernel, false},
	{"an event", open_an_event, false},
	{"io_uring", use_an_io_uring, false},
	{"a namespace", enter_a_namespace, false},
};

TEST(an_importer_taken_over_has_memory_and_its_descriptors_and_no_more)
{
	struct sock_fprog filter;

	NEEDS_SANDBOX();
	ck_assert_int_eq(sandbox_make_importer(&filter), 0);
	for (size_t i = 0; i < ARRAY_LEN(importers); i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			if (privilege_shed(getppid()) ||
			    sandbox_enter_made(&filter))
				_exit(2);
			_exit(importers[i].call() != -1 || errno != EACCES);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (importers[i].refused)
			ck_assert_msg(status == 0, "%s: status %d",
			              importers[i].label, status);
		else
			ck_assert_msg(WIFSIGNALED(status) &&
			                      WTERMSIG(status) == SIGSYS,
			              "%s: status %d", importers[i].label,
			              status);
	}
	free(filter.filter);
}
END

static bool
gets_memory(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

TEST(an_importer_has_no_capability_and_no_more_memory_than_its_limit)
{
	CLEANUP_FD int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	int status;
	pid_t pid;

	NEEDS_SANDBOX();
	pid = fork();
	if (!pid) {
		struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
		bool bounded = !privilege_shed(getppid()) &&
		               !sandbox_limit_data(statm, 16 << 20) &&
		               setrlimit(RLIMIT_DATA, &more) &&
		               !gets_memory(32 << 20) && gets_memory(1 << 20) &&
		               prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) &&
		               setuid(0x7ffffffe);

		_exit(!bounded);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END

/* Asks for more memory than the limits allow, as a user that may not raise
 * them. */
static _Noreturn void
ask_for_too_much(int (*enter)(int64_t memory_bytes))
{
	const struct rlimit bound = {RLIM_INFINITY / 4, RLIM_INFINITY / 4};

	if (setrlimit(RLIMIT_AS, &bound) ||
	    (!geteuid() && setresuid(65534, 65534, 65534)))
		_exit(1);
	_exit(enter(INT64_MAX) != -EPERM);
}

TEST(a_part_whose_memory_cannot_be_bounded_is_refused)
{
	int (*const enter[])(int64_t) = {sandbox_enter, sandbox_enter_network};

	for (size_t i = 0; i < ARRAY_LEN(enter); i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			ask_for_too_much(enter[i]);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(status == 0, "%zu: status %d", i, status);
	}
}
END

TEST(a_scheduler_that_aborts_is_gone)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!sandbox_enter_scheduler())
			abort();
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END

TEST(parts_run_as_nobody_where_their_user_does_not_exist)
{
	struct identity who = {.change = true}, nobody;

	if (geteuid()) {
		ck_assert_int_eq(privilege_identity("none-such", &who), 0);
		ck_assert(!who.change);
		return;
	}
	ck_assert_int_eq(privilege_identity("nobody", &nobody), 0);
	ck_assert_int_eq(privilege_identity("none-such", &who), 1);
	ck_assert(who.change);
	ck_assert_uint_eq(who.uid, nobody.uid);
	ck_assert_uint_eq(who.gid, nobody.gid);
}
END

SUITE("sandbox");
