#include "opener_rates.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "sandbox/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define MAX_MAPS      ((size_t)16 << 20)
#define TOUCH_S       2 /* to read or write one word of a target */
#define TOUCH_MOST_MS (TOUCH_S * 1000 + 500)

/* --- processes ------------------------------------------------------------ */

struct line {
	uint64_t start, end;
	const char *perms, *path;
};

/* Parses a line of /proc/PID/maps, which is modified. Source: proc(5) */
static bool
parse_line(char *text, struct line *out)
{
	char *save = NULL, *word = strtok_r(text, " ", &save);
	char *perms = strtok_r(NULL, " ", &save);

	if (!word || !perms ||
	    sscanf(word, "%" SCNx64 "-%" SCNx64, &out->start, &out->end) != 2)
		return false;
	for (int i = 0; i < 3; i++) /* offset, device, inode */
		if (!strtok_r(NULL, " ", &save))
			return false;
	while (save && *save == ' ')
		save++;
	out->perms = perms;
	out->path = save ? save : "";
	return true;
}

/*
 * True if a word lies among the variables of the program: in a private writable
 * mapping of its file, or in the anonymous mapping right after it.
 */
static bool
lies_in_variables(int32_t pid, uint64_t address)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_MAPS);
	char name[64], exe[HOST_MAX_PATH], *line, *rest;
	struct line m, before = {.end = 0};
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	n = readlink(name, exe, sizeof(exe) - 1);
	if (n <= 0 || proc_read(AT_FDCWD, pid, "maps", &text) || !text.len)
		return false;
	exe[n] = '\0';
	rest = text.p;
	while ((line = strsep(&rest, "\n")) && parse_line(line, &m)) {
		if (!*m.path && m.start == before.end &&
		    !strcmp(before.path, exe))
			m.path = before.path;
		if (address >= m.start && address < m.end)
			return !strcmp(m.perms, "rw-p") &&
			       !strcmp(m.path, exe) &&
			       m.end - address >= sizeof(uint64_t);
		before = m;
	}
	return false;
}

/* A child's access to one word of a process. */
enum touch { TOUCH_FIND, TOUCH_READ, TOUCH_WRITE };

struct touched {
	int32_t rc;
	uint64_t value;
};

static int
touch_now(enum touch how, int32_t pid, uint64_t address, uint64_t *value)
{
	struct iovec mine = {value, sizeof(*value)};
	struct iovec theirs = {(void *)(uintptr_t)address, // NOLINT
	                       sizeof(*value)};
	ssize_t n;

	if (how == TOUCH_FIND)
		return lies_in_variables(pid, address) ? 0 : -EINVAL;
	n = how == TOUCH_WRITE ? process_vm_writev(pid, &mine, 1, &theirs, 1, 0)
	                       : process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
	if (n < 0)
		return -errno;
	return n == sizeof(*value) ? 0 : -EFAULT;
}

static _Noreturn void
touch_in_child(enum touch how, int32_t pid, uint64_t address, uint64_t value,
               int pipe)
{
	struct touched t = {.value = value};

	t.rc = privilege_close_but(&pipe, 1) ?: privilege_end_within(TOUCH_S);
	if (!t.rc)
		t.rc = touch_now(how, pid, address, &t.value);
	_exit(fd_write_all(pipe, &t, sizeof(t)) ? 1 : 0);
}

/*
 * Accesses a word from a child, which the kernel kills if it takes too long: a
 * page of the target may never arrive, and its maps may stay locked. A child
 * that waits for the lock dies only when it gets it, and is not waited for.
 *   Errors   -ETIMEDOUT; -EINVAL no variable of the program; -errno
 */
