#include "capture/allocs.h"

#include "allocs_cookie.h"
#include "allocs_missed.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/proc_exec.h"
#include "base/proc_text.h"
#include "capture/host/allocs.skel.h"
#include "locks.h"
#include "probe_watch.h"
#include "program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

DEFINE_CLEANUP(struct allocs_bpf *, allocs_bpf__destroy)

void
allocs_close(struct allocs *a)
{
	close_ptr(&a->slots_fd);
	close_ptr(&a->outputs_fd);
	close_ptr(&a->interps_fd);
	close_ptr(&a->calls_fd);
	close_ptr(&a->arguments_fd);
	close_ptr(&a->prog_fd);
	close_ptr(&a->sampled_fd);
	close_ptr(&a->locks_fd);
}

static int
keep_all(const struct allocs_bpf *bpf, struct allocs *out)
{
	struct allocs a = {
		.slots_fd = program_keep(bpf_map__fd(bpf->maps.slots)),
		.outputs_fd = program_keep(bpf_map__fd(bpf->maps.outputs)),
		.interps_fd = program_keep(bpf_map__fd(bpf->maps.interps)),
		.calls_fd = program_keep(bpf_map__fd(bpf->maps.calls)),
		.arguments_fd = program_keep(bpf_map__fd(bpf->maps.arguments)),
		.prog_fd =
			program_keep(bpf_program__fd(bpf->progs.stoker_alloc)),
		.sampled_fd = program_keep(
			bpf_program__fd(bpf->progs.stoker_sampled)),
		.locks_fd = -1,
	};
	int rc = 0;

	if (a.slots_fd < 0 || a.outputs_fd < 0 || a.interps_fd < 0 ||
	    a.calls_fd < 0 || a.arguments_fd < 0 || a.prog_fd < 0 ||
	    a.sampled_fd < 0)
		rc = -EMFILE;
	rc = rc ?: locks_open(&a.locks_fd);
	if (rc)
		allocs_close(&a);
	else
		*out = a;
	return rc;
}

/*
 * Returns the size of the largest allocation that can succeed. The BPF program
 * needs it because it does not see whether a call succeeds. The kernel refuses
 * more than all memory and swap space, unless it is set to overcommit always.
 *   Source   linux/mm/util.c, __vm_enough_memory()
 */
static uint64_t
most_of(uint64_t address_space)
{
	CLEANUP_BUF struct buf mode = BUF_INIT(32);
	struct sysinfo s;

	if (file_read(AT_FDCWD, "/proc/sys/vm/overcommit_memory", &mode) ||
	    *buf_str(&mode) == '1' || sysinfo(&s))
		return address_space;
	return ((uint64_t)s.totalram + s.totalswap) * s.mem_unit;
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
	bpf->rodata->most = most_of(bpf->rodata->most);
	program_kernel(bpf->rodata->kernel_has);
	rc = bpf_program__set_expected_attach_type(
		bpf->progs.stoker_alloc, (enum bpf_attach_type)PROBE_CALLS);
	if (!rc)
		rc = bpf_program__set_expected_attach_type(
			bpf->progs.stoker_sampled,
			(enum bpf_attach_type)PROBE_CALLS);
	if (!rc)
		rc = allocs_bpf__load(bpf);
	if (!rc)
		rc = probe_link_try(PROBE_CALLS,
		                    bpf_program__fd(bpf->progs.stoker_alloc));
	return rc ? rc : keep_all(bpf, out);
}

/* --- watching ------------------------------------------------------------- */

/* A process that can only be watched part of the time is watched for ON_NS at a
 * time, or longer if the budget allows it. Removing probes takes some 100 ms,
 * but costs the process nothing. */
#define ON_NS (10 * NS_PER_MS)
/* Time between looks at a process that is far from its budget. */
#define LOOK_NS    (100 * NS_PER_MS)
#define MIN_OFF_NS (150 * NS_PER_MS)
/* Cost of inserting and removing probes, which interrupts the process and makes
 * it fault in pages of its code again. */
