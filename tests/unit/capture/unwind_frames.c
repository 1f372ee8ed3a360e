/*
 * Kinds of frames that few programs have, each met at a known place: x86-64
 * from assembly written for it, aarch64 as clang 14 compiles
 *
 *	long f(long x) { return g(x) + g(x + 1); }
 *
 * with -O1 -mbranch-protection=pac-ret.
 */
#include "capture/unwind/unwind.h"
#include "lib/frames_image.h"
#include "lib/test.h"
#include "sandbox/sandbox.h"

#include <elf.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIAS  UINT64_C(0x550000000000)
#define STACK UINT64_C(0x7ffc00000000)
#define AT(i) (STACK + 8 * (i)) /* address of a word of the stack */
#define WORDS 100
#define MAX   8

/* .debug_frame of what follows, with the code from 0 on:
 *	0x00 f      push %rbp; at 1 CFA is rsp+16; mov %rsp, %rbp; at 4 it is
 *	            rbp+16; pop %rbp; at 5 it is rsp+8, rbp still at CFA-16; ret
 *	0x06 plt    from 7 on the expression of a PLT
 *	0x11 drap   at 0x12 CFA is *(rbp-8), rbp at *rbp
 *	0x13 based  CFA is rbx+16
 *	0x15 saves  CFA is rsp+16, rbx at CFA-16
 *	0x17 start  the return address is undefined
 *	0x19 deref  CFA is *(rsp+8)+8, rbp is *(rsp+16)-8
 *	0x1b lost   rbp is in r12
 *	0x1d vfork  CFA is rsp, the return address is in rdi */
static const uint8_t x86_frames[] = {
	0x14, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x01, 0x78,
	0x10, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x24, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x41, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d, 0x06, 0x41, 0x0c, 0x07, 0x08,
	0x00, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x41, 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f,
	0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x41, 0x0f, 0x03, 0x76,
	0x78, 0x06, 0x10, 0x06, 0x02, 0x76, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x13, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x0c, 0x03, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x15, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0e, 0x10, 0x83, 0x02,
	0x00, 0x00, 0x00, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x17, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x07, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x24, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x19, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08, 0x16, 0x06, 0x05, 0x77, 0x10,
	0x06, 0x38, 0x1c, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x1b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x09, 0x06, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1d, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x0e, 0x00, 0x09, 0x10, 0x05, 0x00, 0x00, 0x00,
};
enum {
	F = 0,
	PLT = 6,
	DRAP = 0x11,
	BASED = 0x13,
	SAVES = 0x15,
	START = 0x17,
	DEREF = 0x19,
	HAS_R12 = 0x1b,
	VFORK = 0x1d,
	CREATED = 0x40 /* code that no table here describes */
};

/* .debug_frame of f, at 0: from 16 on CFA is x29+32, x30 at CFA-24, x29 at
 * CFA-32. */
static const uint8_t arm_frames[] = {
	0x14, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x04, 0x00, 0x08,
	0x00, 0x01, 0x7c, 0x1e, 0x0c, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x38, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x44, 0x2d, 0x4c, 0x0c, 0x1d, 0x20, 0x93,
	0x02, 0x94, 0x04, 0x9e, 0x06, 0x9d, 0x08, 0x00, 0x00,
};
#define ARM_SIGNED 49 /* DW_CFA_AARCH64_negate_ra_state */
#define ARM_SIZE   0x38

/* Code after f without tables: the end of a handler, and a .plt as binutils
 * 2.40 writes it for -z force-bti. */
static const uint32_t arm_code[] = {
	0xd2801168, /* mov x8, #139 */
	0xd4000001, /* svc #0 */
	0xd503201f, /* nop */
	0xd503245f, /* bti c: the first slot, for functions not bound yet */
	0xa9bf7bf0, /* stp x16, x30, [sp, #-16]! */
	0x90000090, /* adrp x16, 10000 */
	0xf947fe11, /* ldr x17, [x16, #4088] */
	0x913fe210, /* add x16, x16, #0xff8 */
	0xd61f0220, /* br x17 */
	0xd503201f, /* nop */
	0xd503201f, /* nop */
	0x90000090, /* adrp x16, 10000: a function's slot */
	0xf9400211, /* ldr x17, [x16] */
	0x91000210, /* add x16, x16, #0 */
	0xd61f0220, /* br x17 */
	0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000000,
};
#define ARM_CODE(i) (ARM_SIZE + 4 * (i)) /* address of the ith */

/* libunwind walks frames that no short rule describes, but only stacks of this
 * machine's architecture. */
#if defined(__x86_64__)
#define HOST EM_X86_64
#else
#define HOST EM_AARCH64
#endif
#define NEEDS(machine)                                             \
	do {                                                       \
		if (HOST != (machine))                             \
			SKIP("the stacks are of another machine"); \
	} while (0)

struct run {
	struct unwind_mapping m;
	struct elf_image *elf;
	struct unwind_table *table;
	uint64_t regs[UNWIND_REGS];
	uint64_t stack[WORDS];
	uint64_t pcs[MAX];
	size_t n;
};

static bool
find(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	const struct run *r = arg;

	if (addr < r->m.start || addr >= r->m.end)
		return false;
	*out = r->m;
	return true;
}

static void
prepare(struct run *r, const struct frames_image *what)
{
	*r = (struct run){.m = {.start = BIAS, .end = BIAS + 8192, BIAS}};
	r->elf = frames_image(what);
	ck_assert_int_eq(unwind_table_new(r->elf, &r->table), 0);
	r->m.table = r->table;
}

static void
prepare_x86(struct run *r, uint64_t pc)
{
	prepare(r, &(struct frames_image){.machine = EM_X86_64,
	                                  .section = ".debug_frame",
	                                  .frames = x86_frames,
	                                  .frames_size = sizeof(x86_frames)});
	r->regs[8] = BIAS + pc;
	r->regs[7] = STACK;
}

