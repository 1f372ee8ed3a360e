/*
 * Steps that need more than a short rule says: every register is followed,
 * and expressions are evaluated. Stacks like that are rare (a dynamic
 * linker's resolver, some assembly), so nothing is remembered.
 */
#include "unwind_expr.h"
#include "unwind_walk.h"

#include <errno.h>

struct step {
	struct walk *w;
	struct registers *from;
	struct registers to;
	const struct cfi_section *section;
	struct cfi_row row;
	uint64_t cfa;
	uint64_t missing; /* the last word that was not to be had */
	uint64_t popped;  /* below it slots have been popped already */
};

static bool
word(void *arg, uint64_t addr, uint64_t *out)
{
	struct step *s = arg;

	if (walk_word(s->w, addr, out))
		return true;
	s->missing = addr;
	return false;
}

static bool
is_known(const struct registers *r, unsigned reg)
{
	return reg < CFI_REGS && r->known >> reg & 1;
}

static int
evaluate(struct step *s, const struct cfi_rule *rule, const uint64_t *start,
         uint64_t *out)
{
	struct expr_state state = {s->from->value, s->from->known, word, s};

	return expr_run(s->section, rule, &state, start, out);
}

static int
find_cfa(struct step *s)
{
	const struct cfi_rule *rule = &s->row.cfa;

	if (rule->how == CFI_EXPR)
		return evaluate(s, rule, NULL, &s->cfa);
	if (rule->how != CFI_REGISTER || !is_known(s->from, rule->reg))
		return -EFAULT;
	s->cfa = s->from->value[rule->reg] + (uint64_t)rule->value;
	return 0;
}

/* One register of the caller; -EFAULT: its value can't be had. */
static int
restore(struct step *s, unsigned reg, uint64_t *out)
{
	const struct cfi_rule *rule = &s->row.regs[reg];
	uint64_t at = s->cfa + (uint64_t)rule->value;
	int r = 0;

	switch (rule->how) {
	case CFI_AT:
		if (word(s, at, out))
			return 0;
		if (at >= s->popped)
			return -EFAULT;
		break;
	case CFI_IS:
		*out = at;
		return 0;
	case CFI_AT_EXPR:
		r = evaluate(s, rule, &s->cfa, &at);
		return r ? r : word(s, at, out) ? 0 : -EFAULT;
	case CFI_EXPR:
		return evaluate(s, rule, &s->cfa, out);
	case CFI_REGISTER:
		reg = rule->reg;
		break;
	case CFI_UNDEFINED:
		return -EFAULT;
	default:
		break;
	}
	if (!is_known(s->from, reg))
		return -EFAULT;
	*out = s->from->value[reg];
	return 0;
}

static void
restore_all(struct step *s, unsigned nregs)
{
	s->to.known = 0;
	for (unsigned i = 0; i < nregs; i++)
		if (!restore(s, i, &s->to.value[i]))
			s->to.known |= UINT64_C(1) << i;
}

static void
keep(struct registers *r, unsigned reg, uint64_t value, bool known)
{
	r->value[reg] = value;
	r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)known << reg;
}

/* After a step by rule, signal or pointer, the frame knows better. */
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

/* How it ends when a value can't be had. */
static int
ended(const struct step *s)
{
	return s->missing ? (int)walk_missing(s->w, s->missing) : UNWIND_BAD;
}

int
walk_whole(struct walk *w, struct frame *f)
{
	const struct unwind_arch *a = w->arch;
	struct step s = {.w = w, .from = w->whole};
	struct cfi_entry e;
	struct frame to;
	uint64_t ra;

	s.popped = f->interrupted ? f->sp : 0;
	take_frame(a, f, w->whole);
	if (read_row(&s, f, &e) || find_cfa(&s) || restore(&s, e.cie.ra, &ra))
		return ended(&s);
	restore_all(&s, a->nregs);
	if (s.row.regs[a->sp].how == CFI_SAME) /* the rule, unsaid */
		keep(&s.to, a->sp, s.cfa, true);
	to = (struct frame){
		.pc = ra & a->code_bits,
		.sp = s.to.value[a->sp],
		.fp = s.to.value[a->fp],
		.fp_known = is_known(&s.to, a->fp),
		.lr = s.to.value[a->ra],
		.lr_known = e.cie.signal && is_known(&s.to, a->ra),
		.interrupted = e.cie.signal,
	};
	if (!is_known(&s.to, a->sp) || to.sp < f->sp ||
	    (to.sp == f->sp && !f->interrupted))
		return UNWIND_BAD;
	*f = to;
	*w->whole = s.to;
	if (!to.pc)
		return UNWIND_ROOT;
	return to.interrupted ? STEP_INTERRUPTED : STEP_DONE;
}
