#include "capture/allocs.h"

#include "allocs_cookie.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/msg.h"
#include "capture/host/allocs.skel.h"
#include "probe_link.h"
#include "program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

DEFINE_CLEANUP(struct allocs_bpf *, allocs_bpf__destroy)

void
allocs_close(struct allocs *a)
{
	close_ptr(&a->slots_fd);
	close_ptr(&a->outputs_fd);
	close_ptr(&a->pythons_fd);
	close_ptr(&a->calls_fd);
	close_ptr(&a->prog_fd);
}

static int
keep_all(const struct allocs_bpf *bpf, struct allocs *out)
{
	struct allocs a = {
		.slots_fd = program_keep(bpf_map__fd(bpf->maps.slots)),
		.outputs_fd = program_keep(bpf_map__fd(bpf->maps.outputs)),
		.pythons_fd = program_keep(bpf_map__fd(bpf->maps.pythons)),
		.calls_fd = program_keep(bpf_map__fd(bpf->maps.calls)),
		.prog_fd =
			program_keep(bpf_program__fd(bpf->progs.stoker_alloc)),
	};

	if (a.slots_fd < 0 || a.outputs_fd < 0 || a.pythons_fd < 0 ||
	    a.calls_fd < 0 || a.prog_fd < 0) {
		allocs_close(&a);
		return -EMFILE;
	}
	*out = a;
	return 0;
}

int
allocs_open(struct allocs *out)
{
	CLEANUP(allocs_bpf__destroy_ptr) struct allocs_bpf *bpf = NULL;
	int rc;

	libbpf_set_print(NULL);
	bpf = allocs_bpf__open();
	if (!bpf)
		return -errno;
	rc = bpf_program__set_expected_attach_type(
		bpf->progs.stoker_alloc, (enum bpf_attach_type)PROBE_CALLS);
	if (!rc)
		rc = allocs_bpf__load(bpf);
	if (!rc)
		rc = probe_link_try(PROBE_CALLS,
		                    bpf_program__fd(bpf->progs.stoker_alloc));
	return rc ? rc : keep_all(bpf, out);
}

uint64_t
allocs_cookie(const struct allocs_place *at, uint32_t slot)
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

/* --- watching -------------------------------------------------------------
 */

/* A process that has to be watched in parts is watched for ON_NS at a time.
 * Taking probes away lasts some 100 ms, but costs the process nothing. */
#define ON_NS (40 * NS_PER_MS)
#define LOOK_NS                                                       \
	(500 * NS_PER_MS) /* between looks, when watched all the time \
	                   */
/* One that has just begun may end soon. */
#define LATE_NS    (200 * NS_PER_MS)
#define MIN_OFF_NS (150 * NS_PER_MS)
#define MAX_OFF_NS (2 * NS_PER_S)
/* Bytes for each sample at first; later so many that there are some hundred
 * samples a second, or as many as a ring has room for while watched in parts.
 */
#define FIRST_MEAN UINT64_C(524288)
#define LEAST_MEAN UINT64_C(1024)
#define MOST_MEAN  UINT64_C(4000000000)
#define SAMPLES    200 /* a second */
#define SAMPLES_ON 60  /* in ON_NS */

/* Calls that are made to measure what they cost count for the last slot. */
#define NOBODY ALLOCS_COOKIE(EMIT_SLOTS - 1, 7, 0, 0)

struct watched {
	int32_t pid;    /* 0: the slot is unused */
	int file, link; /* link: -1 while it is not watched */
	uint32_t n;
	struct allocs_place places[ALLOCS_MAX_PLACES];
	int64_t began_ns; /* when the slot was first watched */
	int64_t on_ns;    /* when the link was made */
	int64_t next_ns;  /* when to look again */
	int64_t stood_ns; /* the time that samples so far stand for */
	uint64_t mean;
	double calls, bytes;   /* in a ns, while it is watched */
	struct emit_calls was; /* when the link was made, or looked at last */
};

struct prober {
	const struct allocs *allocs;
	struct emit_slot *slots;
	struct emit_calls *percpu; /* room for one value of each CPU */
	unsigned budget, ncpus;
	uint32_t call_ns; /* what a call costs; 0: not yet known */
	struct watched all[EMIT_SLOTS];
};

