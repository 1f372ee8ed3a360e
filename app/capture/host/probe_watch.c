#include "probe_watch.h"

#include "allocs_cookie.h"
#include "base/clock.h"
#include "base/msg.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <time.h>

/* Calls that are made to measure what they cost count for the last slot. */
#define NOBODY ALLOCS_COOKIE(EMIT_SLOTS - 1, 7, 0, 0)

int
probe_watch_init(struct probe_watch *w, int prog_fd)
{
	int ncpus = libbpf_num_possible_cpus();

	w->call = probe_link_cost(prog_fd, NOBODY);
	w->ncpus = ncpus > 0 ? (unsigned)ncpus : 1;
	w->percpu = calloc(w->ncpus, sizeof(*w->percpu));
	return w->percpu ? 0 : -ENOMEM;
}

/* --- accounts -------------------------------------------------------------
 */

static struct emit_calls
count_calls(const struct probe_watch *w, uint32_t slot)
{
	struct emit_calls sum = {0};

	if (bpf_map_lookup_elem(w->calls_fd, &slot, w->percpu))
		return sum;
	for (unsigned i = 0; i < w->ncpus; i++) {
		sum.calls += w->percpu[i].calls;
		sum.bytes += w->percpu[i].bytes;
		sum.told += w->percpu[i].told;
	}
	return sum;
}

/* Returns the CPU time that a process has used. Its clock's number is made of
 * the process's. Source: clock_getcpuclockid(3), CPUCLOCK_SCHED of
 * linux/posix-timers_types.h. */
static int64_t
used_by(int32_t pid)
{
	struct timespec t = {0};

	(void)clock_gettime((clockid_t)(~(uint32_t)pid << 3 | 2), &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct probe_account
probe_account(const struct probe_watch *w, uint32_t slot, int32_t pid,
              int64_t credit_ns)
{
	return (struct probe_account){
		.was = count_calls(w, slot),
		.looked_ns = clock_mono_ns(),
		.used_ns = used_by(pid),
		.credit_ns = credit_ns,
	};
}

/* Returns what a process earns meanwhile by its own CPU time. */
static int64_t
earned(const struct probe_watch *w, const struct probe_look *look)
{
	int64_t least_ns = look->ns * w->least / 1000;

	return (look->own_ns > least_ns ? look->own_ns : least_ns) * w->budget /
	       1000;
}

struct probe_look
probe_look(const struct probe_watch *w, uint32_t slot, int32_t pid,
           struct probe_account *a)
{
	struct probe_account is = probe_account(w, slot, pid, a->credit_ns);
	uint64_t calls = is.was.calls - a->was.calls;
	uint64_t told = is.was.told - a->was.told;
	uint64_t told_ns = PROBE_SAMPLE_NS +
	                   (w->returns ? w->call.usual_ns : 0);
	struct probe_look look = {
		.ns = is.looked_ns - a->looked_ns,
		.cost_ns = (int64_t)(calls * w->call.usual_ns + told * told_ns),
		.bytes = is.was.bytes - a->was.bytes,
	};
	int64_t used_ns = is.used_ns - a->used_ns, got_ns;
	double earns;

	look.own_ns = used_ns - (int64_t)(calls * w->call.least_ns);
	if (look.own_ns < used_ns / PROBE_OWN_PART)
		look.own_ns = used_ns / PROBE_OWN_PART;
	got_ns = earned(w, &look);
	earns = (double)got_ns / (double)(look.ns > 0 ? look.ns : 1);
	is.credit_ns += got_ns - look.cost_ns;
	if (is.credit_ns > PROBE_CREDIT_NS)
		is.credit_ns = PROBE_CREDIT_NS;
	if (is.credit_ns < -PROBE_CREDIT_NS)
		is.credit_ns = -PROBE_CREDIT_NS;
	/* While it is watched a process does less than else. */
	is.earns = earns > a->earns / 2 ? earns : a->earns / 2;
	*a = is;
	return look;
}

int64_t
probe_wait_ns(const struct probe_account *a, int64_t credit_ns)
{
	double ns = (double)(credit_ns - a->credit_ns) / (a->earns + 1e-6);

	return ns > 0 ? (int64_t)ns : 0;
}

/* --- links ----------------------------------------------------------------
 */

static uint64_t
cookie_of(const struct allocs_place *at, uint32_t slot)
{
	uint64_t cookie = ALLOCS_COOKIE(slot, at->size & 15, at->has_count != 0,
	                                at->count & 15);

	if (at->has_old)
		cookie |= ALLOCS_OLD(at->old & 15);
	if (at->has_unless)
		cookie |= ALLOCS_UNLESS(1);
	if (at->has_to)
		cookie |= ALLOCS_TO(at->to & 15);
	return cookie;
}

int
probe_watch_link(const struct allocs_of *of, uint32_t slot, uint32_t bits,
                 struct probe_link link)
{
	uint64_t offsets[ALLOCS_MAX_PLACES], cookies[ALLOCS_MAX_PLACES];

	link.pid = of->pid;
	link.n = 0;
	link.offsets = offsets;
	link.cookies = cookies;
	for (uint32_t i = 0; i < of->n; i++) {
		if (!(bits >> i & 1))
			continue;
		offsets[link.n] = of->places[i].offset;
		cookies[link.n++] = cookie_of(&of->places[i], slot);
	}
	return link.n ? probe_link(&link) : -ENOENT;
}

/* --- messages -------------------------------------------------------------
 */

/* Takes a message; false when nobody sends any more. */
static bool
take(const struct probe_watcher *by, int socket)
{
	struct allocs_of m;
	CLEANUP_FD int file = -1;
	size_t nfds = 1;
	ssize_t got = msg_recv(socket, &m, sizeof(m), &file, &nfds);

	if (got <= 0) {
		file = -1;
		return got == -EMSGSIZE;
	}
	if (got != sizeof(m) || m.n > ALLOCS_MAX_PLACES || m.pid <= 0)
		return true;
	if (!m.n)
		by->end(by->arg, m.pid);
	else if (file >= 0)
		by->begin(by->arg, &m, &file);
	return true;
}

void
probe_watch_run(const struct probe_watcher *by, int socket, int hold)
{
	struct pollfd fds[] = {{socket, POLLIN, 0}, {hold, 0, 0}};

	for (;;) {
		if (poll(fds, ARRAY_LEN(fds), by->look(by->arg)) < 0) {
			if (errno != EINTR)
				return;
			continue;
		}
		if (fds[1].revents || (fds[0].revents && !take(by, socket)))
			return;
	}
}
