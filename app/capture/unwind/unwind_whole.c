/*
 * Steps that need more than a short rule, by libunwind: every register is
 * followed, and DWARF expressions are evaluated. Stacks that need this are rare
 * (a dynamic linker's resolver, some assembly), so nothing is cached.
 *
 * The target's frame information is not shown to libunwind 1.6, which trusts
 * it: a return address column or a register past the last one makes it read
 * beyond arrays, and a backward jump in an expression never ends. Our parser,
 * which checks all this, finds the row. A new entry that holds just this row
 * is written, and the only memory that libunwind sees is that entry and the
 * copied stack.
 */
#include "unwind_walk.h"

#include <dwarf.h>
#include <errno.h>
#include <libunwind.h>

#define ENTRY_ADDR  (UINT64_C(1) << 63) /* above all user memory */
#define ENTRY_BYTES 1024
#define TABLE_BYTES 8    /* the search table, of one row, before the entry */
#define MAX_READS   8192 /* of memory, in one step */

/* libunwind's number of the register that holds the pc. */
#if defined(__x86_64__)
#define PC_REGISTER UNW_X86_64_RIP
#else
#define PC_REGISTER UNW_AARCH64_PC
#endif

/* Not in libunwind's headers, but exported for perf, which calls it, too;
 * Source: Linux tools/perf/util/unwind-libunwind-local.c. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int
search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
                    unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* A buffer: past its end nothing is written, and full stays set. */
struct entry {
	size_t n;
	bool full;
	uint8_t bytes[ENTRY_BYTES];
};

struct step {
	struct walk *w;
	uint64_t pc; /* a byte of the instruction */
	struct registers *from;
	const struct cfi_section *section;
	struct cfi_row row;
	unw_cursor_t cursor;
	struct entry entry;
	uint64_t lost; /* bit per register that the row does not restore */
	unsigned reads;
	bool failed;      /* memory or a register could not be read */
	uint64_t missing; /* address of the last word that could not be read */
};

static bool
is_known(const struct registers *r, unsigned reg)
{
	return reg < CFI_REGS && r->known >> reg & 1;
}

/* --- the row, rewritten --------------------------------------------------- */

static void
put(struct entry *e, const void *bytes, size_t n)
{
	if (n > sizeof(e->bytes) - e->n) {
		e->full = true;
		return;
	}
	memcpy(e->bytes + e->n, bytes, n);
	e->n += n;
}

static void
put_u8(struct entry *e, uint64_t v)
{
	put(e, &(uint8_t){(uint8_t)v}, 1);
}

static void
put_u32(struct entry *e, uint64_t v)
{
	put(e, &(uint32_t){(uint32_t)v}, 4);
}

static void
put_u64(struct entry *e, uint64_t v)
{
	put(e, &v, sizeof(v));
}

static void
put_leb(struct entry *e, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		put_u8(e, v | 0x80);
	put_u8(e, v);
}

/*
 * Writes the bytes of an expression. DW_OP_div, which no compiler writes into
 * frame information, would crash this process if a quotient does not fit, so an
 * expression that contains such a byte anywhere is refused.
 */
static void
put_expression(struct entry *e, const struct cfi_section *s,
               const struct cfi_rule *rule)
{
	const uint8_t *p = s->bytes.bytes + rule->value;

	e->full |= memchr(p, DW_OP_div, rule->size) != NULL;
	put_leb(e, rule->size);
	put(e, p, rule->size);
}

/* Writes an expression that adds an offset to the CFA, which is on the top of
 * the expression's stack. */
static void
put_offset(struct entry *e, int64_t offset)
{
	put_leb(e, 1 + sizeof(offset) + 1);
	put_u8(e, DW_OP_const8s);
	put_u64(e, (uint64_t)offset);
	put_u8(e, DW_OP_plus);
}

/*
 * Writes the rule of a register. DW_CFA_register, for which libunwind would use
 * the caller's value of the other register, is written as an expression;
 * DW_CFA_undefined is left out, since libunwind takes a frame that loses the
 * frame pointer for the first one.
 */
static void
put_rule(struct step *s, unsigned reg, const struct cfi_rule *rule)
{
	struct entry *e = &s->entry;

	if (rule->how == CFI_SAME)
		return;
	if (rule->how == CFI_UNDEFINED ||
	    (rule->how == CFI_REGISTER && !is_known(s->from, rule->reg))) {
		s->lost |= UINT64_C(1) << reg;
		return;
	}
	put_u8(e, rule->how == CFI_AT || rule->how == CFI_AT_EXPR
	                  ? DW_CFA_expression
	                  : DW_CFA_val_expression);
	put_u8(e, reg);
	if (rule->how == CFI_AT || rule->how == CFI_IS) {
		put_offset(e, rule->value);
	} else if (rule->how == CFI_REGISTER) {
		put_leb(e, 3);
		put_u8(e, DW_OP_bregx);
		put_u8(e, rule->reg);
		put_u8(e, 0); /* offset */
	} else {
		put_expression(e, s->section, rule);
	}
}

