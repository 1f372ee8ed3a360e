#include "probe_watch.h"

#include "allocs_cookie.h"
#include "base/clock.h"
#include "base/msg.h"
#include "locks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>

int
probe_watch_init(struct probe_watch *w, int prog_fd)
{
	const struct probe_link of = {.prog_fd = prog_fd,
	                              .locks_fd = w->locks_fd};
	int ncpus = libbpf_num_possible_cpus();

	w->call = probe_link_cost(&of, ALLOCS_NOBODY, &w->own_link);
	w->ncpus = ncpus > 0 ? (unsigned)ncpus : 1;
	w->percpu = calloc(w->ncpus, sizeof(*w->percpu));
	return w->percpu ? 0 : -ENOMEM;
}

/* --- accounts ------------------------------------------------------------- */

static struct emit_calls
count_calls(const struct probe_watch *w, uint32_t slot)
{
	struct emit_calls sum = {0};

	if (bpf_map_lookup_elem(w->calls_fd, &slot, w->percpu))
		return sum;
	for (unsigned i = 0; i < w->ncpus; i++) {
		sum.calls += w->percpu[i].calls;
		sum.bytes += w->percpu[i].bytes;
		sum.costly += w->percpu[i].costly;
	}
	return sum;
}

/* Returns the CPU time that a process has used. The id of its clock is computed
 * from its pid. Source: clock_getcpuclockid(3), CPUCLOCK_SCHED of
 * linux/posix-timers_types.h. */
