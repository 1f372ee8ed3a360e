#include "selftest.h"

#include "base/clock.h"
#include "base/contained.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/path.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "base/quantity.h"
#include "base/shortage.h"
#include "base/ways.h"
#include "capture/event.h"
#include "heartbeat.h"
#include "store/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define TRY_PERIOD_NS   UINT64_C(10101010)
#define TRY_STACK       UINT32_C(16384)
#define TRY_CPUS        64    /* CPUs, one of which must be online */
#define KALLSYMS_SAMPLE 16384 /* bytes; hundreds of symbols */
#define INIT_PID        1
#define TRY_PROCESSES   64 /* if all of these refuse, all others would */

#define UNIT "systemctl edit stoker-worker"
/* The fix writes to a file whose name sorts last, since the last file that sets
 * a value wins. */
#define SYSCTL(setting, then) \
	"echo " setting " >>/etc/sysctl.d/zz-stoker.conf && " then
#define SYS_ADMIN                                                        \
	"install -D /usr/share/stoker/worker-sys-admin.conf "            \
	"/etc/systemd/system/stoker-worker.service.d/sys-admin.conf && " \
	"systemctl daemon-reload && systemctl restart stoker-worker"
#define CAP(n) (UINT64_C(1) << (n))
#define UNIT_BPF                                                  \
	UNIT ": [Service] SystemCallFilter=bpf; or boot without " \
	     "lockdown=confidentiality"
/* For a container, instead of UNIT_BPF. */
#define SECCOMP                                                               \
	"--security-opt seccomp=seccomp.json, the file beside the image; in " \
	"Kubernetes, seccompProfile of type Localhost"
#define POLICY                                                     \
	"--security-opt apparmor=unconfined, or label=type:spc_t " \
	"with SELinux; in Kubernetes, appArmorProfile or seLinuxOptions"
#define HOST_PID    "--pid host; in Kubernetes, hostPID: true"
#define IN_HOST_PID "run the worker in the host's PID namespace"

/* Numbers of the host's first namespaces: the inode of the PID namespace, and
 * the length of the user namespace's map.
 *   Source   Linux include/linux/proc_ns.h: PROC_PID_INIT_INO;
 *            user_namespaces(7): uid_map */
#define FIRST_PID_NAMESPACE 0xeffffffcu
#define ALL_USERS           UINT32_MAX

/* Settings of this host that distinguish the causes of a failure. */
struct facts {
	long paranoid, ptrace_scope, kptr;
	uint64_t caps; /* in effect in the opener */
	bool is_root;  /* the opener runs as root */
	/* The worker runs in a container, whose user or PID namespace is not
	 * the host's. */
	bool contained, other_users, other_pids;
};

struct trial {
	const struct selftest *of;
	const struct host *host;
	struct facts facts;
};

static long
number_of(int proc_fd, const char *path, long missing)
{
	CLEANUP_BUF struct buf text = BUF_INIT(32);

	if (file_read(proc_fd, path, &text))
		return missing;
	return strtol(buf_str(&text), NULL, 10);
}

/* Reads facts about the opener, the parent of this process. */
static void
read_opener(int proc_fd, struct facts *f)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *caps, *uid;

	if (proc_read(proc_fd, getppid(), "status", &text))
		return;
	caps = strstr(buf_str(&text), "\nCapEff:");
	uid = strstr(buf_str(&text), "\nUid:");
	if (caps)
		f->caps = strtoull(caps + strlen("\nCapEff:"), NULL, 16);
	f->is_root = uid && !strtol(uid + strlen("\nUid:"), NULL, 10);
}

static void
read_namespaces(int proc_fd, struct facts *f)
{
	CLEANUP_BUF struct buf map = BUF_INIT(BUF_MAX_SMALL);
	unsigned long users = ALL_USERS;
	struct stat pids;

	f->contained = is_contained();
	if (!file_read(proc_fd, "self/uid_map", &map))
		sscanf(buf_str(&map), "%*u %*u %lu", &users);
	f->other_users = users != ALL_USERS;
	f->other_pids = !fstatat(proc_fd, "self/ns/pid", &pids, 0) &&
	                pids.st_ino != FIRST_PID_NAMESPACE;
}

