/*
 * The kernel runs these programs when it switches from one thread to another,
 * when a system call ends (or when a thread resumes, see stoker_resume), when a
 * page has been read from a disk, and when a process starts. They measure how
 * long threads of followed processes wait, and write samples of some waits when
 * these end: the thread's stack is then the one it waited with. If the
 * ends of system calls are traced, a system call that waits several times
 * counts as one wait, and so does a page fault.
 */
#include "emit.bpf.h"

#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The kernel lets only programs under such a licence read its memory. */
const char terms[] SEC("license") = "Dual MIT/GPL";

#define CALLS       512 /* system calls with a class */
#define WAIT_STATES 3   /* TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE */
#define FUTEX_OP    0x7f
#define FUTEX_WAITV 449 /* numbers of futex_waitv(2) and futex_wait(2) */
#define FUTEX_WAIT2 455 /* on all machines */
#define FUTEX_TID   0x3fffffffu
/* Lock words for "locked, and others wait": of glibc and Rust, of musl, and of
 * libgomp. The last is also that of a parked thread of Rust, which waits with
 * FUTEX_WAIT_BITSET. */
#define LOCKED_WAITED 2
#define MUSL_WAITED   0x80000010u
#define GOMP_WAITED   0xffffffffu

/* Constants that are set before the programs are loaded. */
const volatile uint32_t nbits; /* number of pids with a bit */
const volatile bool results;   /* the ends of system calls are traced */
const volatile int32_t futex;  /* the number of futex(2) */
const volatile uint8_t class_of[CALLS];
const volatile bool has_file[CALLS]; /* its first argument is a descriptor */

/* --- the kernel's structures ---------------------------------------------- */
#define OF_KERNEL __attribute__((preserve_access_index))

struct qstr {
	const unsigned char *name;
} OF_KERNEL;
struct dentry {
	struct qstr d_name;
} OF_KERNEL;
struct path {
	struct dentry *dentry;
} OF_KERNEL;
struct inode {
	unsigned short i_mode;
} OF_KERNEL;
struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
} OF_KERNEL;
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} OF_KERNEL;
struct files_struct {
	struct fdtable *fdt;
} OF_KERNEL;
struct vm_area_struct {
	struct file *vm_file;
} OF_KERNEL;
struct in6_addr {
	struct {
		uint8_t u6_addr8[16];
	} in6_u;
} OF_KERNEL;
struct sock_common {
	unsigned int skc_daddr;
	unsigned short skc_dport;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
} OF_KERNEL;
struct sock {
	struct sock_common __sk_common;
} OF_KERNEL;
struct socket {
	struct sock *sk;
} OF_KERNEL;
struct rq {
	unsigned long clock;
} OF_KERNEL;
struct cfs_rq {
	struct rq *rq;
} OF_KERNEL;
struct sched_entity {
	struct cfs_rq *cfs_rq;
} OF_KERNEL;
struct task_struct {
	int pid, tgid;
	unsigned int in_iowait : 1;
	struct files_struct *files;
	struct sched_entity se;
} OF_KERNEL;
struct pt_regs___x86 {
	unsigned long di, si, dx, orig_ax, ip;
} OF_KERNEL;
struct pt_regs___arm {
	unsigned long regs[31];
	unsigned long pc;
	unsigned long orig_x0;
	int syscallno;
} OF_KERNEL;

/* --- maps ----------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct emit_control));
	__uint(max_entries, 1);
} control SEC(".maps");

struct thread {
	/* Every switch uses these; the rest is for waits that may become
	 * samples. */
	uint64_t since_ns;  /* when it began to wait, by the scheduler's clock;
	                       0: it does not wait */
	uint64_t waited_ns; /* in this system call, not yet in a sample */
	uint32_t holder;    /* of the lock, when the wait began; 0: unknown */
	uint32_t fd;
	uint64_t size, mean;
	uint64_t address; /* of the lock */
	int32_t call;     /* negative: a page fault */
	uint32_t class;
	uint64_t ip; /* of the instruction that faulted */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* The thread that runs on a CPU, if one of its waits may become a sample.
 * Mostly it is 0, and there is no need to look further. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, int32_t);
} here SEC(".maps");

