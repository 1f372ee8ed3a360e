/*
 * The kernel runs this program at each call of an allocation function that is
 * probed. It counts the calls, and samples them by their bytes.
 */
#include "allocs_call.bpf.h"
#include "emit.bpf.h"

const char terms[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct emit_slot);
	__uint(max_entries, EMIT_SLOTS);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, uint32_t);
	__type(value, struct emit_calls);
	__uint(max_entries, EMIT_SLOTS);
} calls SEC(".maps");

SEC("uprobe")
int
stoker_alloc(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct emit_calls *count;
	uint32_t slot = ALLOCS_SLOT(cookie);
	struct emit_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct emit_event e = {.call = -1, .class = EMIT_ALLOC};

	count = bpf_map_lookup_elem(&calls, &slot);
	if (!s || !count)
		return 0;
	count->calls++;
	if (ALLOCS_HAS_UNLESS(cookie) && !read_reg(ctx, ALLOCS_OLD_OF(cookie)))
		return 0;
	e.size = bytes_of(ctx, cookie);
	if (!e.size)
		return 0;
	count->bytes += e.size;
	e.scale = s->scale;
	e.most_scale = s->most_scale;
	e.mean = s->mean;
	if (e.scale && __sync_fetch_and_add(&s->scaled, -1) <= 0)
		e.scale = e.most_scale = EMIT_SCALE;
	if (!e.scale || !e.mean || e.mean >> 32 || !is_kept(e.size, e.mean))
		return 0;
	count->costly++;
	emit(ctx, &e);
	return 0;
}
