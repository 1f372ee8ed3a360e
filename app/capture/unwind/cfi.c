#include "cfi.h"

#include <dwarf.h>
#include <errno.h>

#define DEBUG_CIE 0xffffffffu /* marks a CIE in .debug_frame */
#define PRIMARY   0xc0 /* these bits name an opcode, the others its operand */
#define OPERAND   0x3f
/* The signature covers the instruction's address, too; elfutils 0.188 lacks
 * this opcode. Source: "DWARF for the Arm 64-bit Architecture" 2024Q3, 4.7 */
#define AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c

/* --- entries -------------------------------------------------------------- */

bool
cfi_next(struct cfi_cursor *section, struct cfi_cursor *entry)
{
	uint64_t n = take(section, 4);

	if (section->bad || !n || n > section->end - section->at)
		return false;
	*entry = *section;
	entry->end = section->at + (size_t)n;
	section->at = entry->end;
	return true;
}

/* Reads augmentation data, one item per letter, up to an unknown letter. The
 * length before the data says where the program begins. */
static void
read_augmentation(struct cfi_cursor *c, const char *letters,
                  struct cfi_cie *out)
{
	uint8_t encoding;

	for (; *letters && !c->bad; letters++) {
		switch (*letters) {
		case 'R':
			out->encoding = (uint8_t)take(c, 1);
			break;
		case 'P':
			encoding = (uint8_t)take(c, 1);
			if (encoding != PTR_OMIT)
				take_form(c, encoding & PTR_FORM);
			break;
		case 'L':
			take(c, 1);
			break;
		case 'S':
			out->signal = true;
			break;
		case 'B': /* aarch64: addresses are signed with key B */
			break;
		default:
			return;
		}
	}
}

static bool
read_letters(struct cfi_cursor *c, char out[CFI_MAX_AUGMENT])
{
	for (unsigned i = 0; i < CFI_MAX_AUGMENT; i++)
		if (!(out[i] = (char)take(c, 1)))
			return !c->bad;
	return false;
}

static bool
read_alignments(struct cfi_cursor *c, unsigned version, struct cfi_cie *out)
{
	if (version == 4)
		c->bad |= take(c, 1) != 8 || take(c, 1); /* no segments */
	out->code_align = take_leb(c);
	out->data_align = take_sleb(c);
	out->ra = (uint32_t)(version == 1 ? take(c, 1) : take_leb(c));
	return !c->bad && out->ra < CFI_REGS;
}

static bool
read_cie(const struct cfi_section *s, size_t at, struct cfi_cie *out)
{
	struct cfi_cursor all = {
		.in = &s->bytes, .at = at, .end = s->bytes.size};
	struct cfi_cursor c, extra;
	char letters[CFI_MAX_AUGMENT];
	unsigned version;

	*out = (struct cfi_cie){.encoding = PTR_ABS};
	if (at > all.end || !cfi_next(&all, &c))
		return false;
	if (take(&c, 4) != (s->debug ? DEBUG_CIE : 0))
		return false;
	version = (unsigned)take(&c, 1);
	if (!read_letters(&c, letters) ||
	    (version != 1 && version != 3 && version != 4) ||
	    !read_alignments(&c, version, out))
		return false;
	out->augmented = *letters == 'z';
	if (!out->augmented && *letters)
		return false;
	if (out->augmented) {
		extra = c;
		extra.at = take_block(&c, take_leb(&c));
		extra.end = c.at;
		read_augmentation(&extra, letters + 1, out);
		c.bad |= extra.bad;
	}
	out->program = c.at;
	out->end = c.end;
	return !c.bad;
}

/* Finds the CIE of an entry whose CIE pointer, at field, has this value. */
static bool
find_cie(const struct cfi_section *s, size_t field, uint64_t value, size_t *at)
{
	if (s->debug) {
		*at = (size_t)value;
		return value != DEBUG_CIE;
	}
	*at = field - (size_t)value;
	return value && value <= field; /* 0: this is a CIE */
}

int
cfi_entry_read(const struct cfi_section *s, size_t at, struct cfi_entry *out)
{
	struct cfi_cursor all = {
		.in = &s->bytes, .at = at, .end = s->bytes.size};
	struct cfi_cursor c;
	size_t field, cie;

	if (at > all.end || !cfi_next(&all, &c))
		return -EBADMSG;
	field = c.at;
	if (!find_cie(s, field, take(&c, 4), &cie) || c.bad ||
	    !read_cie(s, cie, &out->cie))
		return -EBADMSG;
	out->start =
		take_pointer(&c, out->cie.encoding & (uint8_t)~PTR_INDIRECT);
	out->end = out->start + take_form(&c, out->cie.encoding & PTR_FORM);
	if (out->cie.augmented)
		take_block(&c, take_leb(&c));
	out->program = c.at;
	out->program_end = c.end;
	return c.bad || out->end <= out->start ? -EBADMSG : 0;
}

