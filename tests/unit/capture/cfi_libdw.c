/* Compares the rules of whole libraries with those that libdw reads. */
#include "capture/unwind/cfi.h"
#include "capture/unwind/unwind_table.h"

#include "lib/test.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PCS  20000 /* the most addresses of a section */
#define STEP 37    /* bytes between addresses: a prime, so all kinds are met */

enum { FP = 6, SP = 7, RA = 16 }; /* x86-64 psABI, figure 3.36 */

struct file {
	int fd;
	Elf *libelf;
	Dwarf_CFI *cfi; /* libdw's */
	struct elf_image *elf;
	struct unwind_table *table; /* ours */
	uint32_t compared, whole;   /* addresses; without a short form */
};

static bool
open_file(const char *path, struct file *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	f->libelf = elf_begin(f->fd, ELF_C_READ, NULL);
	f->cfi = dwarf_getcfi_elf(f->libelf);
	ck_assert_ptr_nonnull(f->cfi);
	ck_assert_int_eq(elf_open_fd(dup(f->fd), &f->elf), 0);
	ck_assert_int_eq(unwind_table_new(f->elf, &f->table), 0);
	return true;
}

static void
close_file(struct file *f)
{
	unwind_table_free(f->table);
	elf_free(f->elf);
	dwarf_cfi_end(f->cfi);
	elf_end(f->libelf);
	close(f->fd);
}

static const char *
where(const char *path, uint64_t pc)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s at %#lx", path, pc);
	return text;
}

/* *offset: of the slot from the CFA. */
static enum rule_reg
register_of(Dwarf_Frame *frame, int reg, int64_t *offset)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	*offset = 0;
	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		return REG_LOST;
	if (!n)
		return REG_SAME; /* or undefined, the same to us */
	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2)
		return REG_LOST;
	if (n == 2 && ops[1].atom != DW_OP_plus_uconst)
		return REG_LOST;
	*offset = n == 2 ? (int64_t)ops[1].number : 0;
	return REG_AT_CFA;
}

static void
compare_cfa(struct unwind_rule rule, const Dwarf_Op *op, size_t n,
            const char *at)
{
	ck_assert_msg((rule.cfa == CFA_SP || rule.cfa == CFA_FP) ==
	                      (n == 1 && op->atom == DW_OP_bregx),
	              "%s: %zu operations", at, n);
	if (n != 1)
		return; /* longer expressions are not compared */
	ck_assert_msg(op->number == (rule.cfa == CFA_SP ? SP : FP),
	              "%s: CFA from register %lu", at, op->number);
	ck_assert_msg((int64_t)op->number2 == rule.cfa_words * 8,
	              "%s: CFA at %d, not %ld", at, rule.cfa_words * 8,
	              (long)op->number2);
}

static void
compare(struct file *f, const char *path, uint64_t pc)
{
	struct unwind_rule rule = unwind_table_rule(f->table, pc, false);
	const char *at = where(path, pc);
	enum rule_reg ra, fp;
	int64_t ra_at, fp_at;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_cfi_addrframe(f->cfi, pc, &frame)) {
		ck_assert_msg(rule.cfa == CFA_NONE || rule.cfa == CFA_CODE ||
		                      rule.cfa == CFA_SIGNAL,
		              "%s: only we have a rule", at);
		return;
	}
	ck_assert_msg(rule.cfa != CFA_NONE && rule.cfa != CFA_CODE,
	              "%s: no rule", at);
	ra = register_of(frame, RA, &ra_at);
	fp = register_of(frame, FP, &fp_at);
	if (rule.cfa == CFA_FULL || rule.cfa == CFA_SIGNAL) {
		f->whole++;
	} else if (rule.cfa == CFA_ROOT) {
		ck_assert_msg(ra == REG_SAME, "%s: not the first frame", at);
	} else {
		ck_assert_int_eq(dwarf_frame_cfa(frame, &ops, &n), 0);
		compare_cfa(rule, ops, n, at);
		ck_assert_msg(ra == REG_AT_CFA && ra_at == rule.ra_words * 8,
		              "%s: return address at %ld", at, (long)ra_at);
		ck_assert_msg(rule.fp != REG_AT_CFA ||
		                      (fp == REG_AT_CFA &&
		                       fp_at == rule.fp_words * 8),
		              "%s: frame pointer at %ld", at, (long)fp_at);
		ck_assert_msg(rule.fp != REG_SAME || fp == REG_SAME,
		              "%s: frame pointer not the same", at);
	}
	f->compared++;
	free(frame);
}

static void
compare_section(struct file *f, const char *path, const char *name)
{
	const struct elf_section *s = elf_section(f->elf, name);
	uint64_t step = STEP;

	if (!s)
		return;
	if (s->size / PCS > step) /* spread over the whole section */
		step = s->size / PCS | 1;
	for (uint64_t at = 0; at < s->size; at += step)
		compare(f, path, s->vaddr + at);
}

TEST(rules_of_system_libraries_are_those_that_libdw_reads)
{
	static const char *const paths[] = {
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/lib/x86_64-linux-gnu/libsqlite3.so.0",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/proc/self/exe",
	};
	uint32_t compared = 0, whole = 0;
	struct file f;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (!open_file(paths[i], &f))
			continue;
		compare_section(&f, paths[i], ".text");
		compare_section(&f, paths[i], ".plt");
		compared += f.compared;
		whole += f.whole;
		close_file(&f);
	}
	ck_assert_uint_gt(compared, PCS);
	/* Short forms make walks fast, so nearly all rows must have one. */
	ck_assert_msg(whole * 100 < compared, "%u of %u rows have none", whole,
	              compared);
}
END

/* --- an entry written here ------------------------------------------------ */

TEST(entries_whose_form_is_not_known_are_refused)
{
	static const struct {
		char version;
		const char *letters;
		int rc;
	} rows[] = {
		{0, "", -EBADMSG}, {1, "", 0},        {2, "", -EBADMSG},
		{3, "", 0},        {5, "", -EBADMSG}, {1, "x", -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].letters);
		uint32_t lengths[] = {(uint32_t)(9 + n), 20};
		uint64_t function[] = {0x1000, 0x10};
		uint8_t bytes[64] = {0}, *p = bytes;
		struct cfi_section s = {.bytes = {.bytes = bytes}};
		struct cfi_entry e;
		uint32_t back;

		memcpy(p, &lengths[0], 4); /* then 0: a CIE */
		p[8] = (uint8_t)rows[i].version;
		memcpy(p + 9, rows[i].letters, n + 1);
		p += 10 + n;
		*p++ = 1;    /* code is aligned to 1, */
		*p++ = 0x78; /* data to -8, */
		*p++ = RA;
		memcpy(p, &lengths[1], 4);
		back = (uint32_t)(p + 4 - bytes);
		memcpy(p + 4, &back, 4);
		memcpy(p + 8, function, sizeof(function));
		s.bytes.size = (size_t)(p + 24 - bytes);
		ck_assert_msg(cfi_entry_read(&s, (size_t)(p - bytes), &e) ==
		                      rows[i].rc,
		              "row %zu", i);
		if (!rows[i].rc)
			ck_assert_uint_eq(e.end, 0x1010);
	}
}
END

SUITE("cfi_libdw");
