/*
 * The kernel runs this program at each sample, and writes the sample to perf's
 * ring unless the program returns 0. The program drops samples of processes
 * that nobody follows, and writes the others itself: it copies only as much of
 * a stack as is in use. What it can't write is left to perf.
 */
#include "filter_layout.h"
#include "interp_walk.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* The kernel lets only programs under such a licence read user memory. */
const char terms[] SEC("license") = "Dual MIT/GPL";

/* Constants that are set before the program is loaded, so that the verifier
 * knows how far the maps reach. */
const volatile uint32_t nbits; /* number of pids with a bit */
const volatile uint32_t data;  /* bytes of a ring, a power of two */

/* --- the kernel's structures ---------------------------------------------- */
#define OF_KERNEL __attribute__((preserve_access_index))

struct mm_struct {
	unsigned long start_stack;
} OF_KERNEL;
struct task_struct {
	struct mm_struct *mm;
} OF_KERNEL;
struct pt_regs___x86 {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx;
	unsigned long si, di, orig_ax, ip, cs, sp;
} OF_KERNEL;
struct pt_regs___arm {
	unsigned long sp, pstate;
} OF_KERNEL;

#define STATE_ARM 0x1f /* bits of pstate that are 0 in 64-bit programs */
#define ARM_REGS  33

/* --- maps ----------------------------------------------------------------- */

/* One value: a bit per process, set if its samples are dropped. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint64_t));
	__uint(max_entries, 1);
} processes SEC(".maps");

/* A value per CPU: struct filter_ring. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, FILTER_PAGE + FILTER_ROOM);
	__uint(max_entries, 1);
} rings SEC(".maps");

/* Becomes readable when a ring is half full. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FILTER_PAGE);
} wakes SEC(".maps");

static bool
is_denied(uint64_t pid)
{
	uint32_t first = 0;
	const uint8_t *bits = bpf_map_lookup_elem(&processes, &first);
	uint64_t byte = pid / 8;

	barrier_var(byte); /* the verifier sees that this value is compared */
	return bits && byte < nbits / 8 && bits[byte] >> pid % 8 & 1;
}

/* --- a sample ------------------------------------------------------------- */

struct user {
	uint64_t sp;
	uint64_t bytes; /* of the registers in the record */
};

/* Writes the registers of a 64-bit program, in perf's order. Returns false for
 * other programs, and for a kernel thread that works for a program. */
static __always_inline bool
put_regs(const void *regs, uint64_t *to, struct user *out)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm *arm = regs;

	*to++ = PERF_SAMPLE_REGS_ABI_64;
	if (!bpf_core_field_exists(x86->orig_ax)) {
		/* sp and pc follow the others. */
		bpf_probe_read_kernel(to, 8 * ARM_REGS, regs);
		out->sp = arm->sp;
		out->bytes = 8 + 8 * ARM_REGS;
		return !(arm->pstate & STATE_ARM) && out->sp;
	}
	to[0] = x86->ax;
	to[1] = x86->bx;
	to[2] = x86->cx;
	to[3] = x86->dx;
	to[4] = x86->si;
	to[5] = x86->di;
	to[6] = x86->bp;
	to[7] = x86->sp;
	to[8] = x86->ip;
	to[9] = x86->r8;
	to[10] = x86->r9;
	to[11] = x86->r10;
	to[12] = x86->r11;
	to[13] = x86->r12;
	to[14] = x86->r13;
	to[15] = x86->r14;
	to[16] = x86->r15;
	out->sp = x86->sp;
	out->bytes = 8 + 8 * 17;
	return (x86->cs & SELECTOR) == CODE_USER && out->sp;
}

/* Bytes above the first frame of a program's first thread: its arguments. */
#define ARGUMENTS 64

/*
 * Returns how many bytes of the stack above sp may be in use. A thread's stack
 * ends where its thread pointer points, since C libraries put the thread's
 * control block on top of it; the first thread's ends just above where it
 * began. A stack in another place ends before such an address or is not near
 * one, so nothing is cut off.
 */
static __always_inline uint64_t
in_use(const struct mm_struct *mm, uint64_t sp, uint64_t most)
{
	uint64_t thread = thread_pointer() - sp;
	uint64_t first = mm->start_stack + ARGUMENTS - sp;

	if (thread < most)
		most = thread;
	if (first < most)
		most = first;
	return most & ~7ull;
}

struct stack {
	uint8_t bytes[FILTER_MAX_STACK + FILTER_PAGE];
};

/* Copies memory until some of it can't be read; returns the number of bytes.
 * Functions that are not static are verified once. */
