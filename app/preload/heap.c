/*
 * libstoker-heap.so: counts, by stack, the memory that a program allocates and
 * frees. It is loaded with LD_PRELOAD and wraps the program's own allocator.
 *
 * Every allocated byte is sampled with the same probability. An allocation
 * costs a subtraction, a release a lookup in a table of tags, and a sample a
 * walk of the stack. Samples become rarer when these walks take more than a
 * small share of the time (COST).
 *
 * The library runs within a program that it must not harm: it takes no lock,
 * allocates nothing, writes no file, starts no thread, and changes neither
 * errno nor a signal. After fork(2), the child goes on counting in its own
 * copy.
 *
 * Other profilers see the samples at its static probes (USDT), which keep to
 * the contract of OpenTelemetry: otel_memory:alloc passes the address, the
 * bytes and the bytes that the sample stands for, otel_memory:free the
 * address.
 *   Source   OpenTelemetry eBPF profiler, design-docs/00003-memory-profiling
 */
#include "preload/heap_layout.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <time.h>
#include <unwind.h>

#define EXPORT     __attribute__((visibility("default")))
#define NOINLINE   __attribute__((noinline))
#define IS_RARE(x) __builtin_expect(!!(x), 0)
#define THREAD     static __thread __attribute__((tls_model("initial-exec")))
#define ADD(to, n) __atomic_fetch_add(&(to), n, __ATOMIC_RELAXED)
#define LOAD(from) __atomic_load_n(&(from), __ATOMIC_ACQUIRE)

#define FIRST_MEAN UINT64_C(524288)
#define MAX_RARER  20 /* the mean is doubled at most this often */

static struct heap_stack stacks[HEAP_STACKS];
static uint64_t frames[HEAP_FRAMES];

/* Stack 0 stands for all stacks that found no room. */
EXPORT struct heap_head stoker_heap = {
	.nstacks = 1,
	.mean = FIRST_MEAN,
};

/* --- the allocator that this library calls -------------------------------- */

/* Memory for allocations by dlsym(3), while the allocator is being looked
 * up. */
static char early[4096] __attribute__((aligned(16)));
static size_t nearly;

static bool
is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

static void *
early_alloc(size_t n)
{
	size_t at;

	if (n > sizeof(early))
		return NULL;
	at = ADD(nearly, (n + 15) & ~(size_t)15);
	return at + n <= sizeof(early) ? early + at : NULL;
}

static void *find_malloc(size_t n);
static void *find_calloc(size_t n, size_t size);
static void *find_realloc(void *p, size_t n);
static void find_free(void *p);
static void *find_memalign(size_t align, size_t n);
static void *find_aligned_alloc(size_t align, size_t n);
static int find_posix_memalign(void **out, size_t align, size_t n);

/*
 * The C++ operators, by their mangled names. An allocator may define operators
 * that do not call its malloc(3); those of the C++ library do.
 * Source: Itanium C++ ABI, 5.1.5
 */
/* clang-format off */
#define NEWS(x) \
	x(_Znwm, (size_t n), (n)) \
	x(_Znam, (size_t n), (n)) \
	x(_ZnwmRKSt9nothrow_t, (size_t n, const void *tag), (n, tag)) \
	x(_ZnamRKSt9nothrow_t, (size_t n, const void *tag), (n, tag)) \
	x(_ZnwmSt11align_val_t, (size_t n, size_t align), (n, align)) \
	x(_ZnamSt11align_val_t, (size_t n, size_t align), (n, align)) \
	x(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t align, const void *tag), (n, align, tag)) \
	x(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t align, const void *tag), (n, align, tag))
#define DELETES(x) \
	x(_ZdlPv, (void *p), (p)) \
	x(_ZdaPv, (void *p), (p)) \
	x(_ZdlPvm, (void *p, size_t n), (p, n)) \
	x(_ZdaPvm, (void *p, size_t n), (p, n)) \
	x(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag)) \
	x(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag)) \
	x(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align)) \
	x(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align)) \
	x(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t align), (p, n, align)) \
	x(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t align), (p, n, align)) \
	x(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag), (p, align, tag)) \
	x(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag), (p, align, tag))
/* clang-format on */

