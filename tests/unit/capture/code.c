/* Instructions of x86-64, one by one and in Debian's libraries. */
#include "capture/unwind/code.h"
#include "capture/unwind/unwind_code.h"
#include "capture/unwind/unwind_table.h"

#include "lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define ONE_IN \
	7 /* instructions of the libraries, for which it takes longer \
	   */

static const struct {
	const char *label, *bytes;
	unsigned length;
	enum code_flow flow;
	struct code_value sp, fp;
	int64_t target;
} rows[] = {
	{"push %rbp", "\x55", 1, CODE_NEXT, {CODE_SP, -8}, {0}, 0},
	{"push %r13", "\x41\x55", 2, CODE_NEXT, {CODE_SP, -8}, {0}, 0},
	{"push $1", "\x6a\x01", 2, CODE_NEXT, {CODE_SP, -8}, {0}, 0},
	{"push 8(%rax)", "\xff\x70\x08", 3, CODE_NEXT, {CODE_SP, -8}, {0}, 0},
	{"pop %rbp",
         "\x5d",
         1,
         CODE_NEXT,
         {CODE_SP, 8},
         {CODE_WORD_AT_SP, 0},
         0},
	{"pop %r13", "\x41\x5d", 2, CODE_NEXT, {CODE_SP, 8}, {0}, 0},
	{"pop %rsp", "\x5c", 1, CODE_NEXT, {CODE_WORD_AT_SP, 0}, {0}, 0},
	{"pop 8(%rax)", "\x8f\x40\x08", 3, CODE_NEXT, {CODE_SP, 8}, {0}, 0},
	{"sub $0x88,%rsp",
         "\x48\x81\xec\x88\0\0\0",
         7,
         CODE_NEXT,
         {CODE_SP, -0x88},
         {0},
         0},
	{"add $8,%rsp", "\x48\x83\xc4\x08", 4, CODE_NEXT, {CODE_SP, 8}, {0}, 0},
	{"cmp $8,%rsp", "\x48\x83\xfc\x08", 4, CODE_NEXT, {0}, {0}, 0},
	{"and $-32,%rsp",
         "\x48\x83\xe4\xe0",
         4,
         CODE_NEXT,
         {CODE_UNKNOWN, 0},
         {0},
         0},
	{"mov %rsp,%rbp", "\x48\x89\xe5", 3, CODE_NEXT, {0}, {CODE_SP, 0}, 0},
	{"mov %rbp,%rsp", "\x48\x89\xec", 3, CODE_NEXT, {CODE_FP, 0}, {0}, 0},
	{"mov %rax,%rsp",
         "\x48\x89\xc4",
         3,
         CODE_NEXT,
         {CODE_UNKNOWN, 0},
         {0},
         0},
	{"mov 64(%rsp),%rsp",
         "\x48\x8b\x64\x24\x40",
         5,
         CODE_NEXT,
         {CODE_WORD_AT_SP, 64},
         {0},
         0},
	{"mov %rsp,64(%rsp)",
         "\x48\x89\x64\x24\x40",
         5,
         CODE_NEXT,
         {0},
         {0},
         0},
	{"mov 64(%rsp,%rax),%rbp",
         "\x48\x8b\x6c\x04\x40",
         5,
         CODE_NEXT,
         {0},
         {CODE_UNKNOWN, 0},
         0},
	{"lea -40(%rbp),%rsp",
         "\x48\x8d\x65\xd8",
         4,
         CODE_NEXT,
         {CODE_FP, -40},
         {0},
         0},
	{"lea 1(%rip),%rbp",
         "\x48\x8d\x2d\1\0\0\0",
         7,
         CODE_NEXT,
         {0},
         {CODE_UNKNOWN, 0},
         0},
	{"xor %ebp,%ebp", "\x31\xed", 2, CODE_NEXT, {0}, {CODE_UNKNOWN, 0}, 0},
	{"dec %r13d", "\x41\xff\xcd", 3, CODE_NEXT, {0}, {0}, 0},
	{"movzbl (%rax),%ebp",
         "\x0f\xb6\x28",
         3,
         CODE_NEXT,
         {0},
         {CODE_UNKNOWN, 0},
         0},
	{"enter $16,$0",
         "\xc8\x10\0\0",
         4,
         CODE_NEXT,
         {CODE_UNKNOWN, 0},
         {CODE_UNKNOWN, 0},
         0},
	{"leave", "\xc9", 1, CODE_NEXT, {CODE_FP, 8}, {CODE_WORD_AT_FP, 0}, 0},
	{"ret", "\xc3", 1, CODE_RETURN, {CODE_SP, 8}, {0}, 0},
	{"rep ret", "\xf3\xc3", 2, CODE_RETURN, {CODE_SP, 8}, {0}, 0},
	{"jg .-2", "\x7f\xfc", 2, CODE_BRANCH, {0}, {0}, -4},
	{"jne .+0x106", "\x0f\x85\0\1\0\0", 6, CODE_BRANCH, {0}, {0}, 0x100},
	{"jmp .+0x12", "\xeb\x10", 2, CODE_JUMP, {0}, {0}, 0x10},
	{"jmp *%rax", "\xff\xe0", 2, CODE_LEAVE, {0}, {0}, 0},
	{"call .+5", "\xe8\0\0\0\0", 5, CODE_CALL, {0}, {0}, 0},
	{"call *16(%rsp)", "\xff\x54\x24\x10", 4, CODE_CALL, {0}, {0}, 0},
	{"ud2", "\x0f\x0b", 2, CODE_TRAP, {0}, {0}, 0},
	{"vpaddd %xmm4,%xmm5,%xmm4",
         "\xc5\xd1\xfe\xe4",
         4,
         CODE_NEXT,
         {0},
         {0},
         0},
	{"vpsadbw %zmm1,%zmm2,%zmm5",
         "\x62\xf1\x6d\x48\xf6\xe9",
         6,
         CODE_NEXT,
         {0},
         {0},
         0},
	{"vpermq $0xd8,%ymm0,%ymm0",
         "\xc4\xe3\xfd\x00\xc0\xd8",
         6,
         CODE_NEXT,
         {0},
         {0},
         0},
	{"vphaddwq %xmm3,%xmm3",
         "\x8f\xe9\x78\xc7\xdb",
         5,
         CODE_NEXT,
         {0},
         {0},
         0},
	{"movabs $1,%rax",
         "\x48\xb8\1\0\0\0\0\0\0\0",
         10,
         CODE_NEXT,
         {0},
         {0},
         0},
};