static struct emit_calls
count_calls(const struct prober *p, uint32_t slot)
{
	struct emit_calls sum = {0};

	if (bpf_map_lookup_elem(p->allocs->calls_fd, &slot, p->percpu))
		return sum;
	for (unsigned i = 0; i < p->ncpus; i++) {
		sum.calls += p->percpu[i].calls;
		sum.bytes += p->percpu[i].bytes;
	}
	return sum;
}

static int
make_link(const struct prober *p, const struct watched *w, uint32_t slot)
{
	uint64_t offsets[ALLOCS_MAX_PLACES], cookies[ALLOCS_MAX_PLACES];
	const struct probe_link link = {
		.type = PROBE_CALLS,
		.prog_fd = p->allocs->prog_fd,
		.file = w->file,
		.pid = w->pid,
		.n = w->n,
		.offsets = offsets,
		.cookies = cookies,
	};

	for (uint32_t i = 0; i < w->n; i++) {
		offsets[i] = w->places[i].offset;
		cookies[i] = allocs_cookie(&w->places[i], slot);
	}
	return probe_link(&link);
}

/* Tells in which proportion what comes now stands for more than itself: since
 * the slot was first watched, samples shall stand for all the time. */
static uint64_t
scale_now(const struct watched *w, int64_t now_ns)
{
	int64_t missing = now_ns - w->began_ns - w->stood_ns;

	return missing > 0 ? EMIT_SCALE + (uint64_t)missing * EMIT_SCALE /
	                                          (uint64_t)ON_NS
	                   : EMIT_SCALE;
}

static void
turn_on(struct prober *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];
	struct emit_slot *s = &p->slots[slot];
	uint64_t scale;

	w->link = make_link(p, w, slot);
	w->on_ns = clock_mono_ns();
	w->next_ns = w->on_ns + (w->link < 0 ? MAX_OFF_NS : ON_NS);
	if (w->link < 0)
		return;
	if (!w->began_ns)
		w->began_ns = w->on_ns;
	scale = scale_now(w, w->on_ns);
	s->mean = w->mean;
	w->was = count_calls(p, slot);
	__atomic_store_n(&s->scale, scale, __ATOMIC_RELEASE);
}

static void
turn_off(struct prober *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];

	if (w->link < 0)
		return;
	w->stood_ns += (int64_t)((uint64_t)(clock_mono_ns() - w->on_ns) *
	                         p->slots[slot].scale / EMIT_SCALE);
	__atomic_store_n(&p->slots[slot].scale, 0, __ATOMIC_RELEASE);
	close_ptr(&w->link);
}

static uint64_t
clamp_mean(double bytes)
{
	if (bytes < (double)LEAST_MEAN)
		return LEAST_MEAN;
	return bytes > (double)MOST_MEAN ? MOST_MEAN : (uint64_t)bytes;
}

/* Follows a rate at once when it rises, and by halves when it falls: a process
 * that waits for a CPU allocates nothing for a moment, and then as before. */
static void
follow(double *rate, uint64_t n, int64_t ns)
{
	double now = (double)n / (double)(ns > 0 ? ns : 1);

	*rate = now > *rate / 2 ? now : *rate / 2;
}

/* Decides whether a process can be watched on: how long it may not be. Sets the
 * mean for what comes next. */
static int64_t
pause_of(struct prober *p, uint32_t slot)
{
	struct emit_calls is = count_calls(p, slot);
	struct watched *w = &p->all[slot];
	int64_t on = clock_mono_ns() - w->on_ns;
	double share, off;

	follow(&w->calls, is.calls - w->was.calls, on);
	follow(&w->bytes, is.bytes - w->was.bytes, on);
	if (!p->call_ns) /* later than the first is watched */
		p->call_ns = probe_link_cost(p->allocs->prog_fd, NOBODY);
	share = w->calls * p->call_ns * 1000 / p->budget;
	if (share <= 1) {
		w->mean = clamp_mean(w->bytes * NS_PER_S / SAMPLES);
		return 0;
	}
	w->mean = clamp_mean(w->bytes * ON_NS / SAMPLES_ON);
	off = (double)on * (share - 1);
	return off < MIN_OFF_NS   ? MIN_OFF_NS
	       : off > MAX_OFF_NS ? MAX_OFF_NS
	                          : (int64_t)off;
}

