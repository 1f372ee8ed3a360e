#include "capture/inuse.h"

#include "allocs_cookie.h"
#include "base/clock.h"
#include "base/msg.h"
#include "capture/allocs.h"
#include "capture/host/inuse.skel.h"
#include "probe_link.h"
#include "program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

DEFINE_CLEANUP(struct inuse_bpf *, inuse_bpf__destroy)

void
inuse_close(struct inuse *u)
{
	close_ptr(&u->slots_fd);
	close_ptr(&u->sets_fd);
	close_ptr(&u->outputs_fd);
	close_ptr(&u->pythons_fd);
	close_ptr(&u->calls_fd);
	close_ptr(&u->hold_fd);
	close_ptr(&u->free_fd);
}

static int
keep_all(const struct inuse_bpf *bpf, struct inuse *out)
{
	struct inuse u = {
		.slots_fd = program_keep(bpf_map__fd(bpf->maps.slots)),
		.sets_fd = program_keep(bpf_map__fd(bpf->maps.sets)),
		.outputs_fd = program_keep(bpf_map__fd(bpf->maps.outputs)),
		.pythons_fd = program_keep(bpf_map__fd(bpf->maps.pythons)),
		.calls_fd = program_keep(bpf_map__fd(bpf->maps.calls)),
		.hold_fd =
			program_keep(bpf_program__fd(bpf->progs.stoker_hold)),
		.free_fd =
			program_keep(bpf_program__fd(bpf->progs.stoker_free)),
	};

	if (u.slots_fd < 0 || u.sets_fd < 0 || u.outputs_fd < 0 ||
	    u.pythons_fd < 0 || u.calls_fd < 0 || u.hold_fd < 0 ||
	    u.free_fd < 0) {
		inuse_close(&u);
		return -EMFILE;
	}
	*out = u;
	return 0;
}

/* Loads the programs; a kernel without the functions that they call refuses
 * them with one of many errors. */
static int
load(struct inuse_bpf *bpf)
{
	int rc = bpf_program__set_expected_attach_type(
		bpf->progs.stoker_hold,
		(enum bpf_attach_type)PROBE_CALLS_AND_RETURNS);

	if (!rc)
		rc = bpf_program__set_expected_attach_type(
			bpf->progs.stoker_free,
			(enum bpf_attach_type)PROBE_CALLS);
	if (!rc)
		rc = inuse_bpf__load(bpf);
	if (rc)
		return rc == -EPERM || rc == -ENOMEM ? rc : -EOPNOTSUPP;
	return probe_link_try(PROBE_CALLS_AND_RETURNS,
	                      bpf_program__fd(bpf->progs.stoker_hold));
}

int
inuse_open(struct inuse *out)
{
	CLEANUP(inuse_bpf__destroy_ptr) struct inuse_bpf *bpf = NULL;
	int rc;

	libbpf_set_print(NULL);
	bpf = inuse_bpf__open();
	rc = bpf ? load(bpf) : -errno;
	return rc ? rc : keep_all(bpf, out);
}

/* --- watching -------------------------------------------------------------
 */

#define LOOK_NS (100 * NS_PER_MS)
/* A process may cost this much more than its budget: one that begins, or
 * reads its files anew, allocates much for a moment. */
#define CREDIT_NS (100 * NS_PER_MS)
/* Bytes for each sample: such that there are some hundred samples a second, and
 * so many more when rows become rare. A power of two, since neighbours of
 * one mean are then alike. */
#define FIRST_MEAN UINT64_C(65536)
#define LEAST_MEAN UINT64_C(1024)
#define MOST_MEAN  (UINT64_C(1) << 31)
#define SAMPLES    600 /* a second */
#define MANY_ROWS  (INUSE_ROWS / 4)
/* One that has just begun may end soon. */
#define LATE_NS (200 * NS_PER_MS)

/* Calls that are made to measure what they cost count for the last slot. */
#define NOBODY ALLOCS_COOKIE(EMIT_SLOTS - 1, 7, 0, 0)

struct watched {
	int32_t pid; /* 0: the slot is unused */
	int links[2];
	int file; /* not watched yet: its functions are in this file; or -1 */
	struct allocs_of of;
	struct emit_calls was; /* when it was looked at last */
	int64_t looked_ns, credit_ns;
};

#define NOT_WATCHED                           \
	{                                     \
		.links = {-1, -1}, .file = -1 \
	}

