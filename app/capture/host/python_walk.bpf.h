/*
 * Threads that run Python, and the walk along the frames of one, for every
 * program in the kernel that takes samples.
 */
#pragma once

#include "python_layout.h"

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

/* Thread n is in slot n % INTERP_SLOTS; read while it is written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct interp_slot);
	__uint(max_entries, INTERP_SLOTS);
} interps SEC(".maps");

/* Finds the slot of the thread that runs; NULL when it runs no Python. */
static const struct interp_slot *
find_slot(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	uint32_t at = tid % INTERP_SLOTS;
	const struct interp_slot *slot = bpf_map_lookup_elem(&interps, &at);

	return slot && slot->tid == tid ? slot : NULL;
}

static bool
copy_user(void *to, uint32_t n, uint64_t from)
{
	return !bpf_probe_read_user(to, n, (const void *)from);
}

/* Finds the innermost frame, by one hop or two. */
static bool
find_frame(const struct interp_slot *slot, uint64_t *frame)
{
	if (!copy_user(frame, sizeof(*frame), slot->head))
		return false;
	return !slot->hop ||
	       copy_user(frame, sizeof(*frame), *frame + slot->hop - 1);
}

static uint64_t
word_at(const uint8_t *copy, int offset)
{
	return *(const uint64_t *)(const void *)(copy + offset);
}

/* Keeps what the copy of a frame holds, and returns the next frame. */
static __always_inline uint64_t
keep_frame(const uint8_t *copy, const struct python_layout_of *layout,
           struct interp_frame *to)
{
	to->code = word_at(copy, layout->code);
	to->instr = word_at(copy, layout->instr);
	to->mark = copy[layout->mark];
	return word_at(copy, layout->previous);
}

static __always_inline enum interp_end
follow(const struct interp_slot *slot, struct interp_stack *to)
{
	bool older = slot->layout == PYTHON_3_11;
	uint8_t copy[PYTHON_FRAME_BYTES] __attribute__((aligned(8)));
	uint64_t frame = 0;

	if (!find_frame(slot, &frame))
		return INTERP_FAULT;
	for (uint32_t i = 0; i < INTERP_MAX_FRAMES; i++) {
		if (!frame)
			return INTERP_ROOT;
		if (!copy_user(copy, sizeof(copy), frame))
			return INTERP_FAULT;
		if (older)
			frame = keep_frame(copy, &python_layouts[PYTHON_3_11],
			                   &to->frames[i]);
		else
			frame = keep_frame(copy, &python_layouts[PYTHON_3_12],
			                   &to->frames[i]);
		to->n = i + 1;
	}
	return INTERP_FULL;
}

/* Writes the frames of the thread that runs. */
static __noinline int
walk_python(const struct interp_slot *slot, struct interp_stack *to)
{
	to->tid = slot->tid;
	to->n = 0;
	to->key = slot->key;
	to->time_ns = bpf_ktime_get_ns();
	to->end = follow(slot, to);
	return 0;
}
