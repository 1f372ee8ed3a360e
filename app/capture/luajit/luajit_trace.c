#include "luajit_trace.h"

#include "base/rows.h"

#include <errno.h>
#include <stdlib.h>

void
luajit_traces_done(struct luajit_traces *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->rows[i].snaps);
	free(t->rows);
	*t = (struct luajit_traces){0};
}

/* --- the table ------------------------------------------------------------ */

static int
by_start(const void *a, const void *b)
{
	const struct luajit_trace *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Offsets in a trace. Builds differ in where the address of the code is;
 * FROM_ and TO_, the distances before and after it, are the same in all. */
enum {
	NSNAP = 10,
	FROM_IR = 56,
	FROM_NMAP = 44,
	FROM_SNAP = 40,
	FROM_MAP = 32,
	FROM_SIZE = 4,
	TO_ADJUST = 14,
	MOST_BYTES = 160
};

static bool
take_trace(const uint8_t *p, uint64_t at, uint32_t mcode,
           struct luajit_trace *out)
{
	*out = (struct luajit_trace){
		.start = memory_u64(p, mcode),
		.at = at,
		.snap = memory_u64(p, mcode - FROM_SNAP),
		.map = memory_u64(p, mcode - FROM_MAP),
		.ir = memory_u64(p, mcode - FROM_IR),
		.size = (uint32_t)memory_u64(p, mcode - FROM_SIZE),
		.nmap = (uint32_t)memory_u64(p, mcode - FROM_NMAP),
		.nsnap = (uint16_t)memory_u64(p, NSNAP),
		.adjust = (uint16_t)memory_u64(p, mcode + TO_ADJUST),
	};
	return out->start && out->size && out->nsnap &&
	       out->nsnap <= LUAJIT_MAX_SNAPS && out->nmap <= LUAJIT_MAX_MAP;
}

/* The parts of a trace are read again only if they have changed. */
static void
move_parts(struct luajit_traces *from, struct luajit_trace *to)
{
	struct luajit_trace *old = luajit_traces_find(from, to->start);

	if (!old || old->start != to->start || old->at != to->at ||
	    old->snap != to->snap || old->map != to->map ||
	    old->nsnap != to->nsnap || old->nmap != to->nmap)
		return;
	to->snaps = old->snaps;
	old->snaps = NULL;
}

static int
read_rows(const struct luajit_image *image, const struct memory *m,
          const uint64_t *at, uint32_t n, struct luajit_traces *t)
{
	CLEANUP_FREE struct memory_piece *pieces = calloc(n, sizeof(*pieces));
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	CLEANUP(luajit_traces_done)
	struct luajit_traces to = {.rows = calloc(n, sizeof(*to.rows))};
	const struct luajit_traces old = *t;
	int rc;

	if (!pieces || !to.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		pieces[i] = (struct memory_piece){
			.addr = at[i], .len = at[i] ? MOST_BYTES : 0};
	rc = memory_read(m, pieces, n, &batch);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < n; i++)
		if (pieces[i].got == MOST_BYTES &&
		    take_trace(pieces[i].p, at[i], image->mcode,
		               &to.rows[to.n])) {
			move_parts(t, &to.rows[to.n]);
			to.n++;
		}
	qsort(to.rows, to.n, sizeof(*to.rows), by_start);
	t->rows = to.rows;
	t->n = to.n;
	to = old;
	return 0;
}

int
luajit_traces_read(const struct luajit_image *image,
                   const struct jit_space *space, struct luajit_traces *t)
{
	CLEANUP_FREE uint64_t *at = NULL;
	uint64_t head[2];
	uint32_t n;
	int rc;

	t->read_ns = space->now_ns;
	rc = memory_copy(space->memory, t->dispatch - image->traces, head,
	                 sizeof(head));
	if (rc)
		return rc;
	n = (uint32_t)(head[1] >> 32);
	if (n > LUAJIT_MAX_TRACES)
		n = LUAJIT_MAX_TRACES;
	if (!n)
		return 0;
	at = calloc(n, sizeof(*at));
	if (!at)
		return -ENOMEM;
	rc = memory_copy(space->memory, head[0], at, n * sizeof(*at));
	return rc ? rc : read_rows(image, space->memory, at, n, t);
}

struct luajit_trace *
luajit_traces_find(const struct luajit_traces *t, uint64_t pc)
{
	uint32_t lo = ROWS_WHILE(t->n, i, t->rows[i].start <= pc);

	return lo && pc - t->rows[lo - 1].start < t->rows[lo - 1].size
	               ? &t->rows[lo - 1]
	               : NULL;
}

/* --- functions in a trace ------------------------------------------------- */

_Static_assert(sizeof(struct luajit_snap) == 12, "as in memory");

static int
read_snaps(const struct memory *m, struct luajit_trace *t)
{
	const size_t snaps = t->nsnap * sizeof(*t->snaps), map = 4 * t->nmap;
	CLEANUP_FREE uint8_t *bytes = t->snaps ? NULL : malloc(snaps + map + 1);
	int rc;

	if (t->snaps)
		return 0;
	if (!bytes)
		return -ENOMEM;
	rc = memory_copy(m, t->snap, bytes, snaps);
	if (!rc && map)
		rc = memory_copy(m, t->map, bytes + snaps, map);
	if (!rc)
		t->snaps = (void *)TAKE(bytes);
	return rc;
}

/* Returns the last place at which the trace could be left before an offset. */
static const struct luajit_snap *
find_snap(const struct luajit_trace *t, uint64_t offset)
{
	uint32_t lo = ROWS_WHILE(t->nsnap, i, t->snaps[i].code <= offset);

	return &t->snaps[lo ? lo - 1 : 0];
}

/* Entries of a map: a slot, flags, and where its value is. */
#define IS_FRAME     0x010000u
#define IS_CONTINUED 0x020000u
#define CONSTANTS    0x8000u /* values below are constants, in two words */

static uint32_t
slot_of(uint32_t entry)
{
	return entry >> 24;
}

static int
read_constant(const struct memory *m, const struct luajit_trace *t,
              uint32_t entry, uint64_t *out)
{
	const uint32_t ref = entry & UINT16_MAX;

	return ref && ref < CONSTANTS
	               ? memory_copy(m, t->ir + 8 * (uint64_t)ref + 8, out, 8)
	               : -ESTALE;
}

/* Reads the address to which a frame returns; 0 if its caller is not in Lua. */
static int
read_caller(const struct memory *m, const struct luajit_trace *t,
            const uint32_t *map, size_t i, uint64_t *out)
{
	const uint32_t slot = slot_of(map[i]);
	uint64_t link;
	int rc = read_constant(m, t, map[i], &link);

	*out = 0;
	if (rc)
		return rc;
	if ((link & LUAJIT_TYPE) == LUAJIT_TO_LUA)
		*out = link;
	if ((link & LUAJIT_TYPES) != LUAJIT_TO_CONTINUATION)
		return 0;
	while (i-- > 0)
		if (map[i] & IS_CONTINUED && slot_of(map[i]) == slot - 2)
			return read_constant(m, t, map[i], out);
	return 0;
}

/* Returns the entries of a place; NULL if they exceed the map. Two words after
 * them are the address at which the function that runs continues. */
static const uint32_t *
entries_of(const struct luajit_trace *t, const struct luajit_snap *snap)
{
	const uint32_t *map = (const void *)(t->snaps + t->nsnap);

	return snap->map > t->nmap || t->nmap - snap->map < snap->nentries + 2u
	               ? NULL
	               : map + snap->map;
}

/* True for the entry of a function that is called in the trace. */
static bool
is_call(uint32_t entry)
{
	return entry & IS_FRAME && slot_of(entry) >= 2;
}

static uint32_t
count_calls(const struct luajit_trace *t, const struct luajit_snap *snap)
{
	const uint32_t *map = entries_of(t, snap);
	uint32_t n = 0;

	for (size_t i = 0; map && i < snap->nentries; i++)
		n += is_call(map[i]);
	return n;
}

/* Returns the place that shows which functions run. A call of C is followed by
 * a place where the trace can be left; the one before it may be in a function
 * further out. */
static const struct luajit_snap *
choose_snap(const struct luajit_trace *t, uint64_t offset, bool in_call)
{
	const struct luajit_snap *snap = find_snap(t, offset);

	if (in_call && snap + 1 < t->snaps + t->nsnap &&
	    count_calls(t, snap + 1) > count_calls(t, snap))
		return snap + 1;
	return snap;
}

/* Reads where the functions that run at a place of a trace continue. */
static int
read_nexts(const struct memory *m, const struct luajit_trace *t,
           const struct luajit_snap *snap, uint64_t *out, size_t *n)
{
	const uint32_t *map = entries_of(t, snap);
	uint64_t pc;
	int rc = 0;

	if (!map)
		return -ESTALE;
	pc = map[snap->nentries] | (uint64_t)map[snap->nentries + 1] << 32;
	out[0] = (pc >> 8) + 4;
	*n = 1;
	for (size_t i = snap->nentries; i-- > 0 && !rc;) {
		if (!is_call(map[i]) || *n == LUAJIT_MAX_CALLS)
			continue;
		rc = read_caller(m, t, map, i, &out[*n]);
		*n += !rc && out[*n];
	}
	return rc;
}

/* Instructions with which functions begin. */
enum { FIRST_HEADER = 89, LAST_HEADER = 94 };
#define CHUNK      1024 /* bytes of bytecode that are searched at once */
#define MAX_CHUNKS 64

/* Finds the prototype of an instruction. A prototype is right before its
 * bytecode, which begins with one of the instructions above. */
static int
find_proto(const struct memory *m, uint64_t pc, uint64_t *out)
{
	uint8_t bytes[LUAJIT_PROTO + CHUNK];
	struct luajit_proto p;
	int rc = 0;

	for (int i = 0; i < MAX_CHUNKS && !rc; i++) {
		const uint64_t from = (pc & ~UINT64_C(7)) -
		                      CHUNK * (uint64_t)i - CHUNK + 8;

		rc = memory_copy(m, from - LUAJIT_PROTO, bytes, sizeof(bytes));
		for (size_t at = CHUNK; !rc && at; at -= 8) {
			const uint8_t *header = bytes + at - 8;
			const uint8_t op = header[LUAJIT_PROTO];
			const uint64_t here = from + at - 8 - LUAJIT_PROTO;

			if (op < FIRST_HEADER || op > LAST_HEADER ||
			    !luajit_proto(here, header, &p) ||
			    pc - here - LUAJIT_PROTO > 4 * (uint64_t)p.size)
				continue;
			*out = here;
			return 0;
		}
	}
	return rc ? rc : -ESTALE;
}

int
luajit_calls(const struct memory *m, struct luajit_trace *t, uint64_t pc,
             bool in_call, struct luajit_call *out, size_t *n)
{
	uint64_t next[LUAJIT_MAX_CALLS];
	int rc = read_snaps(m, t);

	if (!rc)
		rc = read_nexts(m, t, choose_snap(t, pc - t->start, in_call),
		                next, n);
	for (size_t i = 0; !rc && i < *n; i++) {
		out[i].next = next[i];
		rc = find_proto(m, next[i] - 4, &out[i].proto);
	}
	return rc;
}