static int64_t
used_by(int32_t pid)
{
	struct timespec t = {0};

	(void)clock_gettime((clockid_t)(~(uint32_t)pid << 3 | 2), &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct probe_account
account_of(const struct probe_watch *w, uint32_t slot, int64_t credit_ns)
{
	return (struct probe_account){
		.was = count_calls(w, slot),
		.looked_ns = clock_mono_ns(),
		.used_ns = used_by(w->targets[slot].of.pid),
		.credit_ns = credit_ns,
	};
}

void
probe_begin(struct probe_watch *w, uint32_t slot, int64_t credit_ns)
{
	w->targets[slot].account = account_of(w, slot, credit_ns);
}

/* Returns the credit that a process earned between two looks by its CPU
 * time. */
static int64_t
earned(const struct probe_watch *w, const struct probe_look *look)
{
	int64_t least_ns = look->ns * w->least / 1000;

	return (look->own_ns > least_ns ? look->own_ns : least_ns) * w->budget /
	       1000;
}

struct probe_look
probe_look(struct probe_watch *w, uint32_t slot)
{
	struct probe_account *a = &w->targets[slot].account;
	struct probe_account is = account_of(w, slot, a->credit_ns);
	uint64_t calls = is.was.calls - a->was.calls;
	uint64_t costly = is.was.costly - a->was.costly;
	uint64_t costly_ns = PROBE_SAMPLE_NS +
	                     (w->returns ? w->call.usual_ns : 0);
	struct probe_look look = {
		.ns = is.looked_ns - a->looked_ns,
		.cost_ns = (int64_t)(calls * w->call.usual_ns +
	                             costly * costly_ns),
		.used_ns = is.used_ns - a->used_ns,
		.calls = calls,
		.bytes = is.was.bytes - a->was.bytes,
		.costly = costly,
	};
	int64_t got_ns;
	double earns;

	look.own_ns = look.used_ns - (int64_t)(calls * w->call.least_ns);
	if (look.own_ns < look.used_ns / PROBE_OWN_PART)
		look.own_ns = look.used_ns / PROBE_OWN_PART;
	got_ns = earned(w, &look);
	earns = (double)got_ns / (double)(look.ns > 0 ? look.ns : 1);
	is.credit_ns += got_ns - look.cost_ns;
	if (is.credit_ns > PROBE_CREDIT_NS)
		is.credit_ns = PROBE_CREDIT_NS;
	if (is.credit_ns < -PROBE_CREDIT_NS)
		is.credit_ns = -PROBE_CREDIT_NS;
	/* A process gets less done while it is watched. */
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

/* --- links ---------------------------------------------------------------- */

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
probe_watch_link(const struct probe_watch *w, uint32_t slot, uint64_t bits,
                 enum probe_link_type type, int prog_fd)
{
	const struct probe_target *t = &w->targets[slot];
	uint64_t offsets[ALLOCS_MAX_PLACES], cookies[ALLOCS_MAX_PLACES];
	uint64_t counters[ALLOCS_MAX_PLACES];
	struct probe_link link = {
		.type = type,
		.prog_fd = prog_fd,
		.locks_fd = w->locks_fd,
		.file = t->file,
		.pid = t->of.pid,
		.offsets = offsets,
		.cookies = cookies,
		.counters = counters,
	};

	for (uint32_t i = 0; i < t->of.n; i++) {
		const struct allocs_place *at = &t->of.places[i];

		if (!(bits >> i & 1))
			continue;
		offsets[link.n] = at->offset;
		counters[link.n] = at->counter;
		cookies[link.n++] = at->is_static ? ALLOCS_STATIC(slot, i)
		                                  : cookie_of(at, slot);
	}
	return link.n ? probe_link(&link) : -ENOENT;
}

static void
unlink_one(const struct probe_watch *w, int *link)
{
	if (*link < 0)
		return;
	locks_wait(w->locks_fd);
	close_ptr(link);
}

void
probe_unlink(const struct probe_watch *w, struct probe_target *t)
{
	unlink_one(w, &t->links[0]);
	unlink_one(w, &t->links[1]);
}

/* --- pages ---------------------------------------------------------------- */

/* An instruction may extend into the next page. */
static size_t
two_pages(void)
{
	return 2 * (size_t)getpagesize();
}

/* Reads the pages at an offset of a process's file, and locks them as far as
 * RLIMIT_MEMLOCK allows. */
static void *
hold_page(const struct probe_target *t, uint64_t offset)
{
	off_t at = (off_t)(offset - offset % (size_t)getpagesize());
	int flags = MAP_SHARED | MAP_POPULATE;
	void *p = mmap(NULL, two_pages(), PROT_READ, flags | MAP_LOCKED,
	               t->file, at);

	if (p == MAP_FAILED)
		p = mmap(NULL, two_pages(), PROT_READ, flags, t->file, at);
	return p == MAP_FAILED ? NULL : p;
}

static void
hold_pages(struct probe_target *t)
{
	for (uint32_t i = 0; i < t->of.n; i++) {
		const struct allocs_place *of = &t->of.places[i];

		t->pages[2 * i] = hold_page(t, of->offset);
		if (of->counter)
			t->pages[2 * i + 1] = hold_page(t, of->counter);
	}
}

/* Gives the BPF programs the arguments of static probes. */
static void
set_arguments(const struct probe_watch *w, uint32_t slot)
{
	const struct allocs_of *of = &w->targets[slot].of;

	for (uint32_t i = 0; i < of->n; i++) {
		uint32_t at = slot * ALLOCS_MOST_STATIC + i;

		if (of->places[i].is_static)
			(void)bpf_map_update_elem(w->arguments_fd, &at,
			                          &of->places[i].sampled,
			                          BPF_ANY);
	}
}

static void
release_pages(struct probe_target *t)
{
	for (uint32_t i = 0; i < ARRAY_LEN(t->pages); i++)
		if (t->pages[i])
			munmap(t->pages[i], two_pages());
}

void
probe_forget(const struct probe_watch *w, struct probe_target *t)
{
	probe_unlink(w, t);
	release_pages(t);
	close_ptr(&t->file);
	*t = (struct probe_target){0};
}

/* --- messages ------------------------------------------------------------- */

/* Finds a slot of the group with most slots, if those are more than this group
 * would have with one more; preferably a slot that waits for probes. Returns
 * EMIT_SLOTS if there is none. */
static uint32_t
slot_of_many(const struct probe_watch *w, uint32_t group)
{
	uint32_t has[ALLOCS_GROUPS] = {0}, most = group, found = EMIT_SLOTS;
	bool waits = false;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		has[w->targets[i].of.group]++;
	for (uint32_t i = 0; i < ALLOCS_GROUPS; i++)
		if (has[i] > has[most])
			most = i;
	if (has[most] <= has[group] + 1)
		return EMIT_SLOTS;
	for (uint32_t i = 0; i < EMIT_SLOTS && !waits; i++) {
		if (w->targets[i].of.group != most)
			continue;
		waits = w->targets[i].links[0] < 0;
		found = i;
	}
	return found;
}

/* Finds an unused slot, or else frees that of a process that has ended, or one
 * of a larger group. Returns EMIT_SLOTS if there is none. */
static uint32_t
slot_for(struct probe_watch *w, const struct probe_watcher *by, uint32_t group)
{
	uint32_t found = EMIT_SLOTS;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		if (!w->targets[i].of.pid)
			return i;
		if (by->is_spare && by->is_spare(by->arg, i))
			found = i;
	}
	if (found == EMIT_SLOTS)
		found = slot_of_many(w, group);
	if (found < EMIT_SLOTS)
		by->forget(by->arg, found);
	return found;
}

/* A new group starts as if it had used as much time for links as the group
 * that used least. */
static void
begin_group(struct probe_watch *w, uint32_t group)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		const struct allocs_of *of = &w->targets[i].of;

		if (of->pid && of->group == group)
			return;
		if (of->pid && w->links_of_ns[of->group] < least)
			least = w->links_of_ns[of->group];
	}
	w->links_of_ns[group] = least == INT64_MAX ? 0 : least;
}

