/*
 * Finds and keeps pieces of compiled code. HotSpot has several heaps for them;
 * a byte for each segment of a heap says how far it is to the segment in which
 * its piece begins.
 */
#include "hotspot.h"

#include "base/rows.h"
#include "capture/host/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEGMAP_PIECE 512 /* bytes of a segment map that are read at once */
#define SEGMAP_HOPS  512
#define MAX_HEAP     (UINT64_C(4) << 30)
#define NAME_BYTES   64
#define FREE_SEGMENT 0xff

static uint64_t
get(const struct hotspot *h, const uint8_t *p, size_t n,
    enum hotspot_field field, size_t size)
{
	return hotspot_get(p, n, h->tables.field[field], size);
}

static bool
has(const struct hotspot *h, enum hotspot_field field)
{
	return h->tables.field[field] != HOTSPOT_LACKS;
}

/* --- heaps ---------------------------------------------------------------- */

static int
read_heap(const struct hotspot *h, const struct memory *m, uint64_t at,
          struct hotspot_heap *out)
{
	const uint64_t *f = h->tables.field;
	uint64_t memory = at + f[HOTSPOT_HEAP_MEMORY],
		 segmap = at + f[HOTSPOT_HEAP_SEGMAP];
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	struct memory_piece p[] = {
		{.addr = memory + f[HOTSPOT_SPACE_LOW], .len = 8},
		{.addr = memory + f[HOTSPOT_SPACE_HIGH], .len = 8},
		{.addr = segmap + f[HOTSPOT_SPACE_LOW], .len = 8},
		{.addr = segmap + f[HOTSPOT_SPACE_HIGH], .len = 8},
		{.addr = at + f[HOTSPOT_HEAP_LOG2], .len = 4},
	};
	uint64_t high;
	int rc = memory_read(m, p, ARRAY_LEN(p), &batch);

	if (rc)
		return rc;
	out->start = hotspot_get(p[0].p, p[0].got, 0, 8);
	out->end = hotspot_get(p[1].p, p[1].got, 0, 8);
	out->segmap = hotspot_get(p[2].p, p[2].got, 0, 8);
	high = hotspot_get(p[3].p, p[3].got, 0, 8);
	out->nsegments = high - out->segmap;
	out->log2 = (uint32_t)hotspot_get(p[4].p, p[4].got, 0, 4);
	return out->start && out->end > out->start &&
	                       out->end - out->start <= MAX_HEAP &&
	                       high > out->segmap && out->log2 >= 4 &&
	                       out->log2 <= 16
	               ? 0
	               : -EAGAIN;
}

int
hotspot_heaps(struct hotspot *h, const struct jit_space *space)
{
	const struct hotspot_tables *t = &h->tables;
	const uint64_t len_at = has(h, HOTSPOT_ARRAY_LEN)
	                                ? t->field[HOTSPOT_ARRAY_LEN]
	                                : t->field[HOTSPOT_ARRAY_LEN_OLD];
	uint64_t array, data, rows[HOTSPOT_MAX_HEAPS];
	int32_t n;
	int rc = memory_copy(space->memory, t->field[HOTSPOT_HEAPS], &array, 8);

	if (!rc && !array)
		rc = -EAGAIN;
	if (!rc)
		rc = memory_copy(space->memory, array + len_at, &n, 4);
	if (!rc)
		rc = memory_copy(space->memory,
		                 array + t->field[HOTSPOT_ARRAY_DATA], &data,
		                 8);
	if (!rc && (n < 1 || n > HOTSPOT_MAX_HEAPS))
		rc = n ? -EBADMSG : -EAGAIN;
	if (!rc)
		rc = memory_copy(space->memory, data, rows, (size_t)n * 8);
	h->nheaps = 0;
	for (int32_t i = 0; i < n && !rc; i++)
		if (!read_heap(h, space->memory, rows[i], &h->heaps[h->nheaps]))
			h->nheaps++;
	h->heaps_ns = space->now_ns;
	return rc ? rc : h->nheaps ? 0 : -EAGAIN;
}

static const struct hotspot_heap *
heap_of(const struct hotspot *h, uint64_t addr)
{
	for (size_t i = 0; i < h->nheaps; i++)
		if (addr >= h->heaps[i].start && addr < h->heaps[i].end)
			return &h->heaps[i];
	return NULL;
}

bool
hotspot_is_code(const struct hotspot *h, uint64_t addr)
{
	return heap_of(h, addr);
}