static bool
same_value(struct code_value a, struct code_value b)
{
	return a.from == b.from && (a.from == CODE_UNKNOWN || a.by == b.by);
}

TEST(an_instruction_tells_its_length_its_way_and_what_it_does_to_the_stack)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t room[CODE_MAX_INSN] = {0};
		struct code_insn got;

		memcpy(room, rows[i].bytes, rows[i].length);
		ck_assert_msg(code_x86_64(room, sizeof(room), &got), "%s",
		              rows[i].label);
		ck_assert_msg(got.length == rows[i].length, "%s: %u bytes",
		              rows[i].label, got.length);
		ck_assert_msg(got.flow == rows[i].flow, "%s: flow %d",
		              rows[i].label, got.flow);
		ck_assert_msg(same_value(got.sp, rows[i].sp) &&
		                      same_value(got.fp, rows[i].fp),
		              "%s: sp %d %ld, fp %d %ld", rows[i].label,
		              got.sp.from, got.sp.by, got.fp.from, got.fp.by);
		ck_assert_msg(got.target == rows[i].target, "%s: to %ld",
		              rows[i].label, got.target);
	}
}
END

/* Source: Arm ARM, C4.1; loads and stores that move their base register. */
static const struct {
	const char *label;
	uint32_t word;
	struct code_value sp, fp;
} arm[] = {
	{"ldr x0,[sp],#16", 0xf84107e0, {CODE_SP, 16}, {0}},
	{"ldr x0,[x29],#16", 0xf84107a0, {0}, {CODE_FP, 16}},
	{"str x0,[x29,#-16]!", 0xf81f0fa0, {0}, {CODE_FP, -16}},
	{"str x29,[sp,#-16]!", 0xf81f0ffd, {CODE_SP, -16}, {0}},
	{"ldr x29,[sp],#16", 0xf84107fd, {CODE_SP, 16}, {CODE_WORD_AT_SP, 0}},
	{"ldur x29,[sp,#8]", 0xf84083fd, {0}, {CODE_WORD_AT_SP, 8}},
	{"stur x29,[sp,#8]", 0xf80083fd, {0}, {0}},
	{"stp x29,x30,[sp,#-32]!", 0xa9be7bfd, {CODE_SP, -32}, {0}},
};