/* Begins to watch, and takes ownership of the file, if there is a free slot. */
static void
begin(struct probe_watch *w, const struct probe_watcher *by,
      const struct allocs_of *of, int *file)
{
	uint32_t slot = slot_for(w, by, of->group);

	if (slot == EMIT_SLOTS)
		return;
	begin_group(w, of->group);
	w->targets[slot] = (struct probe_target){
		.of = *of,
		.file = TAKE_FD(*file),
		.links = {-1, -1},
		.next_ns = clock_mono_ns() + (of->late ? ALLOCS_LATE_NS : 0),
	};
	hold_pages(&w->targets[slot]);
	set_arguments(w, slot);
	probe_begin(w, slot, 0);
}

/* True for a valid message: all of its places are functions, or all are static
 * probes. */
static bool
is_sound(const struct allocs_of *m)
{
	if (m->pid <= 0 || m->group >= ALLOCS_GROUPS ||
	    (m->n > ALLOCS_MOST_STATIC && m->places[0].is_static))
		return false;
	for (uint32_t i = 1; i < m->n; i++)
		if (m->places[i].is_static != m->places[0].is_static)
			return false;
	return true;
}

/* Handles a message; false when the other end is closed. */
static bool
take(struct probe_watch *w, const struct probe_watcher *by, int socket)
{
	struct allocs_of m = {0};
	CLEANUP_FD int file = -1;
	size_t nfds = 1;
	ssize_t got = msg_recv(socket, &m, sizeof(m), &file, &nfds);

	if (got <= 0) {
		file = -1;
		return got == -EMSGSIZE;
	}
	if (m.n > ALLOCS_MAX_PLACES || (size_t)got != allocs_of_bytes(m.n) ||
	    !is_sound(&m))
		return true;
	if (m.n && file >= 0)
		begin(w, by, &m, &file);
	for (uint32_t i = 0; i < EMIT_SLOTS && !m.n; i++)
		if (w->targets[i].of.pid == m.pid)
			by->forget(by->arg, i);
	return true;
}

/* --- turns ---------------------------------------------------------------- */

/* Inserting and removing probes may take LINKS_NS of CPU time at once, and
 * 1 / LINKS_PART of a CPU in the long run. */
#define LINKS_NS   (200 * NS_PER_MS)
#define LINKS_PART 5

/* Credits the CPU time that links may take. Returns the time from which some is
 * left. */
