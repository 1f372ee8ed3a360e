/*
 * Threads that an interpreter runs, and the walk along a thread's frames, for
 * all BPF programs that take samples.
 */
#pragma once

#include "capture/walks.h" /* of every language: generated */

/* Thread n is in slot n % INTERP_SLOTS. User space may write a slot while a
 * program reads it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct interp_slot);
	__uint(max_entries, INTERP_SLOTS);
} interps SEC(".maps");

/* Finds the slot of the current thread; NULL when no interpreter runs it. */
static const struct interp_slot *
find_slot(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	uint32_t at = tid % INTERP_SLOTS;
	const struct interp_slot *slot = bpf_map_lookup_elem(&interps, &at);

	return slot && slot->tid == tid ? slot : NULL;
}

static __always_inline enum interp_end
follow(const struct interp_slot *slot, struct interp_stack *to)
{
	switch (slot->language) {
#define LANGUAGE(id, name)  \
	case LANGUAGE_##id: \
		return name##_walk(NULL, slot, to);
#include "capture/interp/languages.def"
#undef LANGUAGE
	default:
		return INTERP_FAULT;
	}
}

/* Writes the frames of the current thread. */
static __noinline int
walk_frames(const struct interp_slot *slot, struct interp_stack *to)
{
	to->tid = slot->tid;
	to->n = 0;
	to->key = slot->key;
	to->time_ns = bpf_ktime_get_ns();
	to->end = follow(slot, to);
	return 0;
}