static void
prepare_arm_of(struct run *r, uint64_t pc, const uint8_t *frames)
{
	static uint8_t code[ARM_SIZE + sizeof(arm_code)];

	memcpy(code + ARM_SIZE, arm_code, sizeof(arm_code));
	prepare(r, &(struct frames_image){.machine = EM_AARCH64,
	                                  .section = ".debug_frame",
	                                  .code = code,
	                                  .code_size = sizeof(code),
	                                  .frames = frames,
	                                  .frames_size = sizeof(arm_frames)});
	r->regs[32] = BIAS + pc;
	r->regs[31] = STACK;
}

static void
prepare_arm(struct run *r, uint64_t pc)
{
	prepare_arm_of(r, pc, arm_frames);
}

/* Expects callers at these addresses of the code, the last of them a root. */
static void
assert_callers(struct run *r, const uint64_t *callers, size_t n)
{
	struct unwinder *u = unwinder_new_for(r->elf->machine, find, r);
	enum unwind_end end = unwind(u, r->regs, r->stack, sizeof(r->stack),
	                             r->pcs, MAX, &r->n);

	ck_assert_int_eq(end, UNWIND_ROOT);
	ck_assert_uint_eq(r->n, n + 1);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(r->pcs[i + 1], BIAS + callers[i]);
	unwinder_free(u);
	unwind_table_free(r->table);
	elf_free(r->elf);
}
#define ASSERT_CALLERS(r, ...)                             \
	assert_callers(r, (const uint64_t[]){__VA_ARGS__}, \
	               sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

/* Returns whether the walk finds this caller and ends there. */
static bool
ends_at(struct run *r, uint64_t caller)
{
	struct unwinder *u = unwinder_new_for(r->elf->machine, find, r);
	enum unwind_end end = unwind(u, r->regs, r->stack, sizeof(r->stack),
	                             r->pcs, MAX, &r->n);

	unwinder_free(u);
	unwind_table_free(r->table);
	elf_free(r->elf);
	return end == UNWIND_ROOT && r->n == 2 && r->pcs[1] == BIAS + caller;
}

/* A walk reports addresses that no call returns to with 1 added. */
#define IN(at) ((at) + 1)

#define TO_START (START + 1) /* addresses that calls return to */
#define TO_F     (F + 5)     /* there rbp has to be known */
#define TO_BASED (BASED + 1) /* and there rbx */

TEST(a_return_address_on_top_of_the_stack_is_found)
{
	struct run r;

	prepare_x86(&r, F);
	r.stack[0] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_START);
}
END

TEST(a_frame_pointer_leads_to_the_caller)
{
	struct run r;

	prepare_x86(&r, F + 4);
	r.regs[6] = AT(2);
	r.stack[3] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_START);
}
END

/* In an epilogue the rule still refers to the slot, which is then below rsp. */
TEST(a_frame_pointer_that_was_popped_is_in_its_register)
{
	struct run r;

	prepare_x86(&r, F + 5);
	r.regs[6] = AT(4);
	r.stack[0] = BIAS + TO_F;
	r.stack[5] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_F, TO_START);
}
END

/* A frame pointer there would lead past the callers that are missing. */
TEST(an_address_outside_of_code_is_no_caller)
{
	struct unwinder *u;
	struct run r;

	prepare_x86(&r, F);
	r.regs[6] = AT(2);
	r.stack[0] = 1234;
	r.stack[3] = BIAS + TO_START;
	u = unwinder_new_for(r.elf->machine, find, &r);
	ck_assert_int_eq(
		unwind(u, r.regs, r.stack, sizeof(r.stack), r.pcs, MAX, &r.n),
		UNWIND_BAD);
	ck_assert_uint_eq(r.n, 1);
	unwinder_free(u);
	unwind_table_free(r.table);
	elf_free(r.elf);
}
END

/* .debug_frame of a function at 0, in which CFA is rsp+16, and of the start at
 * 0x20; the function calls 0x18, within it. */
static const uint8_t within_frames[] = {
	0x14, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x01,
	0x78, 0x10, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x0e, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x07, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const uint8_t within_code[] = {
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 0x03, /* call 0x18 */
	0x00, 0x00, 0x00, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x90, 0x90, 0x90, 0x90, 0xc3, 0x90, 0x90,
};

/* The interpreter of LuaJIT is such a function. Where its frame information
 * expects the return address there is 0, as in a first frame, or data. */
TEST(a_function_that_calls_within_itself_is_left_through_both_calls)
{
	static const uint64_t data[] = {0, 1234};

	for (size_t i = 0; i < ARRAY_LEN(data); i++) {
		struct run r;

		prepare(&r, &(struct frames_image){
				    .machine = EM_X86_64,
				    .section = ".debug_frame",
				    .code = within_code,
				    .code_size = sizeof(within_code),
				    .frames = within_frames,
				    .frames_size = sizeof(within_frames)});
		r.regs[8] = BIAS + 0x1a;
		r.regs[7] = STACK;
		r.stack[0] = BIAS + 0x15;
		r.stack[1] = data[i];
		r.stack[2] = BIAS + 0x21;
		ASSERT_CALLERS(&r, 0x15, 0x21);
	}
}
END

TEST(a_plt_slot_has_one_word_pushed_from_its_middle_on)
{
	struct run r;

	prepare_x86(&r, PLT + 4);
	r.stack[0] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_START);
	prepare_x86(&r, PLT + 5); /* at byte 11 of a 16-byte slot */
	r.stack[1] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_START);
}
END

TEST(a_realigned_stack_is_left_through_its_frame_pointer)
{
	struct run r;

	prepare_x86(&r, DRAP + 1);
	r.regs[6] = AT(2);
	r.stack[1] = AT(5);
	r.stack[2] = AT(8);
	r.stack[4] = BIAS + TO_F;
	r.stack[9] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_F, TO_START);
}
END

TEST(a_frame_based_on_another_register_is_walked_by_all_of_them)
{
	struct run r;

	NEEDS(EM_X86_64);
	prepare_x86(&r, SAVES);
	r.stack[0] = AT(4);
	r.stack[1] = BIAS + TO_BASED;
	r.stack[5] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_BASED, TO_START);
}
END