enum operator_of {
#define NUMBER(name, parameters, arguments) OF##name,
	NEWS(NUMBER) DELETES(NUMBER) OPERATORS
};
static const char *const operators[] = {
#define NAME(name, parameters, arguments) #name,
	NEWS(NAME) DELETES(NAME)};

/* The functions that ours call. Aligned to a page, which start() makes
 * read-only. */
#define PAGE 4096
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	/* NULL: not found yet */
	void *operators[OPERATORS];
} __attribute__((aligned(PAGE))) next = {
	.malloc = find_malloc,
	.calloc = find_calloc,
	.realloc = find_realloc,
	.free = find_free,
	.memalign = find_memalign,
	.aligned_alloc = find_aligned_alloc,
	.posix_memalign = find_posix_memalign,
};

/* Looks up the functions of the program's allocator. Returns false while a
 * look-up is going on, in this thread or another. */
static bool
find_all(void)
{
	static int finding;
	void *found[] = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
	static const char *const names[] = {
		"malloc",   "calloc",        "realloc",        "free",
		"memalign", "aligned_alloc", "posix_memalign",
	};

	if (__atomic_exchange_n(&finding, 1, __ATOMIC_ACQUIRE))
		return false;
	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		found[i] = dlsym(RTLD_NEXT, names[i]);
	memcpy(&next, found, sizeof(found));
	return true;
}

static void *
find_malloc(size_t n)
{
	return find_all() ? next.malloc(n) : early_alloc(n);
}

static void *
find_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (find_all())
		return next.calloc(n, size);
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return early_alloc(bytes); /* zero: early memory is never reused */
}

static void *
find_realloc(void *p, size_t n)
{
	return find_all() ? next.realloc(p, n) : early_alloc(n);
}

/* Moves an early allocation. Its size is not recorded, so as many bytes are
 * copied as it can have. */
static void *
leave_early(const char *p, size_t n)
{
	size_t most = (size_t)(early + sizeof(early) - p);
	void *to = next.malloc(n);

	return to ? memcpy(to, p, n < most ? n : most) : NULL;
}

static void
find_free(void *p)
{
	if (find_all())
		next.free(p);
}

static void *
find_memalign(size_t align, size_t n)
{
	return find_all() ? next.memalign(align, n) : NULL;
}

static void *
find_aligned_alloc(size_t align, size_t n)
{
	return find_all() ? next.aligned_alloc(align, n) : NULL;
}

static int
find_posix_memalign(void **out, size_t align, size_t n)
{
	return find_all() ? next.posix_memalign(out, align, n) : ENOMEM;
}

/* --- C++ operators -------------------------------------------------------- */

static void
find_operators(void)
{
	for (int i = 0; i < OPERATORS; i++)
		next.operators[i] = dlsym(RTLD_NEXT, operators[i]);
}

/* Finds an operator in a C++ library that was loaded later, with RTLD_LOCAL. */
static NOINLINE void *
find_late(enum operator_of of)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1",
	                                        "libc++abi.so.1"};
	void *found = dlsym(RTLD_NEXT, operators[of]);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		void *library =
			found ? NULL
			      : dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			found = dlsym(library, operators[of]);
	}
	if (found)
		return found;
	abort(); /* cannot happen: a caller of an operator has a C++ library */
}

static inline __attribute__((always_inline)) void *
operator_of(enum operator_of of)
{
	void *is = next.operators[of];

	return is ? is : find_late(of);
}

/* --- stacks --------------------------------------------------------------- */

/* Hash table of stacks, with open addressing: the number of a stack, or 0 if
 * free. */
#define INDEX      (2 * HEAP_STACKS)
#define INDEX_LOOK 64
static uint32_t index_of[INDEX];

struct walk {
	uint32_t n;
	uint64_t hash;
	uint64_t at[HEAP_DEPTH];
};

static _Unwind_Reason_Code
walk_frame(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	int exact = 0;
	uint64_t ip = _Unwind_GetIPInfo(c, &exact);

	if (w->n == HEAP_DEPTH || !ip)
		return _URC_END_OF_STACK;
	w->at[w->n] = exact ? ip : ip - 1;
	w->hash = (w->hash ^ w->at[w->n]) * UINT64_C(0x9e3779b97f4a7c15);
	w->hash ^= w->hash >> 29;
	w->n++;
	return _URC_NO_REASON;
}

