#include "lib/unwind_libunwind.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <errno.h>
#include <libunwind.h>
#include <string.h>

#define FP_REACH (1 << 20) /* largest frame of code without tables, bytes */
#define PAST_END (8 << 20) /* bytes that a stack may reach past the dump */
#define MAX_FILE (1 << 30)

/* An exported function that is not in libunwind's headers; perf uses it, too.
 * Source: Linux tools/perf/util/unwind-libunwind-local.c. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int
search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
                    unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* An image's bytes, and the search table of its .eh_frame_hdr. */
struct image {
	uint8_t *bytes;
	uint64_t header;     /* vaddr */
	const int32_t *rows; /* pairs */
	uint32_t nrows;
};

struct rival {
	unw_addr_space_t space;
	const struct corpus *corpus;
	struct image images[CORPUS_MAX_MAPS]; /* of the corpus's maps */
	const struct corpus_map *here; /* contains the current frame's code */
	uint64_t regs[UNWIND_REGS];
	const uint8_t *stack;
	uint64_t stack_start;
	size_t stack_len;
	bool no_info;  /* this step met code without tables */
	bool past_end; /* this step needed words beyond the dump */
};

static void
open_image(const struct elf_image *e, struct image *out)
{
	const struct elf_segment *s = elf_segment(e, PT_GNU_EH_FRAME, 0);
	void *bytes;

	if (elf_copy(e, 0, e->size, MAX_FILE, &bytes))
		return;
	out->bytes = bytes;
	if (!s || s->offset + s->filesz > e->size || s->filesz < 12)
		return;
	out->header = s->vaddr;
	memcpy(&out->nrows, out->bytes + s->offset + 8, 4);
	out->rows = (const void *)(out->bytes + s->offset + 12);
}

/* Finds the last row at or below vaddr. */
static bool
find_row(const struct image *i, uint64_t vaddr, uint32_t *row)
{
	int64_t want = (int64_t)(vaddr - i->header);
	uint32_t lo = 0, hi = i->nrows, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (i->rows[2 * mid] <= want)
			lo = mid + 1;
		else
			hi = mid;
	}
	*row = lo - 1;
	return lo;
}

static bool
image_word(const struct rival *u, uint64_t addr, uint64_t *out)
{
	const struct elf_image *e = u->here ? u->here->elf : NULL;
	uint64_t at, left;

	if (!e || !u->images[u->here - u->corpus->maps].bytes ||
	    !elf_offset_of(e, addr - u->here->m.bias, &at, &left))
		return false;
	*out = 0;
	memcpy(out, u->images[u->here - u->corpus->maps].bytes + at,
	       left < 8 ? left : 8);
	return true;
}

struct frame {
	uint64_t pc, sp, fp;
};

/* --- libunwind's callbacks --------------------------------------------- */

/* DWARF register numbers; Source: x86-64 psABI, figure 3.36. */
static const uint8_t perf_register[] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
	PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
	PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
	PERF_REG_X86_IP,
};

static int
access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
           void *arg)
{
	const struct rival *u = arg;

	(void)as;
	if (write || reg < 0 || (size_t)reg >= sizeof(perf_register))
		return -UNW_EBADREG;
	*value = u->regs[perf_register[reg]];
	return 0;
}

static bool
stack_word(struct rival *u, uint64_t addr, uint64_t *out)
{
	uint64_t at = addr - u->stack_start;

	if (at < u->stack_len && u->stack_len - at >= sizeof(*out)) {
		memcpy(out, u->stack + at, sizeof(*out));
		return true;
	}
	if (addr >= u->stack_start && at < u->stack_len + PAST_END)
		u->past_end = true;
	return false;
}

static int
access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write,
           void *arg)
{
	struct rival *u = arg;
	uint64_t word;

	(void)as;
	/* After no_info libunwind only guesses, so we step ourselves. */
	if (write || u->no_info)
		return -UNW_EINVAL;
	if (!stack_word(u, addr, &word) && !image_word(u, addr, &word))
		return -UNW_EINVAL;
	*value = word;
	return 0;
}