static int64_t
links_from_ns(struct probe_watch *w)
{
	int64_t now = clock_mono_ns();

	w->links_ns += (now - w->links_at_ns) / LINKS_PART;
	if (w->links_ns > LINKS_NS)
		w->links_ns = LINKS_NS;
	w->links_at_ns = now;
	return w->links_ns > 0 ? now : now - w->links_ns * LINKS_PART;
}

/* Looks at a process. Apart from links, a look costs next to nothing. */
static void
look_once(struct probe_watch *w, const struct probe_watcher *by, uint32_t slot)
{
	uint32_t group = w->targets[slot].of.group;
	int64_t began = clock_cpu_ns(), took;

	by->look(by->arg, slot);
	took = clock_cpu_ns() - began;
	w->links_ns -= took;
	w->links_of_ns[group] += took;
}

/* True for a process that has no probes, and may get some at its next look. */
static bool
waits(const struct probe_target *t)
{
	return t->of.pid && t->links[0] < 0 && t->next_ns != INT64_MAX;
}

/* Returns whose turn it is to get probes: of the processes that are due, the
 * first of the group that has taken least; or EMIT_SLOTS. */
static uint32_t
next_to_link(const struct probe_watch *w)
{
	int64_t now = clock_mono_ns();
	uint32_t found = EMIT_SLOTS;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		const struct probe_target *t = &w->targets[i], *best;

		if (!waits(t) || t->next_ns > now)
			continue;
		best = found < EMIT_SLOTS ? &w->targets[found] : NULL;
		if (!best ||
		    w->links_of_ns[t->of.group] <
		            w->links_of_ns[best->of.group] ||
		    (t->of.group == best->of.group &&
		     t->next_ns < best->next_ns))
			found = i;
	}
	return found;
}

/* Returns the time of the next look; INT64_MAX: there is none. */
static int64_t
next_look_ns(const struct probe_watch *w, int64_t links_from)
{
	int64_t next = INT64_MAX;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		const struct probe_target *t = &w->targets[i];
		int64_t at = t->of.pid ? t->next_ns : INT64_MAX;

		if (waits(t) && at < links_from)
			at = links_from;
		if (at < next)
			next = at;
	}
	return next;
}

/* Takes the looks that are due, but only one that may insert probes: messages
 * are handled in between. Returns ms until the next look, or -1. */
static int
look(struct probe_watch *w, const struct probe_watcher *by)
{
	int64_t next, now;
	uint32_t slot;

	if (by->round)
		by->round(by->arg);
	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		if (w->targets[i].of.pid && !waits(&w->targets[i]) &&
		    w->targets[i].next_ns <= clock_mono_ns())
			look_once(w, by, i);
	slot = next_to_link(w);
	if (slot < EMIT_SLOTS && links_from_ns(w) <= clock_mono_ns())
		look_once(w, by, slot);
	next = next_look_ns(w, links_from_ns(w));
	if (next == INT64_MAX)
		return -1;
	now = clock_mono_ns();
	return next <= now ? 0 : (int)((next - now) / NS_PER_MS) + 1;
}

static void
watch(struct probe_watch *w, const struct probe_watcher *by, int socket,
      int hold)
{
	struct pollfd fds[] = {{socket, POLLIN, 0}, {hold, 0, 0}};

	w->links_ns = LINKS_NS;
	w->links_at_ns = clock_mono_ns();
	for (;;) {
		int n, ms = look(w, by);

		while ((n = poll(fds, ARRAY_LEN(fds), ms)) > 0) {
			if (fds[1].revents || !take(w, by, socket))
				return;
			ms = 0;
		}
		if (n < 0 && errno != EINTR)
			return;
	}
}

void
probe_watch_run(struct probe_watch *w, const struct probe_watcher *by,
                int socket, int hold)
{
	watch(w, by, socket, hold);
	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		if (w->targets[i].of.pid)
			probe_unlink(w, &w->targets[i]);
	unlink_one(w, &w->own_link);
}