#define SWITCH_NS (100 * NS_PER_US)
/* The weight of earlier watched time is multiplied by this each time a process
 * is watched again, since its behaviour may have changed. */
#define FADE 0.75
/* The largest number of calls of a burst fades by this factor at each one. */
#define FADE_MOST 0.95
/* The debt that a process may run up to be watched to the end of a burst: a
 * burst becomes longer by about as much. */
#define DEBT_NS (30 * NS_PER_MS)
/* A sample stands for no more calls than this; the rest is left to later ones,
 * if there are any. */
#define MOST_SCALE 1e7
#define ROUGH      1.5
#define FEW        10
/* The cost of a probe in a program differs from the cost measured here by the
 * program's caches and by how fast the machine runs at the time. */
#define LEAST_COST 0.75
#define MOST_COST  1.5
/* A process is credited for at least this much of a CPU, in thousandths. */
#define LEAST_USED 500
/* Bytes per sample at first; later chosen for some hundred samples a second, or
 * for as many as a ring has room for while a process is watched part of the
 * time. */
#define FIRST_MEAN UINT64_C(65536)
#define LEAST_MEAN UINT64_C(1024)
#define MOST_MEAN  UINT64_C(4000000000)
/* Threads of a process that are looked at, to see if they run. */
#define MOST_TASKS 32
/* Short bursts take less time, though they are slowed down. */
#define LONG_RUN_NS (2 * NS_PER_MS)
#define SAMPLES     200  /* a second */
#define SAMPLES_ON  6000 /* a second while it is watched */

/* A process's threads, MOST_TASKS of them at most. */
struct awake {
	int64_t ns;   /* that they have run or waited for a CPU */
	int64_t runs; /* how often they were put on a CPU, */
	int64_t ends; /* and left one to wait for something else */
	bool now;     /* one runs, or waits for a CPU */
	bool counted; /* false: the other members are not known */
};

/* The process of a slot; its target has links while it is watched. */
struct watched {
	bool again;             /* it has been watched more than once */
	bool began;             /* it has been watched; since then: */
	struct allocs_part on;  /* while it was watched */
	struct allocs_part off; /* since it was watched last */
	/* Calls that no sample represents yet, and calls that samples represent
	 * in advance. */
	struct allocs_missed missed, ahead;
	int64_t scaled;     /* calls since the last look that may be scaled */
	double most;        /* calls of a burst, or between two looks */
	uint64_t mean;      /* 0: not chosen yet */
	double cost, bytes; /* per ns, while it is watched */
	struct awake awake; /* at the last look, if they were counted then */
	bool paused;        /* it paused while it was watched */
	double burst;       /* calls of the burst so far */
	double cut;         /* calls in bursts that were watched in part, */
	double saturated;   /* calls while the process did nothing else */
	double whole;       /* other calls */
};

struct watchers {
	const struct allocs *allocs;
	struct emit_slot *slots;
	struct probe_watch watch;
	struct watched all[EMIT_SLOTS];
};

/* Returns the scale with which samples of the expected calls also represent the
 * missed ones. */
static uint64_t
scale_for(double missed, double expected)
{
	double scale = 1 + missed / (expected > 1 ? expected : 1);

	if (scale < 1)
		scale = 1;
	return (uint64_t)(EMIT_SCALE *
	                  (scale < MOST_SCALE ? scale : MOST_SCALE));
}

/* Sets the scales of the calls that are expected until the next look. If there
 * are more, they are not scaled: a process that had to wait for a CPU may make
 * many times as many calls as before. A process that sleeps between bursts is
 * expected to make all calls of a burst: if fewer were scaled, the first calls
 * of the burst would stand for the rest of it. Later calls stand for the missed
 * ones that are left. */
