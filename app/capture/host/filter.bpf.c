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

SEC("perf_event")
int
stoker_filter(void *sample)
{
	uint64_t pid = bpf_get_current_pid_tgid() >> 32;
	uint32_t first = 0;
	const uint8_t *bits = bpf_map_lookup_elem(&processes, &first);
	struct interp_slot room = {0};
	struct thread_facts from;

	(void)sample;
	if (!bits)
		return 1;
	if (is_denied(bits, pid))
		return 0;
	if (stacks && find_facts(&room, &from))
		take_stack(&from);
	return 1;
}