static bool
put_cfa(struct entry *e, const struct cfi_section *s,
        const struct cfi_rule *cfa, unsigned nregs)
{
	if (cfa->how == CFI_REGISTER && cfa->reg < nregs) {
		put_u8(e, DW_CFA_def_cfa);
		put_leb(e, cfa->reg);
		put_leb(e, (uint64_t)cfa->value);
	} else if (cfa->how == CFI_EXPR) {
		put_u8(e, DW_CFA_def_cfa_expression);
		put_expression(e, s, cfa);
	} else {
		return false;
	}
	return true;
}

/* Sets the length of the record that begins at at. */
static void
close_record(struct entry *e, size_t at)
{
	uint32_t n = (uint32_t)(e->n - at - sizeof(n));

	memcpy(e->bytes + at, &n, sizeof(n));
}

/*
 * Writes a search table of one row, which holds for any address; a CIE with all
 * the rules; and the entry of a function that consists of the byte at s->pc.
 *   Shape    ra: the column to declare as that of the return address
 *   Source   LSB 5, 10.6
 */
static bool
write_entry(struct step *s, unsigned ra)
{
	const struct unwind_arch *a = s->w->arch;
	struct entry *e = &s->entry;
	size_t fde;

	memset(e, 0, sizeof(*e));
	s->lost = 0;
	e->n = TABLE_BYTES;
	put_u32(e, 0); /* length */
	put_u32(e, 0); /* a CIE */
	put_u8(e, 1);  /* version */
	put_u8(e, 0);  /* no augmentation: addresses are whole words */
	put_u8(e, 1);  /* code alignment factor */
	put_u8(e, 1);  /* data alignment factor */
	put_u8(e, ra);
	if (!put_cfa(e, s->section, &s->row.cfa, a->nregs))
		return false;
	for (unsigned i = 0; i < a->nregs; i++)
		put_rule(s, i, &s->row.regs[i]);
	close_record(e, TABLE_BYTES);
	fde = e->n;
	put_u32(e, 0); /* length */
	put_u32(e, e->n - TABLE_BYTES);
	put_u64(e, s->pc);
	put_u64(e, 1);
	if (e->full)
		return false;
	close_record(e, fde);
	memcpy(e->bytes, &(int32_t[2]){INT32_MIN, (int32_t)fde}, TABLE_BYTES);
	return true;
}

/* --- what libunwind asks for ---------------------------------------------- */

static bool
entry_word(const struct entry *e, uint64_t addr, uint64_t *out)
{
	uint64_t at = addr - ENTRY_ADDR;

	if (at > sizeof(e->bytes) - sizeof(*out))
		return false;
	memcpy(out, e->bytes + at, sizeof(*out));
	return true;
}

static int
access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write,
           void *arg)
{
	struct step *s = arg;

	(void)as;
	if (write || s->reads++ == MAX_READS)
		return -UNW_EINVAL;
	if (walk_word(s->w, addr, value) || entry_word(&s->entry, addr, value))
		return 0;
	if (addr == s->pc && s->reads == 1) {
		*value = 0; /* on aarch64: no code that ends a handler */
		return 0;
	}
	s->missing = addr;
	s->failed = true;
	return -UNW_EINVAL;
}

/* libunwind's numbers of registers are DWARF's. */
static int
access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
           void *arg)
{
	struct step *s = arg;

	(void)as;
	if (!write && reg == PC_REGISTER) {
		*value = s->pc;
		return 0;
	}
	if (!write && reg >= 0 && is_known(s->from, (unsigned)reg)) {
		*value = s->from->value[reg];
		return 0;
	}
	s->failed = true;
	return -UNW_EBADREG;
}

static int
access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value,
             int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int
find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi,
               int need_unwind_info, void *arg)
{
	unw_dyn_info_t di = {
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.start_ip = ip,
		.end_ip = ip + 1,
		.u.rti = {.segbase = ENTRY_ADDR,
	                  .table_data = ENTRY_ADDR,
	                  .table_len = TABLE_BYTES / sizeof(unw_word_t)},
	};

	return search_unwind_table(as, ip, &di, pi, need_unwind_info, arg);
}

static void
put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int
no_dynamic_info(unw_addr_space_t as, unw_word_t *list, void *arg)
{
	(void)as;
	(void)list;
	(void)arg;
	return -UNW_ENOINFO;
}

static bool
make_space(struct unwinder *u)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_dynamic_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
	};

	if (!u->space)
		u->space = unw_create_addr_space(&accessors, 0);
	return u->space;
}

