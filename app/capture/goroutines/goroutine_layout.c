#include "goroutine_layout.h"

#include "base/cleanup.h"
#include "capture/host/memory.h"

/* Offsets in struct g, and in its gobuf sched, that no version changed. */
enum {
	G_STACK_LO = 0,
	G_STACK_HI = 8,
	G_M = 48,
	G_SCHED_SP = 56,
	G_SCHED_PC = 64,
	G_SCHED_G = 72,
};

#define SCAN      0x1000u /* flag of a status: its stack is being scanned */
#define MAX_STACK ((uint64_t)1 << 31)
#define MAX_GOID  ((uint64_t)1 << 48)

/* Ranges that are searched for members whose place depends on the version. */
#define STATUS_FIRST  128
#define STATUS_LAST   192
#define STARTPC_FIRST 232
#define STARTPC_LAST  (GO_MAX_G - 64)

/* Sets the members whose distance from others is the same in all versions. */
static void
fill(struct go_layout *l)
{
	l->goid = l->status + 8;
	l->waitsince = l->status + 24;
	l->waitreason = l->status + 32;
	l->gopc = l->startpc - 16;
	l->waiting = l->startpc + 16;
	l->labels = l->startpc + 48;
	l->size = l->labels + 8;
}

bool
go_layout_of(unsigned minor, struct go_layout *out)
{
	static const struct {
		unsigned first, last;
		struct go_layout l;
	} rows[] = {
#define GO_LAYOUT(first, last, syscallsp_, status_, lockedm_, parent_, \
                  startpc_, procid_, chan_, elem_)                     \
	{first,                                                        \
	 last,                                                         \
	 {.syscallsp = syscallsp_,                                     \
	  .status = status_,                                           \
	  .lockedm = lockedm_,                                         \
	  .parent = parent_,                                           \
	  .startpc = startpc_,                                         \
	  .procid = procid_,                                           \
	  .chan = chan_,                                               \
	  .elem = elem_}},
#include "goroutine_layout.def"
#undef GO_LAYOUT
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (minor < rows[i].first || minor > rows[i].last)
			continue;
		*out = rows[i].l;
		fill(out);
		return true;
	}
	return false;
}

/* --- calibration ---------------------------------------------------------- */

/* Finds the only offset that holds the start of runtime.main; 0 when there is
 * none, or more than one. */
static size_t
find_startpc(const uint8_t *g, go_is_main *is_main, void *arg)
{
	size_t found = 0;

	for (size_t at = STARTPC_FIRST; at <= STARTPC_LAST; at += 8) {
		if (!is_main(arg, memory_u64(g, at)))
			continue;
		if (found)
			return 0;
		found = at;
	}
	return found;
}

static bool
may_be_status(const uint8_t *g, size_t at)
{
	/* The word also holds stackLock, which is 0. */
	uint64_t v = memory_u64(g, at);

	return (v & ~(uint64_t)SCAN) >= GO_RUNNABLE &&
	       (v & ~(uint64_t)SCAN) < GO_STATUSES;
}

/* Finds the only possible status before a goid of 1; 0 when there is none, or
 * more than one. */
static size_t
find_status(const uint8_t *g)
{
	size_t found = 0;

	for (size_t at = STATUS_FIRST; at <= STATUS_LAST; at += 8) {
		if (memory_u64(g, at + 8) != 1 || !may_be_status(g, at) ||
		    g[at + 32] >= 128)
			continue;
		if (found)
			return 0;
		found = at;
	}
	return found;
}

/* Shifts the newest known layout to the offsets that were found. */
static void
derive(size_t status, size_t startpc, struct go_layout *out)
{
	(void)go_layout_of(27, out);
	out->syscallsp = (uint16_t)(status - (out->status - out->syscallsp));
	out->lockedm = (uint16_t)(status + (out->lockedm - out->status));
	out->parent = (uint16_t)(startpc - (out->startpc - out->parent));
	out->status = (uint16_t)status;
	out->startpc = (uint16_t)startpc;
	fill(out);
}

static bool
agree(const struct go_layout *l, size_t status, size_t startpc)
{
	return l->status == status && l->startpc == startpc;
}

bool
go_layout_calibrate(const uint8_t *g, uint64_t addr, unsigned minor,
                    go_is_main *is_main, void *arg, struct go_layout *out)
{
	size_t startpc = find_startpc(g, is_main, arg);
	size_t status = startpc ? find_status(g) : 0;
	struct go_layout l;
	struct go_g main;

	if (!status || memory_u64(g, G_SCHED_G) != addr)
		return false;
	if (!go_layout_of(minor, &l) || !agree(&l, status, startpc))
		derive(status, startpc, &l);
	if (!go_g_read(&l, g, addr, &main) || main.goid != 1)
		return false;
	*out = l;
	return true;
}

/* --- reading -------------------------------------------------------------- */

static void
read_place(const struct go_layout *l, const uint8_t *g, struct go_g *out)
{
	bool in_call = out->status == GO_SYSCALL;

	out->sp = memory_u64(g, in_call ? l->syscallsp : G_SCHED_SP);
	out->pc = memory_u64(g, in_call ? l->syscallsp + 8u : G_SCHED_PC);
}

bool
go_g_read(const struct go_layout *l, const uint8_t *g, uint64_t addr,
          struct go_g *out)
{
	uint32_t status = (uint32_t)memory_u64(g, l->status) & ~SCAN;

	if (status >= GO_STATUSES)
		return false;
	*out = (struct go_g){
		.addr = addr,
		.goid = memory_u64(g, l->goid),
		.parent = l->parent ? memory_u64(g, l->parent) : 0,
		.lo = memory_u64(g, G_STACK_LO),
		.hi = memory_u64(g, G_STACK_HI),
		.m = memory_u64(g, G_M),
		.waitsince = memory_u64(g, l->waitsince),
		.gopc = memory_u64(g, l->gopc),
		.startpc = memory_u64(g, l->startpc),
		.waiting = memory_u64(g, l->waiting),
		.labels = memory_u64(g, l->labels),
		.status = (uint8_t)status,
		.reason = g[l->waitreason],
		.locked = memory_u64(g, l->lockedm) != 0,
	};
	read_place(l, g, out);
	if (!go_g_lives(out))
		return true;
	return out->goid && out->goid < MAX_GOID && out->lo < out->hi &&
	       out->hi - out->lo < MAX_STACK;
}

bool
go_layout_fits(const struct go_layout *l, const uint8_t *g, uint64_t addr)
{
	struct go_g unused;

	return memory_u64(g, G_SCHED_G) == addr &&
	       go_g_read(l, g, addr, &unused);
}

bool
go_g_same(const struct go_g *a, const struct go_g *b)
{
	return a->goid == b->goid && a->status == b->status && a->sp == b->sp &&
	       a->pc == b->pc && a->lo == b->lo && a->hi == b->hi;
}

bool
go_g_lives(const struct go_g *g)
{
	return g->status != GO_IDLE && g->status != GO_MORIBUND &&
	       g->status != GO_DEAD && g->status != GO_ENQUEUE &&
	       g->status != GO_DEADEXTRA;
}