/* --- programs ------------------------------------------------------------- */

struct run {
	const struct cfi_cie *cie;
	struct cfi_cursor at;
	struct cfi_row row;
	struct cfi_row initial; /* after the CIE's program */
	struct cfi_row remembered[CFI_MAX_REMEMBERED];
	unsigned nremembered;
	unsigned steps;
	uint64_t pc;
	cfi_visit *visit; /* NULL in the CIE's program */
	void *arg;
	bool stopped;
};

static void
set(struct run *r, uint64_t reg, struct cfi_rule rule)
{
	/* Further columns stand for vector registers, which are not needed. */
	if (reg < CFI_REGS)
		r->row.regs[reg] = rule;
}

static void
set_at(struct run *r, uint64_t reg, int64_t value)
{
	set(r, reg, (struct cfi_rule){.how = CFI_AT, .value = value});
}

static void
restore(struct run *r, uint64_t reg)
{
	if (reg < CFI_REGS)
		r->row.regs[reg] = r->initial.regs[reg];
}

/* Reports the current row and starts the next. */
static void
advance(struct run *r, uint64_t to)
{
	if (to < r->pc || !r->visit) {
		r->at.bad = true;
		return;
	}
	if (to > r->pc && !r->visit(r->arg, r->pc, &r->row))
		r->stopped = true;
	r->pc = to;
}

static int64_t
factored(struct run *r, uint64_t n)
{
	return (int64_t)(n * (uint64_t)r->cie->data_align);
}

static struct cfi_rule
expression(struct run *r, enum cfi_how how)
{
	uint64_t n = take_leb(&r->at);
	size_t at = take_block(&r->at, n);

	return (struct cfi_rule){
		.how = how, .size = (uint32_t)n, .value = (int64_t)at};
}

static void
set_cfa(struct run *r, uint64_t reg, int64_t value)
{
	if (reg >= CFI_REGS)
		r->at.bad = true;
	r->row.cfa = (struct cfi_rule){
		.how = CFI_REGISTER, .reg = (uint8_t)reg, .value = value};
}

static void
set_cfa_offset(struct run *r, int64_t value)
{
	if (r->row.cfa.how != CFI_REGISTER)
		r->at.bad = true;
	r->row.cfa.value = value;
}

static void
remember(struct run *r)
{
	if (r->nremembered == CFI_MAX_REMEMBERED)
		r->at.bad = true;
	else
		r->remembered[r->nremembered++] = r->row;
}

static void
recall(struct run *r)
{
	if (!r->nremembered)
		r->at.bad = true;
	else
		r->row = r->remembered[--r->nremembered];
}