static void
set_scales(struct watchers *p, uint32_t slot, int64_t next_ns)
{
	struct watched *w = &p->all[slot];
	struct emit_slot *s = &p->slots[slot];
	double expected =
		w->on.ns > 0 ? w->on.calls / w->on.ns * (double)next_ns : 0;

	expected = fmax(expected, w->most - w->burst);
	w->scaled = expected > 1 ? (int64_t)expected : 1;
	__atomic_store_n(&s->scaled, w->scaled, __ATOMIC_RELAXED);
	/* If the upper bound is too rough for an estimate, it also allows for
	 * fewer calls than expected. */
	s->most_scale = scale_for(w->missed.most,
	                          w->missed.most > ROUGH * w->missed.least
	                                  ? expected / FEW
	                                  : expected);
	__atomic_store_n(&s->scale, scale_for(w->missed.least, expected),
	                 __ATOMIC_RELEASE);
}

/* Returns how many threads of this machine run or wait for a CPU: whoever needs
 * more CPU time waits for as many others.
 *   Source   proc_loadavg(5), the fourth field */
static double
count_runnable(void)
{
	CLEANUP_BUF struct buf text = BUF_INIT(128);
	double n;

	if (file_read(AT_FDCWD, "/proc/loadavg", &text) ||
	    sscanf(buf_str(&text), "%*s %*s %*s %lf/", &n) != 1)
		return INFINITY;
	return n;
}

/* Adds what happened between two looks. */
static void
add_part(const struct watchers *p, const struct probe_look *look,
         struct allocs_part *to)
{
	const struct probe_cost *each = &p->watch.call;
	double calls = (double)look->calls;
	double most = calls * each->usual_ns * MOST_COST +
	              (double)look->costly * PROBE_SAMPLE_NS;

	to->calls += calls;
	to->ns += (double)look->ns;
	to->cpu_ns += (double)look->used_ns;
	to->least_cost_ns += calls * each->least_ns * LEAST_COST;
	to->most_cost_ns += most;
	to->delay_ns += most * (1 + count_runnable() / p->watch.ncpus);
}

static void
fade(struct allocs_part *part)
{
	part->calls *= FADE;
	part->ns *= FADE;
	part->cpu_ns *= FADE;
	part->least_cost_ns *= FADE;
	part->most_cost_ns *= FADE;
	part->delay_ns *= FADE;
}

/* Counts what was missed since the process was watched last. The samples that
 * follow also stand for the first half of the time after them, which is taken
 * to be like the time before: each sample is then in the middle of the time it
 * stands for, wherever a capture begins or ends. */
static void
add_missed(struct watched *w)
{
	struct allocs_missed m;

	w->off.cpu_ns -= w->off.cpu_ns < SWITCH_NS ? w->off.cpu_ns : SWITCH_NS;
	m = allocs_missed(&w->on, &w->off);
	w->missed.least += m.least - w->ahead.least + m.least / 2;
	w->missed.most += m.most - w->ahead.most + m.most / 2;
	w->ahead = (struct allocs_missed){m.least / 2, m.most / 2};
	w->off = (struct allocs_part){0};
	fade(&w->on);
}

/* Each sample may stand for further calls. Subtracts those of the samples since
 * the last look. */
static void
subtract_made(struct watched *w, const struct emit_slot *s)
{
	double least = (double)(s->scale - EMIT_SCALE) / EMIT_SCALE;
	double most = (double)(s->most_scale - EMIT_SCALE) / EMIT_SCALE;
	int64_t left = __atomic_load_n(&s->scaled, __ATOMIC_RELAXED);
	double calls = (double)(w->scaled - (left > 0 ? left : 0));

	w->missed.least -= least * calls;
	w->missed.most -= most * calls;
}

/* Looks at a process that is not watched at the moment. */
static void
look_aside(struct watchers *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];
	struct probe_look look = probe_look(&p->watch, slot);

	if (w->began)
		add_part(p, &look, &w->off);
	p->slots[slot].looked_ns =
		(uint64_t)p->watch.targets[slot].account.looked_ns;
}

/*
 * Adds how often a thread has left a CPU on its own, and notes if it runs.
 *   Source   proc_pid_status(5), voluntary_ctxt_switches
 */
