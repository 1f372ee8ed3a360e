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

/* scaled: the slot whose scale the sample gets; NULL: it stands for one. */
static __noinline void
write_alloc(void *ctx, struct room *room, const struct emit_slot *scaled,
            uint64_t size, uint64_t mean)
{
	struct emit_event e = {
		.size = size,
		.mean = mean,
		.call = -1,
		.class = EMIT_ALLOC,
		.scale = scaled ? scaled->scale : EMIT_SCALE,
		.most_scale = scaled ? scaled->most_scale : EMIT_SCALE,
	};

	emit(ctx, room, &e);
}

/* Writes a sample; out of line, so that other calls do not pay for it. */
static __noinline void
emit_alloc(void *ctx, const struct emit_slot *scaled, uint64_t size,
           uint64_t mean)
{
	write_alloc(ctx, emit_begin(), scaled, size, mean);
}

/* Returns the bytes per sample. In a burst of calls they double repeatedly, so
 * that the reader of samples need not keep up with it. */
static __always_inline uint64_t
mean_now(const struct emit_slot *s)
{
	const uint64_t doubled = s->taken / EMIT_STEP;
	const uint64_t mean = s->mean << (doubled & 31);

	return s->mean >> 32 || doubled > 31 || mean >> 32 ? UINT32_MAX : mean;
}

/* Counts a call, and samples it by the bytes that it stands for: its size, or
 * more if the process samples its calls itself. */
static __always_inline void
take(void *ctx, struct emit_slot *s, struct emit_calls *count, uint64_t size,
     uint64_t weight)
{
	uint64_t mean;
	bool scaled;

	count->bytes += weight;
	if (!s->scale)
		return;
	/* CPUs share the count, so it is no longer written once it is 0 */
	scaled = s->scaled > 0 && __sync_fetch_and_add(&s->scaled, -1) > 0;
	mean = mean_now(s);
	if (!mean || !is_kept(weight, mean))
		return;
	count->costly++;
	__sync_fetch_and_add(&s->taken, 1);
	emit_alloc(ctx, scaled ? s : NULL, size, weight > mean ? weight : mean);
}

SEC("uprobe")
int
stoker_alloc(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx), size;
	struct emit_calls *count;
	uint32_t slot = ALLOCS_SLOT(cookie);
	struct emit_slot *s = bpf_map_lookup_elem(&slots, &slot);

	count = bpf_map_lookup_elem(&calls, &slot);
	if (!s || !count)
		return 0;
	count->calls++;
	if (ALLOCS_HAS_UNLESS(cookie) && !read_reg(ctx, ALLOCS_OLD_OF(cookie)))
		return 0;
	size = bytes_of(ctx, cookie);
	if (size)
		take(ctx, s, count, size, size);
	return 0;
}

SEC("uprobe")
int
stoker_sampled(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	const struct allocs_sampled *a = arguments_of(cookie);
	uint32_t slot = ALLOCS_SLOT(cookie);
	struct emit_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct emit_calls *count = bpf_map_lookup_elem(&calls, &slot);
	struct sampled of;

	if (!s || !count || !a)
		return 0;
	count->calls++;
	of = sampled_of(ctx, a);
	take(ctx, s, count, of.size, of.weight);
	return 0;
}