static struct facts
read_facts(int proc_fd)
{
	struct facts f = {
		.paranoid =
			number_of(proc_fd, "sys/kernel/perf_event_paranoid", 2),
		.ptrace_scope =
			number_of(proc_fd, "sys/kernel/yama/ptrace_scope", 0),
		.kptr = number_of(proc_fd, "sys/kernel/kptr_restrict", 0),
	};

	read_opener(proc_fd, &f);
	read_namespaces(proc_fd, &f);
	return f;
}

/* True if a capability is missing. CAP_SYS_ADMIN includes rights that later
 * became separate capabilities: capabilities(7). */
static bool
lacks(const struct trial *t, int cap)
{
	uint64_t any = CAP(cap);

	if (cap != CAP_SYS_PTRACE)
		any |= CAP(CAP_SYS_ADMIN);
	return !(t->facts.caps & any);
}

/* Chooses the advice on how to grant something: to a unit or a container. */
static const char *
grant(const struct trial *t, const char *unit, const char *container)
{
	return t->facts.contained ? container : unit;
}

/* Writes how to grant a capability. */
static void
grant_capability(const struct trial *t, const char *name,
                 char fix[static FINDING_TEXT])
{
	const char *bare = name + strlen("CAP_");

	if (t->facts.contained)
		snprintf(fix, FINDING_TEXT,
		         "--cap-add %s; in Kubernetes, capabilities: {add: "
		         "[%s]}",
		         bare, bare);
	else
		snprintf(fix, FINDING_TEXT,
		         "start the worker as root by its unit, whose "
		         "CapabilityBoundingSet= must name %s (systemctl cat "
		         "stoker-worker)",
		         name);
}

static void
lacks_capability(const struct trial *t, const char *name, const char *effect,
                 struct finding *out)
{
	char fix[FINDING_TEXT];

	grant_capability(t, name, fix);
	finding_set(out, t->facts.is_root ? BROKEN : WARNING, fix,
	            "the worker lacks %s: %s", name, effect);
}

/* --- events --------------------------------------------------------------- */

static int
ask_event(const struct trial *t, struct host_ask ask)
{
	CLEANUP_FD int fd = -1;
	int rc = -ENODEV;

	ask.period_ns = TRY_PERIOD_NS;
	ask.stack_bytes = TRY_STACK;
	for (ask.cpu = 0; ask.cpu < TRY_CPUS && rc == -ENODEV; ask.cpu++)
		rc = host_fd(t->host, &ask, &fd);
	return rc;
}

static void
events_refused(const struct trial *t, int rc, struct finding *out)
{
	static const struct host_ask own = {.op = HOST_TASK_EVENT};
	struct host_ask task = own;

	task.pid = getpid();
	if (t->facts.contained && t->facts.other_users)
		finding_set(out, BROKEN,
		            "run the container as root, not rootless, and "
		            "without --userns",
		            "the worker runs in a user namespace, where the "
		            "kernel ignores its capabilities: the host cannot "
		            "be sampled");
	else if (rc == -ENOSYS || (rc == -EPERM && !lacks(t, CAP_PERFMON)))
		finding_set(out, BROKEN,
		            grant(t,
		                  UNIT ": [Service] SystemCallFilter="
		                       "perf_event_open",
		                  SECCOMP),
		            "a system call filter refuses perf_event_open: "
		            "nothing can be sampled");
	else if (rc == -EPERM && !ask_event(t, task))
		lacks_capability(t, "CAP_PERFMON",
		                 "processes of one user are sampled, without "
		                 "their time in the kernel",
		                 out);
	else if (rc == -EPERM)
		lacks_capability(t, "CAP_PERFMON", "nothing can be sampled",
		                 out);
	else if (rc == -EACCES && t->facts.paranoid > 2)
		finding_set(out, BROKEN,
		            grant(t,
		                  SYSCTL("kernel.perf_event_paranoid=2",
		                         "sysctl --system; or " SYS_ADMIN),
		                  "on the host: " SYSCTL(
					  "kernel.perf_event_paranoid=2",
					  "sysctl --system; or "
					  "--cap-add SYS_ADMIN")),
		            "kernel.perf_event_paranoid=%ld refuses "
		            "CAP_PERFMON: nothing can be sampled",
		            t->facts.paranoid);
	else if (rc == -EACCES)
		finding_set(out, BROKEN,
		            "cat /sys/kernel/security/lockdown; boot with "
		            "lockdown=integrity or none, or allow perf_event "
		            "in the policy of the security module",
		            "a security module, or lockdown, refuses perf "
		            "events: nothing can be sampled");
	else
		finding_set(out, BROKEN,
		            "boot a kernel with CONFIG_PERF_EVENTS=y",
		            "this kernel has no cpu-clock events with copies "
		            "of registers and stacks");
}