TEST(expressions_tell_the_frame_and_the_frame_pointer)
{
	struct run r;

	NEEDS(EM_X86_64);
	prepare_x86(&r, DEREF);
	r.stack[1] = AT(4);
	r.stack[2] = AT(7);
	r.stack[4] = BIAS + TO_F;
	r.stack[7] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_F, TO_START);
}
END

/* The analyser walks stacks in its sandbox, which kills it if it makes a system
 * call that is not listed. */
TEST(a_frame_based_on_another_register_is_walked_in_the_sandbox)
{
	int status = 0;
	pid_t child;
	struct run r;

	NEEDS(EM_X86_64);
	NEEDS_SANDBOX();
	prepare_x86(&r, BASED);
	r.regs[1] = AT(2);
	r.stack[3] = BIAS + TO_START;
	child = fork();
	if (!child)
		_exit(sandbox_enter(INT64_C(1) << 46) ||
		      !ends_at(&r, TO_START));
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	unwind_table_free(r.table);
	elf_free(r.elf);
}
END

TEST(a_frame_pointer_kept_in_another_register_is_found_there)
{
	struct run r;

	NEEDS(EM_X86_64);
	prepare_x86(&r, HAS_R12);
	r.regs[20] = AT(3);
	r.stack[0] = BIAS + TO_F;
	r.stack[4] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_F, TO_START);
}
END

/* Frame information does not cover a thread's first instructions: either its
 * creator returns through them, or the thread calls its first function. */
TEST(a_thread_that_has_just_been_created_has_no_caller)
{
	static const struct {
		char code[20];
		bool new;
	} rows[] = {
		{"\x48\x85\xc0\x74\xd2\xc3", true},  /* je start; ret */
		{"\x48\x85\xc0\x74\xbb\xc3", false}, /* je f; ret */
		/* jne to ret; pop; call; exit; hlt; ret */
		{"\x85\xc0\x75\x0d\x5f\xff\xd1\x89\xc7\x31\xc0\xb0\x3c"
	         "\x0f\x05\xf4\x90\xc3",
	         true},
		{"\x85\xc0\x75\x0d\x5f\xff\xd1\x90\xc7\x31\xc0\xb0\x3c"
	         "\x0f\x05\xf4\x90\xc3",
	         false},
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		const bool creator = i % 2;
		uint8_t code[0x80] = {0};
		struct unwinder *u;
		enum unwind_end end;
		struct run r;

		memcpy(code + CREATED, rows[i / 2].code, sizeof(rows->code));
		memcpy(code + TO_START - 2, "\xff\xd0", 2); /* call *%rax */
		prepare(&r, &(struct frames_image){
				    .machine = EM_X86_64,
				    .section = ".debug_frame",
				    .code = code,
				    .code_size = sizeof(code),
				    .frames = x86_frames,
				    .frames_size = sizeof(x86_frames)});
		r.regs[8] = BIAS + CREATED;
		r.regs[7] = STACK;
		r.regs[6] = AT(20); /* its creator's */
		r.stack[0] = creator ? BIAS + TO_START : 1234;
		u = unwinder_new_for(EM_X86_64, find, &r);
		end = unwind(u, r.regs, r.stack, sizeof(r.stack), r.pcs, MAX,
		             &r.n);
		ck_assert_msg((end == UNWIND_ROOT) ==
		                      (creator || rows[i / 2].new),
		              "row %zu", i);
		ck_assert_uint_eq(r.n, 1u + creator);
		unwinder_free(u);
		unwind_table_free(r.table);
		elf_free(r.elf);
	}
}
END

/* vfork(2) takes its return address off the stack, which its child uses. */
TEST(a_return_address_kept_in_an_argument_of_a_call_is_found_there)
{
	static const struct {
		bool known;
		enum unwind_end end;
	} rows[] = {{true, UNWIND_ROOT}, {false, UNWIND_BAD}};
	const uint64_t args[UNWIND_ARGS] = {BIAS + TO_START};

	NEEDS(EM_X86_64);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct unwinder *u;
		struct run r;

		prepare_x86(&r, VFORK);
		u = unwinder_new_for(EM_X86_64, find, &r);
		ck_assert_int_eq(unwind_blocked(u, BIAS + VFORK, STACK,
		                                rows[i].known ? args : NULL,
		                                r.stack, sizeof(r.stack), r.pcs,
		                                MAX, &r.n),
		                 rows[i].end);
		unwinder_free(u);
		unwind_table_free(r.table);
		elf_free(r.elf);
	}
}
END

/* OpenSSL's SHA code for AVX2 keeps its caller's stack pointer below its own,
 * where CFA is *(rsp-8)+8, and has a copy in its frame. Other words there lead
 * to data. */
TEST(a_stack_pointer_kept_below_the_stack_is_found_in_the_frame)
{
	static const uint8_t below[] = {0x0f, 5, 0x77, 0x78, 6, 0x23, 8};
	uint8_t frames[sizeof(within_frames)], code[sizeof(within_code)];
	struct run r;

	memcpy(frames, within_frames, sizeof(frames));
	memcpy(frames + 48, below, sizeof(below));
	memset(code, 0x90, sizeof(code));
	code[0x21 - 5] = 0xe8; /* call */
	prepare(&r, &(struct frames_image){.machine = EM_X86_64,
	                                   .section = ".debug_frame",
	                                   .code = code,
	                                   .code_size = sizeof(code),
	                                   .frames = frames,
	                                   .frames_size = sizeof(frames)});
	r.regs[8] = BIAS + 4;
	r.regs[7] = STACK;
	r.stack[1] = AT(5);
	r.stack[3] = AT(9);
	r.stack[9] = BIAS + 0x21;
	ASSERT_CALLERS(&r, 0x21);
}
END

/* Prepares 0x60 bytes of code, interrupted at 4, with the first frames_size
 * bytes of within_frames. */
static void
prepare_loops(struct run *r, uint8_t code[0x60], size_t frames_size)
{
	prepare(r, &(struct frames_image){.machine = EM_X86_64,
	                                  .section = ".debug_frame",
	                                  .code = code,
	                                  .code_size = 0x60,
	                                  .frames = within_frames,
	                                  .frames_size = frames_size});
	r->regs[8] = BIAS + 4;
	r->regs[7] = STACK;
	r->regs[6] = 1; /* no frame pointer */
}

