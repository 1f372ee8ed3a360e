#include "unwind_code.h"

#include "code.h"

#define MAX_STEPS   16384 /* instructions; some functions are long */
#define MAX_BRANCH  16    /* branches to follow later */
#define MAX_TARGETS 64    /* visited, not to be followed again */
#define WINDOW      4096  /* bytes of code read at once */

/* Bases that rules do not have. */
enum { IN_LR = UNWIND_BASES, NOWHERE };

/* The value of a pointer, in terms of the pointers at the first instruction. */
struct where {
	unsigned base; /* enum unwind_base, IN_LR or NOWHERE */
	int64_t word;  /* for UNWIND_AT_*: bytes from the pointer */
	int64_t by;    /* bytes from there */
	bool loaded;   /* the value is the word at that place */
};

struct way {
	uint64_t at; /* vaddr */
	struct where sp, fp, lr;
	/* The highest sp so far. A pointer loaded from below it was saved on
	 * the way, and gets back the value that it had at that height. */
	struct where high, fp_there, lr_there;
	uint16_t changed; /* registers, as in struct code_insn */
	/* The word below the first sp was pushed from a register that had not
	 * changed since the first instruction. */
	bool pushed;
	uint8_t pushed_from;
};

struct search {
	const struct elf_image *elf;
	const struct unwind_arch *arch;
	struct way now;
	struct way later[MAX_BRANCH];
	unsigned nlater;
	uint64_t targets[MAX_TARGETS]; /* visited */
	unsigned ntargets;
	uint64_t window_at; /* vaddr */
	size_t window_size; /* bytes */
	uint8_t window[WINDOW];
};

/* --- reading -------------------------------------------------------------- */

static bool
is_in_window(const struct search *s, uint64_t vaddr)
{
	return vaddr >= s->window_at && vaddr - s->window_at < s->window_size;
}

static bool
load(struct search *s, uint64_t vaddr)
{
	uint64_t offset, left;

	s->window_size = 0;
	if (!elf_offset_of(s->elf, vaddr, &offset, &left))
		return false;
	if (left > WINDOW)
		left = WINDOW;
	if (elf_read(s->elf, offset, s->window, left))
		return false;
	s->window_at = vaddr;
	s->window_size = left;
	return true;
}

static bool
decode(struct search *s, struct code_insn *out)
{
	size_t at;

	for (int fresh = 0; fresh < 2; fresh++) {
		if (!is_in_window(s, s->now.at) && !load(s, s->now.at))
			return false;
		at = s->now.at - s->window_at;
		if (s->arch->decode(s->window + at, s->window_size - at, out))
			return true;
		s->window_size = 0; /* the window may cut it off */
	}
	return false;
}

/* --- what an instruction does --------------------------------------------- */

static const struct where nowhere = {.base = NOWHERE};

static struct where
word_at(struct where place, int64_t by)
{
	if (place.loaded || place.base >= UNWIND_BASES)
		return nowhere;
	place.by += by;
	place.loaded = true;
	return place;
}

/* Returns the place at a distance from another; at most one word in memory may
 * be followed to get there. */
static struct where
from(struct where place, int64_t by)
{
	if (place.base == IN_LR ||
	    (place.loaded && place.base > UNWIND_FROM_FP))
		return nowhere;
	if (place.loaded)
		place = (struct where){
			.base = place.base == UNWIND_FROM_SP ? UNWIND_AT_SP
		                                             : UNWIND_AT_FP,
			.word = place.by,
		};
	place.by += by;
	return place;
}

static struct where
value_of(const struct way *w, struct where was, struct code_value v)
{
	switch (v.from) {
	case CODE_SAME:
		return was;
	case CODE_SP:
		return from(w->sp, v.by);
	case CODE_FP:
		return from(w->fp, v.by);
	case CODE_LR:
		return from(w->lr, v.by);
	case CODE_WORD_AT_SP:
		return word_at(w->sp, v.by);
	case CODE_WORD_AT_FP:
		return word_at(w->fp, v.by);
	case CODE_UNKNOWN:
		break;
	}
	return nowhere;
}