/* Handles the opcodes that set the CFA; false: another opcode. */
static bool
step_cfa(struct run *r, uint8_t op)
{
	struct cfi_cursor *c = &r->at;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = take_leb(c);
		set_cfa(r, reg, (int64_t)take_leb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = take_leb(c);
		set_cfa(r, reg, factored(r, (uint64_t)take_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		c->bad |= r->row.cfa.how != CFI_REGISTER;
		set_cfa(r, take_leb(c), r->row.cfa.value);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa_offset(r, (int64_t)take_leb(c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_offset(r, factored(r, (uint64_t)take_sleb(c)));
		return true;
	case DW_CFA_def_cfa_expression:
		r->row.cfa = expression(r, CFI_EXPR);
		return true;
	default:
		return false;
	}
}

/* Handles the opcodes whose first operand is a register; false: another
 * opcode. */
static bool
step_register(struct run *r, uint8_t op, uint64_t reg)
{
	struct cfi_cursor *c = &r->at;

	switch (op) {
	case DW_CFA_offset_extended:
		set_at(r, reg, factored(r, take_leb(c)));
		break;
	case DW_CFA_offset_extended_sf:
		set_at(r, reg, factored(r, (uint64_t)take_sleb(c)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_at(r, reg, factored(r, -take_leb(c)));
		break;
	case DW_CFA_restore_extended:
		restore(r, reg);
		break;
	case DW_CFA_undefined:
		set(r, reg, (struct cfi_rule){.how = CFI_UNDEFINED});
		break;
	case DW_CFA_same_value:
		set(r, reg, (struct cfi_rule){.how = CFI_SAME});
		break;
	case DW_CFA_register:
		set(r, reg,
		    (struct cfi_rule){.how = CFI_REGISTER,
		                      .reg = (uint8_t)take_leb(c)});
		break;
	case DW_CFA_expression:
		set(r, reg, expression(r, CFI_AT_EXPR));
		break;
	case DW_CFA_val_expression:
		set(r, reg, expression(r, CFI_EXPR));
		break;
	case DW_CFA_val_offset:
		set(r, reg,
		    (struct cfi_rule){.how = CFI_IS,
		                      .value = factored(r, take_leb(c))});
		break;
	case DW_CFA_val_offset_sf:
		set(r, reg,
		    (struct cfi_rule){
			    .how = CFI_IS,
			    .value = factored(r, (uint64_t)take_sleb(c))});
		break;
	default:
		return false;
	}
	return true;
}

static bool
takes_register(uint8_t op)
{
	return (op >= DW_CFA_offset_extended && op <= DW_CFA_register) ||
	       op == DW_CFA_expression || op == DW_CFA_offset_extended_sf ||
	       (op >= DW_CFA_val_offset && op <= DW_CFA_val_expression) ||
	       op == DW_CFA_GNU_negative_offset_extended;
}

static void
step_extended(struct run *r, uint8_t op)
{
	struct cfi_cursor *c = &r->at;
	uint64_t align = r->cie->code_align;

	if (takes_register(op)) {
		if (!step_register(r, op, take_leb(c)))
			c->bad = true;
		return;
	}
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		advance(r, take_pointer(c, r->cie->encoding));
		break;
	case DW_CFA_advance_loc1:
		advance(r, r->pc + take(c, 1) * align);
		break;
	case DW_CFA_advance_loc2:
		advance(r, r->pc + take(c, 2) * align);
		break;
	case DW_CFA_advance_loc4:
		advance(r, r->pc + take(c, 4) * align);
		break;
	case DW_CFA_remember_state:
		remember(r);
		break;
	case DW_CFA_restore_state:
		recall(r);
		break;
	case DW_CFA_GNU_args_size:
		take_leb(c); /* what a landing pad pops */
		break;
	case DW_CFA_AARCH64_negate_ra_state:
	case AARCH64_NEGATE_RA_STATE_WITH_PC:
		break; /* addresses are stripped, signed or not */
	default:
		c->bad |= !step_cfa(r, op);
	}
}

static void
step(struct run *r)
{
	uint8_t op = (uint8_t)take(&r->at, 1), operand = op & OPERAND;

	switch (op & PRIMARY) {
	case DW_CFA_advance_loc:
		advance(r, r->pc + operand * r->cie->code_align);
		break;
	case DW_CFA_offset:
		set_at(r, operand, factored(r, take_leb(&r->at)));
		break;
	case DW_CFA_restore:
		restore(r, operand);
		break;
	default:
		step_extended(r, op);
	}
}

static bool
run_program(struct run *r, size_t at, size_t end)
{
	r->at.at = at;
	r->at.end = end;
	while (!r->at.bad && !r->stopped && r->at.at < end) {
		if (r->steps++ == CFI_MAX_STEPS)
			return false;
		step(r);
	}
	return !r->at.bad;
}

int
cfi_run(const struct cfi_section *s, const struct cfi_entry *e,
        cfi_visit *visit, void *arg)
{
	struct run r;

	/* Clears only this: the remembered rows are many and mostly unused. */
	memset(&r.row, 0, sizeof(r.row));
	r.initial = r.row;
	r.cie = &e->cie;
	r.at = (struct cfi_cursor){.in = &s->bytes};
	r.nremembered = r.steps = 0;
	r.pc = e->start;
	r.visit = NULL;
	r.arg = arg;
	r.stopped = false;
	if (!run_program(&r, e->cie.program, e->cie.end))
		return -EBADMSG;
	r.initial = r.row;
	r.visit = visit;
	if (!run_program(&r, e->program, e->program_end))
		return -EBADMSG;
	if (!r.stopped)
		visit(arg, r.pc, &r.row);
	return 0;
}

struct wanted {
	uint64_t pc;
	struct cfi_row *row;
};

static bool
keep_until(void *arg, uint64_t pc, const struct cfi_row *row)
{
	struct wanted *w = arg;

	if (pc > w->pc)
		return false;
	*w->row = *row;
	return true;
}

int
cfi_row_at(const struct cfi_section *s, const struct cfi_entry *e, uint64_t pc,
           struct cfi_row *out)
{
	struct wanted w = {pc, out};

	return cfi_run(s, e, keep_until, &w);
}
