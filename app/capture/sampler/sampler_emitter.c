/*
 * Samples of BPF programs: which processes are followed, how much each sample
 * stands for, and how many are taken.
 */
#include "base/clock.h"
#include "base/shortage.h"
#include "capture/event.h"
#include "sampler_private.h"

#include <errno.h>
#include <sys/mman.h>

/* Each sample costs the target some us, so these cost it 0.1 % of a CPU. */
#define MOST_SAMPLES  400 /* per second, of a class */
#define FEW_SAMPLES   100
#define LEAST_MEAN_NS UINT64_C(100000)
#define FIRST_MEAN_NS UINT64_C(1000000)
/* The programs compare 32 bits. */
#define MOST_MEAN_NS UINT64_C(4000000000)

static size_t
map_bytes(uint32_t nbits)
{
	return sizeof(struct emit_control) + nbits / 8;
}

static void
unmap(const void *p, size_t bytes)
{
	if (p)
		munmap((void *)(uintptr_t)p, bytes);
}

void
emitter_free(struct sampler_emitter *e)
{
	if (!e)
		return;
	if (e->control)
		munmap(e->control, map_bytes(e->nbits));
	unmap(e->allocs, EMIT_SLOTS * sizeof(*e->allocs));
	unmap(e->slots, INUSE_SLOTS_BYTES);
	unmap(e->sets, INUSE_SETS_BYTES);
	interp_unmap(&e->interp);
	close_ptr(&e->outputs_fd);
	for (int i = 0; i < WAITS_FDS; i++)
		close_ptr(&e->held[i]);
	for (uint32_t i = 0; i < e->nfaults; i++)
		close_ptr(&e->faults[i]);
	free(e->faults);
	free(e);
}

DEFINE_CLEANUP(struct sampler_emitter *, emitter_free)