static bool
same_base(const struct where *a, const struct where *b)
{
	return a->base == b->base && a->word == b->word;
}

static bool
was_put_on_the_way(const struct way *w, const struct where *v)
{
	return v->loaded && same_base(v, &w->high) && v->by < w->high.by;
}

static bool
is_below_first(const struct where *at)
{
	return at->base == UNWIND_FROM_SP && at->by == -8;
}

static void
apply(struct way *w, const struct code_insn *insn)
{
	const struct way was = *w;

	w->sp = value_of(&was, was.sp, insn->sp);
	w->fp = value_of(&was, was.fp, insn->fp);
	w->lr = value_of(&was, was.lr, insn->lr);
	w->at += insn->length;
	if (insn->pushes && !w->sp.loaded && is_below_first(&w->sp)) {
		w->pushed = !(was.changed >> insn->pushed & 1);
		w->pushed_from = insn->pushed;
	}
	w->changed |= insn->flow == CODE_CALL ? UINT16_MAX : insn->changes;
	if (was_put_on_the_way(w, &w->fp))
		w->fp = w->fp_there;
	if (was_put_on_the_way(w, &w->lr))
		w->lr = w->lr_there;
	if (w->sp.base == NOWHERE ||
	    (same_base(&w->sp, &w->high) && w->sp.by <= w->high.by))
		return;
	w->high = w->sp;
	w->fp_there = w->fp;
	w->lr_there = w->lr;
}

/* --- the way out ---------------------------------------------------------- */

static bool
words_of(int64_t bytes, int16_t *out)
{
	if (bytes % 8 || bytes / 8 != (int16_t)(bytes / 8))
		return false;
	*out = (int16_t)(bytes / 8);
	return true;
}

static void
set_fp(const struct where *fp, const struct where *sp, int64_t cfa,
       struct unwind_rule *out)
{
	out->fp = REG_LOST;
	if (fp->base == UNWIND_FROM_FP && !fp->by && !fp->loaded)
		out->fp = REG_SAME;
	else if (fp->loaded && same_base(fp, sp) &&
	         words_of(fp->by - cfa, &out->fp_words))
		out->fp = REG_AT_CFA;
	else if (fp->loaded && fp->base == UNWIND_FROM_FP &&
	         words_of(fp->by, &out->fp_words))
		out->fp = REG_AT_FP;
}

/*
 * Makes the rule of a path that has returned. The value of a base that is a
 * word in memory is not known here: then the CFA is that word, else it is sp.
 * A function whose stack a child process uses for a time (vfork) keeps its
 * return address in a register, and pushes it afterwards.
 *   Source   musl 1.2.3, src/process/x86_64/vfork.s
 */
static bool
make_rule(const struct search *s, struct unwind_rule *out)
{
	const struct where *sp = &s->now.sp;
	const bool by_word = sp->base > UNWIND_FROM_FP;
	const int64_t cfa = by_word ? 0 : sp->by;
	struct where ra = s->arch->index[s->arch->ra] == s->arch->pc_index
	                          ? word_at(*sp, -8)
	                          : s->now.lr;

	if (sp->loaded || sp->base >= UNWIND_BASES)
		return false;
	*out = (struct unwind_rule){.cfa = CFA_CODE, .ra = sp->base};
	if (ra.base == IN_LR && !ra.loaded)
		out->ra |= UNWIND_IN_REG;
	else if (s->now.pushed && ra.loaded && is_below_first(&ra)) {
		out->ra |= UNWIND_IN_REG;
		out->ra_words = s->now.pushed_from;
	} else if (!ra.loaded || !same_base(&ra, sp) ||
	           !words_of(ra.by - cfa, &out->ra_words))
		return false;
	set_fp(&s->now.fp, sp, cfa, out);
	return words_of(by_word ? sp->word : sp->by, &out->cfa_words);
}

