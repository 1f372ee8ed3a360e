/* doctor: checks this machine's kernel, users, programs and worker process. */
#include "base/folder.h"
#include "doctor.h"
#include "store/worker.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

enum verdict
probe_config(struct doctor *d)
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
probe_user(struct doctor *d)
{
	if (getpwnam(d->conf.worker_user)) {
		found(d, "%s", d->conf.worker_user);
		return FINE;
	}
	found(d, "no user %s", d->conf.worker_user);
	fix(d, "systemd-sysusers stoker.conf");
	return BROKEN;
}

/* Appends the command that installs a package with this host's package
 * manager. */
static void
fix_package(struct doctor *d, const char *debian, const char *other)
{
	if (!faccessat(d->root, "usr/bin/apt-get", X_OK, 0))
		fix(d, "apt-get install %s", debian);
	else
		fix(d, "install %s", other);
}

enum verdict
probe_programs(struct doctor *d)
{
	static const struct {
		const char *path, *debian, *name;
	} programs[] = {
		{"usr/sbin/nginx", "nginx-light", "nginx"},
		{"usr/bin/spawn-fcgi", "spawn-fcgi", "spawn-fcgi"},
		{"usr/bin/multiwatch", "multiwatch", "multiwatch"},
	};

	for (size_t i = 0; i < ARRAY_LEN(programs); i++)
		if (faccessat(d->root, programs[i].path, X_OK, 0)) {
			found(d, "no /%s", programs[i].path);
			fix_package(d, programs[i].debian, programs[i].name);
			return BROKEN;
		}
	found(d, "nginx, spawn-fcgi, multiwatch");
	return FINE;
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

/* Opens the folder of a process's descriptors; -errno. */
static int
open_descriptors(const struct doctor *d, const char *pid, DIR **out)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "proc/%.10s/fd", pid);
	fd = openat(d->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*out = fdopendir(fd);
	return *out ? 0 : -errno;
}

/* True if a process has this store's lock open, or if its descriptors cannot
 * be read. */
static bool
may_have_lock(const struct doctor *d, const char *pid, const struct stat *lock)
{
	CLEANUP_FOLDER DIR *dir = NULL;
	struct dirent *e;
	struct stat st;

	if (open_descriptors(d, pid, &dir))
		return true;
	while ((e = readdir(dir)))
		if (!fstatat(dirfd(dir), e->d_name, &st, 0) &&
		    st.st_dev == lock->st_dev && st.st_ino == lock->st_ino)
			return true;
	return false;
}

/* Finds a process of the worker. Any one that may have the worker's lock will
 * do: all share their name and network. */
void
doctor_find_worker(struct doctor *d)
{
	int fd = openat(d->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FOLDER DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char path[PATH_MAX];
	struct stat lock = {0};
	struct dirent *e;

	if (!worker_lock_path(&d->conf, path))
		(void)fstatat(d->root, below_root(path), &lock, 0);
	while (dir && (e = readdir(dir))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (is_named(d, e->d_name, "stoker-fetcher"))
			d->fetcher = pid;
		if (d->worker || !is_named(d, e->d_name, "stoker-worker"))
			continue;
		if (may_have_lock(d, e->d_name, &lock))
			d->worker = pid;
		else
			d->strange_worker = pid;
	}
	if (d->worker)
		d->strange_worker = 0;
}

enum verdict
probe_process(struct doctor *d)
{
	if (d->worker) {
		found(d, "pid %d", (int)d->worker);
		return FINE;
	}
	if (d->strange_worker)
		found(d,
		      "the one that runs here, pid %d, is another "
		      "installation's: its store is not %s",
		      (int)d->strange_worker, d->conf.store_dir);
	else
		found(d, "stoker-worker does not run on this host");
	fix(d, "systemctl enable --now stoker-worker; "
	       "journalctl -u stoker-worker -n 20 shows why it stopped");
	return BROKEN;
}

enum verdict
probe_clock(struct doctor *d)
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

/* Checks the certificates, without which nothing is fetched by https. With an
 * empty allow list, nothing is fetched and none are needed. */
enum verdict
probe_fetch(struct doctor *d)
{
	const char *ca = d->conf.fetch_ca_file;

	if (!*d->conf.fetch_allow) {
		found(d, "nothing may be fetched");
		return FINE;
	}
	if (faccessat(d->root, below_root(ca), R_OK, 0)) {
		found(d, "%s can't be read: no https", ca);
		fix_package(d, "ca-certificates",
		            "the certificates of public authorities, or set "
		            "ca_file in [fetch]");
		return WARNING;
	}
	found(d, "%s; hosts: %s", ca, d->conf.fetch_allow);
	return FINE;
}

/* Reports where debug files come from and what debuginfod servers are sent:
 * operators should know that. */
enum verdict
probe_debuginfod(struct doctor *d)
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
