/*
 * The kernel runs these programs at each call of an allocation function, at the
 * return of calls that were chosen to be samples or that replace sampled
 * memory, and at each call that releases memory. Linux 6.13 has probes of this
 * kind; before, watching one return meant watching all.
 */
#include "allocs_call.bpf.h"
#include "emit.bpf.h"
#include "inuse_layout.h"

const char terms[] SEC("license") = "Dual MIT/GPL";

#define RAX     0
#define RETURN  0 /* watch the return of this call, too */
#define NO_MORE 1 /* do not watch it */
#define CALLS   4096

extern bool bpf_session_is_return(void) __ksym;
extern uint64_t *bpf_session_cookie(void) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct inuse_slot);
	__uint(max_entries, EMIT_SLOTS);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct inuse_set);
	__uint(max_entries, INUSE_SETS);
} sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, uint32_t);
	__type(value, struct emit_calls);
	__uint(max_entries, EMIT_SLOTS);
} calls SEC(".maps");

/* A call whose return is watched. */
struct call {
	uint64_t size, mean;
	uint64_t to;   /* where the result is written; 0: it is returned */
	uint64_t old;  /* key of the memory that it replaces; 0: none */
	uint32_t way;  /* the way of old in its set */
	bool chosen;   /* to be a sample */
	bool releases; /* realloc(p, 0): releases old, even if it returns 0 */
};

/* By id of the sample. A call that never returns, since its thread ended, is
 * evicted in time. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, uint64_t);
	__type(value, struct call);
	__uint(max_entries, CALLS);
} begun SEC(".maps");

/* --- rows ----------------------------------------------------------------- */

static __always_inline struct inuse_set *
set_of(uint64_t key)
{
	uint32_t at = INUSE_SET(key);

	return bpf_map_lookup_elem(&sets, &at);
}

/* Finds the row of a key, or an unused row if key is 0. Returns its way in the
 * set, or INUSE_WAYS. */
static __always_inline uint32_t
way_of(const struct inuse_set *set, uint64_t key)
{
	for (uint32_t i = 0; i < INUSE_WAYS; i++)
		if (set->rows[i].key == key)
			return i;
	return INUSE_WAYS;
}

static __always_inline bool
take_row(struct inuse_set *set, uint32_t way, uint64_t was, uint64_t key)
{
	barrier_var(way); /* the verifier sees that this value is compared */
	return way < INUSE_WAYS &&
	       __sync_val_compare_and_swap(&set->rows[way].key, was, key) ==
	               was;
}

static __always_inline void
clear(uint64_t key)
{
	struct inuse_set *set = set_of(key);

	if (set)
		(void)take_row(set, way_of(set, key), key, 0);
}

/* Gives an allocation a row; returns the row's number, or -1. If the address
 * already has a row, its release was missed, and the row is reused. */
static __always_inline int64_t
keep(uint64_t key, uint64_t id)
{
	struct inuse_set *set = set_of(key);
	uint32_t way;

	if (!set)
		return -1;
	way = way_of(set, key);
	if (way == INUSE_WAYS) {
		way = way_of(set, 0);
		if (!take_row(set, way, 0, key))
			return -1;
	}
	barrier_var(way);
	if (way >= INUSE_WAYS)
		return -1;
	set->rows[way].id = id;
	return (int64_t)INUSE_SET(key) * INUSE_WAYS + way;
}

/* --- calls ---------------------------------------------------------------- */

static __always_inline void
count(uint32_t slot, struct emit_calls more)
{
	struct emit_calls *c = bpf_map_lookup_elem(&calls, &slot);

	if (!c)
		return;
	c->calls += more.calls;
	c->bytes += more.bytes;
	c->costly += more.costly;
}

static __always_inline uint64_t
new_id(void)
{
	return bpf_ktime_get_ns() << 8 | (bpf_get_smp_processor_id() & 255);
}

/* Notes the memory that a call replaces, if this memory is a sample. */
static __always_inline void
note_old(const void *regs, uint64_t cookie, struct call *to)
{
	uint64_t old = read_reg(regs, ALLOCS_OLD_OF(cookie));
	uint64_t key = INUSE_KEY(ALLOCS_SLOT(cookie), old);
	const struct inuse_set *set = set_of(key);

	if (!old || !set)
		return;
	to->way = way_of(set, key);
	if (to->way == INUSE_WAYS)
		return;
	to->old = key;
	to->releases = !read_reg(regs, ALLOCS_SIZE(cookie));
}