static int
try_events(const struct trial *t, struct finding *out)
{
	struct host_ask event = {.op = HOST_EVENT};
	struct host_ask ring = {.op = HOST_RING, .pid = EVENT_ALL};
	int rc = ask_event(t, event) ?: ask_event(t, ring);

	if (rc && rc != -EPIPE)
		events_refused(t, rc, out);
	else if (t->facts.contained && t->facts.other_pids)
		finding_set(out, WARNING, HOST_PID,
		            "only processes of this container can be sampled");
	else
		finding_set(out, FINE, NULL,
		            "every process of this host can be sampled "
		            "(kernel.perf_event_paranoid=%ld)",
		            t->facts.paranoid);
	return rc;
}

/*
 * Has the opener load programs into the kernel, and closes their descriptors.
 */
static int
ask_programs(const struct trial *t, const struct host_ask *ask)
{
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;
	int rc = t->host->ask(t->host->arg, ask, &reply, fds, &nfds);

	for (size_t i = 0; i < nfds && !rc; i++)
		close(fds[i]);
	return rc ? rc : reply.error;
}

/* Checks of the BPF programs by which the RECORDER takes profiles of the types
 * that have a way with this check (ways.def). */
static const struct {
	struct host_ask ask;
	const char *kernel; /* the first that accepts them */
} programs[CHECKS] = {
	[CHECK_WAITS] = {{.op = HOST_WAITS}, "5.18"},
	[CHECK_ALLOCS] = {{.op = HOST_ALLOCS, .size = 1}, "6.6"},
	[CHECK_INUSE] = {{.op = HOST_ALLOCS, .size = 1, .count = 1}, "6.13"},
};

/* Writes the types of a check; returns whether programs that load
 * libstoker-heap.so have profiles of them in any case. */
static bool
list_types(enum check c, struct buf *out)
{
	bool heap = false;

	for (unsigned i = 0; i < WAYS; i++) {
		if (way_rows[i].check != c)
			continue;
		buf_addf(out, "%s%s", out->len ? ", " : "", way_rows[i].type);
		for (unsigned k = 0; k < WAYS; k++)
			heap |= way_rows[k].engine == ENGINE_HEAP &&
			        !strcmp(way_rows[k].type, way_rows[i].type);
	}
	return heap;
}

static int
try_programs(const struct trial *t, enum check c, struct finding *out)
{
	CLEANUP_BUF struct buf types = BUF_INIT(FINDING_TEXT);
	CLEANUP_BUF struct buf effect = BUF_INIT(FINDING_TEXT);
	bool heap = list_types(c, &types);
	int rc = ask_programs(t, &programs[c].ask);

	buf_addf(&effect,
	         "only programs that keep counts, as Go's do, have profiles "
	         "of these types: %s",
	         buf_str(&types));
	if (!rc)
		finding_set(out, FINE, NULL,
		            "any program has profiles of these types, "
		            "measured in the kernel: %s%s",
		            buf_str(&types),
		            heap ? "; libstoker-heap.so costs a program less"
		                 : "");
	else if (rc == -EXDEV)
		finding_set(out, WARNING, grant(t, IN_HOST_PID, HOST_PID),
		            "the worker runs in a PID namespace: %s",
		            buf_str(&effect));
	else if (lacks(t, CAP_BPF))
		lacks_capability(t, "CAP_BPF", buf_str(&effect), out);
	else if (rc == -EPERM)
		finding_set(out, WARNING, grant(t, UNIT_BPF, SECCOMP),
		            "bpf is refused: %s", buf_str(&effect));
	else if (rc == -EIO)
		finding_set(out, WARNING,
		            "reduce the load on the host, or wait: the worker "
		            "tries again",
		            "the kernel did not load the BPF programs in time, "
		            "most often because no CPU was free: %s",
		            buf_str(&effect));
	else
		finding_set(out, WARNING,
		            heap ? "Environment=LD_PRELOAD=/usr/lib/stoker/"
		                   "libstoker-heap.so in the [Service] section "
		                   "of the program's unit"
		                 : "boot a later kernel, with "
		                   "CONFIG_DEBUG_INFO_BTF=y and without "
		                   "lockdown=confidentiality",
		            "the kernel refuses programs that need Linux %s: "
		            "%s",
		            programs[c].kernel, buf_str(&effect));
	return rc;
}

