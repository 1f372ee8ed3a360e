#include "code_runs.h"

#include "base/rows.h"
#include "capture/unwind/unwind_arch.h"

#include <errno.h>
#include <stdlib.h>

#define GAPS       32   /* gaps that are remembered */
#define ALIGNED    16   /* alignment of functions that follow padding, bytes */
#define NEAR       1024 /* bytes: a longer jump leads to another function */
#define FIRST_ROOM 64
#define MAX_STARTS (1u << 20) /* of one gap */

struct gap {
	const struct elf_image *elf; /* NULL: unused */
	struct code_gap at;
	uint32_t *starts; /* counted from at.begin, ascending */
	uint32_t n, cap;
};

struct code_runs {
	struct gap gaps[GAPS];
	unsigned next; /* the entry to replace next */
};

struct code_runs *
code_runs_new(void)
{
	return calloc(1, sizeof(struct code_runs));
}

void
code_runs_free(struct code_runs *r)
{
	for (unsigned i = 0; r && i < GAPS; i++)
		free(r->gaps[i].starts);
	free(r);
}

/* Adds a start; past the bound it is dropped, and the function before then
 * reaches further. */
static void
begin_at(struct gap *g, uint32_t at)
{
	uint32_t cap = g->cap ? g->cap * 2 : FIRST_ROOM;
	uint32_t *more;

	if (g->n == MAX_STARTS)
		return;
	if (g->n == g->cap) {
		more = reallocarray(g->starts, cap, sizeof(*more));
		if (!more)
			return;
		g->starts = more;
		g->cap = cap;
	}
	g->starts[g->n++] = at;
}

/* --- reading the gap ------------------------------------------------------ */

struct reader {
	const struct unwind_arch *arch;
	const uint8_t *code;
	uint32_t n, at;
	uint64_t vaddr; /* of code[0] */
};

static bool
is_aligned(const struct reader *r, uint32_t at)
{
	return (r->vaddr + at) % ALIGNED == 0;
}

/* Skips no-ops and zeroes between functions. */
static void
skip_padding(struct reader *r)
{
	struct code_insn insn;

	while (r->at < r->n) {
		if (!r->code[r->at] && !is_aligned(r, r->at))
			r->at++;
		else if (r->arch->decode(r->code + r->at, r->n - r->at,
		                         &insn) &&
		         insn.padding)
			r->at += insn.length;
		else
			return;
	}
}

/* Returns how far the function must extend, given this instruction. */
static uint32_t
reach(const struct reader *r, const struct code_insn *insn, uint32_t so_far)
{
	const int64_t left = r->n - r->at;
	bool near = insn->flow == CODE_BRANCH ||
	            (insn->flow == CODE_JUMP && insn->target < NEAR);

	if (!near || insn->target <= 0 || insn->target >= left ||
	    r->at + (uint32_t)insn->target < so_far)
		return so_far;
	return r->at + (uint32_t)insn->target;
}

static bool
ends(const struct code_insn *insn)
{
	return insn->flow == CODE_RETURN || insn->flow == CODE_JUMP ||
	       insn->flow == CODE_TRAP;
}

static void
read_through(struct reader *r, struct gap *g)
{
	struct code_insn insn;
	uint32_t furthest = 0;

	skip_padding(r);
	begin_at(g, r->at);
	while (r->at < r->n) {
		if (r->arch->decode(r->code + r->at, r->n - r->at, &insn)) {
			r->at += insn.length;
			furthest = reach(r, &insn, furthest);
			if (!ends(&insn) || r->at <= furthest)
				continue;
			skip_padding(r);
		} else {
			do
				r->at++;
			while (r->at < r->n && !is_aligned(r, r->at));
		}
		begin_at(g, r->at);
	}
}

static void
fill(struct gap *g)
{
	const uint64_t n = g->at.end - g->at.begin;
	struct reader r = {.arch = unwind_arch_of(g->elf->machine),
	                   .vaddr = g->at.begin,
	                   .n = (uint32_t)n};
	CLEANUP_FREE void *code = NULL;
	uint64_t offset, left;

	if (!r.arch || n > CODE_RUNS_MAX_GAP ||
	    !elf_offset_of(g->elf, g->at.begin, &offset, &left) || left < n ||
	    elf_copy(g->elf, offset, n, CODE_RUNS_MAX_GAP, &code))
		return;
	r.code = code;
	read_through(&r, g);
}

/* --- asking --------------------------------------------------------------- */

static struct gap *
gap_of(struct code_runs *r, const struct elf_image *e, struct code_gap at)
{
	struct gap *g;

	for (unsigned i = 0; i < GAPS; i++) {
		g = &r->gaps[i];
		if (g->elf == e && g->at.begin == at.begin &&
		    g->at.end == at.end)
			return g;
	}
	g = &r->gaps[r->next++ % GAPS];
	free(g->starts);
	*g = (struct gap){.elf = e, .at = at};
	fill(g);
	return g;
}

uint64_t
code_runs_find(struct code_runs *r, const struct elf_image *e,
               struct code_gap gap, uint64_t vaddr)
{
	const struct gap *g = gap_of(r, e, gap);
	uint32_t lo = ROWS_WHILE(g->n, i, g->starts[i] <= vaddr - gap.begin);

	return gap.begin + (lo ? g->starts[lo - 1] : 0);
}
