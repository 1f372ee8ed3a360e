#include "unwind_rule.h"

#include "unwind_arch.h"

#include <dwarf.h>

static const struct unwind_rule full = {.cfa = CFA_FULL};

static bool
words_of(int64_t bytes, int16_t *out)
{
	if (bytes % 8 || bytes / 8 != (int16_t)(bytes / 8))
		return false;
	*out = (int16_t)(bytes / 8);
	return true;
}

static struct cfi_cursor
expression(const struct cfi_section *s, const struct cfi_rule *rule)
{
	size_t at = (size_t)rule->value;

	return (struct cfi_cursor){
		.in = &s->bytes, .at = at, .end = at + rule->size};
}

/* Reads breg REG, offset; leaves the rest. */
static bool
take_breg(struct cfi_cursor *c, unsigned reg, int16_t *words)
{
	return take(c, 1) == DW_OP_breg0 + reg &&
	       words_of(take_sleb(c), words) && !c->bad;
}

/* Recognizes breg, deref: the CFA that GCC writes for a function that realigned
 * its stack; and the same plus 8, from OpenSSL's assembly. */
static bool
dereferenced(const struct unwind_arch *arch, struct cfi_cursor c,
             struct unwind_rule *out)
{
	struct cfi_cursor sp = c;

	if (take_breg(&c, arch->fp, &out->cfa_words)) {
		out->cfa = CFA_AT_FP;
	} else {
		c = sp;
		if (!take_breg(&c, arch->sp, &out->cfa_words))
			return false;
		out->cfa = CFA_AT_SP;
	}
	if (take(&c, 1) != DW_OP_deref || c.bad)
		return false;
	if (c.at == c.end)
		return true;
	if (out->cfa != CFA_AT_SP || take(&c, 1) != DW_OP_plus_uconst ||
	    take_leb(&c) != 8)
		return false;
	out->cfa = CFA_AT_SP_8;
	return !c.bad && c.at == c.end;
}

static bool
cfa_of(const struct unwind_arch *arch, const struct cfi_section *s,
       const struct cfi_rule *cfa, struct unwind_rule *out)
{
	struct cfi_cursor c;

	if (cfa->how == CFI_REGISTER) {
		out->cfa = cfa->reg == arch->sp ? CFA_SP : CFA_FP;
		return (cfa->reg == arch->sp || cfa->reg == arch->fp) &&
		       words_of(cfa->value, &out->cfa_words);
	}
	if (cfa->how != CFI_EXPR)
		return false;
	c = expression(s, cfa);
	return dereferenced(arch, c, out) ||
	       (arch->cfa_expression &&
	        arch->cfa_expression(s->bytes.bytes + c.at, cfa->size, out));
}

/* A frame pointer that only the whole row has is REG_LOST: few callers need it,
 * and for one that does the walk is repeated. */
static void
fp_of(const struct unwind_arch *arch, const struct cfi_section *s,
      const struct cfi_rule *fp, struct unwind_rule *out)
{
	struct cfi_cursor c;
	int16_t words = 0;

	out->fp = REG_LOST;
	if (fp->how == CFI_SAME || fp->how == CFI_UNDEFINED) {
		out->fp = REG_SAME;
	} else if (fp->how == CFI_AT && words_of(fp->value, &words)) {
		out->fp = REG_AT_CFA;
	} else if (fp->how == CFI_AT_EXPR) {
		c = expression(s, fp);
		if (take_breg(&c, arch->fp, &words) && c.at == c.end)
			out->fp = REG_AT_FP;
	}
	out->fp_words = words;
}

static bool
ra_of(const struct unwind_arch *arch, const struct cfi_rule *ra,
      struct unwind_rule *out)
{
	out->ra = ra->how == CFI_AT ? REG_AT_CFA : REG_SAME;
	if (ra->how == CFI_SAME) /* in the link register, where there is one */
		return arch->index[arch->ra] != arch->pc_index;
	return ra->how == CFI_AT && words_of(ra->value, &out->ra_words);
}

struct unwind_rule
unwind_rule_of(const struct unwind_arch *arch, const struct cfi_section *s,
               const struct cfi_entry *e, const struct cfi_row *row)
{
	const struct cfi_rule *ra = &row->regs[e->cie.ra];
	struct unwind_rule out = {0};

	if (ra->how == CFI_UNDEFINED)
		return (struct unwind_rule){.cfa = CFA_ROOT};
	/* The caller's stack pointer is the CFA, except in rows of code that
	 * changes stacks. */
	if (row->regs[arch->sp].how != CFI_SAME || e->cie.ra != arch->ra ||
	    !cfa_of(arch, s, &row->cfa, &out) || !ra_of(arch, ra, &out))
		return full;
	fp_of(arch, s, &row->regs[arch->fp], &out);
	return out;
}