/* Continues at target; false if it was visited before. */
static bool
go_to(struct search *s, uint64_t target)
{
	for (unsigned i = 0; i < s->ntargets; i++)
		if (s->targets[i] == target)
			return false;
	if (s->ntargets == MAX_TARGETS)
		return false;
	s->targets[s->ntargets++] = target;
	s->now.at = target;
	return true;
}

/* Continues with a branch that was left for later; false: there is none. */
static bool
turn_back(struct search *s)
{
	while (s->nlater) {
		s->now = s->later[--s->nlater];
		if (go_to(s, s->now.at))
			return true;
	}
	return false;
}

static void
leave_for_later(struct search *s, uint64_t target)
{
	if (s->nlater == MAX_BRANCH)
		return;
	s->later[s->nlater] = s->now;
	s->later[s->nlater++].at = target;
}

/* Moves on to what follows an instruction; false: nothing does. */
static bool
go_on(struct search *s, const struct code_insn *insn)
{
	uint64_t target = s->now.at + (uint64_t)insn->target;

	switch (insn->flow) {
	case CODE_BRANCH:
		leave_for_later(s, target);
		return true;
	case CODE_JUMP:
		return go_to(s, target) || turn_back(s);
	case CODE_NEXT:
	case CODE_CALL:
		return true;
	case CODE_LEAVE:
	case CODE_TRAP:
	case CODE_RETURN:
		break;
	}
	return turn_back(s);
}

/* Makes the rule of a path that ends in a jump through a register or memory,
 * as a tail call does: the code there returns to the caller. Jumps through
 * tables look the same, but come before the frame is released. */
static bool
make_rule_of_jump(struct search *s, const struct way *jump,
                  struct unwind_rule *out)
{
	const bool pops = s->arch->index[s->arch->ra] == s->arch->pc_index;

	if (!jump->at || (jump->sp.base == UNWIND_FROM_SP && jump->sp.by <= 0))
		return false;
	s->now = *jump;
	if (pops)
		s->now.sp = from(s->now.sp, 8);
	return make_rule(s, out);
}

static struct search
begin(const struct elf_image *elf, const struct unwind_arch *arch,
      uint64_t vaddr)
{
	return (struct search){
		.elf = elf,
		.arch = arch,
		.now = {.at = vaddr,
	                .sp = {.base = UNWIND_FROM_SP},
	                .fp = {.base = UNWIND_FROM_FP},
	                .lr = {.base = IN_LR},
	                .high = {.base = UNWIND_FROM_SP},
	                .fp_there = {.base = UNWIND_FROM_FP},
	                .lr_there = {.base = IN_LR}},
	};
}

bool
unwind_code_rule(const struct elf_image *elf, const struct unwind_arch *arch,
                 uint64_t vaddr, struct unwind_rule *rule)
{
	struct search s = begin(elf, arch, vaddr);
	struct way jump = {.at = 0};
	struct code_insn insn;

	if (!arch->decode)
		return false;
	for (unsigned i = 0; i < MAX_STEPS; i++) {
		bool known = decode(&s, &insn);

		if (known)
			apply(&s.now, &insn);
		if (known && insn.flow == CODE_RETURN)
			return make_rule(&s, rule);
		if (known && insn.flow == CODE_LEAVE)
			jump = s.now;
		if (known ? !go_on(&s, &insn) : !turn_back(&s))
			break;
	}
	return make_rule_of_jump(&s, &jump, rule);
}

bool
unwind_code_pushed(const struct elf_image *elf, const struct unwind_arch *arch,
                   uint64_t start, uint64_t vaddr, int64_t *bytes)
{
	struct search s = begin(elf, arch, start);
	const struct where *sp = &s.now.sp;
	struct code_insn insn;

	if (!arch->decode)
		return false;
	for (unsigned i = 0; i < MAX_STEPS && s.now.at != vaddr; i++) {
		bool known = decode(&s, &insn);

		if (known)
			apply(&s.now, &insn);
		if (known ? !go_on(&s, &insn) : !turn_back(&s))
			return false;
	}
	*bytes = -sp->by;
	return s.now.at == vaddr && sp->base == UNWIND_FROM_SP && !sp->loaded &&
	       *bytes >= 0;
}
