/* doctor: this machine's kernel, users, programs and worker process. */
#include "doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#define SYSCTL_FIX "echo %s >/etc/sysctl.d/60-stoker-%s.conf && sysctl --system"
#define CAP(n)     (UINT64_C(1) << (n))

enum verdict
check_config(struct doctor *d)
{
	if (d->conf_read) {
		found(d, "%s%s", d->conf_file,
		      faccessat(d->root, below_root(d->conf_file), F_OK, 0)
		              ? ": absent, defaults"
		              : "");
		return FINE;
	}
	found(d, "%s", d->conf_why);
	fix(d, "correct that line; stoker config shows what is read");
	return BROKEN;
}

enum verdict
check_user(struct doctor *d)
{
	if (getpwnam(d->conf.worker_user)) {
		found(d, "%s", d->conf.worker_user);
		return FINE;
	}
	found(d, "no user %s", d->conf.worker_user);
	fix(d, "systemd-sysusers stoker.conf");
	return BROKEN;
}

enum verdict
check_programs(struct doctor *d)
{
	static const struct {
		const char *path, *package;
	} programs[] = {
		{"usr/sbin/nginx", "nginx-light"},
		{"usr/bin/spawn-fcgi", "spawn-fcgi"},
		{"usr/bin/multiwatch", "multiwatch"},
	};

	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		if (faccessat(d->root, programs[i].path, X_OK, 0)) {
			found(d, "no /%s", programs[i].path);
			fix(d, "apt-get install %s", programs[i].package);
			return BROKEN;
		}
	found(d, "nginx, spawn-fcgi, multiwatch");
	return FINE;
}

#define PARANOID "proc/sys/kernel/perf_event_paranoid"

enum verdict
check_perf(struct doctor *d)
{
	long level;

	if (!doctor_number(d, PARANOID, &level)) {
		found(d, "in this kernel");
		return FINE;
	}
	found(d, "this kernel has none, or hides /proc/sys");
	fix(d, "boot a kernel with CONFIG_PERF_EVENTS=y");
	return BROKEN;
}

/*
 * Up to 2 CAP_PERFMON is enough. Debian (3) and Ubuntu (4) add levels that
 * refuse everything short of CAP_SYS_ADMIN.
 */
enum verdict
check_paranoid(struct doctor *d)
{
	long level;

	if (doctor_number(d, PARANOID, &level))
		return SKIPPED;
	found(d, "kernel.perf_event_paranoid = %ld", level);
	if (level <= 2)
		return FINE;
	fix(d, SYSCTL_FIX, "kernel.perf_event_paranoid=2", "perf");
	fix(d, ", or give the worker CAP_SYS_ADMIN: install -D "
	       "/usr/share/stoker/worker-sys-admin.conf "
	       "/etc/systemd/system/stoker-worker.service.d/sys-admin.conf "
	       "&& systemctl daemon-reload && systemctl restart "
	       "stoker-worker");
	if (d->worker_caps & CAP(CAP_SYS_ADMIN)) {
		buf_clear(&d->fix);
		found(d, ", but the worker has CAP_SYS_ADMIN");
		return FINE;
	}
	return BROKEN;
}

enum verdict
check_bpf(struct doctor *d)
{
	if (syscall(SYS_bpf, -1, NULL, 0) < 0 && errno == ENOSYS) {
		found(d, "this kernel has none: samples are filtered in the "
		         "worker, at more cost");
		fix(d, "boot a kernel with CONFIG_BPF_SYSCALL=y");
		return WARNING;
	}
	found(d, "in this kernel");
	return FINE;
}

enum verdict
check_kptr(struct doctor *d)
{
	long level;

	if (doctor_number(d, "proc/sys/kernel/kptr_restrict", &level))
		return SKIPPED;
	found(d, "kernel.kptr_restrict = %ld", level);
	if (level < 2)
		return FINE;
	found(d, ": kernel functions stay without names");
	fix(d, SYSCTL_FIX, "kernel.kptr_restrict=1", "kptr");
	return WARNING;
}

/* The capabilities in effect of a process. */
static uint64_t
caps_of(const struct doctor *d, pid_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
	if (doctor_read(d, path, &text))
		return 0;
	line = strstr(buf_str(&text), "\nCapEff:");
	return line ? strtoull(line + 8, NULL, 16) : 0;
}

static bool
is_named(const struct doctor *d, const char *pid, const char *name)
{
	CLEANUP_BUF struct buf comm = BUF_INIT(BUF_MAX_SMALL);
	char path[64];

	if (!isdigit((unsigned char)*pid) || strlen(pid) > 10)
		return false;
	snprintf(path, sizeof(path), "proc/%.10s/comm", pid);
	return !doctor_read(d, path, &comm) &&
	       !strncmp(buf_str(&comm), name, strlen(name)) &&
	       !strcmp(buf_str(&comm) + strlen(name), "\n");
}