TEST(an_instruction_of_aarch64_tells_what_it_does_to_the_stack)
{
	for (size_t i = 0; i < ARRAY_LEN(arm); i++) {
		struct code_insn got;
		uint8_t bytes[4];

		memcpy(bytes, &arm[i].word, sizeof(bytes));
		ck_assert_msg(code_aarch64(bytes, sizeof(bytes), &got), "%s",
		              arm[i].label);
		ck_assert_msg(same_value(got.sp, arm[i].sp) &&
		                      same_value(got.fp, arm[i].fp),
		              "%s: sp %d %ld, fp %d %ld", arm[i].label,
		              got.sp.from, got.sp.by, got.fp.from, got.fp.by);
	}
}
END

TEST(an_instruction_cut_anywhere_is_none)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (unsigned n = 0; n < rows[i].length; n++) {
			CLEANUP_FREE uint8_t *cut = malloc(n + 1);
			struct code_insn got;

			memcpy(cut, rows[i].bytes, n);
			ck_assert_msg(!code_x86_64(cut, n, &got) ||
			                      got.length <= n,
			              "%s of %u bytes", rows[i].label, n);
		}
}
END

/* --- whole libraries ------------------------------------------------------ */

struct file {
	struct elf_image *elf;
	struct unwind_table *table;
	struct unwind_index frames;
};

static bool
open_file(const char *path, struct file *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*f = (struct file){0};
	if (fd < 0)
		return false;
	ck_assert_int_eq(elf_open_fd(fd, &f->elf), 0);
	ck_assert_int_eq(unwind_table_new(f->elf, &f->table), 0);
	ck_assert_int_eq(unwind_index_eh(f->elf, &f->frames), 0);
	return true;
}

static void
close_file(struct file *f)
{
	unwind_index_done(&f->frames);
	unwind_table_free(f->table);
	elf_free(f->elf);
}

static const char *const libraries[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/lib/x86_64-linux-gnu/libcrypto.so.3",
};

/* Called for each instruction within a function that has tables. */
typedef void insn_seen(const struct file *f, uint64_t vaddr, void *arg);

/* Returns false if the last instruction does not end where the function
 * does. */
static bool
each_insn(const struct file *f, const struct cfi_entry *e, insn_seen *seen,
          void *arg)
{
	uint64_t at = e->start;

	while (at < e->end) {
		size_t n = e->end - at < CODE_MAX_INSN ? e->end - at
		                                       : CODE_MAX_INSN;
		uint8_t code[CODE_MAX_INSN];
		struct code_insn insn;

		if (!unwind_table_code(f->table, at, code, n) ||
		    !code_x86_64(code, n, &insn))
			return false;
		if (seen && !insn.padding)
			seen(f, at, arg);
		at += insn.length;
	}
	return at == e->end;
}

TEST(instructions_of_libraries_end_where_their_functions_do)
{
	unsigned n = 0, wrong = 0;
	struct file f;

	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		if (!open_file(libraries[i], &f))
			continue;
		for (uint32_t r = 0; r < f.frames.nrows; r++) {
			struct cfi_entry e;

			if (unwind_index_entry(&f.frames, r, &e))
				continue;
			n++;
			wrong += !each_insn(&f, &e, NULL, NULL);
		}
		close_file(&f);
	}
	ck_assert_uint_gt(n, 10000);
	/* the exceptions are .plt, and tables that describe data after code */
	ck_assert_msg(wrong * 1000 < n, "%u of %u", wrong, n);
}
END

