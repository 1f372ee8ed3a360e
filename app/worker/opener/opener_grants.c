#include "opener_grants.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "base/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SLACK_NS       (60 * NS_PER_S) /* beyond a capture's duration */
#define MAX_GENERATION 64              /* steps up to a granted process */

/* --- processes ------------------------------------------------------------ */

struct kin {
	uint64_t start_time;
	int32_t parent, session;
};

/* Reads the file of the first thread: it has the same facts as that of the
 * process, for which the kernel would sum up the usage of all threads. */
static int
read_kin(int32_t pid, struct kin *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64], comm[PROC_COMM_MAX];
	int rc;

	if (pid <= 0)
		return -ESRCH;
	if (proc_in_exec(AT_FDCWD, pid))
		return -ETIMEDOUT;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	rc = file_read(AT_FDCWD, path, &text);
	if (rc)
		return rc == -ENOENT ? -ESRCH : rc;
	return proc_parse_stat(buf_str(&text), comm, &out->start_time)
	               ?: proc_parse_kin(buf_str(&text), &out->parent,
	                                 &out->session);
}

uint64_t
proc_start_time(int32_t pid)
{
	struct kin k;

	return read_kin(pid, &k) ? 0 : k.start_time;
}

static bool
read_unit(int32_t pid, char out[static PROC_UNIT_MAX])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (proc_read(AT_FDCWD, pid, "cgroup", &text))
		return false;
	proc_parse_unit(buf_str(&text), out);
	return true;
}

static bool
same_unit(int32_t a, int32_t b)
{
	char of_a[PROC_UNIT_MAX], of_b[PROC_UNIT_MAX];

	return read_unit(a, of_a) && read_unit(b, of_b) && !strcmp(of_a, of_b);
}

static int32_t
process_of_thread(int32_t tid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int32_t pid;

	if (tid <= 0 || proc_read(AT_FDCWD, tid, "status", &text) ||
	    proc_parse_process(buf_str(&text), &pid))
		return 0;
	return pid;
}

/* --- rows ----------------------------------------------------------------- */

static bool
is_same(const struct grant *a, const struct grant *b)
{
	return a->pid == b->pid && a->start_time == b->start_time &&
	       a->what == b->what && a->of == b->of;
}

static bool
is_kept(const struct grant *g)
{
	return g->what == WORKER_MAY_KEEP_BLOCK ||
	       g->what == WORKER_MAY_KEEP_MUTEX;
}

/* Returns the index of the first row of a process, or where it would be. */
static size_t
first_of(const struct grants *g, int32_t pid)
{
	return ROWS_WHILE(g->n, i, g->rows[i].pid < pid);
}

static void
remove_row(struct grants *g, size_t i)
{
	memmove(&g->rows[i], &g->rows[i + 1],
	        (--g->n - i) * sizeof(g->rows[0]));
}

/* If there is no room, removes the grant that ends first; false if none has an
 * end. */
static bool
make_room(struct grants *g)
{
	size_t first = 0;

	if (g->n < GRANTS_MAX)
		return true;
	for (size_t i = 1; i < g->n; i++)
		if (g->rows[i].until_ns < g->rows[first].until_ns)
			first = i;
	if (g->rows[first].until_ns == INT64_MAX) {
		log_warn("captures and windows are of more than %d processes: "
		         "the others are left out",
		         GRANTS_MAX);
		return false;
	}
	remove_row(g, first);
	return true;
}

static void
put(struct grants *g, const struct grant *new)
{
	size_t i;

	for (i = first_of(g, new->pid); i < g->n && g->rows[i].pid == new->pid;
	     i++) {
		struct grant *row = &g->rows[i];

		if (!is_same(row, new))
			continue;
		if (row->until_ns < new->until_ns || is_kept(new))
			row->until_ns = new->until_ns;
		return;
	}
	if (!make_room(g))
		return;
	i = first_of(g, new->pid);
	memmove(&g->rows[i + 1], &g->rows[i],
	        (g->n++ - i) * sizeof(g->rows[0]));
	g->rows[i] = *new;
}

/* Revokes the grants of one id. */
static void
end_looks(struct grants *g, uint64_t of)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->rows[i].what != WORKER_MAY_LOOK || g->rows[i].of != of)
			g->rows[n++] = g->rows[i];
	g->n = n;
}

/* Returns the start time of a message's process, which it need not give; 0 if
 * the process is gone. */
static uint64_t
start_of(const struct msg_process *p)
{
	return p->start_time ? p->start_time : proc_start_time(p->pid);
}

