/*
 * Reads the function table, block by block as needed.
 *
 *   Source   runtime/symtab.go: findfunc, pcvalue, step, readvarint
 */
#include "gobin_private.h"

#include <errno.h>
#include <string.h>

#define MAX_STEPS (1u << 20) /* rows of one pc-value table */
#define MAX_SHIFT 28         /* of the last byte of a 32-bit varint */

/* --- bytes ---------------------------------------------------------------- */

static bool
load(struct gobin *g, size_t block)
{
	size_t at = block * GOBIN_BLOCK, n = g->tab.size - at;

	if (g->loaded[block])
		return true;
	if (n > GOBIN_BLOCK)
		n = GOBIN_BLOCK;
	if (elf_read(g->elf, g->tab.offset + at, g->bytes + at, n))
		return false;
	g->loaded[block] = 1;
	return true;
}

const uint8_t *
gobin_bytes(struct gobin *g, size_t at, size_t n)
{
	if (at >= g->tab.size || n > g->tab.size - at || !n)
		return NULL;
	for (size_t i = at / GOBIN_BLOCK; i <= (at + n - 1) / GOBIN_BLOCK; i++)
		if (!load(g, i))
			return NULL;
	return g->bytes + at;
}

const char *
gobin_text(struct gobin *g, size_t at)
{
	size_t left = at < g->tab.size ? g->tab.size - at : 0;
	size_t max = left < GOBIN_MAX_NAME ? left : GOBIN_MAX_NAME;
	size_t n = 0;

	while (n < max) {
		size_t step = GOBIN_BLOCK - (at + n) % GOBIN_BLOCK;

		if (step > max - n)
			step = max - n;
		if (!gobin_bytes(g, at + n, step))
			return NULL;
		if (memchr(g->bytes + at + n, 0, step))
			return (const char *)g->bytes + at;
		n += step;
	}
	return NULL;
}

/* --- functions ------------------------------------------------------------ */

bool
gobin_ftab_row(struct gobin *g, size_t i, uint32_t out[2])
{
	size_t n = i < g->tab.nfunc ? 8 : 4;
	const uint8_t *p = gobin_bytes(g, g->tab.funcs + 8 * i, n);

	if (p)
		memcpy(out, p, n);
	return p != NULL;
}

/* Finds the last row that begins at or before by. */
static bool
search(struct gobin *g, uint64_t by, uint32_t out[2])
{
	size_t low = 0, high = g->tab.nfunc;
	uint32_t row[2];

	if (!gobin_ftab_row(g, high, row) || by >= row[0] ||
	    !gobin_ftab_row(g, 0, row) || by < row[0])
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (!gobin_ftab_row(g, middle, row))
			return false;
		if (row[0] <= by)
			low = middle;
		else
			high = middle;
	}
	return gobin_ftab_row(g, low, out) && out[0] <= by;
}

bool
gobin_function(struct gobin *g, uint64_t vaddr, struct gobin_function *out)
{
	const uint8_t size = g->version->func_size;
	uint32_t row[2], npcdata;
	const uint8_t *p;
	size_t more;

	if (vaddr < g->about.text || !search(g, vaddr - g->about.text, row))
		return false;
	out->entry = g->about.text + row[0];
	out->at = g->tab.funcs + row[1];
	p = gobin_bytes(g, out->at, size);
	if (!p)
		return false;
	/* the words after _func are read through the same pointer */
	memcpy(&npcdata, p + FUNC_NPCDATA, sizeof(npcdata));
	if (npcdata > UINT8_MAX)
		return false;
	more = 4 * ((size_t)npcdata + p[size - FUNC_NFUNCDATA_BACK]);
	out->row = gobin_bytes(g, out->at, size + more);
	return out->row != NULL;
}

uint32_t
gobin_field(const struct gobin_function *f, size_t byte)
{
	uint32_t v;

	memcpy(&v, f->row + byte, sizeof(v));
	return v;
}

/* --- pc-value tables ------------------------------------------------------ */

struct cursor {
	struct gobin *g;
	size_t at, ready; /* bytes below ready have been read */
};

static bool
next_byte(struct cursor *c, uint8_t *out)
{
	if (c->at >= c->ready) {
		if (c->at >= c->g->tab.size || !load(c->g, c->at / GOBIN_BLOCK))
			return false;
		c->ready = (c->at / GOBIN_BLOCK + 1) * GOBIN_BLOCK;
		if (c->ready > c->g->tab.size)
			c->ready = c->g->tab.size;
	}
	*out = c->g->bytes[c->at++];
	return true;
}

static bool
next_varint(struct cursor *c, uint32_t *out)
{
	uint32_t v = 0;
	uint8_t b;

	for (unsigned shift = 0; shift <= MAX_SHIFT; shift += 7) {
		if (!next_byte(c, &b))
			return false;
		v |= (uint32_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

int32_t
gobin_value(struct gobin *g, const struct gobin_function *f, uint32_t table,
            uint64_t vaddr)
{
	struct cursor c = {.g = g, .at = g->tab.values + table};
	uint32_t value = UINT32_MAX, by, length;
	uint64_t pc = f->entry;

	if (!table) /* the function has no such table */
		return -1;
	for (unsigned i = 0; i < MAX_STEPS; i++) {
		if (!next_varint(&c, &by) || (!by && i) ||
		    !next_varint(&c, &length))
			return -1;
		value += -(by & 1) ^ by >> 1; /* zigzag */
		pc += (uint64_t)length * g->tab.quantum;
		if (vaddr < pc)
			return (int32_t)value;
	}
	return -1;
}

/* --- special functions ---------------------------------------------------- */

/* clang-format off */
#define IDS_FIRST GOBIN_NORMAL, GOBIN_ABORT, GOBIN_ASMCGOCALL, \
	GOBIN_ASYNC_PREEMPT, GOBIN_CGOCALLBACK
#define IDS_NEXT GOBIN_DEBUG_CALL, GOBIN_GC_MARK_WORKER, GOBIN_GOEXIT, \
	GOBIN_GOGO, GOBIN_GOPANIC, GOBIN_HANDLE_ASYNC_EVENT, GOBIN_MCALL, \
	GOBIN_MORESTACK, GOBIN_MSTART, GOBIN_PANICWRAP, GOBIN_RT0_GO
#define IDS_LAST GOBIN_SIGPANIC, GOBIN_SYSTEMSTACK, GOBIN_SYSTEMSTACK_SWITCH, \
	GOBIN_WRAPPER
/* cmd/internal/objabi/funcid.go up to 1.20, then internal/abi */
static const uint8_t func_ids[][GOBIN_WRAPPER + 1] = {
	{ IDS_FIRST, IDS_NEXT,
	  GOBIN_RUN_FINALIZERS, GOBIN_RUNTIME_MAIN, IDS_LAST },
	{ IDS_FIRST, GOBIN_COROSTART, IDS_NEXT,
	  GOBIN_RUN_FINALIZERS, GOBIN_RUNTIME_MAIN, IDS_LAST },
	{ IDS_FIRST, GOBIN_COROSTART, IDS_NEXT,
	  GOBIN_RUNTIME_MAIN, GOBIN_RUN_FINALIZERS, GOBIN_RUN_CLEANUPS,
	  IDS_LAST },
};
/* clang-format on */

enum gobin_func
gobin_func_of(const struct gobin *g, uint8_t id)
{
	return id <= GOBIN_WRAPPER ? func_ids[g->version->ids][id]
	                           : GOBIN_NORMAL;
}