/* Adds a stack. Returns its number, or 0 if there is no room. */
static uint32_t
add_stack(uint64_t hash, const uint64_t *at, uint32_t n)
{
	uint32_t frame0 = LOAD(stoker_heap.nframes);
	uint32_t id = LOAD(stoker_heap.nstacks);

	if (id >= HEAP_STACKS || frame0 >= HEAP_FRAMES - n)
		return 0;
	frame0 = ADD(stoker_heap.nframes, n);
	id = ADD(stoker_heap.nstacks, 1);
	if (id >= HEAP_STACKS || frame0 > HEAP_FRAMES - n)
		return 0;
	memcpy(&frames[frame0], at, n * sizeof(*at));
	stacks[id].hash = hash;
	stacks[id].frame0 = frame0;
	__atomic_store_n(&stacks[id].n, n, __ATOMIC_RELEASE);
	return id;
}

/* Returns the number of a stack, adding it if it is new. Two threads that add
 * the same stack at once may add it twice. */
static uint32_t
find_stack(uint64_t hash, const uint64_t *at, uint32_t n)
{
	uint32_t id = 0;

	for (uint32_t i = 0; i < INDEX_LOOK; i++) {
		uint32_t *slot = &index_of[(hash + i) % INDEX];
		uint32_t is = LOAD(*slot);

		if (!is && !id)
			id = add_stack(hash, at, n);
		if (!is && (!id || __atomic_compare_exchange_n(
					   slot, &is, id, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)))
			return id;
		if (stacks[is].hash == hash)
			return is;
	}
	return id;
}

/* --- what is in use ------------------------------------------------------- */

/* The sampled allocations, in sets of WAYS, by a hash of their address. Each
 * set has a word of tags, one byte per allocation, which rules out most other
 * addresses without a look at the set. */
#define WAYS      8
#define SET_BITS  14
#define SETS      (1u << SET_BITS)
#define ONES      UINT64_C(0x0101010101010101)
#define MANY_LIVE (SETS * WAYS / 4)

static uint64_t tags[SETS];
static struct live {
	uintptr_t p;
	uint32_t stack;
	uint64_t objects, bytes;
} live[SETS][WAYS];
static int64_t nlive;

