#include "java_attach.h"

#include "base/clock.h"
#include "java_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

struct attach {
	const struct java_jvm *jvm;
	int64_t until_ns;
	char file[32]; /* that has it look, in its /tmp */
	int news;      /* of its /tmp */
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

/* Until something happens in its /tmp. */
static int
wait_for_news(const struct attach *a)
{
	char events[4096];
	int rc = java_wait(a->news, POLLIN, a->until_ns);

	return rc ? rc : read(a->news, events, sizeof(events)) < 0 ? -errno : 0;
}

/* Unless somebody else's stands there: it may be a jcmd at work. */
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
