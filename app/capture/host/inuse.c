#include "capture/inuse.h"

#include "base/clock.h"
#include "base/shortage.h"
#include "capture/host/inuse.skel.h"
#include "locks.h"
#include "probe_watch.h"
#include "program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

DEFINE_CLEANUP(struct inuse_bpf *, inuse_bpf__destroy)

void
inuse_close(struct inuse *u)
{
	close_ptr(&u->slots_fd);
	close_ptr(&u->sets_fd);
	close_ptr(&u->outputs_fd);
	close_ptr(&u->interps_fd);
	close_ptr(&u->calls_fd);
	close_ptr(&u->arguments_fd);
	close_ptr(&u->hold_fd);
	close_ptr(&u->free_fd);
	close_ptr(&u->sampled_fd);
	close_ptr(&u->released_fd);
	close_ptr(&u->locks_fd);
}

static int
keep_all(const struct inuse_bpf *bpf, struct inuse *out)
{
	struct inuse u = {
		.slots_fd = program_keep(bpf_map__fd(bpf->maps.slots)),
		.sets_fd = program_keep(bpf_map__fd(bpf->maps.sets)),
		.outputs_fd = program_keep(bpf_map__fd(bpf->maps.outputs)),
		.interps_fd = program_keep(bpf_map__fd(bpf->maps.interps)),
		.calls_fd = program_keep(bpf_map__fd(bpf->maps.calls)),
		.hold_fd =
			program_keep(bpf_program__fd(bpf->progs.stoker_hold)),
		.free_fd =
			program_keep(bpf_program__fd(bpf->progs.stoker_free)),
		.arguments_fd = program_keep(bpf_map__fd(bpf->maps.arguments)),
		.sampled_fd = program_keep(
			bpf_program__fd(bpf->progs.stoker_sampled)),
		.released_fd = program_keep(
			bpf_program__fd(bpf->progs.stoker_released)),
		.locks_fd = -1,
	};
	int rc = 0;

	if (u.slots_fd < 0 || u.sets_fd < 0 || u.outputs_fd < 0 ||
	    u.interps_fd < 0 || u.calls_fd < 0 || u.hold_fd < 0 ||
	    u.free_fd < 0 || u.arguments_fd < 0 || u.sampled_fd < 0 ||
	    u.released_fd < 0)
		rc = -EMFILE;
	rc = rc ?: locks_open(&u.locks_fd);
	if (rc)
		inuse_close(&u);
	else
		*out = u;
	return rc;
}

/* Loads the programs. A kernel that lacks the functions they call may fail with
 * any of several errors. */
