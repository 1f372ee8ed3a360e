/*
 * Finds the interpreter that runs a thread, walks along its frames, and reads
 * the context that the thread publishes: for all BPF programs that sample.
 */
#pragma once

#include "capture/walks.h" /* of every language: generated */
#include "program_kernel.h"

/* Set before a program is loaded: see program_kernel(). */
const volatile uint32_t kernel_has[PROGRAM_KERNEL];

/* One value. User space may write a row while a program reads it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct interp_table);
	__uint(max_entries, 1);
} interps SEC(".maps");

/* --- threads without a slot ----------------------------------------------- */

/* The thread that forked the current process; zeros when that is unknown. */
struct forker {
	uint32_t pid, tid;
};

static __always_inline struct forker
forker_of_current(void)
{
	const uint8_t *task = (const void *)bpf_get_current_task(), *parent;
	struct forker f = {0, 0};

	if (!kernel_has[PROGRAM_PARENT] ||
	    bpf_probe_read_kernel(&parent, sizeof(parent),
	                          task + kernel_has[PROGRAM_PARENT]))
		return f;
	bpf_probe_read_kernel(&f.pid, sizeof(f.pid),
	                      parent + kernel_has[PROGRAM_TGID]);
	bpf_probe_read_kernel(&f.tid, sizeof(f.tid),
	                      parent + kernel_has[PROGRAM_PID]);
	return f;
}

static __always_inline const struct interp_list *
list_of(const struct interp_table *t, uint32_t pid)
{
	const struct interp_list *list = &t->lists[pid % INTERP_LISTS];

	return pid && list->pid == pid ? list : NULL;
}

/* Returns the current thread's number in the pid namespace of a list; 0 when
 * the thread is in another one. */
static __always_inline uint64_t
number_in(const struct interp_list *list, uint32_t tid)
{
	struct bpf_pidns_info in = {0};

	if (!list->space)
		return tid;
	return bpf_get_ns_current_pid_tgid(kernel_has[PROGRAM_NS_DEV],
	                                   list->space, &in, sizeof(in))
	               ? 0
	               : in.pid;
}

/* Functions that are not static are verified once, whoever calls them. */
__noinline int
find_step(const struct interp_list *list, uint64_t native, struct walk_at *w)
{
	if (!list || !w)
		return WALK_FAULT;
	switch (list->language) {
#define LANGUAGE(id, name)  \
	case LANGUAGE_##id: \
		return name##_find(NULL, list, native, w);
#include "capture/interp/languages.def"
#undef LANGUAGE
	default:
		return WALK_FAULT;
	}
}

static __always_inline enum walk_step
next_thread(const struct memory *m, const struct interp_list *list,
            uint64_t native, struct walk_at *w)
{
	(void)m;
	return find_step(list, native, w);
}

/* Returns the thread pointer of the current thread; 0: not known. */
static __always_inline uint64_t
thread_pointer(void)
{
	const uint8_t *task = (const void *)bpf_get_current_task();
	uint64_t at = 0;

	if (kernel_has[PROGRAM_THREAD])
		bpf_probe_read_kernel(&at, sizeof(at),
		                      task + kernel_has[PROGRAM_THREAD]);
	return at;
}

/* Words of struct pt_regs of x86-64; from PC on they are read together. */
enum { USER_R14_AT = 1, USER_BX_AT = 5, USER_DX_AT = 12, USER_PC_AT = 16 };
enum { USER_PC, USER_CS, USER_SP = 3, USER_SS, USER_WORDS };
#define CODE_USER    0x33 /* code and stack segments of 64-bit programs */
#define STACK_USER   0x2b
#define SELECTOR     UINT16_MAX /* the upper bits are FRED's */
#define KERNEL_STACK 16384

static __always_inline bool
find_registers_at(const uint64_t *regs, struct walk_self *out)
{
	uint64_t last[USER_WORDS];

	if (bpf_probe_read_kernel(last, sizeof(last), regs + USER_PC_AT) ||
	    (last[USER_CS] & SELECTOR) != CODE_USER ||
	    (last[USER_SS] & SELECTOR) != STACK_USER ||
	    bpf_probe_read_kernel(&out->dx, 8, regs + USER_DX_AT) ||
	    bpf_probe_read_kernel(&out->bx, 8, regs + USER_BX_AT) ||
	    bpf_probe_read_kernel(&out->r14, 8, regs + USER_R14_AT))
		return false;
	out->pc = last[USER_PC];
	out->sp = last[USER_SP];
	return true;
}

/* Reads the registers with which the current thread has entered the kernel:
 * they are at the end of its stack there, or, on kernels for processors with
 * FRED, two words before. Zeros on other machines. */