/* As where assembly starts a coroutine: call *%r13; ud2. */
TEST(code_without_tables_that_traps_after_a_call_has_no_caller)
{
	uint8_t code[0x60];
	struct run r;

	memset(code, 0x90, sizeof(code));
	memcpy(code + 0x1d, (uint8_t[]){0x41, 0xff, 0xd5, 0x0f, 0x0b}, 5);
	prepare_loops(&r, code, 56);
	r.stack[1] = BIAS + 0x20;
	r.stack[2] = 1234;
	ASSERT_CALLERS(&r, 0x20);
}
END

/* As where a fiber of Boost returns to: xor %rdi, %rdi; call _exit; hlt. */
TEST(code_without_tables_that_exits_after_a_call_has_no_caller)
{
	uint8_t code[0x60];
	struct run r;

	memset(code, 0x90, sizeof(code));
	memcpy(code + 0x1e, (uint8_t[]){0xff, 0xe3}, 2); /* jmp *%rbx */
	memcpy(code + 0x20,
	       (uint8_t[]){0x48, 0x31, 0xff, 0xe8, 1, 0, 0, 0, 0xf4}, 9);
	prepare_loops(&r, code, 56);
	r.stack[1] = BIAS + 0x20;
	r.stack[2] = 1234;
	ASSERT_CALLERS(&r, 0x20);
}
END

/* An endless loop at 0x40 calls the function. */
TEST(a_loop_without_tables_or_return_was_called_through_a_pointer)
{
	uint8_t code[0x60];
	struct run r;

	memset(code, 0x90, sizeof(code));
	memcpy(code + 0x1f, (uint8_t[]){0xff, 0xd0}, 2); /* call *%rax */
	memcpy(code + 0x40,
	       (uint8_t[]){0xe8, 0xbb, 0xff, 0xff, 0xff, 0xeb, 0xf9}, 7);
	prepare_loops(&r, code, sizeof(within_frames));
	r.stack[1] = BIAS + 0x45;
	r.stack[3] = BIAS + 0x45; /* left by an earlier call */
	r.stack[5] = BIAS + 0x21;
	ASSERT_CALLERS(&r, 0x45, 0x21);
}
END

/* Prepares .debug_frame for 16 bytes of code, with one DWARF program. */
static void
prepare_program(struct run *r, uint8_t ra, const uint8_t *program, size_t n)
{
	uint8_t frames[128];

	memcpy(frames, x86_frames, 48); /* a CIE, and the head of an entry */
	frames[12] = ra;
	frames[24] = (uint8_t)(20 + n); /* bytes that follow */
	frames[40] = 16;                /* bytes of code */
	memcpy(frames + 48, program, n);
	prepare(r, &(struct frames_image){.machine = EM_X86_64,
	                                  .section = ".debug_frame",
	                                  .frames = frames,
	                                  .frames_size = 48 + n});
	r->regs[8] = BIAS + 4;
	r->regs[7] = STACK;
	for (size_t i = 0; i < WORDS; i++)
		r->stack[i] = AT(i + 1);
}

TEST(rules_that_would_crash_or_never_end_end_the_walk)
{
	static const struct {
		const char *what;
		uint8_t ra, n, program[24];
	} rules[] = {
		{"the least number divided by -1",
	         16,
	         14,
	         {0x0f, 12, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b}},
		{"a jump back to itself", 16, 5, {0x0f, 3, 0x2f, 0xfd, 0xff}},
		{"a stack of words without end",
	         16,
	         6,
	         {0x0f, 4, 0x31, 0x2f, 0xfc, 0xff}},
		{"a stack of no words", 16, 3, {0x0f, 1, 0x22}},
		{"an address outside of memory",
	         16,
	         12,
	         {0x0f, 10, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x81, 0x06}},
		{"a return address kept in register 200",
	         16,
	         5,
	         {0x09, 16, 0xc8, 0x01, 0}},
		{"a frame based on register 32", 16, 3, {0x0c, 32, 8}},
		{"a return address in column 30, which x86-64 has not",
	         30,
	         4,
	         {0x9e, 1, 0, 0}},
	};
	struct unwinder *u;
	struct run r;

	NEEDS(EM_X86_64);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		prepare_program(&r, rules[i].ra, rules[i].program, rules[i].n);
		u = unwinder_new_for(EM_X86_64, find, &r);
		ck_assert_msg(unwind(u, r.regs, r.stack, sizeof(r.stack), r.pcs,
		                     MAX, &r.n) == UNWIND_BAD,
		              "%s", rules[i].what);
		ck_assert_uint_eq(r.n, 1);
		unwinder_free(u);
		unwind_table_free(r.table);
		elf_free(r.elf);
	}
}
END

/* The caller's rsp is at CFA+8, and CFA is rsp+8; the caller's rbp is lost. */
TEST(a_stack_pointer_that_the_frame_holds_is_the_callers)
{
	static const uint8_t program[] = {0x11, 7, 0x7f, 0x07, 6};
	struct unwinder *u;
	struct run r;

	NEEDS(EM_X86_64);
	prepare_program(&r, 16, program, sizeof(program));
	r.stack[0] = BIAS + 8;
	r.stack[2] = AT(9);
	r.stack[9] = 0; /* the caller is the first frame */
	u = unwinder_new_for(EM_X86_64, find, &r);
	ck_assert_int_eq(
		unwind(u, r.regs, r.stack, sizeof(r.stack), r.pcs, MAX, &r.n),
		UNWIND_ROOT);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_uint_eq(r.pcs[1], BIAS + 8);
	unwinder_free(u);
	unwind_table_free(r.table);
	elf_free(r.elf);
}
END

#define OUTSIDE 4096 /* code without tables */

/* CPython makes such code for -X perf. A word of padding, or the frame pointer,
 * lies below the return address in the interpreter. */