static int
try_filter(const struct trial *t, struct finding *out)
{
	const struct host_ask ask = {
		.op = HOST_FILTER,
		.size = FILTER_LEAST_RING,
		.cpu = (uint32_t)sysconf(_SC_NPROCESSORS_CONF)};
	int rc = ask_programs(t, &ask);

	if (!rc)
		finding_set(out, FINE, NULL,
		            "samples of other processes are dropped in the "
		            "kernel");
	else if (rc == -EXDEV)
		finding_set(out, WARNING, grant(t, IN_HOST_PID, HOST_PID),
		            "the worker runs in a PID namespace, where "
		            "samples cannot be filtered in the kernel: they "
		            "cost more, and functions of Python and of other "
		            "interpreted languages are not shown");
	else if (lacks(t, CAP_BPF))
		lacks_capability(t, "CAP_BPF",
		                 "samples cost more, and functions of Python "
		                 "and of other interpreted languages are not "
		                 "shown",
		                 out);
	else
		finding_set(out, WARNING,
		            grant(t,
		                  UNIT ": [Service] SystemCallFilter=bpf; or "
		                       "boot a kernel with "
		                       "CONFIG_BPF_SYSCALL=y and without "
		                       "lockdown=confidentiality",
		                  SECCOMP),
		            "BPF is refused: samples cost more, and functions "
		            "of Python and of other interpreted languages "
		            "are not shown");
	return rc;
}

/* --- files and memory ----------------------------------------------------- */

static int
open_own_program(const struct trial *t)
{
	struct host_ask link = {.op = HOST_EXE_LINK, .pid = getpid()};
	struct host_ask file = {.op = HOST_FILE, .pid = getpid()};
	CLEANUP_FD int fd = -1;
	struct host_reply reply;
	int rc = host_answer(t->host, &link, &reply);

	if (rc)
		return rc;
	memcpy(file.path, reply.text, sizeof(file.path));
	file.path[proc_path_len(file.path)] = '\0';
	rc = host_fd(t->host, &file, &fd);
	return rc == -ENOENT ? 0 : rc; /* -ENOENT: replaced by an upgrade */
}

static int
ask_of(const struct trial *t, const struct host_ask *about, int32_t pid)
{
	struct host_ask ask = *about;
	CLEANUP_FD int fd = -1;
	int rc;

	ask.pid = pid;
	rc = host_fd(t->host, &ask, &fd);
	/* the address in HOST_MEMORY is never mapped */
	return rc == -EFAULT || rc == -ENOEXEC ? 0 : rc;
}

/* True for the opener and its children: the opener may always read itself, so
 * they prove nothing. */
static bool
is_of_the_worker(int proc_fd, int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int32_t parent = 0;

	return pid == getppid() ||
	       (!proc_read_stat(proc_fd, pid, &text) &&
	        !proc_parse_parent(buf_str(&text), &parent) &&
	        parent == getppid());
}

/* Asks about other processes until one can be examined. Returns 0, or why if
 * none can. */