struct holder {
	const struct inuse *inuse;
	struct inuse_slot *slots;
	struct inuse_set *sets;
	struct emit_calls *percpu; /* room for one value of each CPU */
	unsigned budget, ncpus;
	uint32_t call_ns; /* what a call costs; 0: not yet known */
	uint32_t nrows;   /* in use at the last look */
	struct watched all[EMIT_SLOTS];
};

static struct emit_calls
count_calls(const struct holder *h, uint32_t slot)
{
	struct emit_calls sum = {0};

	if (bpf_map_lookup_elem(h->inuse->calls_fd, &slot, h->percpu))
		return sum;
	for (unsigned i = 0; i < h->ncpus; i++) {
		sum.calls += h->percpu[i].calls;
		sum.bytes += h->percpu[i].bytes;
	}
	return sum;
}

/* Links the program to the functions that release memory, or to the others. */
static int
make_link(const struct holder *h, uint32_t slot, bool releases)
{
	const struct watched *w = &h->all[slot];
	uint64_t offsets[ALLOCS_MAX_PLACES], cookies[ALLOCS_MAX_PLACES];
	struct probe_link link = {
		.type = releases ? PROBE_CALLS : PROBE_CALLS_AND_RETURNS,
		.prog_fd = releases ? h->inuse->free_fd : h->inuse->hold_fd,
		.file = w->file,
		.pid = w->pid,
		.offsets = offsets,
		.cookies = cookies,
	};

	for (uint32_t i = 0; i < w->of.n; i++) {
		if (w->of.places[i].releases != releases)
			continue;
		offsets[link.n] = w->of.places[i].offset;
		cookies[link.n++] = allocs_cookie(&w->of.places[i], slot);
	}
	return link.n ? probe_link(&link) : -ENOENT;
}

static void
stop(struct holder *h, uint32_t slot, enum inuse_state state)
{
	__atomic_store_n(&h->slots[slot].state, (uint32_t)state,
	                 __ATOMIC_RELEASE);
	close_ptr(&h->all[slot].links[0]);
	close_ptr(&h->all[slot].links[1]);
	close_ptr(&h->all[slot].file);
}

static void
forget(struct holder *h, uint32_t slot)
{
	stop(h, slot, INUSE_UNUSED);
	for (uint32_t i = 0; i < INUSE_SETS; i++)
		for (uint32_t k = 0; k < INUSE_WAYS; k++)
			if (h->sets[i].rows[k].key &&
			    INUSE_SLOT(h->sets[i].rows[k].key) == slot)
				h->sets[i].rows[k].key = 0;
	h->all[slot] = (struct watched)NOT_WATCHED;
}

/* Watches releases first: what is allocated meanwhile is not known. */
static void
watch(struct holder *h, uint32_t slot)
{
	struct watched *w = &h->all[slot];
	struct inuse_slot *s = &h->slots[slot];

	w->links[0] = make_link(h, slot, true);
	*s = (struct inuse_slot){.mean = FIRST_MEAN, .pid = w->pid};
	w->was = count_calls(h, slot);
	w->looked_ns = clock_mono_ns();
	w->credit_ns = CREDIT_NS;
	__atomic_store_n(&s->state, INUSE_WATCHED, __ATOMIC_RELEASE);
	if (w->links[0] >= 0)
		w->links[1] = make_link(h, slot, false);
	if (w->links[1] < 0)
		stop(h, slot, INUSE_UNUSED);
	else
		__atomic_store_n(&s->began_ns, (uint64_t)clock_mono_ns(),
		                 __ATOMIC_RELEASE);
	close_ptr(&w->file);
}

static void
count_rows(struct holder *h)
{
	h->nrows = 0;
	for (uint32_t i = 0; i < INUSE_SETS; i++)
		for (uint32_t k = 0; k < INUSE_WAYS; k++)
			h->nrows += h->sets[i].rows[k].key != 0;
}

/* Returns the mean for a process that allocates so many bytes a second. Where a
 * quarter of the rows is in use samples become rarer, so that the rest lasts.
 */
static uint64_t
mean_of(const struct holder *h, uint64_t mean, double bytes)
{
	uint64_t want = LEAST_MEAN;

	while ((double)want * SAMPLES < bytes && want < MOST_MEAN)
		want *= 2;
	for (uint32_t n = h->nrows; n > MANY_ROWS && want < MOST_MEAN;
	     n -= MANY_ROWS / 4)
		want *= 2;
	if (want < mean / 2)
		want = mean / 2;
	return want < LEAST_MEAN ? LEAST_MEAN : want;
}