static void
add_ends(int tasks, int32_t tid, struct awake *sum)
{
	CLEANUP_BUF struct buf status = BUF_INIT(BUF_MAX_SMALL);
	const char *number;

	if (proc_read(tasks, tid, "status", &status))
		return;
	number = proc_status_field(buf_str(&status), "voluntary_ctxt_switches");
	sum->ends += number ? atoll(number) : 0;
	sum->now |= proc_status_state(buf_str(&status)) == 'R';
}

/* Opens two files per thread, so this is done only where it matters. */
static struct awake
count_awake(int32_t pid)
{
	CLEANUP_FOLDER DIR *tasks = NULL;
	struct awake sum = {.counted = true};
	int32_t tid;

	if (folder_open_tasks(AT_FDCWD, pid, &tasks))
		return sum;
	for (int i = 0; i < MOST_TASKS && (tid = folder_next_number(tasks));
	     i++) {
		CLEANUP_BUF struct buf times = BUF_INIT(BUF_MAX_SMALL);
		struct proc_schedstat s;
		char path[64];

		snprintf(path, sizeof(path), "%d/schedstat", tid);
		if (!file_read(dirfd(tasks), path, &times) &&
		    !proc_parse_schedstat(buf_str(&times), &s)) {
			sum.ns += (int64_t)(s.ran_ns + s.waited_ns);
			sum.runs += (int64_t)s.runs;
		}
		add_ends(dirfd(tasks), tid, &sum);
	}
	return sum;
}

/*
 * Follows bursts of calls. Probes slow a burst down so much that the time for
 * which it is watched may end when it has just begun. If the process had paused
 * before, all that is seen of its bursts is then their beginning. Threads are
 * counted before the probes are removed, which takes longer than many bursts.
 * If they were not counted at the last look, the threads that run now are taken
 * to have run since then.
 *
 * Returns false if the process is to be watched further, to the end of a burst.
 */
static bool
follow_burst(struct watched *w, const struct probe_look *look,
             const struct probe_target *t, bool off)
{
	/* A burst with fewer calls, or none, may wait for a CPU. */
	bool dense = w->burst > 0 ||
	             (look->calls > 0 && look->cost_ns > look->used_ns / 2);
	struct awake was = w->awake, is = {0};
	bool awake, in_one;

	if (off ? dense && w->paused : dense || !w->paused)
		is = count_awake(t->of.pid);
	awake = is.now;
	in_one = is.now;
	/* A wait for a CPU that has not ended yet is not in ns. */
	if (was.counted && !(is.now && was.now && is.ends == was.ends)) {
		awake = is.ns - was.ns > look->ns / 4 * 3;
		in_one &= is.ns - was.ns > (is.runs - was.runs) * LONG_RUN_NS;
	}
	w->awake = is;
	w->burst += (double)look->calls;
	w->most = fmax(w->most, w->burst);
	in_one = dense && w->paused && (awake || in_one);
	if (off && in_one && t->account.credit_ns > -DEBT_NS)
		return false;
	if (dense && awake && !off)
		return false;
	if (off && in_one)
		w->cut += w->burst;
	else if (off && !w->paused && look->cost_ns > look->used_ns / 10 * 9)
		w->saturated += w->burst;
	else
		w->whole += w->burst;
	w->most *= w->burst > 0 ? FADE_MOST : 1;
	w->burst = 0;
	/* It may have paused because it computed. */
	w->paused |= !awake || look->used_ns > look->ns / 10;
	return off;
}

/* Inserting or removing each probe may have to wait for other processes. The
 * first function, malloc, is called most, so its probe is inserted last and
 * removed first. */
static bool
make_links(struct watchers *p, uint32_t slot)
{
	struct probe_target *t = &p->watch.targets[slot];
	int prog = t->of.places[0].is_static ? p->allocs->sampled_fd
	                                     : p->allocs->prog_fd;

	t->links[1] = probe_watch_link(&p->watch, slot, ~UINT64_C(1),
	                               PROBE_CALLS, prog);
	if (t->links[1] == -EBUSY)
		return false;
	t->links[0] = probe_watch_link(&p->watch, slot, 1, PROBE_CALLS, prog);
	if (t->links[0] < 0)
		probe_unlink(&p->watch, t);
	return t->links[0] >= 0;
}

