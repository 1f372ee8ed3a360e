#include "opener_java.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "java_attach.h"
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

/* --- the child ------------------------------------------------------------ */

static int
become(const struct java_jvm *jvm, pid_t parent)
{
	struct identity who = {geteuid() == 0, jvm->uid, jvm->gid};

	if (!who.change && (geteuid() != jvm->uid || getegid() != jvm->gid))
		return -EPERM;
	return privilege_drop(&who, parent);
}

static int
work(int32_t pid, pid_t parent, int pipe)
{
	struct java_jvm jvm = {.tmp = -1};
	int keep[] = {-1, pipe};
	int rc = privilege_end_within(JAVA_KILL_S);

	if (!rc)
		rc = java_find(pid, &jvm);
	keep[0] = jvm.tmp;
	if (!rc)
		rc = privilege_close_but(keep, ARRAY_LEN(keep));
	if (!rc)
		rc = become(&jvm, parent);
	if (!rc)
		rc = java_attach(&jvm, JAVA_WAIT_S * NS_PER_S);
	return rc;
}

static _Noreturn void
be_asker(int32_t pid, pid_t parent, int pipe)
{
	int32_t rc;

	prctl(PR_SET_NAME, "stoker-java");
	rc = work(pid, parent, pipe);
	if (rc && rc != -ESRCH)
		log_info("process %d: its JVM writes no map: %s", pid,
		         strerror(-rc));
	_exit(fd_write_all(pipe, &rc, sizeof(rc)) ? 1 : 0);
}

/* --- the opener ----------------------------------------------------------- */

/* Finds a row to use: that of the JVM that was asked least recently. Errors:
 * -EALREADY this one was asked recently; -EBUSY */
static int
find_row(struct java *j, const struct host_ask *ask, uint64_t start,
         struct java_asked **out)
{
	const uint64_t least = JAVA_LEAST_S * (uint64_t)NS_PER_S;
	uint64_t wait = ask->period_ns < least ? least : ask->period_ns;
	struct java_asked *best = NULL;
	size_t running = 0;

	for (size_t i = 0; i < JAVA_MAX_ASKED; i++) {
		struct java_asked *row = &j->rows[i];
		uint64_t age = (uint64_t)(clock_mono_ns() - row->done_ns);

		running += row->child != 0;
		if (row->child)
			continue;
		if (row->pid == ask->pid && row->start_time == start &&
		    age < wait)
			return -EALREADY;
		if (!best || row->done_ns < best->done_ns)
			best = row;
	}
	if (running >= JAVA_MAX_AT_ONCE || !best)
		return -EBUSY;
	*out = best;
	return 0;
}

static int
start(struct java_asked *row, int32_t pid, struct answer *out)
{
	pid_t self = getpid();
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC))
		return -errno;
	row->child = fork();
	if (row->child == 0)
		be_asker(pid, self, pipe[1]);
	close(pipe[1]);
	if (row->child < 0) {
		row->child = 0;
		close(pipe[0]);
		return -EAGAIN;
	}
	out->fds[out->nfds++] = pipe[0];
	return 0;
}

int
java_ask(struct java *j, const struct grants *granted,
         const struct host_ask *ask, struct answer *out)
{
	uint64_t started = proc_start_time(ask->pid);
	struct java_asked *row;
	int rc;

	if (!started)
		return proc_in_exec(AT_FDCWD, ask->pid) ? -ETIMEDOUT : -ESRCH;
	if (!grants_has(granted, WORKER_MAY_ASK, ask->pid, started))
		return -EPERM;
	rc = find_row(j, ask, started, &row);
	if (rc)
		return rc;
	row->pid = ask->pid;
	row->start_time = started;
	return start(row, ask->pid, out);
}

void
java_child_ended(struct java *j, pid_t pid)
{
	for (size_t i = 0; i < JAVA_MAX_ASKED; i++) {
		if (j->rows[i].child != pid)
			continue;
		j->rows[i].child = 0;
		j->rows[i].done_ns = clock_mono_ns();
	}
}