static int
find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi,
               int need_unwind_info, void *arg)
{
	struct rival *u = arg;
	const struct corpus_map *m = u->here;
	const struct image *i = m ? &u->images[m - u->corpus->maps] : NULL;
	unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
	uint32_t row;
	int r = -UNW_ENOINFO;

	if (i && find_row(i, ip - m->m.bias, &row)) {
		/* Passes a table with the only row that matters, since
		 * libunwind would read all rows byte by byte through
		 * access_mem. */
		di.start_ip = m->m.start;
		di.end_ip = m->m.end;
		di.u.rti.segbase = i->header + m->m.bias;
		di.u.rti.table_data = i->header + m->m.bias + 12 + row * 8;
		di.u.rti.table_len = 8 / sizeof(unw_word_t);
		r = search_unwind_table(as, ip, &di, pi, need_unwind_info, arg);
	}
	if (r == -UNW_ENOINFO)
		u->no_info = true;
	return r;
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

/* --- one step ------------------------------------------------------------ */

/* A return address is one byte past the call, and may be the end of the
 * function. */
static void
enter(struct rival *u, uint64_t pc, bool returns)
{
	uint64_t at = pc - returns;

	if (!u->here || at < u->here->m.start || at >= u->here->m.end)
		u->here = corpus_map(u->corpus, at);
}

static bool
read_frame(unw_cursor_t *c, struct frame *out)
{
	struct frame f = {0};

	if (unw_get_reg(c, UNW_X86_64_RIP, &f.pc) ||
	    unw_get_reg(c, UNW_X86_64_RSP, &f.sp))
		return false;
	if (unw_get_reg(c, UNW_X86_64_RBP, &f.fp))
		f.fp = 0;
	*out = f;
	return true;
}

/*
 * Finds the caller by the frame pointer, which code without tables (JIT, Go
 * assembly) mostly keeps. It is trusted if it points up the dump, not too far,
 * and if the return address there is in executable memory.
 *   Source   x86-64 psABI 3.4.1: the deepest frame's frame pointer is zero
 */
static enum unwind_end
step_by_pointer(struct rival *u, unw_cursor_t *c, const struct frame *f,
                uint64_t *pc)
{
	uint64_t fp, ra;

	if (!f->fp)
		return UNWIND_ROOT;
	if (f->fp % 8 || f->fp < f->sp || f->fp - f->sp > FP_REACH)
		return UNWIND_NO_INFO;
	if (!stack_word(u, f->fp, &fp) || !stack_word(u, f->fp + 8, &ra))
		return u->past_end ? UNWIND_TRUNCATED : UNWIND_NO_INFO;
	if (!ra)
		return UNWIND_ROOT;
	if (!corpus_map(u->corpus, ra - 1))
		return UNWIND_NO_INFO;
	/* A new cursor treats its pc as an interrupted instruction, so it gets
	 * one within the call. */
	u->regs[PERF_REG_X86_IP] = ra - 1;
	u->regs[PERF_REG_X86_SP] = f->fp + 16;
	u->regs[PERF_REG_X86_BP] = fp;
	*pc = ra;
	return unw_init_remote(c, u->space, u) ? UNWIND_BAD : UNWIND_MAX;
}

/* Returns UNWIND_MAX if the cursor is at the caller, whose address is *pc. */
static enum unwind_end
step(struct rival *u, unw_cursor_t *c, struct frame *f, bool leaf, uint64_t *pc)
{
	struct frame caller;
	enum unwind_end end;
	int r;

	u->no_info = u->past_end = false;
	enter(u, *pc, !leaf);
	r = unw_step(c);
	if (u->no_info) {
		end = step_by_pointer(u, c, f, pc);
		/* An unknown leaf without a frame pointer is not a root. */
		if (end == UNWIND_ROOT && leaf)
			return UNWIND_NO_INFO;
		if (end != UNWIND_MAX)
			return end;
		if (!read_frame(c, &caller))
			return UNWIND_BAD;
	} else {
		if (r < 0)
			return u->past_end ? UNWIND_TRUNCATED : UNWIND_BAD;
		if (r == 0 || !read_frame(c, &caller) || !caller.pc)
			return UNWIND_ROOT;
		*pc = caller.pc;
	}
	/* Towards the root, a stack only shrinks, so there are no loops. */
	if (caller.sp <= f->sp)
		return UNWIND_BAD;
	*f = caller;
	return UNWIND_MAX;
}

enum unwind_end
rival_unwind(struct rival *u, const struct corpus_sample *s, uint64_t *pcs,
             size_t max, size_t *n)
{
	enum unwind_end end;
	unw_cursor_t c;
	struct frame f;
	uint64_t pc;

	memcpy(u->regs, s->regs, sizeof(u->regs));
	u->stack = s->stack;
	u->stack_len = s->stack_len;
	u->stack_start = s->regs[PERF_REG_X86_SP];
	u->no_info = u->past_end = false;
	pc = pcs[0] = s->regs[PERF_REG_X86_IP];
	*n = 1;
	if (unw_init_remote(&c, u->space, u) || !read_frame(&c, &f))
		return UNWIND_BAD;
	while (*n < max) {
		end = step(u, &c, &f, *n == 1, &pc);
		if (end != UNWIND_MAX)
			return end;
		pcs[(*n)++] = pc;
	}
	return UNWIND_MAX;
}

/* --- lifetime ------------------------------------------------------------- */

struct rival *
rival_new(const struct corpus *c)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_dynamic_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
	};
	CLEANUP_RIVAL struct rival *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->corpus = c;
	for (size_t i = 0; i < c->nmaps; i++)
		if (c->maps[i].elf)
			open_image(c->maps[i].elf, &u->images[i]);
	u->space = unw_create_addr_space(&accessors, 0);
	if (!u->space || unw_set_caching_policy(u->space, UNW_CACHE_GLOBAL) ||
	    unw_set_cache_size(u->space, RIVAL_CACHE_ROWS, 0))
		return NULL;
	return TAKE(u);
}

void
rival_free(struct rival *u)
{
	if (!u)
		return;
	if (u->space)
		unw_destroy_addr_space(u->space);
	for (size_t i = 0; i < u->corpus->nmaps; i++)
		free(u->images[i].bytes);
	free(u);
}