/* Finds the address of the piece that holds an address. */
static int
find_start(const struct hotspot *h, const struct jit_space *space,
           const struct hotspot_heap *heap, uint64_t pc, uint64_t *out)
{
	uint64_t segment = (pc - heap->start) >> heap->log2, first = UINT64_MAX;
	uint8_t piece[SEGMAP_PIECE];
	int rc;

	for (unsigned i = 0; i < SEGMAP_HOPS; i++) {
		uint8_t hop;

		if (segment >= heap->nsegments)
			return -ENOENT;
		if (first > segment) {
			first = segment + 1 > sizeof(piece)
			                ? segment + 1 - sizeof(piece)
			                : 0;
			rc = memory_copy(space->memory, heap->segmap + first,
			                 piece, segment + 1 - first);
			if (rc)
				return rc;
		}
		hop = piece[segment - first];
		if (hop == FREE_SEGMENT)
			return -ENOENT;
		if (!hop) {
			*out = heap->start + (segment << heap->log2) +
			       h->tables.size[HOTSPOT_SIZE_HEAP_BLOCK];
			return 0;
		}
		if (hop > segment)
			return -ESTALE;
		segment -= hop;
	}
	return -ESTALE;
}

/* --- blobs ---------------------------------------------------------------- */

static void
blob_free(struct hotspot *h, struct hotspot_blob *b)
{
	if (b->bytes)
		h->bytes -= (size_t)b->ncode + b->npcs + b->nscopes +
		            b->nmetadata;
	free(b->bytes);
	free(b);
}

/* Returns the first blob that ends above an address. */
static uint32_t
position(const struct hotspot *h, uint64_t addr)
{
	return ROWS_WHILE(h->nblobs, i, h->blobs[i]->end <= addr);
}

static void
drop(struct hotspot *h, uint32_t i)
{
	blob_free(h, h->blobs[i]);
	memmove(h->blobs + i, h->blobs + i + 1,
	        (--h->nblobs - i) * sizeof(*h->blobs));
}

void
hotspot_clear(struct hotspot *h)
{
	while (h->nblobs)
		blob_free(h, h->blobs[--h->nblobs]);
	pairs_done(&h->method_keys);
	pairs_done(&h->spot_keys);
	h->method_keys = (struct pairs){.max = HOTSPOT_MAX_METHODS};
	h->spot_keys = (struct pairs){.max = HOTSPOT_MAX_SPOTS};
	free(h->methods);
	free(h->spots);
	h->methods = NULL;
	h->spots = NULL;
	h->methods_cap = h->spots_cap = h->nplaces = 0;
	h->full = false;
}

/* Adds a blob in place of those that it overlaps. */
static int
add(struct hotspot *h, struct hotspot_blob *b)
{
	uint32_t i;
	int rc;

	rc = ROWS_ROOM_OF(h->blobs, h->blobs_cap, h->nblobs, 1,
	                  HOTSPOT_MAX_BLOBS);
	h->full |= rc == -E2BIG;
	if (rc)
		return rc;
	i = position(h, b->start);
	while (i < h->nblobs && h->blobs[i]->start < b->end)
		drop(h, i);
	memmove(h->blobs + i + 1, h->blobs + i,
	        (h->nblobs++ - i) * sizeof(*h->blobs));
	h->blobs[i] = b;
	return 0;
}

/* Sets the length of a part of a blob; false if it can't be right. */
static bool
set_length(uint64_t start, uint64_t end, uint32_t *out)
{
	*out = (uint32_t)(end - start);
	return start && end >= start && end - start <= HOTSPOT_MAX_PIECE;
}

/* Finds the tables of a compiled method in its head. */
static void
find_tables(const struct hotspot *h, struct hotspot_blob *b)
{
	const uint8_t *p = b->head;
	const size_t n = b->nhead;
	uint64_t end, metadata_end;

	b->metadata = b->start + get(h, p, n, HOTSPOT_METADATA, 4);
	if (has(h, HOTSPOT_IMMUTABLE)) {
		const uint64_t at = get(h, p, n, HOTSPOT_IMMUTABLE, 8);

		b->pcs = at + get(h, p, n, HOTSPOT_SCOPES_PCS, 4);
		b->scopes = at + get(h, p, n, HOTSPOT_SCOPES_DATA, 4);
		end = at + get(h, p, n, HOTSPOT_IMMUTABLE_SIZE, 4);
		metadata_end = b->end;
		if (has(h, HOTSPOT_MUTABLE) && !has(h, HOTSPOT_METADATA)) {
			b->metadata = get(h, p, n, HOTSPOT_MUTABLE, 8) +
			              get(h, p, n, HOTSPOT_RELOCATION_SIZE, 4);
			metadata_end = b->metadata + 4096;
		} else {
			b->metadata = b->start +
			              get(h, p, n, HOTSPOT_BLOB_DATA, 4) +
			              get(h, p, n, HOTSPOT_METADATA, 2);
		}
		if (!set_length(b->pcs, b->scopes, &b->npcs) ||
		    !set_length(b->scopes, end, &b->nscopes))
			b->pcs = b->scopes = 0;
	} else {
		b->scopes = get(h, p, n, HOTSPOT_SCOPES_DATA_OLD, 8);
		b->pcs = b->start + get(h, p, n, HOTSPOT_SCOPES_PCS, 4);
		end = b->start + get(h, p, n, HOTSPOT_DEPENDENCIES, 4);
		metadata_end = b->scopes;
		if (!set_length(b->scopes, b->pcs, &b->nscopes) ||
		    !set_length(b->pcs, end, &b->npcs))
			b->pcs = b->scopes = 0;
	}
	if (!set_length(b->metadata, metadata_end, &b->nmetadata))
		b->metadata = 0;
	if (!b->pcs || !b->scopes || !b->metadata)
		b->npcs = b->nscopes = b->nmetadata = 0;
}