/*
 * Publishes how much a process has allocated since the only time it was
 * watched.
 */
static void
note_left(struct watchers *p, uint32_t slot)
{
	const struct watched *w = &p->all[slot];
	struct allocs_missed missed = allocs_missed(&w->on, &w->off);
	double each = w->on.calls > 0 ? w->bytes * w->on.ns / w->on.calls : 0;
	double left = missed.most * each;

	if (!w->again)
		p->slots[slot].left = 1 + (left < (double)INT64_MAX
		                                   ? (uint64_t)left
		                                   : INT64_MAX);
}

static void
turn_on(struct watchers *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];
	struct probe_target *t = &p->watch.targets[slot];
	struct emit_slot *s = &p->slots[slot];
	bool made = make_links(p, slot);

	look_aside(p, slot);
	t->next_ns = t->account.looked_ns + (made ? ON_NS : NS_PER_S);
	if (!made)
		return;
	if (w->began)
		add_missed(w);
	w->again = w->began;
	w->began = true;
	s->pid = t->of.pid;
	if (!w->again)
		__atomic_store_n(&s->began_ns, (uint64_t)clock_mono_ns(),
		                 __ATOMIC_RELEASE);
	s->left = 0;
	t->account.credit_ns -= SWITCH_NS;
	w->awake = count_awake(t->of.pid);
	w->paused = !w->awake.now;
	s->mean = w->mean ? w->mean : FIRST_MEAN;
	s->taken = 0;
	set_scales(p, slot, ON_NS);
}

/* Removing probes may take seconds on a busy machine. */
static void
turn_off(struct watchers *p, uint32_t slot)
{
	p->slots[slot].looked_ns = (uint64_t)clock_mono_ns();
	__atomic_store_n(&p->slots[slot].scale, 0, __ATOMIC_RELEASE);
	probe_unlink(&p->watch, &p->watch.targets[slot]);
}

/* Follows a rate at once when it rises, and by halves when it falls: a process
 * that waits for a CPU allocates nothing for a moment, and then as before. */
static void
follow(double *rate, double n, int64_t ns)
{
	double now = n / (double)(ns > 0 ? ns : 1);

	*rate = now > *rate / 2 ? now : *rate / 2;
}

/* Chooses the bytes per sample, so that a process that is watched part of the
 * time has as many samples as one that is always watched. */
static uint64_t
mean_of(const struct watched *w, const struct probe_account *a)
{
	double share = w->cost / (a->earns + 1e-6);
	double samples = share > 1 ? SAMPLES * share : SAMPLES;
	double mean = w->bytes * NS_PER_S /
	              (samples > SAMPLES_ON ? SAMPLES_ON : samples);

	if (mean < (double)LEAST_MEAN)
		return LEAST_MEAN;
	return mean > (double)MOST_MEAN ? MOST_MEAN : (uint64_t)mean;
}

/* Returns what watching a process for ON_NS costs it: the balance it needs
 * before it is watched again. */
static int64_t
price_of(const struct watched *w)
{
	double ns = w->cost * ON_NS + SWITCH_NS;

	return ns < PROBE_CREDIT_NS ? (int64_t)ns : PROBE_CREDIT_NS;
}

/* Returns how long to watch a process before the next look. */
static int64_t
look_ns(const struct watched *w, const struct probe_account *a)
{
	double ns = (double)a->credit_ns / (w->cost + 1e-9);

	return ns < ON_NS ? ON_NS : ns > LOOK_NS ? LOOK_NS : (int64_t)ns;
}

static void
publish_parts(const struct watched *w, struct emit_slot *s)
{
	const double all = w->cut + w->saturated + w->whole + 1;

	s->cut = (uint32_t)(1000 * w->cut / all);
	s->saturated = (uint32_t)(1000 * w->saturated / all);
}