static int
map_control(struct sampler_emitter *e, int fd)
{
	void *p = mmap(NULL, map_bytes(e->nbits), PROT_READ | PROT_WRITE,
	               MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	e->control = p;
	e->followed = (uint64_t *)(e->control + 1);
	for (int i = 0; i < EMIT_CLASSES; i++)
		e->control->mean[i] = FIRST_MEAN_NS;
	return 0;
}

/* Translates an error: kernels refuse programs with various errors; a missing
 * capability has a distinct one. */
static int
why_not(int rc)
{
	return !rc || rc == -EPERM || rc == -EACCES || is_shortage(rc)
	               ? rc
	               : -EPROTONOSUPPORT;
}

static int
take_waits(struct sampler_emitter *e, uint32_t nbits, int *fds, size_t nfds)
{
	if (nfds != WAITS_FDS)
		return -EBADMSG;
	e->nbits = nbits;
	e->outputs_fd = TAKE_FD(fds[WAITS_OUTPUTS]);
	interp_map(&e->interp, fds[WAITS_INTERPS]);
	for (int i = WAITS_FAULTS; i < WAITS_FDS; i++)
		e->held[i] = TAKE_FD(fds[i]);
	return map_control(e, fds[WAITS_CONTROL]);
}

static int
map_read(int fd, size_t bytes, const void *out)
{
	void *p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*(void **)(uintptr_t)out = p;
	return 0;
}

/* Takes the descriptors of the programs for allocations: the one that holds
 * them, the outputs, the threads, and the processes; for memory in use, also
 * the rows. */
static int
take_allocs(struct sampler_emitter *e, bool inuse, int *fds, size_t nfds)
{
	int rc;

	if (nfds != (inuse ? 5 : 4))
		return -EBADMSG;
	e->held[0] = TAKE_FD(fds[0]);
	e->outputs_fd = TAKE_FD(fds[1]);
	interp_map(&e->interp, fds[2]);
	rc = inuse ? map_read(fds[3], INUSE_SLOTS_BYTES, &e->slots)
	           : map_read(fds[3], EMIT_SLOTS * sizeof(*e->allocs),
	                      &e->allocs);
	if (!rc && inuse)
		rc = map_read(fds[4], INUSE_SETS_BYTES, &e->sets);
	return rc;
}

static struct sampler_emitter *
emitter_new(void)
{
	struct sampler_emitter *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->outputs_fd = -1;
	for (int i = 0; i < WAITS_FDS; i++)
		e->held[i] = -1;
	e->since_ns = (uint64_t)clock_mono_ns();
	return e;
}

/* Opens the event for page faults on each CPU; a CPU that is offline has
 * none. */
static int
open_faults(struct sampler_emitter *e, const struct host *host, uint32_t ncpus)
{
	struct host_ask ask = {.op = HOST_FAULTS};
	struct host_reply reply;

	e->faults = calloc(ncpus, sizeof(*e->faults));
	for (; ask.cpu < ncpus && e->faults; ask.cpu++) {
		int fds[HOST_MAX_FDS] = {e->held[WAITS_FAULTS]};
		size_t nfds = 1;
		int rc = host->ask(host->arg, &ask, &reply, fds, &nfds);

		if (rc)
			return rc;
		if (nfds == 1)
			e->faults[e->nfaults++] = TAKE_FD(fds[0]);
		for (size_t i = 0; i < nfds; i++)
			close_ptr(&fds[i]);
	}
	return 0;
}

int
emitter_open(const struct host *host, const struct sampler_ask *of,
             struct sampler_emitter **out)
{
	const enum sampler_kind kind = of->kind;
	const bool inuse = kind == SAMPLER_INUSE;
	const bool allocs = kind == SAMPLER_ALLOCS || inuse;
	const struct host_ask ask = {.op = allocs ? HOST_ALLOCS : HOST_WAITS,
	                             .count = kind == SAMPLER_CALLS || inuse};
	CLEANUP(emitter_free_ptr) struct sampler_emitter *e = emitter_new();
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;
	int rc = e ? host->ask(host->arg, &ask, &reply, fds, &nfds) : -ENOMEM;

	if (!rc)
		rc = why_not(reply.error);
	if (!rc)
		rc = allocs ? take_allocs(e, inuse, fds, nfds)
		            : take_waits(e, reply.value, fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		close_ptr(&fds[i]);
	if (!rc && !allocs)
		rc = open_faults(e, host, of->ncpus);
	if (!rc)
		*out = TAKE(e);
	return rc;
}

int
emitter_event(const struct sampler_emitter *e, const struct host *host,
              uint32_t cpu, uint32_t stack_bytes, int *fd)
{
	const struct host_ask ask = {
		.op = HOST_OUTPUT, .cpu = cpu, .stack_bytes = stack_bytes};
	struct host_reply reply;
	int fds[HOST_MAX_FDS] = {e->outputs_fd};
	size_t nfds = 1;
	int rc = host->ask(host->arg, &ask, &reply, fds, &nfds);

	if (rc)
		return rc;
	if (!reply.error && nfds == 1) {
		*fd = fds[0];
		return 0;
	}
	for (size_t i = 0; i < nfds; i++)
		close_ptr(&fds[i]);
	return reply.error ? reply.error : -EBADMSG;
}

/* Sets a bit atomically, since the programs change the words at forks. */
void
emitter_follow(struct sampler_emitter *e, uint32_t pid, bool follow)
{
	const uint64_t bit = UINT64_C(1) << pid % 64;

	if (pid >= e->nbits)
		return;
	if (follow)
		__atomic_fetch_or(&e->followed[pid / 64], bit,
		                  __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&e->followed[pid / 64], ~bit,
		                   __ATOMIC_RELAXED);
}

/* Upper bound of what one sample stands for: half of the address space, since a
 * program may ask for any number of bytes. The sum over all rows
 * (inuse_layout.h) then fits into 63 bits. */
#define MOST_AMOUNT (UINT64_C(1) << 46)

static uint64_t
amount_of(double n)
{
	return n < (double)MOST_AMOUNT ? (uint64_t)n : MOST_AMOUNT;
}

/* An event that was kept by chance represents others of its size. */
void
emitter_weigh(struct sampler_emitter *e, struct record *r)
{
	const struct emit_event *of = r->sample.emitted;
	struct amount *a = &r->sample.amount;
	double others = of->size && of->mean > of->size
	                        ? (double)of->mean / (double)of->size
	                        : 1;
	bool transfer = wait_call(of->call)->bytes && of->result > 0;

	others *= (double)of->scale / EMIT_SCALE;
	a->value = amount_of(others * (double)of->size);
	a->events = amount_of(others * AMOUNT_EVENT);
	a->bytes = transfer ? amount_of(others * (double)of->result) : 0;
	/* The call has returned: this is a return address. */
	if (e->sets)
		r->sample.regs[EVENT_PC]--;
	if (of->class < EMIT_CLASSES)
		e->samples[of->class]++;
}

void
emitter_adapt(struct sampler_emitter *e, uint64_t now_ns)
{
	if (!e->control || now_ns - e->since_ns < (uint64_t)NS_PER_S)
		return;
	for (int i = 0; i < EMIT_CLASSES; i++) {
		uint64_t mean = e->control->mean[i];
		uint32_t n = e->samples[i];

		while (n > MOST_SAMPLES && mean * 2 <= MOST_MEAN_NS) {
			mean *= 2;
			n /= 2;
		}
		if (n && n < FEW_SAMPLES && mean / 2 >= LEAST_MEAN_NS)
			mean /= 2;
		__atomic_store_n(&e->control->mean[i], mean, __ATOMIC_RELAXED);
		e->samples[i] = 0;
	}
	e->since_ns = now_ns;
}