static void
close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Of the worker's processes the one that kept the most capabilities. */
void
doctor_find_worker(struct doctor *d)
{
	int fd = openat(d->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		pid_t pid;
		uint64_t caps;

		if (is_named(d, e->d_name, "stoker-fetcher"))
			d->fetcher = (pid_t)atoi(e->d_name);
		if (!is_named(d, e->d_name, "stoker-worker"))
			continue;
		pid = (pid_t)atoi(e->d_name);
		caps = caps_of(d, pid);
		if (d->worker && caps <= d->worker_caps)
			continue;
		d->worker = pid;
		d->worker_caps = caps;
	}
}

enum verdict
check_process(struct doctor *d)
{
	if (d->worker) {
		found(d, "pid %d", (int)d->worker);
		return FINE;
	}
	found(d, "stoker-worker does not run on this host");
	fix(d, "systemctl enable --now stoker-worker; "
	       "journalctl -u stoker-worker -n 20 tells why it stopped");
	return BROKEN;
}

enum verdict
check_caps(struct doctor *d)
{
	static const struct {
		uint64_t any;
		const char *name;
	} needed[] = {
		{CAP(CAP_PERFMON) | CAP(CAP_SYS_ADMIN), "CAP_PERFMON"},
		{CAP(CAP_BPF) | CAP(CAP_SYS_ADMIN), "CAP_BPF"},
		{CAP(CAP_SYS_PTRACE), "CAP_SYS_PTRACE"},
		{CAP(CAP_SYSLOG) | CAP(CAP_SYS_ADMIN), "CAP_SYSLOG"},
	};
	bool whole = true;

	if (!d->worker) {
		found(d, "no worker runs");
		return SKIPPED;
	}
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		if (d->worker_caps & needed[i].any)
			continue;
		found(d, "%s%s", whole ? "lacks " : ", ", needed[i].name);
		whole = false;
	}
	if (whole) {
		found(d, "all that it needs");
		return FINE;
	}
	fix(d, "start it by its unit (systemctl restart stoker-worker), or as "
	       "root");
	return BROKEN;
}

/* perf_event_open(2): rings count against RLIMIT_MEMLOCK. */
enum verdict
check_memlock(struct doctor *d)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	static const char name[] = "Max locked memory";
	const char *line;
	char path[64];
	unsigned long long limit;

	if (!d->worker) {
		found(d, "no worker runs");
		return SKIPPED;
	}
	snprintf(path, sizeof(path), "proc/%d/limits", (int)d->worker);
	line = doctor_read(d, path, &text) ? NULL
	                                   : strstr(buf_str(&text), name);
	if (!line)
		return SKIPPED;
	line += sizeof(name) - 1;
	line += strspn(line, " ");
	if (d->worker_caps & CAP(CAP_IPC_LOCK) ||
	    !strncmp(line, "unlimited", 9)) {
		found(d, "unlimited");
		return FINE;
	}
	limit = strtoull(line, NULL, 10);
	found(d, "%llu bytes, worker.ring_bytes is %lld", limit,
	      (long long)d->conf.worker_ring_bytes);
	if (limit >= (unsigned long long)d->conf.worker_ring_bytes)
		return FINE;
	found(d, ": the sample rings are smaller, and may lose samples");
	fix(d, "add LimitMEMLOCK=infinity to the unit (systemctl edit "
	       "stoker-worker), or run ulimit -l unlimited before it");
	return WARNING;
}

enum verdict
check_clock(struct doctor *d)
{
	struct timex t = {.modes = 0};
	int state = adjtimex(&t);

	if (state < 0)
		return SKIPPED;
	if (state != TIME_ERROR && !(t.status & STA_UNSYNC)) {
		found(d, "synchronized");
		return FINE;
	}
	found(d, "not synchronized: times of several hosts may not compare");
	fix(d, "timedatectl set-ntp true");
	return WARNING;
}

/* Certificates, without which no https page is pulled; an address list that
 * is empty pulls nothing and needs none. */
enum verdict
check_fetch(struct doctor *d)
{
	const char *ca = d->conf.fetch_ca_file;

	if (!*d->conf.fetch_allow) {
		found(d, "nothing may be fetched");
		return FINE;
	}
	if (faccessat(d->root, below_root(ca), R_OK, 0)) {
		found(d, "%s can't be read: no https", ca);
		fix(d, "apt-get install ca-certificates");
		return WARNING;
	}
	found(d, "%s; hosts: %s", ca, d->conf.fetch_allow);
	return FINE;
}

/* Where they come from; what the servers learn is for an operator to know. */
enum verdict
check_debuginfod(struct doctor *d)
{
	const char *own = d->conf.symbols_cache_dir;
	struct stat st;

	found(d, "%s",
	      *d->conf.worker_debug_dir ? d->conf.worker_debug_dir
	                                : "none of this host");
	if (!*d->conf.symbols_debuginfod) {
		found(d, "; no debuginfod server is asked");
		return FINE;
	}
	found(d, "; build-ids go to %s", d->conf.symbols_debuginfod);
	if (!*own ||
	    (!fstatat(d->root, below_root(own), &st, 0) && S_ISDIR(st.st_mode)))
		return FINE;
	found(d, "; no directory %s", own);
	fix(d,
	    "install -d -o %s -m 0750 %s, and name it in ReadWritePaths= of "
	    "the unit (systemctl edit stoker-worker)",
	    d->conf.worker_user, own);
	return WARNING;
}