TEST(code_that_calls_an_interpreter_is_left_to_it)
{
	const struct {
		uint64_t fp, below, returns, above;
	} rows[] = {
		{AT(4), 7, TO_F, TO_START},     /* to 3.13 */
		{AT(1), AT(4), TO_F, TO_START}, /* from 3.14 on */
		{AT(4), 7, OUTSIDE + 8, TO_F},  /* by frame pointer */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run r;

		prepare_x86(&r, F);
		r.m.caller_start = BIAS;
		r.m.caller_end = BIAS + OUTSIDE;
		r.regs[6] = rows[i].fp;
		r.stack[0] = BIAS + OUTSIDE;
		r.stack[1] = rows[i].below;
		r.stack[2] = BIAS + rows[i].returns;
		r.stack[4] = AT(7);
		r.stack[5] = BIAS + rows[i].above;
		r.stack[8] = BIAS + TO_START;
		ASSERT_CALLERS(&r, OUTSIDE, TO_F, TO_START);
	}
}
END

/* --- x86-64 code that no table describes ---------------------------------- */

#define BARE     0x40                 /* offset of the code */
#define TO_LEAVE ((uint64_t)0x20 + 5) /* in code that uses rbp */

/* Prepares a call that returns to TO_START, one that returns to leave and ret,
 * and the code. */
static void
prepare_bare(struct run *r, const char *bytes, size_t n, uint64_t by)
{
	static uint8_t code[OUTSIDE];

	memset(code, 0x90, sizeof(code));
	code[TO_START - 5] = code[TO_LEAVE - 5] = 0xe8;
	code[TO_LEAVE] = 0xc9;
	code[TO_LEAVE + 1] = 0xc3;
	memcpy(code + BARE, bytes, n);
	prepare(r, &(struct frames_image){.machine = EM_X86_64,
	                                  .section = ".debug_frame",
	                                  .code = code,
	                                  .code_size = sizeof(code),
	                                  .frames = x86_frames,
	                                  .frames_size = sizeof(x86_frames)});
	r->regs[8] = BIAS + BARE + by;
	r->regs[7] = STACK;
	r->regs[6] = 1; /* rbp is used only by code that says so */
}
#define PREPARE_BARE(r, bytes, by) prepare_bare(r, bytes, sizeof(bytes) - 1, by)

TEST(code_without_tables_is_left_the_way_it_returns)
{
	static const struct {
		const char *label, *bytes;
		size_t n;
		uint8_t by;    /* offset at which the code is interrupted */
		uint8_t words; /* of stack below the return address */
	} rows[] = {
#define CODE(bytes) bytes, sizeof(bytes) - 1
		{"leaf", CODE("\x31\xc0\xc3"), 0, 0},
		{"ret", CODE("\x31\xc0\xc3"), 2, 0},
		/* push %r12; 1: dec %eax; jg 1b; pop %r12; ret */
		{"before a push", CODE("\x41\x54\xff\xc8\x7f\xfc\x41\x5c\xc3"),
	         0, 0},
		{"loop", CODE("\x41\x54\xff\xc8\x7f\xfc\x41\x5c\xc3"), 4, 1},
		/* call .; add $40,%rsp; pop %rbx; ret */
		{"callee", CODE("\xe8\0\0\0\0\x48\x83\xc4\x28\x5b\xc3"), 5, 6},
		/* 1: test %al,%al; je 2f; jmp 1b; 2: pop %rbx; ret */
		{"exit in the middle", CODE("\x84\xc0\x74\x02\xeb\xfa\x5b\xc3"),
	         0, 1},
		/* pop %rbx; jmp 1f; ud2; 1: ret */
		{"tail call", CODE("\x5b\xeb\x02\x0f\x0b\xc3"), 0, 1},
		/* jne 1f; ud2; 1: pop %rbx; ret */
		{"trap", CODE("\x75\x02\x0f\x0b\x5b\xc3"), 0, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run r;

		prepare_bare(&r, rows[i].bytes, rows[i].n, rows[i].by);
		r.stack[rows[i].words] = BIAS + TO_START;
		ck_assert_msg(ends_at(&r, TO_START), "%s", rows[i].label);
	}
}
END

/* mov 16(%rsp),%rsp; pop %rbx; ret */
TEST(code_that_aligned_the_stack_is_left_through_the_word_it_kept)
{
	struct run r;

	PREPARE_BARE(&r, "\x48\x8b\x64\x24\x10\x5b\xc3", 0);
	r.stack[2] = AT(7);
	r.stack[8] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_START);
}
END

/* leave; ret */
TEST(code_with_a_frame_pointer_is_left_through_it)
{
	struct run r;

	PREPARE_BARE(&r, "\xc9\xc3", 0);
	r.regs[6] = AT(3);
	r.stack[3] = AT(7);
	r.stack[4] = BIAS + TO_LEAVE;
	r.stack[8] = BIAS + TO_START;
	ASSERT_CALLERS(&r, TO_LEAVE, TO_START);
}
END

TEST(callers_of_code_without_tables_have_their_frame_pointer)
{
	static const struct {
		const char *bytes;
		uint64_t rbp, pushed;
	} rows[] = {
		{"\x48\x31\xc0\x5d\xc3", 1, AT(7)}, /* pop %rbp */
		{"\x48\x31\xc0\x5b\xc3", AT(7), 1}, /* pop %rbx */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run r;

		prepare_bare(&r, rows[i].bytes, 5, 0);
		r.regs[6] = rows[i].rbp;
		r.stack[0] = rows[i].pushed;
		r.stack[1] = BIAS + TO_LEAVE;
		r.stack[8] = BIAS + TO_START;
		ASSERT_CALLERS(&r, TO_LEAVE, TO_START);
	}
}
END

/* push %rbp; mov %rsp,%rbp; pop %rbp; jmp 1f; 1: push %rbp; pop %rbp; ret */
TEST(a_frame_pointer_that_is_pushed_on_the_way_out_stays_as_it_is)
{
	struct run r;

	for (uint64_t by = 0; by < 8; by += 7) {
		PREPARE_BARE(&r, "\x55\x48\x89\xe5\x5d\xeb\x00\x55\x5d\xc3",
		             by);
		r.regs[6] = AT(7);
		r.stack[0] = BIAS + TO_LEAVE;
		r.stack[8] = BIAS + TO_START;
		ASSERT_CALLERS(&r, TO_LEAVE, TO_START);
	}
}
END