static struct emit_control *
get_control(void)
{
	uint32_t first = 0;

	return bpf_map_lookup_elem(&control, &first);
}

/* Finds the word that has a process's bit. Inlined, the address would be formed
 * before the comparison that the verifier needs to see. */
static __noinline uint64_t *
word_of(struct emit_control *c, uint32_t pid)
{
	uint64_t at = pid / 64;

	if (at >= nbits / 64)
		return NULL;
	barrier_var(at);
	return (uint64_t *)(c + 1) + at;
}

static bool
is_followed(struct emit_control *c, uint32_t pid)
{
	const uint64_t *word = word_of(c, pid);

	return word && *word >> pid % 64 & 1;
}

/* --- what a thread waits for ---------------------------------------------- */

struct call {
	int32_t number;   /* negative: there is none */
	bool futex;       /* b and c are an operation and value of futex(2) */
	uint64_t a, b, c; /* its first arguments */
	uint64_t ip;      /* of the instruction that made it */
};

static int32_t
number_of(const void *regs)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm *arm = regs;

	return bpf_core_field_exists(x86->orig_ax) ? (int32_t)x86->orig_ax
	                                           : arm->syscallno;
}

static bool
is_futex(int32_t number)
{
	return number == futex || number == FUTEX_WAIT2 ||
	       number == FUTEX_WAITV;
}

/* futex_wait(2) has the value in place of an operation, and acts as
 * FUTEX_WAIT_BITSET; futex_waitv(2) has an array of futexes.
 *   Source   linux/kernel/futex/syscalls.c */
static void
read_futex(struct call *out)
{
	out->futex = is_futex(out->number);
	if (out->number == FUTEX_WAIT2) {
		out->c = out->b;
		out->b = 9;
	} else if (out->number == FUTEX_WAITV) {
		out->b = out->c = 0;
	}
}

/* The registers of a thread that waits are those of its system call or fault.
 */
static void
read_call(const void *regs, struct call *out)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm *arm = regs;

	out->number = number_of(regs);
	if (bpf_core_field_exists(x86->orig_ax)) {
		out->a = x86->di;
		out->b = x86->si;
		out->c = x86->dx;
		out->ip = x86->ip;
	} else {
		out->a = arm->orig_x0;
		out->b = arm->regs[1];
		out->c = arm->regs[2];
		out->ip = arm->pc;
	}
	read_futex(out);
}

/* False for calls that wake others or change locks, which may sleep, too. */
static bool
is_futex_wait(const struct call *call)
{
	uint32_t op = call->b & FUTEX_OP;

	/* FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI */
	return call->futex && (op == 0 || op == 9 || op == 11);
}

/* True for a wait for a lock: a lock's word has a known value while threads
 * wait, and priority-inheritance locks have separate operations. Source:
 * futex(2); musl 1.2.3, pthread_mutex_timedlock.c; GCC 12, libgomp, mutex.c;
 * Rust 1.62 to 1.95, std/src/sys, futex.rs and thread_parking. */
static bool
is_lock(const struct call *call)
{
	uint32_t op = call->b & FUTEX_OP, value = (uint32_t)call->c;

	if (!call->futex)
		return false;
	if (op == 0 || op == 9) /* FUTEX_WAIT, FUTEX_WAIT_BITSET */
		return value == LOCKED_WAITED || value == MUSL_WAITED ||
		       (value == GOMP_WAITED && op == 0);
	return op == 6 || op == 13; /* FUTEX_LOCK_PI, FUTEX_LOCK_PI2 */
}

/* The start of a lock of glibc: struct __pthread_mutex_s of glibc 2.36. */
struct mutex {
	uint32_t word, count, owner, users, kind;
};
#define KIND_TYPE      0x003u
#define KIND_ROBUST    0x010u
#define KIND_ANY       0x3f3u
#define TYPE_RECURSIVE 1

/* True for memory that begins like a held lock of glibc. Locks of musl and of
 * Rust, and small ones of glibc, do not record their holder: anything may
 * follow their word. */
static bool
is_held(const struct mutex *m)
{
	return m->owner && m->owner <= FUTEX_TID && m->users &&
	       m->users <= FUTEX_TID && !(m->kind & ~KIND_ANY) &&
	       (m->count <= (m->kind & KIND_ROBUST ? 1 : 0) ||
	        (m->kind & KIND_TYPE) == TYPE_RECURSIVE);
}

