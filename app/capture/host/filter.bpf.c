/*
 * The kernel runs this program at each sample, and drops the sample when the
 * program returns 0.
 */
#include "interp_walk.bpf.h"

/* The kernel lets only programs under such a licence read user memory. */
const char terms[] SEC("license") = "Dual MIT/GPL";

/* Constants that are set before the program is loaded, so that the verifier
 * knows how far the maps reach. */
const volatile uint32_t nbits;  /* processes with a bit */
const volatile uint32_t stacks; /* of each ring; 0: there are no rings */

/* One value: a bit per process. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint64_t));
	__uint(max_entries, 1);
} processes SEC(".maps");

/* A value per CPU: the ring of interp_ring.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, INTERP_STACK);
	__uint(max_entries, 1);
} rings SEC(".maps");

static bool
is_denied(const uint8_t *bits, uint64_t pid)
{
	uint64_t byte = pid / 8;

	barrier_var(byte); /* the verifier sees that this value is compared */
	return byte < nbits / 8 && bits[byte] >> pid % 8 & 1;
}

/* Writes the thread's frames and context to the ring of this CPU. */
static void
take_stack(const struct thread_facts *from)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	uint8_t *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct interp_stack *to;
	uint64_t *head, turn;

	if (!ring)
		return;
	head = (void *)ring;
	turn = *head;
	to = (void *)(ring + INTERP_STACK +
	              (turn & (stacks - 1)) * INTERP_STACK);
	to->turn = 0;
	barrier();
	take_thread(from, to);
	barrier();
	to->turn = turn + 1;
	barrier();
	*head = turn + 1;
}

/* Words of struct pt_regs of x86-64, with which a sample's context begins; on
 * other machines there are others. */
enum {
	REGS_R14 = 1,
	REGS_BX = 5,
	REGS_DX = 12,
	REGS_PC = 16,
	REGS_CS,
	REGS = 21
};
#define USER_CS      0x33
#define KERNEL_STACK 16384 /* bytes; a program's registers are at the end */

/* Reads the registers with which a program has entered the kernel. */
static bool
read_registers(uint64_t *regs)
{
	const uint8_t *task = (const void *)bpf_get_current_task(), *stack;

	return kernel_has[PROGRAM_STACK] &&
	       !bpf_probe_read_kernel(&stack, sizeof(stack),
	                              task + kernel_has[PROGRAM_STACK]) &&
	       !bpf_probe_read_kernel(regs, REGS * 8,
	                              stack + KERNEL_STACK - REGS * 8);
}

/* Keeps the registers that interpreters have their frames in. */
static __noinline int
take_registers(const uint64_t *sample)
{
	uint64_t regs[REGS] = {0};
	uint32_t first = 0;
	struct walk_self *to = bpf_map_lookup_elem(&registers, &first);

	if (!to)
		return 0;
	if (sample[REGS_CS] == USER_CS) {
		regs[REGS_R14] = sample[REGS_R14];
		regs[REGS_BX] = sample[REGS_BX];
		regs[REGS_DX] = sample[REGS_DX];
		regs[REGS_PC] = sample[REGS_PC];
	} else if (!read_registers(regs) || regs[REGS_CS] != USER_CS) {
		regs[REGS_R14] = regs[REGS_PC] = 0;
	}
	to->r14 = regs[REGS_R14];
	to->bx = regs[REGS_BX];
	to->dx = regs[REGS_DX];
	to->pc = regs[REGS_PC];
	return 0;
}

SEC("perf_event")
int
stoker_filter(const uint64_t *sample)
{
	uint64_t pid = bpf_get_current_pid_tgid() >> 32;
	uint32_t first = 0;
	const uint8_t *bits = bpf_map_lookup_elem(&processes, &first);
	struct interp_slot room = {0};
	struct thread_facts from;

	if (!bits)
		return 1;
	if (is_denied(bits, pid))
		return 0;
	if (stacks)
		take_registers(sample);
	if (stacks && find_facts(&room, &from))
		take_stack(&from);
	return 1;
}
