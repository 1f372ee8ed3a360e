#include "unwind_table.h"

#include "base/hash.h"
#include "unwind_code.h"
#include "unwind_go.h"
#include "unwind_spans.h"

#include <elf.h>
#include <errno.h>

#define ENTRY_CODE 64 /* bytes of the code that a program begins with */
#define MAX_START  6  /* instructions from a thread's creation to its call */

/* A function, compiled or not yet. */
struct function {
	uint32_t first, n; /* spans; n is 0: not compiled yet */
	uint32_t length;   /* bytes of code; 0: its entry can't be read */
};

struct unwind_part {
	struct unwind_index index;
	struct function *functions; /* one for each row */
};

struct remembered {
	uint64_t key; /* 0: empty */
	struct unwind_rule rule;
};

struct unwind_table {
	const struct elf_image *elf;
	const struct unwind_arch *arch;
	struct gobin *go;            /* NULL: no Go */
	struct unwind_part parts[2]; /* .eh_frame before .debug_frame */
	struct spans spans;
	struct remembered cache[UNWIND_TABLE_CACHE];
	/* Cached rules of code without tables, which are expensive to find;
	 * NULL: none yet. */
	struct remembered *code;
};

const struct unwind_arch *
unwind_arch_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return &unwind_x86_64;
	case EM_AARCH64:
		return &unwind_aarch64;
	default:
		return NULL;
	}
}

/* --- life ----------------------------------------------------------------- */

void
unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < ARRAY_LEN(t->parts); i++) {
		unwind_index_done(&t->parts[i].index);
		free(t->parts[i].functions);
	}
	spans_done(&t->spans);
	gobin_free(t->go);
	free(t->code);
	free(t);
}

static int
open_part(const struct elf_image *elf, bool debug, struct unwind_part *out)
{
	int r = debug ? unwind_index_debug(elf, &out->index)
	              : unwind_index_eh(elf, &out->index);

	if (r)
		return r;
	out->functions = calloc(out->index.nrows, sizeof(*out->functions));
	return out->functions ? 0 : -ENOMEM;
}

int
unwind_table_new(const struct elf_image *elf, struct unwind_table **out)
{
	return unwind_table_new_split(elf, NULL, out);
}

int
unwind_table_new_split(const struct elf_image *elf,
                       const struct elf_image *debug, struct unwind_table **out)
{
	CLEANUP_UNWIND_TABLE struct unwind_table *t = calloc(1, sizeof(*t));
	int first, second, go;

	if (!t)
		return -ENOMEM;
	t->elf = elf;
	t->arch = unwind_arch_of(elf->machine);
	if (!t->arch)
		return -ENODATA;
	first = open_part(elf, false, &t->parts[0]);
	go = gobin_open(elf, &t->go);
	second = go ? open_part(elf, true, &t->parts[1]) : -ENODATA;
	if (go && second && second != -ENOMEM && debug)
		second = open_part(debug, true, &t->parts[1]);
	if (first == -ENOMEM || second == -ENOMEM || go == -ENOMEM)
		return -ENOMEM;
	*out = TAKE(t);
	return 0;
}

size_t
unwind_table_bytes(const struct unwind_table *t)
{
	size_t n = 0;

	for (unsigned i = 0; i < ARRAY_LEN(t->parts); i++)
		n += t->parts[i].index.section.bytes.size +
		     t->parts[i].index.nrows * sizeof(struct unwind_row);
	return n;
}

void
unwind_table_forget(struct unwind_table *t)
{
	memset(t->cache, 0, sizeof(t->cache));
	free(t->code);
	t->code = NULL;
}

bool
unwind_table_has_frames(const struct unwind_table *t)
{
	return t->go || t->parts[0].index.nrows || t->parts[1].index.nrows;
}

const struct unwind_arch *
unwind_table_arch(const struct unwind_table *t)
{
	return t->arch;
}

/* --- compiling ------------------------------------------------------------ */

struct compiler {
	struct unwind_table *t;
	const struct cfi_section *section;
	const struct cfi_entry *entry;
	struct unwind_rule last;
	uint32_t n;
	int error;
};

static bool
add_row(void *arg, uint64_t pc, const struct cfi_row *row)
{
	struct compiler *c = arg;
	struct unwind_rule rule;

	if (pc >= c->entry->end)
		return false;
	rule = unwind_rule_of(c->t->arch, c->section, c->entry, row);
	if (c->n && !memcmp(&rule, &c->last, sizeof(rule)))
		return true;
	c->error =
		spans_add(&c->t->spans, (uint32_t)(pc - c->entry->start), rule);
	c->last = rule;
	c->n += !c->error;
	return !c->error;
}

/* A function whose rows can't be read gets length 0. */
static int
compile(struct unwind_table *t, struct unwind_part *p, uint32_t row)
{
	struct compiler c = {.t = t, .section = &p->index.section};
	struct function *f = &p->functions[row];
	struct cfi_entry e;
	int r = unwind_index_entry(&p->index, row, &e);

	c.entry = &e;
	f->first = t->spans.n;
	if (!r && e.end - e.start > UINT32_MAX)
		r = -EBADMSG;
	if (!r)
		r = cfi_run(c.section, &e, add_row, &c);
	if (r || c.error)
		t->spans.n = f->first;
	if (c.error)
		return c.error;
	f->n = r ? 1 : c.n;
	f->length = r ? 0 : (uint32_t)(e.end - e.start);
	return 0;
}