/* Looks at what a process costs; it is not watched any more when that is too
 * much. */
static void
look_at(struct holder *h, uint32_t slot, int64_t now_ns)
{
	struct watched *w = &h->all[slot];
	struct emit_calls is = count_calls(h, slot);
	int64_t ns = now_ns - w->looked_ns, cost;

	if (!h->call_ns) /* later than the first is watched */
		h->call_ns = probe_link_cost(h->inuse->free_fd, NOBODY);
	cost = (int64_t)(is.calls - w->was.calls) * h->call_ns;

	if (kill(w->pid, 0) && errno == ESRCH) {
		stop(h, slot, INUSE_ENDED);
		return;
	}
	w->credit_ns += ns / 1000 * h->budget - cost;
	if (w->credit_ns > CREDIT_NS)
		w->credit_ns = CREDIT_NS;
	if (w->credit_ns < 0) {
		h->slots[slot].cost = (uint64_t)(cost * 1000 / ns);
		stop(h, slot, INUSE_COSTLY);
		return;
	}
	h->slots[slot].mean = mean_of(h, h->slots[slot].mean,
	                              (double)(is.bytes - w->was.bytes) *
	                                      NS_PER_S / (double)ns);
	w->was = is;
	w->looked_ns = now_ns;
}

static void
look_at_all(struct holder *h)
{
	int64_t now_ns = clock_mono_ns();

	count_rows(h);
	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		const struct watched *w = &h->all[i];

		if (w->file >= 0 && now_ns >= w->looked_ns)
			watch(h, i);
		else if (w->links[1] >= 0 && now_ns >= w->looked_ns + LOOK_NS)
			look_at(h, i, now_ns);
	}
}

/* Finds a slot: one that is unused, or else one of a process that ended. */
static uint32_t
slot_for(struct holder *h)
{
	uint32_t found = EMIT_SLOTS;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		if (!h->all[i].pid)
			return i;
		if (h->slots[i].state == INUSE_ENDED)
			found = i;
	}
	if (found < EMIT_SLOTS)
		forget(h, found);
	return found;
}

/* Takes a message; false when nobody sends any more. */
static bool
take(struct holder *h, int socket)
{
	struct allocs_of m;
	CLEANUP_FD int file = -1;
	size_t nfds = 1;
	ssize_t got = msg_recv(socket, &m, sizeof(m), &file, &nfds);
	uint32_t slot;

	if (got <= 0) {
		file = -1;
		return got == -EMSGSIZE;
	}
	if (got != sizeof(m) || m.n > ALLOCS_MAX_PLACES || m.pid <= 0)
		return true;
	for (uint32_t i = 0; i < EMIT_SLOTS && !m.n; i++)
		if (h->all[i].pid == m.pid)
			forget(h, i);
	slot = m.n && file >= 0 ? slot_for(h) : EMIT_SLOTS;
	if (slot == EMIT_SLOTS)
		return true;
	h->all[slot] = (struct watched)NOT_WATCHED;
	h->all[slot].pid = m.pid;
	h->all[slot].of = m;
	h->all[slot].file = TAKE_FD(file);
	h->all[slot].looked_ns = clock_mono_ns() + (m.late ? LATE_NS : 0);
	return true;
}

static void *
map(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int
holder_init(struct holder *h, const struct inuse *u, unsigned budget)
{
	int ncpus = libbpf_num_possible_cpus();

	h->inuse = u;
	h->budget = budget;
	h->ncpus = ncpus > 0 ? (unsigned)ncpus : 1;
	h->percpu = calloc(h->ncpus, sizeof(*h->percpu));
	h->slots = map(u->slots_fd, INUSE_SLOTS_BYTES);
	h->sets = map(u->sets_fd, INUSE_SETS_BYTES);
	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		h->all[i] = (struct watched)NOT_WATCHED;
	return h->percpu && h->slots && h->sets ? 0 : -ENOMEM;
}

void
inuse_run(const struct inuse *u, int socket, int hold, unsigned budget)
{
	static struct holder h;
	struct pollfd fds[] = {{socket, POLLIN, 0}, {hold, 0, 0}};

	if (holder_init(&h, u, budget))
		return;
	for (;;) {
		if (poll(fds, ARRAY_LEN(fds), (int)(LOOK_NS / NS_PER_MS)) < 0 &&
		    errno != EINTR)
			return;
		if (fds[1].revents || (fds[0].revents && !take(&h, socket)))
			return;
		look_at_all(&h);
	}
}
