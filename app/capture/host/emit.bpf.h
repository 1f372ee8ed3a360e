/*
 * How the BPF programs that look at events write a sample: the event that was
 * kept, followed by the interpreter's frames and the thread's context, if there
 * are any.
 */
#pragma once

#include "emit_layout.h"
#include "interp_walk.bpf.h"

/* An event per CPU that writes samples. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} outputs SEC(".maps");

struct room {
	uint64_t busy;
	struct emit_event event;
	struct interp_stack interp;
};
#define ROOM_BYTES (sizeof(struct emit_event) + sizeof(struct interp_stack))

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, uint32_t);
	__type(value, struct room);
	__uint(max_entries, 1);
} rooms SEC(".maps");

/* Takes this CPU's room; NULL when the program has interrupted another one that
 * uses it: the sample is then written without frames. */
static struct room *
enter_room(void)
{
	uint32_t first = 0;
	struct room *room = bpf_map_lookup_elem(&rooms, &first);

	return room && !__sync_lock_test_and_set(&room->busy, 1) ? room : NULL;
}

/*
 * Records the interpreter's frames and the context of the current thread; NULL
 * if it has neither. An emit() must follow. The two functions are separate
 * because the walk along frames needs half of the stack that a chain of calls
 * may have before Linux 6.13, and the event a quarter.
 */
static __always_inline struct room *
emit_begin(void)
{
	struct interp_slot slot = {0};
	struct thread_facts from;
	struct room *room = find_facts(&slot, &from) ? enter_room() : NULL;

	if (room)
		take_thread(&from, &room->interp);
	return room;
}

/* Writes a sample of the current thread. */
static __noinline int
emit(void *ctx, struct room *room, const struct emit_event *e)
{
	uint64_t bytes;

	if (!room) {
		bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU,
		                      (void *)e, sizeof(*e));
		return 0;
	}
	room->event = *e;
	bytes = sizeof(*e) + offsetof(struct interp_stack, frames) +
	        room->interp.n * sizeof(struct interp_frame) +
	        room->interp.context;
	barrier_var(bytes); /* the verifier sees that this value is compared */
	if (bytes <= ROOM_BYTES)
		bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU,
		                      &room->event, bytes);
	__sync_lock_test_and_set(&room->busy, 0);
	return 0;
}