/* --- asking --------------------------------------------------------------- */

bool
unwind_table_code(const struct unwind_table *t, uint64_t vaddr, void *out,
                  size_t n)
{
	uint64_t at, left;

	return elf_offset_of(t->elf, vaddr, &at, &left) && left >= n &&
	       !elf_read(t->elf, at, out, n);
}

static bool
begins_ender(const struct unwind_table *t, const struct unwind_ender *ender,
             uint64_t vaddr)
{
	uint8_t code[16];

	return unwind_table_code(t, vaddr, code, ender->size) &&
	       !memcmp(code, ender->code, ender->size);
}

/* True for the code that ends a handler: a handler returns to its start, an
 * interrupt can hit its second instruction, and its system call returns to its
 * end. */
static bool
is_ender(const struct unwind_table *t, uint64_t vaddr, bool returns)
{
	for (unsigned i = 0; i < UNWIND_ENDERS; i++) {
		const struct unwind_ender *e = &t->arch->enders[i];

		if (!e->size)
			break;
		if (begins_ender(t, e, vaddr + returns))
			return true;
		if (!returns && (begins_ender(t, e, vaddr - e->second) ||
		                 begins_ender(t, e, vaddr - e->size)))
			return true;
	}
	return false;
}

static bool
begins_context(const struct unwind_table *t, uint64_t vaddr)
{
	uint8_t code[UNWIND_CODE_BYTES];

	return unwind_table_code(t, vaddr, code, sizeof(code)) &&
	       t->arch->begins_context(code);
}

bool
unwind_table_begins(const struct unwind_table *t, uint64_t vaddr)
{
	uint8_t code[UNWIND_CODE_BYTES];

	if (t->elf->entry && vaddr - t->elf->entry < ENTRY_CODE)
		return true;
	return unwind_table_code(t, vaddr, code, sizeof(code)) &&
	       t->arch->ends_thread(code);
}

const char *
unwind_table_uncalled(const struct unwind_table *t, uint64_t vaddr)
{
	if (is_ender(t, vaddr, false))
		return t->arch->ender_name;
	return begins_context(t, vaddr) ? "__start_context" : NULL;
}

static bool
find_stub(const struct unwind_table *t, uint64_t vaddr, bool returns,
          struct unwind_rule *rule)
{
	uint32_t code[UNWIND_STUB_WORDS];
	uint64_t first = vaddr - UNWIND_STUB_BEFORE * sizeof(*code);

	return t->arch->stub && !returns &&
	       unwind_table_code(t, first, code, sizeof(code)) &&
	       t->arch->stub(code, rule);
}

/*
 * Finds a rule in one section; false: the section does not describe vaddr.
 *   Shape    *left: bytes of code from vaddr to the function's end
 */
static bool
find_rule(struct unwind_table *t, struct unwind_part *p, uint64_t vaddr,
          struct unwind_rule *rule, uint64_t *left)
{
	struct function *f;
	uint64_t offset;
	uint32_t row;

	if (!unwind_index_find(&p->index, vaddr, &row))
		return false;
	f = &p->functions[row];
	if (!f->n && compile(t, p, row)) {
		*rule = (struct unwind_rule){.cfa = CFA_FULL};
		*left = UINT64_MAX;
		return true; /* no room to keep its rules: CFA_FULL */
	}
	offset = vaddr - p->index.base -
	         (uint64_t)(int64_t)unwind_index_row(&p->index, row).function;
	if (offset >= f->length)
		return false;
	*rule = spans_rule(&t->spans, f->first, f->n, (uint32_t)offset);
	*left = f->length - offset;
	return true;
}

static struct unwind_rule
find_code_rule(struct unwind_table *t, uint64_t vaddr)
{
	struct unwind_rule rule;
	struct remembered *r = NULL;

	if (!t->code)
		t->code = calloc(UNWIND_CODE_CACHE, sizeof(*t->code));
	if (t->code)
		r = &t->code[hash_u64(vaddr) % UNWIND_CODE_CACHE];
	if (r && r->key == vaddr && vaddr)
		return r->rule;
	if (!unwind_code_rule(t->elf, t->arch, vaddr, &rule))
		rule = (struct unwind_rule){.cfa = CFA_NONE};
	if (r)
		*r = (struct remembered){vaddr, rule};
	return rule;
}

/* A handler returns to the code that ends it. This code may follow a function
 * that never returns, to which the byte before the return address belongs. */