/* Returns the thread that holds the lock for which the current thread begins to
 * wait in futex(2); 0: unknown. The word of a priority-inheritance or robust
 * lock contains the holder. Source: futex(2), get_robust_list(2). */
static uint32_t
holder_of(const struct call *call)
{
	const void *address = (const void *)call->a;
	uint32_t op = call->b & FUTEX_OP, value = (uint32_t)call->c;
	struct mutex m = {0};

	if (op == 6 || op == 13) {
		bpf_probe_read_user(&m.word, sizeof(m.word), address);
		return m.word & FUTEX_TID;
	}
	if ((op != 0 && op != 9) || (value != LOCKED_WAITED && !(value >> 31)))
		return 0;
	if (bpf_probe_read_user(&m, sizeof(m), address) || !is_held(&m))
		return 0;
	if (value != LOCKED_WAITED &&
	    (!(m.kind & KIND_ROBUST) || m.owner != (value & FUTEX_TID)))
		return 0;
	return m.owner;
}

static void
take_call(struct thread *t, const struct call *call)
{
	uint32_t number = (uint32_t)call->number;

	t->fd = (uint32_t)call->a;
	t->address = 0;
	t->class = EMIT_OTHER;
	if (number < CALLS)
		t->class = class_of[number];
	if (is_futex_wait(call))
		t->class = EMIT_FUTEX;
	if (is_lock(call) || t->holder) {
		t->class = EMIT_LOCK;
		t->address = call->a;
	}
}

/* A page fault waits several times, at one instruction, until it has its page.
 */
static void
take_fault(struct thread *t, const struct call *call)
{
	if (t->ip != call->ip)
		t->waited_ns = 0;
	t->ip = call->ip;
	t->class = EMIT_IO;
}

/* --- which waits become samples ------------------------------------------- */

/* True with the probability size / mean, where draw is a random number. */
static bool
is_kept(uint32_t draw, uint64_t size, uint64_t mean)
{
	return size >> 32 || draw * mean < size << 32;
}

static bool
choose(const struct emit_control *c, struct thread *t, uint32_t draw,
       uint64_t size)
{
	uint32_t class = t->class;

	barrier_var(class); /* the verifier sees that this value is compared */
	if (class >= EMIT_CLASSES || size < c->least)
		return false;
	t->size = size;
	t->mean = c->mean[class];
	return is_kept(draw, size, t->mean);
}

/* True for a wait that would become a sample in at least one class. Most waits
 * would not, so their class need not be known. */
static bool
may_be_emitted(const struct emit_control *c, uint32_t draw, uint64_t size)
{
	uint64_t mean = c->mean[0];

	for (int i = 1; i < EMIT_CLASSES; i++)
		if (c->mean[i] < mean)
			mean = c->mean[i];
	return size >= c->least && is_kept(draw, size, mean);
}

/* Adds a wait that has ended to those of its system call or page fault. True
 * if there may be a sample to write once the thread runs again. */
static bool
add_wait(const struct emit_control *c, struct task_struct *task,
         struct thread *t, uint64_t size)
{
	bool of_disk = BPF_CORE_READ_BITFIELD(task, in_iowait);
	uint32_t draw = bpf_get_prandom_u32();
	struct call call;

	if (!results && !of_disk && !may_be_emitted(c, draw, size))
		return false;
	read_call((const void *)bpf_task_pt_regs(task), &call);
	if ((call.number < 0) != (t->call < 0))
		t->waited_ns = 0;
	t->call = call.number;
	if (call.number >= 0) {
		take_call(t, &call);
		if (!results)
			return choose(c, t, draw, size);
	} else if (of_disk) {
		take_fault(t, &call);
	} else { /* it was traced, or frozen */
		return t->waited_ns;
	}
	t->waited_ns += size;
	return true;
}

/* --- a wait begins and ends ----------------------------------------------- */

/* Returns the time of the current switch in ns, by the scheduler's clock:
 * reading another costs more than the rest of the program. A thread that may
 * run on a CPU refers to this CPU's queue of threads. */