static int
touch(enum touch how, int32_t pid, uint64_t address, uint64_t *value)
{
	struct touched t = {.rc = -ETIMEDOUT};
	bool hangs = false;
	int pipe[2];
	pid_t child;

	if (pipe2(pipe, O_CLOEXEC))
		return -errno;
	child = fork();
	if (child == 0)
		touch_in_child(how, pid, address, value ? *value : 0, pipe[1]);
	close(pipe[1]);
	if (child < 0)
		t.rc = -EAGAIN;
	else if (!poll(&(struct pollfd){pipe[0], POLLIN, 0}, 1, TOUCH_MOST_MS))
		hangs = true;
	else if (read(pipe[0], &t, sizeof(t)) != sizeof(t))
		t.rc = -ETIMEDOUT;
	close(pipe[0]);
	while (child > 0 && !hangs && waitpid(child, NULL, 0) < 0 &&
	       errno == EINTR)
		;
	if (!t.rc && how == TOUCH_READ)
		*value = t.value;
	return t.rc;
}

static bool
is_variable(int32_t pid, uint64_t address)
{
	return !touch(TOUCH_FIND, pid, address, NULL);
}

/* --- the journal ---------------------------------------------------------- */

static int
note(const struct rates *r, size_t i)
{
	ssize_t n = pwrite(r->journal, &r->rows[i], sizeof(r->rows[i]),
	                   (off_t)(i * sizeof(r->rows[i])));

	return n < 0 ? -errno : n == sizeof(r->rows[i]) ? 0 : -EIO;
}

/* Restores a rate, unless the process is gone, or the value there is no longer
 * the written one. */
static void
take_back(const struct rate *row)
{
	uint64_t now, none = 0;
	int rc;

	if (proc_start_time(row->pid) != row->start_time ||
	    !is_variable(row->pid, row->address) ||
	    touch(TOUCH_READ, row->pid, row->address, &now) ||
	    now != row->value)
		return;
	rc = touch(TOUCH_WRITE, row->pid, row->address, &none);
	if (rc)
		log_warn("process %d keeps a profile that was turned on: %s",
		         row->pid, strerror(-rc));
}

static void
forget(struct rates *r, size_t i)
{
	take_back(&r->rows[i]);
	r->rows[i] = (struct rate){0};
	r->kept[i] = 0;
	if (note(r, i))
		log_warn("the journal of rates can't be written");
}

static void
replay(struct rates *r)
{
	struct rate row;

	for (size_t i = 0; i < RATES_MAX; i++) {
		off_t at = (off_t)(i * sizeof(row));

		if (pread(r->journal, &row, sizeof(row), at) != sizeof(row))
			break;
		row.boot_id[sizeof(row.boot_id) - 1] = '\0';
		if (row.pid > 0 && !strcmp(row.boot_id, r->boot_id))
			take_back(&row);
	}
	if (ftruncate(r->journal, 0))
		log_warn("the journal of rates can't be emptied");
}

void
rates_open(struct rates *r, const struct conf *conf)
{
	int rc;

	*r = (struct rates){.journal = -1};
	if (journal_boot_id(r->boot_id))
		return;
	rc = journal_open(conf->worker_state_dir, RATES_JOURNAL, &r->journal);
	if (rc == -EACCES || rc == -ELOOP || rc == -ENOTDIR)
		log_warn("%s: only a directory and a " RATES_JOURNAL
		         " that are of the worker's user, and that nobody "
		         "else may write to, are used: no profile of a Go "
		         "program is turned on",
		         conf->worker_state_dir);
	if (!rc)
		replay(r);
}

void
rates_done(struct rates *r)
{
	for (size_t i = 0; i < RATES_MAX; i++)
		if (r->rows[i].pid)
			forget(r, i);
	close_ptr(&r->journal);
}

/* --- clients -------------------------------------------------------------- */

static size_t
unused_row(const struct rates *r)
{
	size_t i = 0;

	while (i < RATES_MAX && r->rows[i].pid)
		i++;
	return i;
}