static struct unwind_rule
find_any_rule(struct unwind_table *t, uint64_t vaddr, bool returns)
{
	struct unwind_rule rule = {.cfa = CFA_NONE};
	uint64_t left = 1;

	if (!(t->go && unwind_go_rule(t->go, vaddr, returns, &rule)) &&
	    !find_rule(t, &t->parts[0], vaddr, &rule, &left) &&
	    !find_rule(t, &t->parts[1], vaddr, &rule, &left) &&
	    !find_stub(t, vaddr, returns, &rule))
		left = 1;
	if ((left == 1 || rule.cfa == CFA_FULL) && is_ender(t, vaddr, returns))
		rule = (struct unwind_rule){.cfa = CFA_SIGNAL};
	else if (left == 1 && returns && begins_context(t, vaddr + 1))
		rule = (struct unwind_rule){.cfa = CFA_CONTEXT};
	return rule.cfa == CFA_NONE ? find_code_rule(t, vaddr + returns) : rule;
}

struct unwind_rule
unwind_table_rule(struct unwind_table *t, uint64_t vaddr, bool returns)
{
	uint64_t key = vaddr << 1 | returns;
	struct remembered *r = &t->cache[hash_u64(key) % UNWIND_TABLE_CACHE];

	if (r->key != key || !key)
		*r = (struct remembered){key, find_any_rule(t, vaddr, returns)};
	return r->rule;
}

bool
unwind_table_starts(struct unwind_table *t, uint64_t vaddr)
{
	uint8_t code[CODE_MAX_INSN];
	struct code_insn insn;

	for (unsigned i = 0; i < MAX_START; i++) {
		if (!unwind_table_code(t, vaddr, code, sizeof(code)) ||
		    !t->arch->decode(code, sizeof(code), &insn))
			return false;
		vaddr += insn.length;
		if (insn.flow == CODE_CALL)
			return unwind_table_begins(t, vaddr);
		if (insn.flow == CODE_BRANCH && insn.has_target &&
		    unwind_table_rule(t, vaddr + (uint64_t)insn.target, false)
		                    .cfa == CFA_ROOT)
			return true;
		if (insn.flow != CODE_BRANCH && insn.flow != CODE_NEXT)
			return false;
	}
	return false;
}

static int
row_in(const struct unwind_part *p, uint64_t vaddr,
       const struct cfi_section **section, struct cfi_entry *e,
       struct cfi_row *row)
{
	uint32_t i;
	int r;

	if (!unwind_index_find(&p->index, vaddr, &i))
		return -ENOENT;
	r = unwind_index_entry(&p->index, i, e);
	if (r)
		return r;
	if (vaddr >= e->end)
		return -ENOENT;
	*section = &p->index.section;
	return cfi_row_at(*section, e, vaddr, row);
}

int
unwind_table_row(const struct unwind_table *t, uint64_t vaddr,
                 const struct cfi_section **section, struct cfi_entry *entry,
                 struct cfi_row *row)
{
	int r = row_in(&t->parts[0], vaddr, section, entry, row);

	return r ? row_in(&t->parts[1], vaddr, section, entry, row) : 0;
}

bool
unwind_table_function(const struct unwind_table *t, uint64_t vaddr,
                      uint64_t *start)
{
	struct cfi_entry e;
	uint32_t row;

	for (unsigned i = 0; i < ARRAY_LEN(t->parts); i++) {
		const struct unwind_index *x = &t->parts[i].index;

		if (unwind_index_find(x, vaddr, &row) &&
		    !unwind_index_entry(x, row, &e) && vaddr < e.end) {
			*start = e.start;
			return true;
		}
	}
	return false;
}

/*
 * A function's cold part, which has a separate entry, begins in the middle of
 * a frame: the rule of its first instruction shows this.
 */
bool
unwind_table_pointer(struct unwind_table *t, uint64_t vaddr, bool returns,
                     int64_t *bytes)
{
	struct unwind_rule rule, first;
	uint64_t start;
	int64_t pushed;

	if (!unwind_table_function(t, vaddr - returns, &start))
		return false;
	rule = unwind_table_rule(t, vaddr - returns, returns);
	first = unwind_table_rule(t, start, false);
	if (rule.cfa != CFA_FP || first.cfa != CFA_SP || first.cfa_words != 1 ||
	    !unwind_code_pushed(t->elf, t->arch, start, vaddr, &pushed))
		return false;
	*bytes = pushed + 8 * (1 - (int64_t)rule.cfa_words);
	return true;
}

static void
narrow(const struct unwind_index *x, uint64_t vaddr, uint64_t *begin,
       uint64_t *end)
{
	uint32_t row, next = 0;
	struct cfi_entry e;
	uint64_t above;

	if (unwind_index_find(x, vaddr, &row)) {
		next = row + 1;
		if (!unwind_index_entry(x, row, &e) && e.end > *begin &&
		    e.end <= vaddr)
			*begin = e.end;
	}
	if (next == x->nrows)
		return;
	above = x->base + (uint64_t)(int64_t)unwind_index_row(x, next).function;
	if (above > vaddr && above < *end)
		*end = above;
}

void
unwind_table_gap(const struct unwind_table *t, uint64_t vaddr, uint64_t *begin,
                 uint64_t *end)
{
	for (unsigned i = 0; i < ARRAY_LEN(t->parts); i++)
		narrow(&t->parts[i].index, vaddr, begin, end);
}