static int
load(struct inuse_bpf *bpf)
{
	struct bpf_program *calls[] = {bpf->progs.stoker_free,
	                               bpf->progs.stoker_sampled,
	                               bpf->progs.stoker_released};
	int rc = bpf_program__set_expected_attach_type(
		bpf->progs.stoker_hold,
		(enum bpf_attach_type)PROBE_CALLS_AND_RETURNS);

	for (size_t i = 0; i < ARRAY_LEN(calls) && !rc; i++)
		rc = bpf_program__set_expected_attach_type(
			calls[i], (enum bpf_attach_type)PROBE_CALLS);
	program_kernel(bpf->rodata->kernel_has);
	if (!rc)
		rc = inuse_bpf__load(bpf);
	if (rc)
		return rc == -EPERM || is_shortage(rc) ? rc : -EOPNOTSUPP;
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

/* --- watching ------------------------------------------------------------- */

#define LOOK_NS (100 * NS_PER_MS)
/* Bytes per sample. They are chosen to give several hundred samples a second,
 * or fewer when rows become scarce; each is a power of two, so that the mean of
 * a process rarely changes. */
#define FIRST_MEAN UINT64_C(65536)
#define LEAST_MEAN UINT64_C(1024)
#define MOST_MEAN  (UINT64_C(1) << 31)
#define SAMPLES    600 /* a second */
#define MANY_ROWS  (INUSE_ROWS / 4)

/* A slot's process has a file until it is watched, links while it is watched,
 * and neither afterwards. */
struct holder {
	const struct inuse *inuse;
	struct inuse_slot *slots;
	struct inuse_set *sets;
	struct probe_watch watch;
	uint32_t nrows; /* in use at the last look */
};

/* Returns when to look at a process again. All processes share the same ticks,
 * since rows are counted before each round. */
static int64_t
next_look(const struct probe_target *t)
{
	return (t->account.looked_ns + LOOK_NS + LOOK_NS / 2) / LOOK_NS *
	       LOOK_NS;
}

static void
stop(struct holder *h, uint32_t slot, enum inuse_state state)
{
	struct probe_target *t = &h->watch.targets[slot];

	__atomic_store_n(&h->slots[slot].state, (uint32_t)state,
	                 __ATOMIC_RELEASE);
	probe_unlink(&h->watch, t);
	close_ptr(&t->file);
	t->next_ns = INT64_MAX;
}

void
inuse_forget(struct inuse_set sets[static INUSE_SETS], uint32_t slot)
{
	for (uint32_t i = 0; i < INUSE_SETS; i++)
		for (uint32_t k = 0; k < INUSE_WAYS; k++)
			if (INUSE_SLOT(sets[i].rows[k].key) == slot)
				sets[i].rows[k].key = 0;
}

static void
forget(void *arg, uint32_t slot)
{
	struct holder *h = arg;

	stop(h, slot, INUSE_UNUSED);
	inuse_forget(h->sets, slot);
	probe_forget(&h->watch, &h->watch.targets[slot]);
}

/* Links a program to the functions that release memory, or to the others. */
static int
make_link(const struct holder *h, uint32_t slot, bool releases)
{
	const struct allocs_of *of = &h->watch.targets[slot].of;
	const struct inuse *u = h->inuse;
	bool is_static = of->places[0].is_static;
	enum probe_link_type type = PROBE_CALLS;
	uint64_t bits = 0;
	int prog;

	for (uint32_t i = 0; i < of->n; i++)
		if ((of->places[i].releases != 0) == releases)
			bits |= UINT64_C(1) << i;
	if (is_static)
		prog = releases ? u->released_fd : u->sampled_fd;
	else
		prog = releases ? u->free_fd : u->hold_fd;
	if (!is_static && !releases)
		type = PROBE_CALLS_AND_RETURNS;
	return probe_watch_link(&h->watch, slot, bits, type, prog);
}

/* Removes what was inserted before a process locked its memory, and tries again
 * in a second. */
static void
watch_later(struct holder *h, uint32_t slot)
{
	struct probe_target *t = &h->watch.targets[slot];

	__atomic_store_n(&h->slots[slot].state, INUSE_UNUSED, __ATOMIC_RELEASE);
	probe_unlink(&h->watch, t);
	t->next_ns = clock_mono_ns() + NS_PER_S;
	if (kill(t->of.pid, 0) && errno == ESRCH)
		stop(h, slot, INUSE_ENDED);
}

/* Probes the releases first, so that no sample's release is missed. The account
 * starts with credit: a process that starts, or rereads its files, allocates
 * much for a moment. */
static void
watch(struct holder *h, uint32_t slot)
{
	struct probe_target *t = &h->watch.targets[slot];
	struct inuse_slot *s = &h->slots[slot];

	t->links[0] = make_link(h, slot, true);
	if (t->links[0] == -EBUSY) {
		watch_later(h, slot);
		return;
	}
	*s = (struct inuse_slot){.mean = FIRST_MEAN, .pid = t->of.pid};
	probe_begin(&h->watch, slot, PROBE_CREDIT_NS);
	t->next_ns = next_look(t);
	__atomic_store_n(&s->state, INUSE_WATCHED, __ATOMIC_RELEASE);
	if (t->links[0] >= 0)
		t->links[1] = make_link(h, slot, false);
	if (t->links[1] == -EBUSY) {
		watch_later(h, slot);
		return;
	}
	if (t->links[1] < 0)
		stop(h, slot, INUSE_UNUSED);
	else
		__atomic_store_n(&s->began_ns, (uint64_t)clock_mono_ns(),
		                 __ATOMIC_RELEASE);
	close_ptr(&t->file);
}

static void
count_rows(void *arg)
{
	struct holder *h = arg;

	h->nrows = 0;
	for (uint32_t i = 0; i < INUSE_SETS; i++)
		for (uint32_t k = 0; k < INUSE_WAYS; k++)
			h->nrows += h->sets[i].rows[k].key != 0;
}

/* Returns the mean for a process that allocates bytes per second. Once a
 * quarter of the rows is in use, samples become rarer, so that the rest lasts.
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

/* Looks at what watching a process costs, and stops if that is too much. */
static void
look_on(struct holder *h, uint32_t slot)
{
	struct probe_target *t = &h->watch.targets[slot];
	struct inuse_slot *s = &h->slots[slot];
	struct probe_look look = probe_look(&h->watch, slot);

	if (kill(t->of.pid, 0) && errno == ESRCH) {
		stop(h, slot, INUSE_ENDED);
	} else if (t->account.credit_ns < 0) {
		s->cost = (uint64_t)(look.cost_ns * 1000 / look.ns);
		stop(h, slot, INUSE_COSTLY);
	} else {
		s->mean = mean_of(h, s->mean,
		                  (double)look.bytes * NS_PER_S /
		                          (double)look.ns);
		t->next_ns = next_look(t);
	}
}

static void
look_at(void *arg, uint32_t slot)
{
	struct holder *h = arg;

	if (h->watch.targets[slot].file >= 0)
		watch(h, slot);
	else
		look_on(h, slot);
}

static bool
is_spare(void *arg, uint32_t slot)
{
	const struct holder *h = arg;

	return h->slots[slot].state == INUSE_ENDED;
}

static void *
map(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void
inuse_run(const struct inuse *u, int socket, int hold, unsigned budget)
{
	static struct holder h;
	const struct probe_watcher by = {.look = look_at,
	                                 .forget = forget,
	                                 .round = count_rows,
	                                 .is_spare = is_spare,
	                                 .arg = &h};

	h.inuse = u;
	h.watch = (struct probe_watch){
		.calls_fd = u->calls_fd,
		.arguments_fd = u->arguments_fd,
		.locks_fd = u->locks_fd,
		.budget = budget,
		.least = 1000,
		.returns = true,
	};
	h.slots = map(u->slots_fd, INUSE_SLOTS_BYTES);
	h.sets = map(u->sets_fd, INUSE_SETS_BYTES);
	if (h.slots && h.sets && !probe_watch_init(&h.watch, u->free_fd))
		probe_watch_run(&h.watch, &by, socket, hold);
}