static size_t
row_of(const struct rates *r, const struct host_ask *ask, uint64_t start)
{
	size_t i = 0;

	while (i < RATES_MAX &&
	       (r->rows[i].pid != ask->pid || r->rows[i].start_time != start ||
	        r->rows[i].address != ask->address))
		i++;
	return i;
}

/* Makes a client the owner of a rate that has been written. */
static int
join(struct rates *r, size_t i, int owner, uint32_t keep)
{
	if (!keep && r->rows[i].owner >= 0)
		return -EALREADY;
	if (keep)
		r->kept[i] = keep;
	else
		r->rows[i].owner = owner;
	return 0;
}

static int
write_first(struct rates *r, size_t i, const struct host_ask *ask)
{
	uint64_t now, value = ask->period_ns;
	int rc = i < RATES_MAX ? touch(TOUCH_READ, ask->pid, ask->address, &now)
	                       : -EBUSY;

	if (rc || now)
		return rc ? rc : -EALREADY;
	r->rows[i] = (struct rate){.start_time = proc_start_time(ask->pid),
	                           .address = ask->address,
	                           .value = value,
	                           .pid = ask->pid,
	                           .owner = -1};
	memcpy(r->rows[i].boot_id, r->boot_id, sizeof(r->boot_id));
	rc = note(r, i);
	if (!rc)
		rc = touch(TOUCH_WRITE, ask->pid, ask->address, &value);
	if (rc)
		forget(r, i);
	return rc;
}

int
rates_write(struct rates *r, const struct grants *granted, int owner,
            const struct host_ask *ask)
{
	static const uint32_t kept_by[] = {
		[HOST_KEEP_NOT] = 0,
		[HOST_KEEP_BLOCK] = WORKER_MAY_KEEP_BLOCK,
		[HOST_KEEP_MUTEX] = WORKER_MAY_KEEP_MUTEX,
	};
	uint64_t start = proc_start_time(ask->pid);
	uint32_t keep = ask->count < ARRAY_LEN(kept_by) ? kept_by[ask->count]
	                                                : 0;
	size_t i = row_of(r, ask, start);
	int rc = 0;

	if (r->journal < 0 ||
	    !grants_has(granted, keep ? keep : WORKER_MAY_SET, ask->pid, start))
		return -EPERM;
	if (!ask->period_ns || ask->period_ns > RATES_MAX_RATE ||
	    ask->address % sizeof(uint64_t) ||
	    !is_variable(ask->pid, ask->address))
		return -EINVAL;
	if (i == RATES_MAX) {
		i = unused_row(r);
		rc = write_first(r, i, ask);
		if (!rc)
			log_info("process %d: profile turned on for %s",
			         ask->pid, keep ? "windows" : "a while");
	}
	return rc ? rc : join(r, i, owner, keep);
}

static void
leave(struct rates *r, const struct grants *granted, size_t i)
{
	const struct rate *row = &r->rows[i];

	if (row->owner < 0 &&
	    !(r->kept[i] &&
	      grants_has(granted, r->kept[i], row->pid, row->start_time)))
		forget(r, i);
}

void
rates_leave(struct rates *r, const struct grants *granted, int owner)
{
	for (size_t i = 0; i < RATES_MAX; i++)
		if (r->rows[i].pid && r->rows[i].owner == owner) {
			r->rows[i].owner = -1;
			leave(r, granted, i);
		}
}

void
rates_lapse(struct rates *r, const struct grants *granted)
{
	r->lapsed_ns = clock_mono_ns();
	for (size_t i = 0; i < RATES_MAX; i++)
		if (r->rows[i].pid)
			leave(r, granted, i);
}

int
rates_wait(struct rates *r, const struct grants *granted)
{
	size_t i = 0;

	if (clock_mono_ns() - r->lapsed_ns >= NS_PER_S)
		rates_lapse(r, granted);
	while (i < RATES_MAX && !r->kept[i])
		i++;
	return i < RATES_MAX ? (int)MS_PER_S : -1;
}