static uint64_t
hash_of(const void *p)
{
	return (uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t
set_of(uint64_t hash)
{
	return (uint32_t)(hash >> (64 - SET_BITS));
}

static uint64_t
tag_of(uint64_t hash)
{
	return (hash >> 40 & 255) | 1; /* 0 marks an unused way */
}

/* True if one of the set's tags equals tag and, rarely, if none does. */
static bool
has_tag(uint64_t of_set, uint64_t tag)
{
	uint64_t x = of_set ^ tag * ONES;

	return (x - ONES) & ~x & ONES << 7;
}

static void
count_free(const struct live *is)
{
	ADD(stacks[is->stack].freed_samples, 1);
	ADD(stacks[is->stack].freed_objects, is->objects);
	ADD(stacks[is->stack].freed_bytes, is->bytes);
	STAP_PROBE1(otel_memory, free, is->p);
}

/* Records a sampled allocation until it is freed. */
static void
keep(const struct live *is)
{
	uint64_t hash = hash_of((const void *)is->p);
	uint32_t set = set_of(hash);
	uint64_t was = LOAD(tags[set]);

	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t with = was | tag_of(hash) << 8 * i;

		if (was >> 8 * i & 255)
			continue;
		if (!__atomic_compare_exchange_n(&tags[set], &was, with, false,
		                                 __ATOMIC_ACQ_REL,
		                                 __ATOMIC_ACQUIRE)) {
			i = (unsigned)-1; /* was has changed: start over */
			continue;
		}
		live[set][i].stack = is->stack;
		live[set][i].objects = is->objects;
		live[set][i].bytes = is->bytes;
		__atomic_store_n(&live[set][i].p, is->p, __ATOMIC_RELEASE);
		ADD(nlive, 1);
		return;
	}
	ADD(stoker_heap.untracked, 1);
	count_free(is);
}

/* Removes the record of an allocation that is about to be freed. Returns false
 * if it is not recorded. */
static NOINLINE bool
take(const void *p, uint64_t hash, struct live *out)
{
	uint32_t set = set_of(hash);

	for (unsigned i = 0; i < WAYS; i++) {
		uintptr_t is = (uintptr_t)p;

		if (LOAD(live[set][i].p) != is)
			continue;
		*out = live[set][i];
		if (!__atomic_compare_exchange_n(&live[set][i].p, &is, 0, false,
		                                 __ATOMIC_ACQ_REL,
		                                 __ATOMIC_RELAXED))
			return false;
		__atomic_fetch_and(&tags[set], ~(UINT64_C(255) << 8 * i),
		                   __ATOMIC_ACQ_REL);
		ADD(nlive, -1);
		return true;
	}
	return false;
}

/* --- samples -------------------------------------------------------------- */

THREAD int64_t left;       /* bytes until the next sample */
THREAD uint64_t left_mean; /* the mean that left was drawn with */
THREAD uint64_t random_state;
THREAD bool is_inside;

/* Walks of stacks may take COST thousandths of the time of one CPU. Time they
 * did not use is saved, up to CREDIT_NS, so that a program that allocates much
 * at its start is sampled in full. The balance is checked every LOOK_SAMPLES
 * samples. */
#define COST         5
#define CREDIT_NS    INT64_C(50000000)
#define LOOK_SAMPLES 64

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Makes samples rarer while walks cost too much, or while too many sampled
 * allocations are in use. */
static void
adapt(uint64_t now, uint64_t took)
{
	static int64_t credit = CREDIT_NS;
	static uint64_t taken, looked, rarer;
	int64_t has = ADD(credit, -(int64_t)took) - (int64_t)took;
	int64_t kept = LOAD(nlive);
	uint64_t mean;

	if (ADD(taken, 1) % LOOK_SAMPLES)
		return;
	has += (int64_t)(now -
	                 __atomic_exchange_n(&looked, now, __ATOMIC_RELAXED)) /
	       1000 * COST;
	if (has < 0 && rarer < MAX_RARER)
		rarer++;
	else if (has > CREDIT_NS / 2 && rarer)
		rarer--;
	has = has < 0 ? 0 : has < CREDIT_NS ? has : CREDIT_NS;
	__atomic_store_n(&credit, has, __ATOMIC_RELAXED);
	mean = FIRST_MEAN << rarer;
	if (kept > MANY_LIVE)
		mean <<= kept < 2 * MANY_LIVE
		                 ? (kept - MANY_LIVE) * 16 / MANY_LIVE
		                 : 16;
	__atomic_store_n(&stoker_heap.mean, mean, __ATOMIC_RELAXED);
}

/* Draws the number of bytes until the next sample from an exponential
 * distribution. */
static void
draw(void)
{
	uint64_t x = random_state;
	double u;

	if (!x)
		x = (now_ns() ^ (uintptr_t)&left << 17) | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	random_state = x;
	u = (double)((x >> 11) + 1) * 0x1p-53;
	left_mean = LOAD(stoker_heap.mean);
	left = (int64_t)(-log(u) * (double)left_mean);
}

/* Sets the number of objects and bytes that a sample stands for. An allocation
 * of n bytes becomes a sample with a probability of 1 - exp(-n / mean). */
static void
weigh(struct live *to, size_t n)
{
	double size = n ? (double)n : 1;
	double each = 1 / -expm1(-size / (double)left_mean);

	to->objects = (uint64_t)(each * HEAP_OBJECT);
	to->bytes = (uint64_t)(each * size);
}

static inline __attribute__((always_inline)) void
count(void *p, size_t n)
{
	struct live is = {.p = (uintptr_t)p};
	struct walk w;
	struct heap_stack *s;

	w.n = 0;
	w.hash = 1;
	_Unwind_Backtrace(walk_frame, &w);
	weigh(&is, n);
	if (w.n > 1) /* leave out the frame of sample() */
		is.stack = find_stack(w.hash, &w.at[1], w.n - 1);
	s = &stacks[is.stack];
	ADD(s->samples, 1);
	ADD(s->objects, is.objects);
	ADD(s->bytes, is.bytes);
	STAP_PROBE3(otel_memory, alloc, is.p, n, is.bytes);
	keep(&is);
}

/* Takes a sample, since left has run out. On a thread's first call, left has
 * never been drawn: it is drawn now, and there may be no sample. */
static NOINLINE void
sample(void *p, size_t n)
{
	bool is_first = !random_state;
	int was = errno;
	uint64_t began;

	if (is_inside)
		return;
	if (!LOAD(stoker_heap.magic)) {
		left = FIRST_MEAN;
		return;
	}
	is_inside = true;
	if (is_first)
		draw();
	if (!is_first || (left -= (int64_t)n) < 0) {
		began = now_ns();
		count(p, n);
		draw();
		adapt(began, now_ns() - began);
	}
	is_inside = false;
	errno = was;
}

/* --- what the program calls ----------------------------------------------- */

static _Unwind_Reason_Code
walk_nothing(struct _Unwind_Context *c, void *arg)
{
	(void)c, (void)arg;
	return _URC_END_OF_STACK;
}

static void
note_fork(void)
{
	stoker_heap.forked = 1;
}

__attribute__((constructor)) static void
start(void)
{
	if (next.malloc == find_malloc)
		(void)find_all();
	find_operators();
	(void)mprotect(&next, sizeof(next), PROT_READ);
	_Unwind_Backtrace(walk_nothing, NULL); /* the first call allocates */
	(void)pthread_atfork(NULL, NULL, note_fork);
	stoker_heap.stacks = (uintptr_t)stacks;
	stoker_heap.frames = (uintptr_t)frames;
	__atomic_store_n(&stoker_heap.magic, HEAP_MAGIC, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void *
watch(void *p, size_t n)
{
	if (p && IS_RARE((left -= (int64_t)n) < 0))
		sample(p, n);
	return p;
}

static inline __attribute__((always_inline)) bool
unwatch(const void *p, struct live *out)
{
	uint64_t hash = hash_of(p);

	return IS_RARE(has_tag(LOAD(tags[set_of(hash)]), tag_of(hash))) &&
	       take(p, hash, out);
}

EXPORT void *
malloc(size_t n)
{
	return watch(next.malloc(n), n);
}

EXPORT void *
calloc(size_t n, size_t size)
{
	return watch(next.calloc(n, size), n * size);
}

EXPORT void
free(void *p)
{
	struct live was;

	if (IS_RARE(is_early(p)))
		return;
	if (unwatch(p, &was))
		count_free(&was);
	next.free(p);
}

EXPORT void *
realloc(void *p, size_t n)
{
	struct live was;
	bool had;
	void *to;

	if (IS_RARE(is_early(p)))
		return leave_early(p, n);
	had = p && unwatch(p, &was);
	to = next.realloc(p, n);
	if (had && (to || !n))
		count_free(&was);
	else if (had)
		keep(&was); /* realloc() failed: p is still in use */
	return watch(to, n);
}

EXPORT void *
memalign(size_t align, size_t n)
{
	return watch(next.memalign(align, n), n);
}

EXPORT void *
aligned_alloc(size_t align, size_t n)
{
	return watch(next.aligned_alloc(align, n), n);
}

EXPORT int
posix_memalign(void **out, size_t align, size_t n)
{
	int rc = next.posix_memalign(out, align, n);

	if (!rc)
		watch(*out, n);
	return rc;
}

/* If left has changed, the operator called malloc(3) or another function of
 * ours, which has counted the allocation. Exceptions propagate through these
 * functions. */
#define NEW(name, parameters, arguments)                           \
	EXPORT void *name parameters;                              \
	void *name parameters                                      \
	{                                                          \
		void *(*behind)parameters = operator_of(OF##name); \
		int64_t before = left;                             \
		void *p = behind arguments;                        \
                                                                   \
		return left == before ? watch(p, n) : p;           \
	}
NEWS(NEW)

#define DELETE(name, parameters, arguments)                       \
	EXPORT void name parameters;                              \
	void name parameters                                      \
	{                                                         \
		void(*behind) parameters = operator_of(OF##name); \
		struct live was;                                  \
                                                                  \
		if (p && unwatch(p, &was))                        \
			count_free(&was);                         \
		behind arguments;                                 \
	}
DELETES(DELETE)