static __noinline int
find_registers(struct walk_self *out)
{
	const uint8_t *task = (const void *)bpf_get_current_task(), *stack;
	const uint64_t *end;

	if (!out || !kernel_has[PROGRAM_STACK] ||
	    bpf_probe_read_kernel(&stack, sizeof(stack),
	                          task + kernel_has[PROGRAM_STACK]))
		return 0;
	end = (const uint64_t *)(stack + KERNEL_STACK) - USER_PC_AT -
	      USER_WORDS;
	if (!find_registers_at(end, out))
		find_registers_at(end - 2, out);
	return 0;
}

static __noinline int
find_in(const struct interp_list *list, uint64_t native,
        struct interp_slot *out)
{
	struct walk_at w = {0};

	if (list->own[0]) /* the language looks at registers */
		find_registers(&w.self);
	w.self.pointer = thread_pointer();
	return walk_find_self(next_thread, NULL, list, native, &w, out);
}

/* In a forked child, the interpreter keeps the number of the forking thread
 * until the child sets its own. */
__noinline int
find_thread(uint64_t id, struct interp_slot *out)
{
	uint32_t pid = id >> 32, tid = (uint32_t)id, first = 0;
	const struct interp_table *t = bpf_map_lookup_elem(&interps, &first);
	const struct interp_list *list;
	struct forker f = {0, 0};
	uint64_t native;

	if (!t || !out)
		return 0;
	list = list_of(t, pid);
	if (pid == tid || !list)
		f = forker_of_current();
	if (!list)
		list = list_of(t, f.pid);
	if (!list)
		return 0;
	native = number_in(list, tid);
	if (!native || !find_in(list, native, out)) {
		if (pid != tid || list->space || !f.tid ||
		    !find_in(list, f.tid, out))
			return 0;
	}
	out->tid = tid;
	out->language = list->language;
	out->layout = list->layout;
	out->hop = list->hop;
	out->own[0] = list->own[0];
	out->own[1] = list->own[1];
	out->key = pid;
	return 1;
}

/* Returns the slot of the current thread, or room, filled for a thread without
 * one; NULL when no interpreter runs it. */
static __always_inline const struct interp_slot *
find_slot(struct interp_slot *room)
{
	uint64_t id = bpf_get_current_pid_tgid();
	uint32_t tid = (uint32_t)id, first = 0;
	const struct interp_table *t = bpf_map_lookup_elem(&interps, &first);
	const struct interp_slot *slot;

	if (!t)
		return NULL;
	slot = &t->slots[tid % INTERP_SLOTS];
	if (slot->tid == tid)
		return slot;
	return t->has_lists && find_thread(id, room) ? room : NULL;
}

/* --- frames --------------------------------------------------------------- */

#define STEPS        16 /* for each call of some_frames() */
#define CONTEXT_HEAD 28 /* bytes of a context before its attributes */

/* A function for each language, so that a call needs the stack of one of them,
 * not of all. */
#define LANGUAGE(id, name)                                              \
	__noinline int step_of_##name(const struct interp_slot *slot,   \
	                              struct walk_at *w,                \
	                              struct interp_frame *to)          \
	{                                                               \
		return slot && w && to ? name##_step(NULL, slot, w, to) \
		                       : WALK_FAULT;                    \
	}
#include "capture/interp/languages.def"
#undef LANGUAGE

static __always_inline enum walk_step
next_frame(const struct memory *m, const struct interp_slot *slot,
           struct walk_at *w, struct interp_frame *to)
{
	(void)m;
	switch (slot->language) {
#define LANGUAGE(id, name)  \
	case LANGUAGE_##id: \
		return step_of_##name(slot, w, to);
#include "capture/interp/languages.def"
#undef LANGUAGE
	default:
		return WALK_FAULT;
	}
}

__noinline int
some_frames(const struct interp_slot *slot, struct walk_at *w,
            struct interp_stack *to)
{
	return slot && w && to ? walk_some(next_frame, NULL, slot, w, to, STEPS)
	                       : WALK_FAULT;
}

/* Takes a step that some_frames() left by returning WALK_APART. */
__noinline int
apart_frame(const struct interp_slot *slot, struct walk_at *w,
            struct interp_stack *to)
{
	enum walk_step rc = WALK_FAULT;
	uint64_t at;

	if (!slot || !w || !to)
		return WALK_FAULT;
	at = to->n;
	if (at >= INTERP_MAX_FRAMES)
		return WALK_FAULT;
	if (slot->language == LANGUAGE_PYTHON)
		rc = python_task_step(slot, w, &to->frames[at]);
	else if (slot->language == LANGUAGE_ERLANG)
		rc = beam_copy(NULL, w, &to->frames[at]);
	if (rc != WALK_KEPT)
		return rc;
	to->n = (uint32_t)at + 1;
	return to->n < INTERP_MAX_FRAMES ? WALK_ON : WALK_KEPT;
}