/* Looks at a process that is watched, and decides if that can go on. */
static void
look_on(struct watchers *p, uint32_t slot)
{
	struct watched *w = &p->all[slot];
	struct probe_target *t = &p->watch.targets[slot];
	struct emit_slot *s = &p->slots[slot];
	struct probe_look look = probe_look(&p->watch, slot);
	bool off;

	add_part(p, &look, &w->on);
	subtract_made(w, s);
	follow(&w->cost, (double)look.cost_ns, look.ns);
	follow(&w->bytes, (double)look.bytes, look.ns);
	w->mean = mean_of(w, &t->account);
	off = (double)t->account.credit_ns < w->cost * ON_NS / 2;
	off = follow_burst(w, &look, t, off);
	publish_parts(w, s);
	if (!off) {
		int64_t next_ns = look_ns(w, &t->account);

		s->mean = w->mean;
		s->taken = 0;
		set_scales(p, slot, next_ns);
		t->next_ns = t->account.looked_ns + next_ns;
	} else {
		turn_off(p, slot);
		note_left(p, slot);
		t->next_ns = t->account.looked_ns + MIN_OFF_NS;
	}
}

/* Looks at a process that is not watched, and decides if it can be again. */
static void
look_off(struct watchers *p, uint32_t slot)
{
	const struct watched *w = &p->all[slot];
	struct probe_target *t = &p->watch.targets[slot];
	int64_t off;

	look_aside(p, slot);
	if (w->began)
		note_left(p, slot);
	off = probe_wait_ns(&t->account, price_of(w));
	if (!w->began || off < ON_NS)
		turn_on(p, slot);
	else
		t->next_ns = t->account.looked_ns +
		             (off < LOOK_NS ? off : LOOK_NS);
}

static void
forget(void *arg, uint32_t slot)
{
	struct watchers *p = arg;

	turn_off(p, slot);
	probe_forget(&p->watch, &p->watch.targets[slot]);
	p->slots[slot].left = p->slots[slot].began_ns = 0;
	p->slots[slot].cut = p->slots[slot].saturated = 0;
	p->all[slot] = (struct watched){0};
}

static void
look_at(void *arg, uint32_t slot)
{
	struct watchers *p = arg;
	const struct probe_target *t = &p->watch.targets[slot];

	if (kill(t->of.pid, 0) && errno == ESRCH)
		forget(p, slot);
	else if (t->links[0] < 0)
		look_off(p, slot);
	else
		look_on(p, slot);
}

void
allocs_run(const struct allocs *a, int socket, int hold, unsigned budget)
{
	static struct watchers p;
	const struct probe_watcher by = {
		.look = look_at, .forget = forget, .arg = &p};

	p.allocs = a;
	p.watch = (struct probe_watch){
		.calls_fd = a->calls_fd,
		.arguments_fd = a->arguments_fd,
		.locks_fd = a->locks_fd,
		.budget = budget,
		.least = LEAST_USED,
	};
	p.slots = mmap(NULL, EMIT_SLOTS * sizeof(*p.slots),
	               PROT_READ | PROT_WRITE, MAP_SHARED, a->slots_fd, 0);
	if (p.slots != MAP_FAILED && !probe_watch_init(&p.watch, a->prog_fd))
		probe_watch_run(&p.watch, &by, socket, hold);
}

int
allocs_repair(const struct allocs *a, int file, uint64_t offset,
              uint64_t counter)
{
	const uint64_t cookie = ALLOCS_NOBODY;
	int fd = probe_link(&(struct probe_link){
		.type = PROBE_CALLS,
		.prog_fd = a->prog_fd,
		.locks_fd = a->locks_fd,
		.file = file,
		.pid = getpid(),
		.n = 1,
		.offsets = &offset,
		.cookies = &cookie,
		.counters = &counter,
	});

	if (fd < 0)
		return fd;
	locks_wait(a->locks_fd);
	close(fd);
	return 0;
}