void
walk_whole_done(struct unwinder *u)
{
	if (u->space)
		unw_destroy_addr_space(u->space);
}

/* --- the step ------------------------------------------------------------- */

/* Moves the cursor to the caller; sets *out to its column ra. */
static bool
step_cursor(struct step *s, unsigned ra, uint64_t *out)
{
	unw_word_t value;

	s->reads = 0;
	s->failed = false;
	s->missing = 0;
	if (!write_entry(s, ra) || s->lost >> ra & 1 ||
	    unw_init_remote(&s->cursor, s->w->u->space, s) ||
	    unw_step(&s->cursor) < 0 || s->failed ||
	    unw_get_reg(&s->cursor, (unw_regnum_t)ra, &value))
		return false;
	*out = value;
	return true;
}

static void
keep(struct registers *r, unsigned reg, uint64_t value, bool known)
{
	r->value[reg] = value;
	r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)known << reg;
}

/*
 * Reads the registers of the caller.
 *   Shape    popped: slots below this address have been popped already, and
 *            their registers hold the values
 */
static void
read_registers(struct step *s, uint64_t popped, struct registers *out)
{
	unw_word_t value;

	out->known = 0;
	for (unsigned i = 0; i < s->w->arch->nregs; i++) {
		s->missing = 0;
		if (s->lost >> i & 1)
			continue;
		if (!unw_get_reg(&s->cursor, (unw_regnum_t)i, &value))
			keep(out, i, value, true);
		else if (s->missing && s->missing < popped &&
		         is_known(s->from, i))
			keep(out, i, s->from->value[i], true);
	}
}

/*
 * Applies a row's rule for the stack pointer. libunwind takes the CFA for the
 * caller's stack pointer, whatever the row says, so the rule is evaluated as if
 * it were that of the return address.
 */
static bool
step_stack_pointer(struct step *s, unsigned ra, struct registers *to)
{
	const unsigned sp = s->w->arch->sp;
	uint64_t value;

	if (s->row.regs[sp].how == CFI_SAME)
		return true;
	s->row.regs[ra] = s->row.regs[sp];
	if (!step_cursor(s, ra, &value))
		return false;
	keep(to, sp, value, true);
	return true;
}

/* Copies the frame's registers, which are newer after a step by rule, signal or
 * frame pointer. */
static void
take_frame(const struct unwind_arch *a, const struct frame *f,
           struct registers *r)
{
	keep(r, a->sp, f->sp, true);
	keep(r, a->fp, f->fp, f->fp_known);
	if (a->index[a->ra] == a->pc_index)
		keep(r, a->ra, f->pc, true);
	else
		keep(r, a->ra, f->lr, f->lr_known);
}

static int
read_row(struct step *s, const struct frame *f, struct cfi_entry *e)
{
	uint64_t at = f->pc - !f->interrupted;
	struct unwind_mapping m;

	if (!walk_mapping(s->w, at, &m) || !m.table)
		return -ENOENT;
	return unwind_table_row(m.table, at - m.bias, &s->section, e, &s->row);
}

/* Returns how the walk ends when a value can't be read. */
static int
ended(const struct step *s)
{
	return s->missing ? (int)walk_missing(s->w, s->missing) : UNWIND_BAD;
}

int
walk_whole(struct walk *w, struct frame *f)
{
	const struct unwind_arch *a = w->arch;
	struct step s = {.w = w, .pc = f->pc, .from = w->whole};
	struct registers all;
	struct cfi_entry e;
	struct frame to;
	uint64_t ra;

	if (a->machine != UNWIND_HOST || !make_space(w->u))
		return UNWIND_NO_INFO;
	take_frame(a, f, w->whole);
	if (read_row(&s, f, &e) || e.cie.ra >= a->nregs ||
	    !step_cursor(&s, e.cie.ra, &ra))
		return ended(&s);
	read_registers(&s, f->interrupted ? f->sp : 0, &all);
	if (!step_stack_pointer(&s, e.cie.ra, &all))
		return ended(&s);
	to = (struct frame){
		.pc = ra & a->code_bits,
		.sp = all.value[a->sp],
		.fp = all.value[a->fp],
		.fp_known = is_known(&all, a->fp),
		.lr = all.value[a->ra],
		.lr_known = e.cie.signal && is_known(&all, a->ra),
		.interrupted = e.cie.signal,
	};
	if (!is_known(&all, a->sp) || to.sp < f->sp ||
	    (to.sp == f->sp && !f->interrupted))
		return UNWIND_BAD;
	*f = to;
	*w->whole = all;
	if (!to.pc)
		return UNWIND_ROOT;
	return to.interrupted ? STEP_INTERRUPTED : STEP_DONE;
}