static int
ask_of_any(const struct trial *t, const struct host_ask *ask, int why)
{
	CLEANUP_FOLDER DIR *d = NULL;
	CLEANUP_FD int fd = openat(*t->of->proc_fd, ".",
	                           O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *e;
	int rc, tries = TRY_PROCESSES;

	if (fd < 0 || !(d = fdopendir(fd)))
		return why;
	fd = -1; /* the stream owns it now */
	while (tries && (e = readdir(d))) {
		int32_t pid = (int32_t)strtol(e->d_name, NULL, 10);

		if (pid <= INIT_PID || is_of_the_worker(*t->of->proc_fd, pid))
			continue;
		rc = ask_of(t, ask, pid);
		if (!rc)
			return 0;
		tries -= rc == -EACCES || rc == -EPERM;
	}
	return why;
}

/*
 * Asks about process 1, which every host has. In a container, it may be a
 * process from outside that can't be examined: then any other process will do,
 * unless a capability is missing that even the worker's own processes need.
 */
static int
ask_of_another(const struct trial *t, const struct host_ask *ask)
{
	int rc = ask_of(t, ask, INIT_PID);

	return (rc == -EACCES || rc == -EPERM) && !lacks(t, CAP_SYS_PTRACE)
	               ? ask_of_any(t, ask, rc)
	               : rc;
}

static int
try_files(const struct trial *t, struct finding *out)
{
	const struct host_ask exe = {.op = HOST_EXE};
	int rc = open_own_program(t);
	int other = rc ? rc : ask_of_another(t, &exe);

	if (rc == -ENOSYS)
		finding_set(out, BROKEN,
		            grant(t,
		                  UNIT ": [Service] RestrictSUIDSGID=no; then "
		                       "systemctl restart stoker-worker",
		                  SECCOMP),
		            "openat2 is refused, by RestrictSUIDSGID=yes of "
		            "the unit, a container's filter or a kernel "
		            "before 5.6: no program can be read, so that "
		            "functions have no names and stacks break off");
	else if (rc)
		finding_set(out, BROKEN,
		            grant(t,
		                  "systemctl cat stoker-worker: compare the "
		                  "unit with the one that was installed",
		                  "start the container as "
		                  "stoker-containers(7) shows it"),
		            "the programs of other processes cannot be "
		            "opened: functions have no names and stacks break "
		            "off");
	else if (!other)
		finding_set(out, FINE, NULL,
		            "programs of other users' processes can be "
		            "opened");
	else if (lacks(t, CAP_SYS_PTRACE))
		lacks_capability(t, "CAP_SYS_PTRACE",
		                 "only programs of its own user's processes "
		                 "can be opened",
		                 out);
	else
		finding_set(out, BROKEN,
		            grant(t,
		                  "systemctl cat stoker-worker: ProtectProc= "
		                  "and ProcSubset= must not be set; look for a "
		                  "security module that denies it (dmesg)",
		                  POLICY),
		            "the programs of other users' processes cannot be "
		            "opened");
	return rc ? rc : other;
}

/* Tries to read memory at address 0, which no process maps: if reading is
 * allowed, the error is a bad address, and no memory of the process is read. */
static int
try_memory(const struct trial *t, struct finding *out)
{
	const struct host_ask ask = {.op = HOST_MEMORY,
	                             .size = sizeof(uint64_t)};
	int rc = ask_of_another(t, &ask);

	if (!rc)
		finding_set(out, FINE, NULL,
		            "memory of other users' processes can be read "
		            "(kernel.yama.ptrace_scope=%ld)",
		            t->facts.ptrace_scope);
	else if (t->facts.ptrace_scope > 2)
		finding_set(out, BROKEN,
		            SYSCTL("kernel.yama.ptrace_scope=2",
		                   "reboot; a running system cannot lower it"),
		            "kernel.yama.ptrace_scope=%ld lets nobody read "
		            "other processes: no goroutines, threads, Python "
		            "functions, memory profiles or deep stacks",
		            t->facts.ptrace_scope);
	else if (lacks(t, CAP_SYS_PTRACE))
		lacks_capability(t, "CAP_SYS_PTRACE",
		                 "only memory of its own user's processes can "
		                 "be read",
		                 out);
	else
		finding_set(out, BROKEN,
		            grant(t,
		                  UNIT ": [Service] SystemCallFilter="
		                       "process_vm_readv ptrace; look for a "
		                       "security module that denies it (dmesg)",
		                  POLICY),
		            "the memory of other processes cannot be read: no "
		            "goroutines, threads, memory profiles or deep "
		            "stacks");
	return rc;
}

/* --- kernel names --------------------------------------------------------- */

/* True when one of the first symbols has an address: some kernels begin with
 * zero addresses even for readers that may see them. */
static bool
has_addresses(int fd)
{
	char text[KALLSYMS_SAMPLE + 1];
	ssize_t n = read(fd, text, KALLSYMS_SAMPLE);
	const char *line = text;

	text[n > 0 ? n : 0] = '\0';
	while (*line) {
		if (strspn(line, "0") < strspn(line, "0123456789abcdef"))
			return true;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

static void
lacks_kernel_names(const struct trial *t, struct finding *out)
{
	char fix[FINDING_TEXT];

	grant_capability(t, "CAP_SYSLOG", fix);
	finding_set(out, WARNING, fix,
	            "the worker lacks CAP_SYSLOG: functions of the kernel have "
	            "no names");
}

static int
try_kernel_names(const struct trial *t, struct finding *out)
{
	struct host_ask ask = {.op = HOST_KALLSYMS};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(t->host, &ask, &fd);
	char first;

	if (!rc && has_addresses(fd)) {
		finding_set(out, FINE, NULL,
		            "functions of the kernel have "
		            "names (kernel.kptr_restrict=%ld)",
		            t->facts.kptr);
		return 0;
	}
	if (!rc && pread(fd, &first, 1, 0) == 1) {
		if (t->facts.kptr > 1)
			finding_set(out, WARNING,
			            SYSCTL("kernel.kptr_restrict=1",
			                   "sysctl --system"),
			            "kernel.kptr_restrict=%ld hides the "
			            "kernel's addresses: its functions have "
			            "no names",
			            t->facts.kptr);
		else if (lacks(t, CAP_SYSLOG))
			lacks_kernel_names(t, out);
		else
			finding_set(out, WARNING,
			            "cat /sys/kernel/security/lockdown; boot "
			            "without lockdown=confidentiality",
			            "the kernel hides its addresses: its "
			            "functions have no names");
		return -EACCES;
	}
	finding_set(out, WARNING,
	            grant(t,
	                  UNIT ": [Service] ProtectKernelTunables=no and "
	                       "ProtectKernelLogs=no; then systemctl restart "
	                       "stoker-worker",
	                  "--security-opt unmask=/proc/kallsyms"),
	            "/proc/kallsyms is hidden from the worker: functions of "
	            "the kernel have no names");
	return rc ? rc : -ENODATA;
}

/* --- the worker's own process --------------------------------------------- */

/* Tries the rings, which count towards RLIMIT_MEMLOCK: perf_event_open(2). */
static int
try_rings(const struct trial *t, struct finding *out)
{
	CLEANUP_BUF struct buf may = BUF_INIT(32), asked = BUF_INIT(32);
	int64_t want = t->of->conf->worker_ring_bytes;
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r))
		return -errno;
	if (r.rlim_cur == RLIM_INFINITY || (int64_t)r.rlim_cur >= want) {
		finding_set(out, FINE, NULL, "as much as ring_bytes asks for");
		return 0;
	}
	quantity(&may, (int64_t)r.rlim_cur, "bytes");
	quantity(&asked, want, "bytes");
	finding_set(out, WARNING,
	            grant(t,
	                  UNIT ": [Service] LimitMEMLOCK=infinity; or ulimit "
	                       "-l unlimited before the worker starts",
	                  "--ulimit memlock=-1:-1, or lower ring_bytes in "
	                  "[worker]"),
	            "only %s may be locked and ring_bytes is %s: "
	            "the sample rings are smaller, and may lose samples",
	            buf_str(&may), buf_str(&asked));
	return -ENOMEM;
}

/* Asks for processes that hang in the kernel, for example waiting for a file
 * system: only its answer ends them. */
static int
try_parts(const struct trial *t, struct finding *out)
{
	const struct host_ask ask = {.op = HOST_ALIVE};
	uint32_t hanging = 0;
	int rc = host_value(t->host, &ask, &hanging);

	if (rc)
		return rc;
	if (!hanging) {
		finding_set(out, FINE, NULL, "all parts of the worker answer");
		return 0;
	}
	if (hanging & HOST_NO_ANALYSER)
		finding_set(out, BROKEN,
		            "wait for [worker] watchdog, after which another "
		            "is started; the log names the capture",
		            "no analyser: it does not answer, so that "
		            "captures stand still");
	else
		finding_set(out, WARNING,
		            "end the server of that file system (FUSE, NFS), "
		            "or umount -f it",
		            "%u processes of the worker hang in the kernel, "
		            "waiting for a file system that a profiled program "
		            "uses: other processes have taken their places",
		            hanging);
	return -EBUSY;
}

static int
try_store(const struct trial *t, struct finding *out)
{
	return store_try(t->of->store, t->of->conf->continuous_min_free, out);
}

static int
try_rollups(const struct trial *t, struct finding *out)
{
	if (!*t->of->given_up) {
		finding_set(out, FINE, NULL, "windows are added up");
		return 0;
	}
	finding_set(
		out, WARNING,
		"stoker verify, which names damaged profiles; the log of "
		"the worker names the services",
		"%u sums of windows were given up since the worker started, "
		"because the process that adds them up died each time: "
		"history and ranges lack their samples",
		*t->of->given_up);
	return -ENODATA;
}

/* True for another worker of this machine in the same PID namespace: in
 * another one, its pid is that of another process, or of none. */
static bool
is_rival(const struct selftest *t, const struct worker *w)
{
	CLEANUP_BUF struct buf comm = BUF_INIT(32);
	char path[64];

	if (!w->alive || w->joined || !strcmp(w->host, t->self->host) ||
	    strcmp(w->boot_id, t->self->boot_id) != 0)
		return false;
	snprintf(path, sizeof(path), "%lld/comm", (long long)w->pid);
	return !file_read(*t->proc_fd, path, &comm) &&
	       !strcmp(buf_str(&comm), "stoker-worker\n");
}

static int
try_alone(const struct trial *t, struct finding *out)
{
	CLEANUP_WORKERS struct worker_list l = {0};
	char fix[FINDING_TEXT];
	int rc = worker_list(t->of->store, "", &l);
	size_t i = 0;

	if (rc)
		return rc;
	while (i < l.n && !is_rival(t->of, &l.items[i]))
		i++;
	if (i == l.n) {
		finding_set(out, FINE, NULL,
		            "no other worker of this machine uses the store");
		return 0;
	}
	snprintf(fix, sizeof(fix),
	         "kill %lld, then stoker forget %s; or, to keep that worker: "
	         "systemctl disable --now stoker-worker",
	         (long long)l.items[i].pid, l.items[i].host);
	finding_set(out, WARNING, fix,
	            "a second worker of this machine uses the store, process "
	            "%lld, as host %s: services are profiled twice",
	            (long long)l.items[i].pid, l.items[i].host);
	return -EEXIST;
}

static int
try_clock(const struct trial *t, struct finding *out)
{
	const char *whose = t->of->clock_ms ? "centre" : "database";
	char offset[CLOCK_OFFSET_LEN];
	int64_t ahead_ms = 0;
	int rc = 0;

	if (t->of->clock_ms)
		ahead_ms = *t->of->clock_ms;
	else
		rc = worker_clock(t->of->store, &ahead_ms);
	if (rc || clock_agrees(ahead_ms)) {
		finding_set(out, FINE, NULL, "it agrees with the %s's", whose);
		return rc;
	}
	clock_format_offset(ahead_ms, offset);
	finding_set(out, WARNING, "timedatectl set-ntp true",
	            "the clock of this host is %s%s the %s's: its profiles "
	            "have wrong times",
	            offset, ahead_ms > 0 ? " of" : "", whose);
	return 0;
}

/* The functions for checks that have no row of programs. */
static int (*const tries[CHECKS])(const struct trial *, struct finding *) = {
	[CHECK_EVENTS] = try_events,
	[CHECK_FILTER] = try_filter,
	[CHECK_FILES] = try_files,
	[CHECK_MEMORY] = try_memory,
	[CHECK_KERNEL_NAMES] = try_kernel_names,
	[CHECK_RINGS] = try_rings,
	[CHECK_PARTS] = try_parts,
	[CHECK_STORE] = try_store,
	[CHECK_ROLLUPS] = try_rollups,
	[CHECK_ALONE] = try_alone,
	[CHECK_CLOCK] = try_clock,
};

/* False for a check that another program makes. */
static bool
is_tried(enum check c)
{
	return tries[c] || programs[c].kernel;
}

/* Returns the time until a check runs again. A kernel does not gain a feature
 * within a minute, but a disk may fill up, a part of the worker may hang, a sum
 * may fail, another worker may start, and somebody may set the clock. */
static int64_t
wait_ns(enum check c, const struct finding *f, int rc)
{
	if (f->verdict != FINE && rc != -EOPNOTSUPP)
		return SELFTEST_AGAIN_NS;
	if (c == CHECK_STORE)
		return SELFTEST_STORE_NS;
	return c == CHECK_PARTS || c == CHECK_ALONE || c == CHECK_ROLLUPS ||
	                       c == CHECK_CLOCK
	               ? SELFTEST_PARTS_NS
	               : SELFTEST_NS;
}

/* Runs one check. If the worker has no descriptor left, no check finds
 * anything else. */
static int
try_one(const struct trial *t, enum check c, struct finding *out)
{
	int rc = tries[c] ? tries[c](t, out) : try_programs(t, c, out);

	if (is_out_of_files(rc))
		finding_set(out, out->verdict,
		            grant(t,
		                  UNIT ": [Service] LimitNOFILE=65536; or "
		                       "raise fs.file-max",
		                  "--ulimit nofile=65536:65536"),
		            "the worker has no file descriptor left to try it");
	return rc;
}

/* Runs one check, and logs its finding when the verdict changes. */
static int
run(struct selftest *t, const struct trial *trial, enum check c, int64_t now_ns)
{
	struct finding now = {0}, *before = &t->findings[c];
	int rc = try_one(trial, c, &now);

	if (rc == -EPIPE)
		return rc;
	t->due_ns[c] = now_ns + wait_ns(c, &now, rc);
	if (now.verdict != before->verdict && now.verdict != FINE)
		log_warn("%s: %s%s%s", check_name(c), now.found,
		         rc && rc != -EXDEV ? ": " : "",
		         rc && rc != -EXDEV ? strerror(-rc) : "");
	else if (now.verdict != before->verdict)
		log_info("%s: %s", check_name(c), now.found);
	*before = now;
	return 0;
}

int
selftest_try(const struct selftest *t, enum check c, struct finding *out)
{
	struct trial trial = {
		.of = t, .host = &t->host, .facts = read_facts(*t->proc_fd)};

	return try_one(&trial, c, out);
}

int
selftest_step(struct selftest *t, int64_t now_ns)
{
	struct trial trial = {.of = t, .host = &t->host};
	int rc = 0;

	if (now_ns < t->next_ns)
		return 0;
	trial.facts = read_facts(*t->proc_fd);
	t->next_ns = INT64_MAX;
	for (int c = 0; c < CHECKS && !rc; c++) {
		if (!is_tried(c))
			continue;
		if (now_ns >= t->due_ns[c])
			rc = run(t, &trial, c, now_ns);
		if (t->due_ns[c] < t->next_ns)
			t->next_ns = t->due_ns[c];
	}
	return rc;
}

void
selftest_soon(struct selftest *t, int64_t now_ns)
{
	if (t->hurried_ns && now_ns - t->hurried_ns < SELFTEST_SOON_NS)
		return;
	t->hurried_ns = now_ns;
	t->next_ns = 0;
	memset(t->due_ns, 0, sizeof(t->due_ns));
}

void
selftest_json(const struct selftest *t, struct buf *out)
{
	json_open(out, "checks", '[');
	for (int c = 0; c < CHECKS; c++) {
		if (!is_tried(c))
			continue;
		json_open(out, NULL, '{');
		finding_json(&t->findings[c], c, out);
		json_close(out, '}');
	}
	json_close(out, ']');
}