static void
forget(struct prober *p, uint32_t slot)
{
	turn_off(p, slot);
	close_ptr(&p->all[slot].file);
	p->all[slot] = (struct watched){.file = -1, .link = -1};
}

/* Watched all the time, the scale goes back to one, since nothing is missing.
 */
static void
stay_on(struct prober *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];
	int64_t now = clock_mono_ns();

	w->stood_ns += (int64_t)((uint64_t)(now - w->on_ns) *
	                         p->slots[slot].scale / EMIT_SCALE);
	__atomic_store_n(&p->slots[slot].scale, EMIT_SCALE, __ATOMIC_RELEASE);
	p->slots[slot].mean = w->mean;
	w->on_ns = now;
	w->was = count_calls(p, slot);
	w->next_ns = now + LOOK_NS;
}

static void
look_at(struct prober *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];
	int64_t pause;

	if (kill(w->pid, 0) && errno == ESRCH) {
		forget(p, slot);
		return;
	}
	if (w->link < 0) {
		turn_on(p, slot);
		return;
	}
	pause = pause_of(p, slot);
	if (!pause) {
		stay_on(p, slot);
		return;
	}
	w->next_ns = clock_mono_ns() + pause;
	turn_off(p, slot);
}

/* Takes a message; false when nobody sends any more. */
static bool
take(struct prober *p, int socket)
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
	for (uint32_t i = 0; i < EMIT_SLOTS && !m.n; i++)
		if (p->all[i].pid == m.pid)
			forget(p, i);
	for (uint32_t i = 0; i < EMIT_SLOTS && m.n && file >= 0; i++) {
		struct watched *w = &p->all[i];

		if (w->pid)
			continue;
		w->pid = m.pid;
		w->file = TAKE_FD(file);
		w->n = m.n;
		w->mean = FIRST_MEAN;
		memcpy(w->places, m.places, sizeof(w->places));
		if (m.late)
			w->next_ns = clock_mono_ns() + LATE_NS;
		else
			turn_on(p, i);
	}
	return true;
}

static int
wait_ms(const struct prober *p)
{
	int64_t now = clock_mono_ns(), next = INT64_MAX;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		if (p->all[i].pid && p->all[i].next_ns < next)
			next = p->all[i].next_ns;
	if (next == INT64_MAX)
		return -1;
	return next <= now ? 0 : (int)((next - now) / NS_PER_MS) + 1;
}

static int
prober_init(struct prober *p, const struct allocs *a, unsigned budget)
{
	int ncpus = libbpf_num_possible_cpus();

	p->allocs = a;
	p->budget = budget ? budget : 1;
	p->ncpus = ncpus > 0 ? (unsigned)ncpus : 1;
	p->percpu = calloc(p->ncpus, sizeof(*p->percpu));
	p->slots = mmap(NULL, EMIT_SLOTS * sizeof(*p->slots),
	                PROT_READ | PROT_WRITE, MAP_SHARED, a->slots_fd, 0);
	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		p->all[i].file = p->all[i].link = -1;
	return p->percpu && p->slots != MAP_FAILED ? 0 : -ENOMEM;
}

void
allocs_run(const struct allocs *a, int socket, int hold, unsigned budget)
{
	static struct prober p;
	struct pollfd fds[] = {{socket, POLLIN, 0}, {hold, 0, 0}};

	if (prober_init(&p, a, budget))
		return;
	for (;;) {
		if (poll(fds, ARRAY_LEN(fds), wait_ms(&p)) < 0 &&
		    errno != EINTR)
			return;
		if (fds[1].revents || (fds[0].revents && !take(&p, socket)))
			return;
		for (uint32_t i = 0; i < EMIT_SLOTS; i++)
			if (p.all[i].pid && p.all[i].next_ns <= clock_mono_ns())
				look_at(&p, i);
	}
}