/* vfork(2) of musl, after the system call: the child uses the stack. */
TEST(a_return_address_that_is_pushed_on_the_way_out_is_in_its_register)
{
	static const struct {
		const char *bytes;
		uint8_t arg;
		bool found;
	} rows[] = {
		/* push %rdx; mov %rax,%rdi; jmp 1f; 1: ret */
		{"\x52\x48\x89\xc7\xeb\x00\xc3", 2, true},
		{"\x52\x48\x89\xc7\xeb\x00\xc3", 1, false},
		/* push %r8; nop; jmp 1f; 1: ret */
		{"\x41\x50\x90\x90\xeb\x00\xc3", 4, true},
		/* mov %eax,%edx; push %rdx; jmp 1f; 1: ret */
		{"\x89\xc2\x52\x90\xeb\x00\xc3", 2, false},
		/* push %rbx, whose value no system call shows */
		{"\x53\x90\x90\x90\xeb\x00\xc3", 2, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t args[UNWIND_ARGS] = {0};
		struct unwinder *u;
		enum unwind_end end;
		struct run r;

		prepare_bare(&r, rows[i].bytes, 7, 0);
		args[rows[i].arg] = BIAS + TO_START;
		u = unwinder_new_for(EM_X86_64, find, &r);
		end = unwind_blocked(u, BIAS + BARE, STACK, args, r.stack,
		                     sizeof(r.stack), r.pcs, MAX, &r.n);
		ck_assert_msg((end == UNWIND_ROOT) == rows[i].found, "row %zu",
		              i);
		ck_assert_uint_eq(r.n, 1u + rows[i].found);
		unwinder_free(u);
		unwind_table_free(r.table);
		elf_free(r.elf);
	}
}
END

TEST(an_address_that_follows_no_call_is_no_caller)
{
	struct run r;

	PREPARE_BARE(&r, "\x31\xc0\xc3", 0);
	r.stack[0] = BIAS + TO_START + 1;
	ck_assert(!ends_at(&r, TO_START + 1));
}
END

/* --- x86-64: frame pointers that are not known --------------------------- */

/*
 *	0x00 keeps  push %rbp; mov %rsp, %rbp; at 4 CFA is rbp+16, and it takes
 *	            room, or not; it waits at 8
 *	0x20 others callers; each address is a root
 *	0x60 stubs  see rows
 */
static const uint8_t kept_frames[] = {
	0x14, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x01,
	0x78, 0x10, 0x0c, 0x07, 0x08, 0x90, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x41, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d,
	0x06, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x07, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

enum {
	KEEPS = 0,
	WAITS = 8,
	BY_POINTER = 0x22,  /* what call *%rax returns to */
	BY_POINTER2 = 0x26, /* and another one */
	BY_NAME = 0x2d,     /* return address of a call of a named function */
	STUBS = 0x60,
	MADE = 0x4000 /* code without an image, beside it */
};

/* Makes a function that has allocated its frame at 4, and a call of target at
 * 0x28. */
static void
prepare_kept(struct run *r, const char *room, uint64_t target)
{
	static uint8_t code[0x80];
	const int32_t by = (int32_t)target - BY_NAME;

	memset(code, 0x90, sizeof(code));
	memcpy(code, "\x55\x48\x89\xe5", 4);
	memcpy(code + 4, room, 4);
	memcpy(code + BY_POINTER - 2, "\xff\xd0", 2);
	memcpy(code + BY_POINTER2 - 2, "\xff\xd0", 2);
	code[BY_NAME - 5] = 0xe8;
	memcpy(code + BY_NAME - 4, &by, 4);
	memcpy(code + STUBS, "\xff\x25\0\0\0\0", 6); /* jmp *0(%rip) */
	/* endbr64; jmp *0(%rip) */
	memcpy(code + STUBS + 8, "\xf3\x0f\x1e\xfa\xff\x25\0\0\0\0", 10);
	memcpy(code + STUBS + 24, "\xeb\x86", 2); /* jmp keeps */
	memcpy(code + STUBS + 28, "\xeb\xa2", 2); /* jmp others */
	prepare(r, &(struct frames_image){.machine = EM_X86_64,
	                                  .section = ".debug_frame",
	                                  .code = code,
	                                  .code_size = sizeof(code),
	                                  .frames = kept_frames,
	                                  .frames_size = sizeof(kept_frames)});
}
#define TAKES_32   "\x48\x83\xec\x20" /* sub $32, %rsp */
#define TAKES_SOME "\x48\x29\xc4\x90" /* sub %rax, %rsp; nop */

static bool
find_made(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	if (addr < BIAS + MADE || addr >= BIAS + 2 * MADE)
		return find(arg, addr, out);
	*out = (struct unwind_mapping){.start = BIAS + MADE,
	                               .end = BIAS + 2 * MADE};
	return true;
}

/* Returns the caller that is found with pc and sp alone, or 0. */
static uint64_t
caller_of_blocked(struct run *r)
{
	struct unwinder *u = unwinder_new_for(EM_X86_64, find_made, r);
	enum unwind_end end = unwind_blocked(u, BIAS + WAITS, STACK, NULL,
	                                     r->stack, sizeof(r->stack), r->pcs,
	                                     MAX, &r->n);

	unwinder_free(u);
	unwind_table_free(r->table);
	elf_free(r->elf);
	return end == UNWIND_ROOT && r->n == 2 ? r->pcs[1] - BIAS : 0;
}

TEST(the_frame_is_where_the_function_has_put_it_whatever_lies_below)
{
	static const uint64_t callers[] = {BY_POINTER, MADE + 8};

	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers); i++) {
		struct run r;

		prepare_kept(&r, TAKES_32, 0x20);
		r.stack[1] = AT(20); /* of an earlier call */
		r.stack[2] = BIAS + BY_POINTER2;
		r.stack[5] = BIAS + callers[i];
		ck_assert_uint_eq(caller_of_blocked(&r), callers[i]);
	}
}
END

