#include "java_attach.h"

#include "base/clock.h"
#include "base/folder.h"
#include "base/proc_exec.h"
#include "java_socket.h"
#include "java_text.h"
#include "opener_grants.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

/* --- looking at a process ------------------------------------------------- */

#define MAX_TEXT ((size_t)16 << 20) /* bytes of maps, command line, environ */

static int
read_proc(int32_t pid, const char *name, struct buf *out)
{
	int rc = proc_read(AT_FDCWD, pid, name, out);

	return rc == -ENOENT ? -ESRCH : rc;
}

static int
check_program(int32_t pid)
{
	CLEANUP_BUF struct buf maps = BUF_INIT(MAX_TEXT);
	int rc = read_proc(pid, "maps", &maps);

	if (rc)
		return rc;
	return java_is_hotspot(buf_str(&maps)) ? 0 : -ENOEXEC;
}

static bool
refuses(int32_t pid, const char *name)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_TEXT);

	return read_proc(pid, name, &text) || java_refuses(text.p, text.len);
}

/* Finds the first thread of this name; 0 if there is none. */
static int32_t
thread_named(int32_t pid, const char *name)
{
	CLEANUP_FOLDER DIR *tasks = NULL;
	int32_t tid;
	int rc = folder_open_tasks(AT_FDCWD, pid, &tasks);

	while (!rc && (tid = folder_next_number(tasks))) {
		CLEANUP_BUF struct buf comm = BUF_INIT(BUF_MAX_SMALL);

		if (!proc_read(dirfd(tasks), tid, "comm", &comm) &&
		    !strncmp(buf_str(&comm), name, strlen(name)) &&
		    buf_str(&comm)[strlen(name)] == '\n')
			return tid;
	}
	return 0;
}

static int
read_status(int32_t pid, int32_t tid, struct java_status *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	rc = read_proc(pid, name, &text);
	return rc ? rc : java_parse_status(buf_str(&text), out);
}

/*
 * Finds the thread to which SIGQUIT can be sent without harm, because HotSpot
 * catches it. The signal goes to that thread, never to the process: a forked
 * child that is about to run another program has no such thread.
 */
static int
find_signal(int32_t pid, struct java_jvm *out)
{
	int32_t vm = thread_named(pid, JAVA_VM_THREAD);
	struct java_status s;
	int rc = vm ? read_status(pid, vm, &s) : 0;

	if (rc || !vm)
		return rc;
	out->vm_tid = vm;
	out->may_start = s.takes_quit && vm != pid &&
	                 thread_named(pid, JAVA_SIGNALS) &&
	                 !refuses(pid, "cmdline") && !refuses(pid, "environ");
	return 0;
}

static int
open_tmp(int32_t pid, int *out)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	CLEANUP_FD int root = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*out = (int)syscall(SYS_openat2, root, "/tmp", &how, sizeof(how));
	return *out < 0 ? -errno : 0;
}

int
java_find(int32_t pid, struct java_jvm *out)
{
	uint64_t start = proc_start_time(pid);
	struct java_status s;
	int rc = start ? check_program(pid) : -ESRCH;

	*out = (struct java_jvm){.pid = pid, .tmp = -1};
	if (!rc)
		rc = read_status(pid, pid, &s);
	if (!rc && s.stopped)
		rc = -EAGAIN;
	if (!rc)
		rc = find_signal(pid, out);
	if (!rc)
		rc = open_tmp(pid, &out->tmp);
	if (!rc && proc_start_time(pid) != start)
		rc = -ESRCH;
	if (rc)
		return rc;
	out->inner = s.inner;
	out->uid = s.uid;
	out->gid = s.gid;
	return 0;
}

/* --- asking the JVM ------------------------------------------------------- */

struct attach {
	const struct java_jvm *jvm;
	int64_t until_ns;
	char file[32]; /* in the JVM's /tmp; makes the JVM look */
	int news;      /* inotify of that directory */
};

static int
open_news(struct attach *a)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", a->jvm->tmp);
	a->news = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (a->news < 0 ||
	    inotify_add_watch(a->news, path,
	                      IN_MOVED_TO | IN_CREATE | IN_ATTRIB) < 0)
		return -errno;
	return 0;
}

/* Waits for an event in the JVM's /tmp. */
static int
wait_for_news(const struct attach *a)
{
	char events[4096];
	int rc = java_wait(a->news, POLLIN, a->until_ns);

	return rc ? rc : read(a->news, events, sizeof(events)) < 0 ? -errno : 0;
}

/* Creates the file, unless it exists: it may belong to a running jcmd. */
static int
make_file(const struct attach *a)
{
	CLEANUP_FD int fd = openat(
		a->jvm->tmp, a->file,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

static int
signal_and_wait(const struct attach *a, int *out)
{
	int rc = 0;

	if (syscall(SYS_tgkill, a->jvm->pid, a->jvm->vm_tid, SIGQUIT))
		return -errno;
	do {
		rc = java_connect(a->jvm, out);
		if (rc == -ENOENT || rc == -ECONNREFUSED)
			rc = wait_for_news(a) ?: -EAGAIN;
	} while (rc == -EAGAIN);
	return rc;
}

static int
start_listener(struct attach *a, int *out)
{
	int rc, made;

	if (!a->jvm->may_start)
		return -EOPNOTSUPP;
	snprintf(a->file, sizeof(a->file), ".attach_pid%d", a->jvm->inner);
	rc = open_news(a);
	if (rc)
		return rc;
	made = make_file(a);
	if (made && made != -EEXIST)
		return made;
	rc = signal_and_wait(a, out);
	if (!made)
		unlinkat(a->jvm->tmp, a->file, 0);
	return rc;
}

int
java_attach(const struct java_jvm *j, int64_t wait_ns)
{
	struct attach a = {
		.jvm = j,
		.until_ns = clock_mono_ns() + wait_ns,
		.news = -1,
	};
	CLEANUP_FD int fd = -1;
	int rc = java_connect(j, &fd);

	if (rc == -ENOENT || rc == -ECONNREFUSED)
		rc = start_listener(&a, &fd);
	close_ptr(&a.news);
	return rc ? rc : java_talk(fd, a.until_ns);
}