static uint64_t
time_of(const struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq)
	               ? task->se.cfs_rq->rq->clock
	               : bpf_ktime_get_ns();
}

static int32_t *
get_here(void)
{
	uint32_t first = 0;

	return bpf_map_lookup_elem(&here, &first);
}

static void
begin(struct task_struct *task, uint64_t now_ns)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL,
	                                        BPF_LOCAL_STORAGE_GET_F_CREATE);
	const void *regs = (const void *)bpf_task_pt_regs(task);
	struct call call;

	if (!t)
		return;
	t->since_ns = now_ns;
	t->holder = 0;
	if (!is_futex(number_of(regs)))
		return;
	read_call(regs, &call);
	t->holder = holder_of(&call);
}

static void
end(const struct emit_control *c, struct task_struct *task, uint64_t now_ns)
{
	struct thread *t = bpf_task_storage_get(&threads, task, NULL, 0);
	int32_t *here = get_here();
	uint64_t since_ns;
	bool any;

	if (!t || !here)
		return;
	since_ns = t->since_ns;
	t->since_ns = 0;
	/* If the CPUs' clocks differ, a wait may seem to end too early. */
	if (now_ns < since_ns)
		now_ns = since_ns;
	any = since_ns ? add_wait(c, task, t, now_ns - since_ns) : t->waited_ns;
	*here = any ? task->pid : 0;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(stoker_switch, bool preempt, struct task_struct *prev,
         struct task_struct *next, unsigned int state)
{
	struct emit_control *c = get_control();
	bool begins, ends;
	uint64_t now_ns;

	(void)ctx;
	if (!c)
		return 0;
	begins = !preempt && (state & WAIT_STATES) &&
	         is_followed(c, (uint32_t)prev->tgid);
	ends = is_followed(c, (uint32_t)next->tgid);
	if (!begins && !ends)
		return 0;
	now_ns = time_of(begins ? prev : next);
	if (begins)
		begin(prev, now_ns);
	if (ends)
		end(c, next, now_ns);
	return 0;
}

/* --- writing a sample of a wait ------------------------------------------- */

static enum emit_file
kind_of(unsigned short mode)
{
	switch (mode >> 12) { /* S_IFMT */
	case 8:
		return EMIT_REGULAR;
	case 4:
		return EMIT_DIRECTORY;
	case 2:
	case 6:
		return EMIT_DEVICE;
	case 1:
		return EMIT_PIPE;
	case 12:
		return EMIT_SOCKET;
	default:
		return EMIT_OTHER_FILE;
	}
}

static void
fill_peer(const struct file *file, struct emit_event *out)
{
	const struct socket *socket = BPF_CORE_READ(file, private_data);
	const struct sock *sock = BPF_CORE_READ(socket, sk);

	out->family = BPF_CORE_READ(sock, __sk_common.skc_family);
	out->port = BPF_CORE_READ(sock, __sk_common.skc_dport);
	if (out->family == 2) { /* AF_INET */
		uint32_t address = BPF_CORE_READ(sock, __sk_common.skc_daddr);

		__builtin_memcpy(out->peer, &address, sizeof(address));
	} else if (out->family == 10) { /* AF_INET6 */
		BPF_CORE_READ_INTO(&out->peer, sock,
		                   __sk_common.skc_v6_daddr.in6_u.u6_addr8);
	} else {
		out->family = 0;
	}
}

/* Returns the file of a descriptor of the current thread, or NULL. */
static const struct file *
file_of(const struct task_struct *task, uint32_t fd)
{
	const struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	const struct file *file = NULL;
	struct file **all;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	all = BPF_CORE_READ(table, fd);
	return bpf_probe_read_kernel(&file, sizeof(file), all + fd) ? NULL
	                                                            : file;
}

static void
fill_file(const struct file *file, struct emit_event *out)
{
	const unsigned char *name;

	out->file = kind_of(BPF_CORE_READ(file, f_inode, i_mode));
	if (out->file == EMIT_SOCKET) {
		fill_peer(file, out);
		return;
	}
	name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	if (out->file != EMIT_PIPE)
		bpf_probe_read_kernel_str(out->name, sizeof(out->name), name);
}

/* Writes a sample; out of line, so that other waits do not pay for it. */
static __noinline void
emit_wait(void *ctx, struct room *room, const struct file *file,
          const struct thread *t, int64_t result)
{
	struct emit_event e = {
		.size = t->size,
		.mean = t->mean,
		.result = result,
		.address = t->address,
		.holder = t->holder,
		.call = t->call,
		.class = t->class,
		.scale = EMIT_SCALE,
		.most_scale = EMIT_SCALE,
	};

	if (file)
		fill_file(file, &e);
	emit(ctx, room, &e);
}

/* Inline, since a chain of calls has 512 bytes of stack before Linux 6.13. */
static __always_inline void
emit_call(void *ctx, const struct thread *t, int64_t result)
{
	uint32_t call = (uint32_t)t->call;
	const struct file *file = NULL;

	barrier_var(call); /* the verifier sees that this value is compared */
	if (call < CALLS && has_file[call])
		file = file_of(bpf_get_current_task_btf(), t->fd);
	emit_wait(ctx, emit_begin(), file, t, result);
}

/* Returns the current thread, if it may have a wait to sample; or NULL. */
static __always_inline struct thread *
look_here(void)
{
	const int32_t *here = get_here();
	struct task_struct *task;

	if (!here || !*here)
		return NULL;
	task = bpf_get_current_task_btf();
	return *here == task->pid
	               ? bpf_task_storage_get(&threads, task, NULL, 0)
	               : NULL;
}

/* Ends the thread's waits in this call or fault; true if they become a
 * sample. */
static __always_inline bool
take(struct thread *t)
{
	const struct emit_control *c = get_control();
	uint64_t size = t->waited_ns;
	int32_t *here = get_here();

	t->waited_ns = 0;
	if (here)
		*here = 0;
	return c && size && choose(c, t, bpf_get_prandom_u32(), size);
}

/* The end of a system call has its result, but tracing it slows down every
 * system call on the host. */
SEC("tp_btf/sys_exit")
int
BPF_PROG(stoker_exit, void *regs, long result)
{
	struct thread *t = look_here();

	(void)regs;
	if (t && take(t) && t->call >= 0)
		emit_call(ctx, t, result);
	return 0;
}

/* The thread runs again, with the stack that it waited with. Since Linux
 * 6.16. */
SEC("tp_btf/sched_exit_tp")
int
BPF_PROG(stoker_resume)
{
	const struct thread *t = look_here();
	int32_t *here = get_here();

	if (!t || !here || t->call < 0)
		return 0;
	*here = 0;
	emit_call(ctx, t, 0);
	return 0;
}

struct fault {
	void *ctx;
	struct room *room;
	const struct thread *thread;
};

/* Called with the mapping that contains the page. */
static long
emit_fault(struct task_struct *task, struct vm_area_struct *area,
           struct fault *fault)
{
	(void)task;
	emit_wait(fault->ctx, fault->room, BPF_CORE_READ(area, vm_file),
	          fault->thread, 0);
	return 0;
}

/* A page has been read from a disk, for the thread that runs. */
SEC("perf_event")
int
stoker_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = look_here();
	struct fault fault = {.ctx = ctx, .thread = t};

	if (!t || t->call >= 0 || !take(t))
		return 0;
	fault.room = emit_begin();
	if (bpf_find_vma(task, ctx->addr, emit_fault, &fault, 0))
		emit_wait(ctx, fault.room, NULL, t, 0);
	return 0;
}

/* --- processes ------------------------------------------------------------ */

/* A child is followed from its first instruction on, if its parent is. */
SEC("tp_btf/sched_process_fork")
int
BPF_PROG(stoker_fork, struct task_struct *parent, struct task_struct *child)
{
	uint32_t pid = (uint32_t)child->tgid;
	struct emit_control *c = get_control();
	uint64_t *word;

	(void)ctx;
	if (!c || child->tgid == parent->tgid)
		return 0;
	word = word_of(c, pid);
	if (!word)
		return 0;
	if (is_followed(c, (uint32_t)parent->tgid))
		__sync_fetch_and_or(word, 1ull << pid % 64);
	else if (*word >> pid % 64 & 1)
		__sync_fetch_and_and(word, ~(1ull << pid % 64));
	return 0;
}
