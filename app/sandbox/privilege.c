#include "privilege.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/* The highest level of perf_event_paranoid upstream. Above it, as on Debian and
 * Ubuntu, CAP_PERFMON does not suffice: CAP_SYS_ADMIN is needed. */
#define PARANOID_UPSTREAM 2

static void
raise_limit(int which)
{
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};

	if (!setrlimit(which, &most))
		return;
	if (!getrlimit(which, &most)) {
		most.rlim_cur = most.rlim_max;
		(void)!setrlimit(which, &most);
	}
}

void
privilege_raise_limits(void)
{
	raise_limit(RLIMIT_MEMLOCK);
	raise_limit(RLIMIT_NOFILE);
}

int
privilege_identity(const char *user, struct identity *out)
{
	const struct passwd *pw;
	int fallback = 0;

	if (geteuid() != 0) {
		*out = (struct identity){.change = false};
		return 0;
	}
	pw = getpwnam(user);
	if (!pw) {
		fallback = 1;
		pw = getpwnam("nobody");
	}
	if (!pw)
		return -ENOENT;
	*out = (struct identity){true, pw->pw_uid, pw->pw_gid};
	return fallback;
}

static long
paranoid_level(void)
{
	CLEANUP_BUF struct buf text = BUF_INIT(32);

	if (file_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", &text))
		return PARANOID_UPSTREAM;
	return strtol(buf_str(&text), NULL, 10);
}

static int
set_capabilities(const cap_value_t *keep, int n)
{
	cap_t old = cap_get_proc(), new = cap_init();
	int rc = old && new ? 0 : -ENOMEM;

	for (int i = 0; i < n && !rc; i++) {
		cap_flag_value_t has = CAP_CLEAR;

		/* A capability that this kernel does not know is skipped. */
		if (cap_get_flag(old, keep[i], CAP_PERMITTED, &has) ||
		    has == CAP_CLEAR)
			continue;
		if (cap_set_flag(new, CAP_PERMITTED, 1, &keep[i], CAP_SET) ||
		    cap_set_flag(new, CAP_EFFECTIVE, 1, &keep[i], CAP_SET))
			rc = -errno;
	}
	if (!rc && cap_set_proc(new))
		rc = -errno;
	cap_free(old);
	cap_free(new);
	return rc;
}

static int
no_new_privileges(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	return 0;
}

int
privilege_keep(void)
{
	static const cap_value_t keep[] = {
		CAP_PERFMON,            /* perf_event_open */
		CAP_BPF,                /* the BPF filter */
		CAP_SYS_PTRACE,         /* maps, memory and root directories of
	                                other processes */
		CAP_SYSLOG,             /* /proc/kallsyms */
		CAP_DAC_READ_SEARCH,    /* programs that may only be executed */
		CAP_CHECKPOINT_RESTORE, /* unlinked files, through
	                                   /proc/PID/map_files */
		CAP_SETUID,
		CAP_SETGID,
		CAP_KILL,      /* its children run as another user */
		CAP_SYS_ADMIN, /* last: only if paranoid requires it */
	};
	int n = ARRAY_LEN(keep) - (paranoid_level() <= PARANOID_UPSTREAM);
	int rc = set_capabilities(keep, n);

	return rc ? rc : no_new_privileges();
}

static int
change_user(const struct identity *who)
{
	if (!who->change)
		return 0;
	if (setgroups(0, NULL) || setresgid(who->gid, who->gid, who->gid) ||
	    setresuid(who->uid, who->uid, who->uid))
		return -errno;
	return 0;
}

static int
end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

int
privilege_drop(const struct identity *who, pid_t parent)
{
	int rc = change_user(who);

	if (!rc)
		rc = set_capabilities(NULL, 0);
	if (!rc)
		rc = no_new_privileges();
	/* The signal is set after the change of user, which resets it. */
	return rc ? rc : end_with(parent);
}

static bool
has_capabilities(void)
{
	cap_t now = cap_get_proc(), none = cap_init();
	bool has = !now || !none || cap_compare(now, none);

	cap_free(now);
	cap_free(none);
	return has;
}

/* The API's unit refuses capset(2), and leaves no capability to drop. */
int
privilege_shed(pid_t parent)
{
	int rc = has_capabilities() ? set_capabilities(NULL, 0) : 0;

	if (!rc)
		rc = no_new_privileges();
	return rc ? rc : end_with(parent);
}

/* The kernel's timer goes on even while the process is stopped. */
int
privilege_end_within(int64_t seconds)
{
	struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL,
	                        .sigev_signo = SIGKILL};
	struct itimerspec when = {.it_value = {.tv_sec = seconds}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &kill, &timer) ||
	    timer_settime(timer, 0, &when, NULL))
		return -errno;
	return 0;
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int
privilege_close_but(const int *keep, size_t n)
{
	int sorted[16];
	unsigned from = STDERR_FILENO + 1;
	size_t used = 0;

	for (size_t i = 0; i < n && i < ARRAY_LEN(sorted); i++)
		if (keep[i] > STDERR_FILENO)
			sorted[used++] = keep[i];
	qsort(sorted, used, sizeof(*sorted), by_number);
	for (size_t i = 0; i < used; i++) {
		if ((unsigned)sorted[i] > from &&
		    close_range(from, (unsigned)sorted[i] - 1, 0))
			return -errno;
		from = (unsigned)sorted[i] + 1;
	}
	return close_range(from, ~0u, 0) ? -errno : 0;
}