struct count {
	unsigned n, asked, same, other;
};

/* Compares the two rules if both have a kind that needs no stack. */
static void
compare(const struct file *f, uint64_t vaddr, void *arg)
{
	const struct unwind_arch *arch = unwind_table_arch(f->table);
	struct unwind_rule table, code;
	struct count *c = arg;

	if (c->n++ % ONE_IN)
		return;
	table = unwind_table_rule(f->table, vaddr, false);
	if (table.cfa != CFA_SP && table.cfa != CFA_FP)
		return;
	c->asked++;
	if (!unwind_code_rule(f->elf, arch, vaddr, &code) ||
	    (code.ra == UNWIND_FROM_FP) != (table.cfa == CFA_FP))
		return;
	if (code.ra <= UNWIND_FROM_FP && code.ra_words == -1 &&
	    code.cfa_words == table.cfa_words)
		c->same++;
	else
		c->other++;
}

/* Compiled code is harder than assembly, since some of its calls never
 * return. */
TEST(the_way_out_of_code_is_that_of_its_tables)
{
	struct count c = {0};
	struct file f;

	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		if (!open_file(libraries[i], &f))
			continue;
		for (uint32_t r = 0; r < f.frames.nrows; r++) {
			struct cfi_entry e;

			if (!unwind_index_entry(&f.frames, r, &e))
				(void)!each_insn(&f, &e, compare, &c);
		}
		close_file(&f);
	}
	ck_assert_uint_gt(c.asked, 10000);
	ck_assert_msg(c.same > c.asked / 10 * 8, "%u of %u", c.same, c.asked);
	ck_assert_msg(c.other < c.same / 50, "%u wrong, %u right", c.other,
	              c.same);
}
END

/* --- a running program ---------------------------------------------------- */

#define STEPS 30000

/* The general registers by the numbers of Intel SDM 2A, table 2-2. */
static void
read_regs(pid_t pid, uint64_t out[16], uint64_t *rip)
{
	struct user_regs_struct r;

	ck_assert_int_eq(ptrace(PTRACE_GETREGS, pid, NULL, &r), 0);
	memcpy(out,
	       (const uint64_t[]){r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp,
	                          r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12,
	                          r.r13, r.r14, r.r15},
	       16 * sizeof(*out));
	*rip = r.rip;
}

static void
check_step(const struct code_insn *insn, const uint8_t *code,
           const uint64_t before[16], const uint64_t after[16])
{
	for (unsigned i = 0; i < 16; i++)
		ck_assert_msg(before[i] == after[i] || insn->changes >> i & 1,
		              "%02x %02x %02x %02x %02x changed %u", code[0],
		              code[1], code[2], code[3], code[4], i);
	if (insn->copies)
		ck_assert_uint_eq(after[insn->copy_to],
		                  before[insn->copy_from]);
}

static pid_t
start_traced(void)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl("/usr/bin/sort", "sort", "/etc/passwd", (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
	return pid;
}

static bool
step(pid_t pid)
{
	int status;

	ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status);
}

/* Lets the processor decide: sort(1) is run instruction by instruction. */
TEST(no_register_changes_that_its_instruction_does_not_name)
{
	pid_t pid = start_traced();
	uint64_t before[16], after[16], rip;
	unsigned known = 0, n = 0;

	read_regs(pid, before, &rip);
	for (; n < STEPS; n++) {
		uint8_t code[16];
		struct iovec to = {code, CODE_MAX_INSN},
			     from = {(void *)rip, CODE_MAX_INSN};
		struct code_insn insn;
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

		ck_assert_int_gt(got, 0);
		ck_assert(code_x86_64(code, (size_t)got, &insn));
		if (!step(pid))
			break;
		read_regs(pid, after, &rip);
		check_step(&insn, code, before, after);
		known += insn.changes != UINT16_MAX;
		memcpy(before, after, sizeof(before));
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_uint_gt(n, STEPS / 2);
	ck_assert_msg(known > n / 10 * 8, "%u of %u", known, n);
}
END

SUITE("code");