__noinline uint64_t
copy_user(struct stack *to, uint64_t from, uint64_t bytes)
{
	uint64_t n = 0;

	for (int i = 0; i <= FILTER_MAX_STACK / FILTER_PAGE && to; i++) {
		uint64_t part = FILTER_PAGE - ((from + n) & (FILTER_PAGE - 1));

		if (part > bytes - n)
			part = bytes - n;
		barrier_var(part); /* the verifier sees these compared */
		barrier_var(n);
		if (!part || part > FILTER_PAGE || n > FILTER_MAX_STACK ||
		    bpf_probe_read_user(to->bytes + n, part,
		                        (void *)(from + n)))
			break;
		n += part;
	}
	return n & ~7ull;
}

/* Writes the interpreter's frames and the context of the thread; returns their
 * bytes. */
static __always_inline uint64_t
put_facts(struct interp_stack *to)
{
	/* Lies where the context will be: the stack has no room for it. */
	struct interp_slot *slot = (void *)(to->room + sizeof(struct walk_at));
	struct thread_facts from;
	uint64_t bytes;

	__builtin_memset(slot, 0, sizeof(*slot));
	if (!find_facts(slot, &from))
		return 0;
	take_thread(&from, to);
	bytes = offsetof(struct interp_stack, frames) +
	        to->n * sizeof(struct interp_frame) + to->context;
	barrier_var(bytes);
	return bytes > sizeof(*to) ? 0 : (bytes + 7) & ~7ull;
}

/* Writes the user part of a sample, from its registers on; returns its bytes,
 * or 0 if the sample is left to perf. */
static __always_inline uint64_t
put_user(uint8_t *to, uint64_t most)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct mm_struct *mm = task->mm;
	uint64_t n, size;
	struct user user;

	if (!mm || !put_regs((const void *)bpf_task_pt_regs((void *)task),
	                     (uint64_t *)to, &user))
		return 0;
	to += user.bytes;
	n = copy_user((void *)(to + 8), user.sp, in_use(mm, user.sp, most));
	barrier_var(n);
	if (n > FILTER_MAX_STACK)
		return 0;
	/* As in perf's records, a stack that fills its room may go on. */
	size = n < most ? n + 8 : n;
	*(uint64_t *)to = size;
	to += 8 + size;
	*(uint64_t *)to = n;
	return user.bytes + 8 + size + 8 + put_facts((void *)(to + 8));
}

static __always_inline void
wake(uint64_t used, uint64_t bytes)
{
	if (used <= data / 2 && used + bytes > data / 2)
		bpf_ringbuf_output(&wakes, &bytes, sizeof(bytes),
		                   BPF_RB_FORCE_WAKEUP);
}

/* Writes a sample to the ring of this CPU; false if there is no room, or if
 * the sample is left to perf. */
static __always_inline bool
put_sample(void *ctx, uint64_t id)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct filter_ring *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct filter_sample *to;
	uint64_t head, used, most, bytes;
	int64_t chain;

	if (!ring)
		return false;
	head = ring->head;
	used = head - ring->tail;
	most = ring->stack_bytes & ~7ull;
	if (most > FILTER_MAX_STACK)
		most = FILTER_MAX_STACK;
	if (used > data || data - used < most + FILTER_REST)
		return false;
	to = (void *)(ring->data + (head & (data - 8)));
	chain = bpf_get_stack(ctx, to->chain, sizeof(to->chain), 0);
	if (chain < 0)
		return false;
	chain &= 0x3f8; /* the bytes of FILTER_MAX_CHAIN */
	bytes = put_user((uint8_t *)to->chain + chain, most);
	if (!bytes)
		return false;
	bytes += offsetof(struct filter_sample, chain) + (uint64_t)chain;
	to->header.type = PERF_RECORD_SAMPLE;
	to->header.misc = 0;
	to->header.size = bytes;
	to->pid = id >> 32;
	to->tid = (uint32_t)id;
	to->time_ns = bpf_ktime_get_ns();
	to->cpu = cpu;
	to->nchain = (uint64_t)chain / 8;
	__sync_lock_test_and_set(&ring->head, head + bytes);
	wake(used, bytes);
	return true;
}

SEC("perf_event")
int
stoker_filter(void *ctx)
{
	uint64_t id = bpf_get_current_pid_tgid();

	return !is_denied(id >> 32) && !put_sample(ctx, id);
}

/* For kernels that refuse stoker_filter. */
SEC("perf_event")
int
stoker_filter_only(void *ctx)
{
	(void)ctx;
	return !is_denied(bpf_get_current_pid_tgid() >> 32);
}