TEST(a_call_that_names_its_target_is_believed_if_it_leads_to_the_function)
{
	static const struct {
		uint64_t target;
		bool leads;
	} rows[] = {
		{KEEPS, true},       {0x20, false},      {STUBS, true},
		{STUBS + 8, true},   {STUBS + 24, true}, {STUBS + 28, false},
		{0x70000000, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run r;

		prepare_kept(&r, TAKES_SOME, rows[i].target);
		r.stack[1] = AT(20);
		r.stack[2] = BIAS + BY_NAME;
		r.stack[5] = BIAS + BY_POINTER;
		ck_assert_msg(caller_of_blocked(&r) ==
		                      (rows[i].leads ? BY_NAME : BY_POINTER),
		              "row %zu", i);
	}
}
END

TEST(a_frame_whose_place_no_caller_fits_is_searched)
{
	struct run r;

	prepare_kept(&r, TAKES_32, 0x20);
	r.stack[5] = BIAS + BY_NAME; /* it calls another function */
	r.stack[8] = BIAS + BY_POINTER;
	ck_assert_uint_eq(caller_of_blocked(&r), BY_POINTER);
}
END

/* --- x86-64: what is returned to without a call --------------------------- */

/* Words of a signal's frame, from the ucontext on. */
enum { ALT_STACK = 2, ALT_SIZE = 4, RBP = 15, RBX = 16, RSP = 20, RIP = 21 };

static const struct {
	const char *bytes;
	size_t n, call;
} enders[] = {
	{CODE("\x48\xc7\xc0\x0f\0\0\0\x0f\x05"), 7},
	{CODE("\xb8\x0f\0\0\0\x0f\x05"), 5},
};

TEST(what_ends_handlers_is_known_by_its_code)
{
	struct run r;

	for (size_t i = 0; i < sizeof(enders) / sizeof(*enders); i++) {
		const uint64_t places[] = {0, enders[i].call, enders[i].n};

		for (int at = 0; at < 3; at++) { /* where it is interrupted */
			prepare_bare(&r, enders[i].bytes, enders[i].n,
			             places[at]);
			r.stack[RIP] = BIAS + SAVES;
			r.stack[RSP] = AT(90);
			r.stack[91] = BIAS + TO_START;
			ASSERT_CALLERS(&r, IN(SAVES), TO_START);
		}
		prepare_bare(&r, enders[i].bytes, enders[i].n, 0);
		r.regs[8] = BIAS + F; /* or while another handler runs */
		r.stack[0] = BIAS + BARE;
		r.stack[1 + RIP] = BIAS + SAVES;
		r.stack[1 + RSP] = AT(90);
		r.stack[91] = BIAS + TO_START;
		ASSERT_CALLERS(&r, IN(BARE), IN(SAVES), TO_START);
	}
}
END

/* BASED needs rbx, which struct sigcontext contains. */
TEST(interrupted_code_has_all_its_registers)
{
	struct run r;

	NEEDS(EM_X86_64);
	prepare_bare(&r, enders[0].bytes, enders[0].n, 0);
	r.stack[RIP] = BIAS + BASED;
	r.stack[RSP] = AT(40);
	r.stack[RBX] = AT(60);
	r.stack[61] = BIAS + TO_START;
	ASSERT_CALLERS(&r, IN(BASED), TO_START);
}
END

/* The stacks of the handler and of the interrupted code. */
static const struct {
	const char *label;
	uint64_t start, size, other;
} stacks[] = {
	{"above, and told", STACK, WORDS * 8, STACK + (UINT64_C(1) << 32)},
	{"close above, and told", STACK, WORDS * 8, STACK + (2 << 20)},
	{"below, and told", STACK, WORDS * 8, STACK - (UINT64_C(1) << 32)},
	{"below, and not told", 0, 0, STACK - (UINT64_C(1) << 32)},
};

TEST(a_handler_on_its_own_stack_is_below_what_it_interrupted)
{
	NEEDS(EM_X86_64);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		uint64_t other[8] = {[3] = BIAS + TO_START}, pcs[MAX];
		struct unwinder *u;
		struct run r;
		size_t n;

		prepare_bare(&r, enders[0].bytes, enders[0].n, 0);
		r.stack[ALT_STACK] = stacks[i].start;
		r.stack[ALT_SIZE] = stacks[i].size;
		r.stack[RIP] = BIAS + BASED;
		r.stack[RBX] = stacks[i].other + 16;
		r.stack[RSP] = stacks[i].other;
		u = unwinder_new_for(EM_X86_64, find, &r);
		ck_assert_msg(unwind(u, r.regs, r.stack, sizeof(r.stack), r.pcs,
		                     MAX, &r.n) == UNWIND_SWITCHED,
		              "%s", stacks[i].label);
		ck_assert_uint_eq(r.n, 2);
		ck_assert_uint_eq(r.pcs[1], BIAS + IN(BASED));
		ck_assert_uint_eq(unwind_other_stack(u), stacks[i].other);
		ck_assert_int_eq(
			unwind_on(u, other, sizeof(other), pcs, MAX, &n),
			UNWIND_ROOT);
		ck_assert_uint_eq(n, 1);
		ck_assert_uint_eq(pcs[0], BIAS + TO_START);
		unwinder_free(u);
		unwind_table_free(r.table);
		elf_free(r.elf);
	}
}
END

TEST(what_makecontext_returns_to_is_the_first_frame)
{
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = {
		{CODE("\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74\x08")},
		{CODE("\xf3\x0f\x1e\xfa\x48\x89\xdc\x48\x8b\x3c\x24\x48")},
		{CODE("\x48\x89\xdc\x64\xf7\x04\x25\x48\0\0\0\x02")},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run r;

		prepare_bare(&r, rows[i].bytes, rows[i].n, 0);
		r.regs[8] = BIAS + F;
		r.stack[0] = BIAS + BARE;
		r.stack[1] = BIAS + TO_START;
		ASSERT_CALLERS(&r, IN(BARE));
	}
}
END

#define ARM_OUTSIDE 4096                   /* code without tables */
#define SIGNED      (UINT64_C(0x2b) << 48) /* by pointer authentication */