static __always_inline int
begin(const void *regs, uint64_t cookie, const struct inuse_slot *s)
{
	struct call c = {.mean = s->mean};
	uint64_t id, *numbered;

	if (ALLOCS_HAS_UNLESS(cookie) &&
	    !read_reg(regs, ALLOCS_OLD_OF(cookie))) {
		count(ALLOCS_SLOT(cookie), (struct emit_calls){.calls = 1});
		return NO_MORE;
	}
	c.size = bytes_of(regs, cookie);
	c.chosen = c.size && c.mean && c.mean >> 32 == 0 &&
	           is_kept(c.size, c.mean);
	if (ALLOCS_HAS_OLD(cookie))
		note_old(regs, cookie, &c);
	/* The bytes of a sample are counted when the call has succeeded. */
	count(ALLOCS_SLOT(cookie),
	      (struct emit_calls){.calls = 1,
	                          .bytes = c.chosen ? 0 : c.size,
	                          .costly = c.chosen || c.old});
	numbered = bpf_session_cookie();
	if ((!c.chosen && !c.old) || !numbered)
		return NO_MORE;
	if (ALLOCS_HAS_TO(cookie))
		c.to = read_reg(regs, ALLOCS_TO_OF(cookie));
	id = new_id();
	*numbered = id;
	return bpf_map_update_elem(&begun, &id, &c, BPF_ANY) ? NO_MORE : RETURN;
}

/* Returns the address that a call has allocated, or 0 when it failed. */
static __always_inline uint64_t
result_of(const void *regs, const struct call *c)
{
	uint64_t address = read_reg(regs, RAX);

	if (!c->to)
		return address;
	if ((uint32_t)address ||
	    bpf_probe_read_user(&address, sizeof(address), (const void *)c->to))
		return 0;
	return address;
}

/* Writes a sample, and gives it a row. */
static __noinline void
write_sample(void *ctx, struct inuse_slot *s, uint64_t key, uint64_t id,
             const struct call *c)
{
	struct emit_event e = {
		.size = c->size,
		.mean = c->mean,
		.call = -1,
		.class = EMIT_ALLOC,
		.scale = EMIT_SCALE,
		.most_scale = EMIT_SCALE,
		.address = id,
		.result = keep(key, id),
	};

	if (e.result < 0)
		__sync_fetch_and_add(&s->untracked, 1);
	emit(ctx, emit_begin(), &e);
}

static __always_inline void
end(void *ctx, uint32_t slot, struct inuse_slot *s, uint64_t id,
    const struct call *c)
{
	uint64_t address = result_of(ctx, c);
	struct inuse_set *set = c->old ? set_of(c->old) : NULL;

	if (set && (address || c->releases))
		(void)take_row(set, c->way, c->old, 0);
	if (!c->chosen || !address || c->releases)
		return;
	count(slot, (struct emit_calls){.bytes = c->size});
	write_sample(ctx, s, INUSE_KEY(slot, address), id, c);
}

SEC("uprobe")
int
stoker_hold(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	uint32_t slot = ALLOCS_SLOT(cookie);
	struct inuse_slot *s = bpf_map_lookup_elem(&slots, &slot);
	uint64_t *numbered, id;
	const struct call *c;
	struct call copy;

	if (!s || s->state != INUSE_WATCHED)
		return NO_MORE;
	if (!bpf_session_is_return())
		return begin(ctx, cookie, s);
	numbered = bpf_session_cookie();
	if (!numbered)
		return 0;
	id = *numbered;
	c = bpf_map_lookup_elem(&begun, &id);
	if (!c)
		return 0;
	copy = *c;
	bpf_map_delete_elem(&begun, &id);
	end(ctx, slot, s, id, &copy);
	return 0;
}

SEC("uprobe")
int
stoker_free(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	uint32_t slot = ALLOCS_SLOT(cookie);
	uint64_t address = read_reg(ctx, ALLOCS_SIZE(cookie));

	count(slot, (struct emit_calls){.calls = 1});
	if (address)
		clear(INUSE_KEY(slot, address));
	return 0;
}

/* --- static probes of a program that samples its own allocations ---------- */

SEC("uprobe")
int
stoker_sampled(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx), address;
	const struct allocs_sampled *a = arguments_of(cookie);
	uint32_t slot = ALLOCS_SLOT(cookie);
	struct inuse_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct call c = {0};
	struct sampled of;

	if (!s || s->state != INUSE_WATCHED || !a)
		return 0;
	of = sampled_of(ctx, a);
	address = read_argument(ctx, &a->memory);
	c.size = of.size;
	c.mean = s->mean;
	c.chosen = address && c.mean && c.mean >> 32 == 0 &&
	           is_kept(of.weight, c.mean);
	count(slot, (struct emit_calls){.calls = 1,
	                                .bytes = of.weight,
	                                .costly = c.chosen});
	if (c.mean < of.weight)
		c.mean = of.weight;
	if (c.chosen)
		write_sample(ctx, s, INUSE_KEY(slot, address), new_id(), &c);
	return 0;
}

SEC("uprobe")
int
stoker_released(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx), address;
	const struct allocs_sampled *a = arguments_of(cookie);
	uint32_t slot = ALLOCS_SLOT(cookie);

	count(slot, (struct emit_calls){.calls = 1});
	address = a ? read_argument(ctx, &a->memory) : 0;
	if (address)
		clear(INUSE_KEY(slot, address));
	return 0;
}
