/*
 * The kernel runs this program at each call of an allocation function that is
 * probed. It counts the calls, and tells of a part of them, by their bytes.
 */
#include "allocs_cookie.h"
#include "emit.bpf.h"

const char terms[] SEC("license") = "Dual MIT/GPL";

#define REGS 16

/* Where the kernel keeps the registers of a program on x86-64, by their numbers
 * in instructions, in words.
 *   Source   linux/arch/x86/include/asm/ptrace.h, struct pt_regs */
static const volatile uint8_t places[REGS] = {10, 11, 12, 5, 19, 4, 13, 14,
                                              9,  8,  7,  6, 3,  2, 1,  0};

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

static __always_inline uint64_t
read_reg(const void *regs, uint32_t number)
{
	uint64_t value = 0;

	bpf_probe_read_kernel(&value, sizeof(value),
	                      (const uint64_t *)regs + places[number % REGS]);
	return value;
}

/* Returns the bytes that a call asks for; a product that is too large fails in
 * the function, too. */
static __always_inline uint64_t
bytes_of(const void *r, uint64_t cookie)
{
	uint64_t n = read_reg(r, ALLOCS_SIZE(cookie));

	if (ALLOCS_HAS_COUNT(cookie))
		n *= read_reg(r, ALLOCS_COUNT(cookie));
	return n ? n : 1;
}

static bool
is_kept(uint64_t size, uint64_t mean)
{
	return size >= mean || bpf_get_prandom_u32() < (size << 32) / mean;
}

SEC("uprobe")
int
stoker_alloc(void *ctx)
{
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct emit_calls *count;
	uint32_t slot = ALLOCS_SLOT(cookie);
	const struct emit_slot *s = bpf_map_lookup_elem(&slots, &slot);
	struct emit_event e = {.call = -1, .class = EMIT_ALLOC};

	if (ALLOCS_HAS_UNLESS(cookie) &&
	    !read_reg(ctx, ALLOCS_UNLESS_OF(cookie)))
		return 0;
	count = bpf_map_lookup_elem(&calls, &slot);
	if (!s || !count)
		return 0;
	e.size = bytes_of(ctx, cookie);
	count->calls++;
	count->bytes += e.size;
	e.scale = s->scale;
	e.mean = s->mean;
	if (e.scale && e.mean && e.mean >> 32 == 0 && is_kept(e.size, e.mean))
		emit(ctx, &e);
	return 0;
}