static void
add_looks(struct grants *g, const struct msg_may *m)
{
	size_t n = strnlen(m->id, sizeof(m->id));
	struct grant row = {.of = hash_bytes(m->id, n),
	                    .until_ns = INT64_MAX,
	                    .what = WORKER_MAY_LOOK};

	end_looks(g, row.of);
	for (uint32_t i = 0; i < m->npids; i++) {
		row.pid = m->processes[i].pid;
		row.start_time = start_of(&m->processes[i]);
		if (row.start_time)
			put(g, &row);
	}
}

void
grants_add(struct grants *g, const struct msg_may *m)
{
	int64_t until = clock_mono_ns() + SLACK_NS;

	if (m->npids > WORKER_MAX_PIDS ||
	    m->duration_ms > (uint64_t)INT64_MAX / 4 / (uint64_t)NS_PER_MS)
		return;
	if (m->what == WORKER_MAY_LOOK) {
		add_looks(g, m);
		return;
	}
	until += (int64_t)m->duration_ms * NS_PER_MS;
	for (uint32_t i = 0; i < m->npids; i++) {
		struct grant row = {.start_time = start_of(&m->processes[i]),
		                    .until_ns = until,
		                    .pid = m->processes[i].pid,
		                    .what = m->what};

		if (is_kept(&row)) /* these are renewed in time, or ended */
			row.until_ns -= SLACK_NS;
		if (row.start_time)
			put(g, &row);
	}
}

bool
grants_has(const struct grants *g, enum worker_may what, int32_t pid,
           uint64_t start_time)
{
	for (size_t i = first_of(g, pid); i < g->n && g->rows[i].pid == pid;
	     i++)
		if (start_time && g->rows[i].start_time == start_time &&
		    g->rows[i].what == what)
			return g->rows[i].until_ns > clock_mono_ns();
	return false;
}

/* --- descent -------------------------------------------------------------- */

static bool
may_look(const struct grants *g, int32_t pid, const struct kin *k)
{
	return grants_has(g, WORKER_MAY_LOOK, pid, k->start_time);
}

/* True for a granted ancestor. If it started after the child, it is another
 * process that got the pid of the child's parent. */
static bool
is_granted_elder(const struct grants *g, int32_t pid, const struct kin *child,
                 struct kin *out)
{
	return !read_kin(pid, out) && out->start_time <= child->start_time &&
	       may_look(g, pid, out);
}

/*
 * Returns the granted ancestor of a process, or 0. Members of a session descend
 * from its leader; the leader's pid is not reused while the session exists.
 */
static int32_t
find_elder(const struct grants *g, int32_t pid, const struct kin *of,
           struct kin *out)
{
	struct kin k = *of;
	int32_t at = pid;

	for (int i = 0; i < MAX_GENERATION && at > 0; i++) {
		if (k.session != at && is_granted_elder(g, k.session, &k, out))
			return k.session;
		at = k.parent;
		if (is_granted_elder(g, at, &k, out))
			return at;
		if (read_kin(at, out) || out->start_time > k.start_time)
			return 0;
		k = *out;
	}
	return 0;
}

/* True if the pid belonged to another process, which had a grant. */
static bool
had_looks(const struct grants *g, int32_t pid)
{
	for (size_t i = first_of(g, pid); i < g->n && g->rows[i].pid == pid;
	     i++)
		if (g->rows[i].what == WORKER_MAY_LOOK)
			return true;
	return false;
}

static struct grant_heir *
heir_of(struct grants *g, int32_t pid)
{
	return &g->heirs[hash_u64((uint64_t)pid) % GRANTS_HEIR];
}

int
grants_look(struct grants *g, int32_t pid)
{
	struct grant_heir *heir = heir_of(g, pid);
	struct kin k, elder;
	int32_t of;
	int rc = read_kin(pid, &k);

	if (rc)
		return rc;
	if (may_look(g, pid, &k))
		return 0;
	if (heir->pid == pid && heir->start_time == k.start_time &&
	    grants_has(g, WORKER_MAY_LOOK, heir->of, heir->of_start_time))
		return 0;
	of = find_elder(g, pid, &k, &elder);
	if (!of || !same_unit(pid, of))
		return had_looks(g, pid) ? -ESRCH : -EPERM;
	*heir = (struct grant_heir){.start_time = k.start_time,
	                            .of_start_time = elder.start_time,
	                            .pid = pid,
	                            .of = of};
	return 0;
}

int
grants_look_thread(struct grants *g, int32_t tid)
{
	int32_t pid = process_of_thread(tid);

	return pid ? grants_look(g, pid) : -ESRCH;
}