/* Parses the head of a blob. */
static int
parse(const struct hotspot *h, struct hotspot_blob *b, const char *name)
{
	const uint8_t *p = b->head;
	const size_t n = b->nhead;
	const int64_t words = (int32_t)get(h, p, n, HOTSPOT_BLOB_FRAME_SIZE, 4);
	const bool is_new = has(h, HOTSPOT_BLOB_CODE);
	const int64_t complete =
		is_new ? (int16_t)get(h, p, n, HOTSPOT_BLOB_COMPLETE, 2)
		       : (int32_t)get(h, p, n, HOTSPOT_BLOB_COMPLETE, 4);

	b->end = b->start + (uint32_t)get(h, p, n, HOTSPOT_BLOB_SIZE, 4);
	if (is_new) {
		b->code = b->start + get(h, p, n, HOTSPOT_BLOB_CODE, 4);
		b->code_end = b->start + get(h, p, n, HOTSPOT_BLOB_DATA, 4);
	} else {
		b->code = get(h, p, n, HOTSPOT_BLOB_CODE_BEGIN, 8);
		b->code_end = get(h, p, n, HOTSPOT_BLOB_CODE_END, 8);
	}
	if (b->end <= b->start || b->end - b->start > MAX_HEAP / 16 ||
	    b->code < b->start || b->code_end > b->end || b->code > b->code_end)
		return -ESTALE;
	b->frame = words > 0 && words < 1 << 17 ? (uint64_t)words * 8 : 0;
	b->complete = complete > 0 ? b->code + (uint64_t)complete : 0;
	if (!strcmp(name, "nmethod"))
		b->kind = HOTSPOT_KIND_METHOD;
	else if (!strcmp(name, "native nmethod"))
		b->kind = HOTSPOT_KIND_NATIVE;
	if (b->kind == HOTSPOT_KIND_STUB)
		return 0;
	b->method = has(h, HOTSPOT_METHOD)
	                    ? get(h, p, n, HOTSPOT_METHOD, 8)
	                    : get(h, p, n, HOTSPOT_METHOD_OLD, 8);
	if (b->kind == HOTSPOT_KIND_METHOD)
		find_tables(h, b);
	return b->method ? 0 : -ESTALE;
}

static uint32_t
head_size(const struct hotspot *h)
{
	const uint64_t n = h->tables.size[HOTSPOT_SIZE_NMETHOD];

	return n < HOTSPOT_HEAD ? (uint32_t)n : HOTSPOT_HEAD;
}

static int
read_blob(struct hotspot *h, const struct jit_space *space, uint64_t start,
          struct hotspot_blob *b)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	struct memory_piece p = {.addr = start, .len = head_size(h)};
	char name[NAME_BYTES + 1] = "";
	int rc = memory_read(space->memory, &p, 1, &batch);

	if (rc)
		return rc;
	memcpy(b->head, p.p, p.got);
	b->nhead = p.got;
	b->start = start;
	p = (struct memory_piece){
		.addr = get(h, b->head, b->nhead, HOTSPOT_BLOB_NAME, 8),
		.len = NAME_BYTES};
	rc = memory_read(space->memory, &p, 1, &batch);
	if (rc)
		return rc;
	memcpy(name, p.p, p.got);
	rc = parse(h, b, name);
	if (!rc && b->kind == HOTSPOT_KIND_STUB)
		rc = hotspot_keep_name(space, name, &b->function);
	return rc;
}

/* True if a head still describes the same code. Counters and marks within it
 * change. */