/* Keeps the state of the walk where the context will be: the kernel allows all
 * functions of a chain of calls 512 bytes of stack together. */
static __always_inline enum interp_end
follow(const struct interp_slot *slot, struct interp_stack *to)
{
	struct walk_at *w = (void *)to->room;
	enum walk_step rc = WALK_ON;

	__builtin_memset(w, 0, sizeof(*w));
	if (!walk_first(NULL, slot, &w->at))
		return INTERP_FAULT;
	if (slot->own[0])
		find_registers(&w->self);
	for (int i = 0; i < WALK_MAX_STEPS / STEPS + 2 * INTERP_MAX_FRAMES;
	     i++) {
		if (rc == WALK_ON)
			rc = some_frames(slot, w, to);
		else if (rc == WALK_APART)
			rc = apart_frame(slot, w, to);
		else
			break;
	}
	return walk_ended(rc);
}

/* Writes the frames of the current thread. */
__noinline int
take_frames(const struct interp_slot *slot, struct interp_stack *to)
{
	if (!slot || !to)
		return 0;
	to->head = slot->head;
	to->end = follow(slot, to);
	return 0;
}

/* --- contexts ------------------------------------------------------------- */

/* Returns where the current process publishes contexts; NULL: nowhere. */
static __always_inline const struct context_at *
find_context(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> 32, first = 0;
	const struct interp_table *t = bpf_map_lookup_elem(&interps, &first);
	const struct context_at *at;

	if (!t || !t->has_contexts)
		return NULL;
	at = &t->contexts[pid % INTERP_LISTS];
	return at->pid == pid ? at : NULL;
}

static __always_inline uint64_t
user_word(uint64_t address)
{
	uint64_t word = 0;

	bpf_probe_read_user(&word, sizeof(word), (const void *)address);
	return word;
}

/* Returns the address of the current thread's context; 0: it has none. */
static __always_inline uint64_t
context_address(const struct context_at *at)
{
	uint64_t block;

	if (at->pointer) {
		block = user_word(at->pointer);
		return block ? block + at->skip : 0;
	}
	block = thread_pointer();
	if (!block)
		return 0;
	if (at->module) {
		uint64_t vector = user_word(block + (int64_t)at->vector);

		block = user_word(vector + (uint64_t)at->module * at->step);
	}
	return user_word(block + at->offset);
}

/* Returns the length of a context; 0 if it is not valid.
 *   Source   opentelemetry-specification, oteps/profiles/4947-thread-ctx.md */
static __always_inline uint64_t
context_length(uint64_t address)
{
	struct {
		uint64_t ids[3];
		uint8_t valid, flags;
		uint16_t size;
	} head = {0};

	if (bpf_probe_read_user(&head, CONTEXT_HEAD, (const void *)address) ||
	    head.valid != 1)
		return 0;
	return CONTEXT_HEAD + (uint64_t)head.size;
}

/* Writes the context of the current thread after its frames. */
__noinline int
take_context(const struct context_at *at, struct interp_stack *to)
{
	uint64_t n, bytes, address;

	if (!at || !to)
		return 0;
	n = to->n;
	address = context_address(at);
	if (n > INTERP_MAX_FRAMES || !address)
		return 0;
	bytes = at->bytes ?: context_length(address);
	if (!bytes)
		return 0;
	if (bytes > INTERP_CONTEXT)
		bytes = INTERP_CONTEXT;
	if (!bpf_probe_read_user((uint8_t *)to->frames +
	                                 n * sizeof(*to->frames),
	                         bytes, (const void *)address))
		to->context = bytes;
	return 0;
}

/* --- what is copied from a thread ----------------------------------------- */

/* The parts of the current thread that can be recorded; NULL: it has no such
 * part. */
struct thread_facts {
	const struct interp_slot *slot;
	const struct context_at *at;
};

/* Looks for a slot, which may be room, and for a context. False if there is
 * neither. */
static __always_inline bool
find_facts(struct interp_slot *room, struct thread_facts *out)
{
	bool has_slot;

	out->slot = find_slot(room);
	out->at = find_context();
	has_slot = out->slot;
	barrier_var(has_slot); /* clang 19 would OR the pointers: refused */
	return has_slot || out->at;
}

static __always_inline void
take_thread(const struct thread_facts *from, struct interp_stack *to)
{
	uint64_t id = bpf_get_current_pid_tgid();

	to->tid = (uint32_t)id;
	to->key = id >> 32;
	to->time_ns = bpf_ktime_get_ns();
	to->n = to->context = 0;
	to->end = INTERP_NONE;
	if (from->slot)
		take_frames(from->slot, to);
	if (from->at)
		take_context(from->at, to);
}