TEST(aarch64_leaf_functions_have_their_caller_in_the_link_register)
{
	struct run r;

	prepare_arm(&r, 0);
	r.regs[30] = BIAS + ARM_OUTSIDE;
	ASSERT_CALLERS(&r, ARM_OUTSIDE);
}
END

TEST(aarch64_return_addresses_are_stripped_of_their_signature)
{
	struct run r;

	prepare_arm(&r, 0x14);
	r.regs[29] = STACK;
	r.stack[1] = SIGNED | (BIAS + ARM_OUTSIDE);
	ASSERT_CALLERS(&r, ARM_OUTSIDE);
	prepare_arm(&r, 4);
	r.regs[30] = SIGNED | (BIAS + ARM_OUTSIDE);
	ASSERT_CALLERS(&r, ARM_OUTSIDE);
}
END

/* DW_CFA_AARCH64_negate_ra_state_with_pc, which newer compilers write. */
TEST(aarch64_addresses_may_be_signed_with_that_of_an_instruction)
{
	uint8_t frames[sizeof(arm_frames)];
	struct run r;

	memcpy(frames, arm_frames, sizeof(frames));
	ck_assert_uint_eq(frames[ARM_SIGNED], 0x2d);
	frames[ARM_SIGNED] = 0x2c;
	prepare_arm_of(&r, 0x14, frames);
	r.regs[29] = STACK;
	r.stack[1] = SIGNED | (BIAS + ARM_OUTSIDE);
	ASSERT_CALLERS(&r, ARM_OUTSIDE);
}
END

/* In .debug_frame: CFA is the word at x19, x30 at CFA-8. */
TEST(aarch64_expressions_tell_the_frame_on_such_a_machine)
{
	static const uint8_t program[] = {0x0f, 3, 0x83, 0, 6, 0x9e, 2};
	uint8_t frames[sizeof(arm_frames)] = {0};
	struct run r;

	memcpy(frames, arm_frames, 48);
	memcpy(frames + 48, program, sizeof(program));
	prepare_arm_of(&r, 8, frames);
	r.regs[19] = AT(3);
	r.regs[30] = BIAS; /* no frame is there */
	r.stack[3] = AT(6);
	r.stack[5] = BIAS + ARM_OUTSIDE;
	if (HOST == EM_AARCH64)
		ASSERT_CALLERS(&r, ARM_OUTSIDE);
	else
		ck_assert(!ends_at(&r, ARM_OUTSIDE));
}
END

TEST(aarch64_slots_of_a_plt_leave_their_caller_in_the_link_register)
{
	struct run r;

	for (unsigned i = 11; i < 15; i++) {
		prepare_arm(&r, ARM_CODE(i));
		r.regs[30] = BIAS + ARM_OUTSIDE;
		ASSERT_CALLERS(&r, ARM_OUTSIDE);
	}
}
END

TEST(aarch64_the_first_slot_of_a_plt_has_put_it_on_the_stack)
{
	struct run r;

	for (unsigned i = 3; i < 9; i++) {
		unsigned words = i < 5 ? 0 : 2;

		prepare_arm(&r, ARM_CODE(i));
		r.regs[30] = BIAS + 0x18;
		r.regs[29] = AT(words); /* the caller's frame */
		r.stack[words + 1] = BIAS + ARM_OUTSIDE;
		ASSERT_CALLERS(&r, 0x18, ARM_OUTSIDE);
	}
}
END

TEST(aarch64_code_without_tables_is_walked_by_its_frame_records)
{
	struct run r;

	prepare_arm(&r, ARM_OUTSIDE);
	r.regs[29] = AT(2);
	r.stack[2] = AT(6);
	r.stack[3] = SIGNED | (BIAS + 0x18);
	r.stack[7] = BIAS + ARM_OUTSIDE;
	ASSERT_CALLERS(&r, 0x18, ARM_OUTSIDE);
}
END

TEST(aarch64_interrupts_within_the_end_of_a_handler_are_in_its_frame)
{
	enum { REGS = (128 + 176 + 8) / 8 };
	struct run r;

	for (unsigned i = 0; i < 3; i++) {
		prepare_arm(&r, ARM_CODE(i));
		r.stack[REGS + 30] = BIAS + ARM_OUTSIDE;
		r.stack[REGS + 31] = AT(90);
		r.stack[REGS + 32] = BIAS;
		ASSERT_CALLERS(&r, IN(0), ARM_OUTSIDE);
	}
}
END

/* The handler's frame is 4 words; siginfo and ucontext lie above it. */
TEST(aarch64_signal_frames_are_known_by_the_code_they_return_to)
{
	enum { REGS = 4 + (128 + 176 + 8) / 8 };
	struct run r;

	prepare_arm(&r, 0x14);
	r.regs[29] = STACK;
	r.stack[1] = BIAS + ARM_SIZE;
	r.stack[REGS + 30] = BIAS + ARM_OUTSIDE;
	r.stack[REGS + 31] = AT(90);
	r.stack[REGS + 32] = BIAS;
	ASSERT_CALLERS(&r, IN(ARM_SIZE), IN(0), ARM_OUTSIDE);
}
END

/* mov x0, x19; cbnz x0, …; b … */
TEST(aarch64_contexts_begin_where_their_function_returns_to)
{
	static const uint32_t start[] = {0xaa1303e0, 0xb5fff9c0, 0x17fff579};
	static const uint32_t marked[] = {0xd503245f, 0xaa1303e0, 0xb5fff9c0};
	static const uint32_t *const rows[] = {start, marked};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t bytes[ARM_SIZE + sizeof(start)] = {0};
		struct run r;

		memcpy(bytes + ARM_SIZE, rows[i], sizeof(start));
		prepare(&r, &(struct frames_image){
				    .machine = EM_AARCH64,
				    .section = ".debug_frame",
				    .code = bytes,
				    .code_size = sizeof(bytes),
				    .frames = arm_frames,
				    .frames_size = sizeof(arm_frames)});
		r.regs[32] = BIAS;
		r.regs[31] = STACK;
		r.regs[30] = BIAS + ARM_SIZE;
		ASSERT_CALLERS(&r, IN(ARM_SIZE));
	}
}
END

SUITE("unwind_frames");