static bool
is_same(const struct hotspot *h, const struct hotspot_blob *b, const uint8_t *p,
        size_t n)
{
	static const struct {
		enum hotspot_field field;
		size_t size;
	} parts[] = {
		{HOTSPOT_BLOB_NAME, 8},  {HOTSPOT_BLOB_SIZE, 4},
		{HOTSPOT_COMPILE_ID, 4}, {HOTSPOT_METHOD, 8},
		{HOTSPOT_METHOD_OLD, 8}, {HOTSPOT_IMMUTABLE, 8},
	};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (get(h, p, n, parts[i].field, parts[i].size) !=
		            get(h, b->head, b->nhead, parts[i].field,
		                parts[i].size) &&
		    (b->kind != HOTSPOT_KIND_STUB || i < 2))
			return false;
	return n == b->nhead;
}

/* Reads the blob at an address that no kept blob holds. */
static int
find(struct hotspot *h, const struct jit_space *space, uint64_t pc,
     struct hotspot_blob **out)
{
	const struct hotspot_heap *heap = heap_of(h, pc);
	struct hotspot_blob *b;
	uint64_t start;
	int rc = 0;

	if (!jit_may_look(space))
		return -ESTALE;
	if (!heap && space->now_ns - h->heaps_ns >= JIT_ATTACH_NS) {
		rc = hotspot_heaps(h, space);
		heap = heap_of(h, pc);
	}
	if (rc || !heap)
		return rc ? rc : -ENOENT;
	rc = find_start(h, space, heap, pc, &start);
	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	rc = read_blob(h, space, start, b);
	if (!rc && (pc < b->start || pc >= b->end))
		rc = -ENOENT;
	b->serial = ++h->serial;
	if (!rc)
		rc = add(h, b);
	if (rc) {
		free(b);
		return rc;
	}
	*out = b;
	return 0;
}

int
hotspot_blob(struct hotspot *h, const struct jit_space *space, uint64_t pc,
             struct hotspot_blob **out)
{
	uint32_t i = position(h, pc);
	int rc;

	if (i < h->nblobs && h->blobs[i]->start <= pc) {
		struct hotspot_blob *b = h->blobs[i];
		uint8_t head[HOTSPOT_HEAD];

		if (b->stale &&
		    (!jit_may_look(space) ||
		     memory_copy(space->memory, b->start, head, b->nhead) ||
		     !is_same(h, b, head, b->nhead))) {
			drop(h, i);
		} else {
			b->stale = false;
			b->used = true;
			*out = b;
			return 0;
		}
	}
	rc = find(h, space, pc, out);
	if (!rc)
		(*out)->used = true;
	return rc;
}

int
hotspot_blob_bytes(struct hotspot *h, const struct jit_space *space,
                   struct hotspot_blob *b)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	const uint64_t code = b->code_end - b->code;
	struct memory_piece p[] = {
		{.addr = b->code,
	         .len = code < HOTSPOT_MAX_PIECE ? (uint32_t)code
	                                         : HOTSPOT_MAX_PIECE},
		{.addr = b->pcs, .len = b->npcs},
		{.addr = b->scopes, .len = b->nscopes},
		{.addr = b->metadata, .len = b->nmetadata},
	};
	uint32_t *const got[] = {&b->ncode, &b->got_pcs, &b->got_scopes,
	                         &b->got_metadata};
	uint8_t *to;
	int rc;

	if (b->bytes)
		return 0;
	if (!jit_may_look(space))
		return -ESTALE;
	rc = memory_read(space->memory, p, ARRAY_LEN(p), &batch);
	if (rc)
		return rc;
	b->ncode = p[0].len;
	b->bytes = to = calloc(1, (size_t)b->ncode + b->npcs + b->nscopes +
	                                  b->nmetadata + 1);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		if (p[i].got)
			memcpy(to, p[i].p, p[i].got);
		to += p[i].len;
		if (i)
			*got[i] = p[i].got;
	}
	h->bytes += (size_t)(to - b->bytes);
	return 0;
}

void
hotspot_refresh(struct hotspot *h, const struct jit_space *space)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	CLEANUP_FREE struct memory_piece *p = NULL;

	if (h->full || h->bytes > HOTSPOT_MAX_BYTES)
		hotspot_clear(h);
	if (space->now_ns - h->checked_ns < JIT_AGE_NS)
		return;
	h->checked_ns = space->now_ns;
	hotspot_methods_refresh(h, space);
	p = calloc(h->nblobs + 1, sizeof(*p));
	for (uint32_t i = 0; i < h->nblobs; i++) {
		h->blobs[i]->stale = true;
		if (p && h->blobs[i]->used)
			p[i] = (struct memory_piece){.addr = h->blobs[i]->start,
			                             .len = h->blobs[i]->nhead};
		h->blobs[i]->used = false;
	}
	if (!p || memory_read(space->memory, p, h->nblobs, &batch))
		return;
	for (uint32_t i = h->nblobs; i--;) {
		if (!p[i].len)
			continue;
		h->blobs[i]->stale = false;
		if (!is_same(h, h->blobs[i], p[i].p, p[i].got))
			drop(h, i);
	}
}
