/*
 * Functions of Java's frames. For compiled code, a table lists the methods that
 * were inlined at each address at which the method may be left.
 *
 *   Source   OpenJDK src/hotspot/share/code/pcDesc.hpp, scopeDesc.cpp,
 *            debugInfoRec.cpp
 */
#include "hotspot.h"

#include "base/rows.h"

#include <errno.h>

/* Finds the scope at an address: that of the next row of the table. 0: none. */
static uint32_t
find_scope(const struct hotspot *h, const struct hotspot_blob *b, uint64_t pc,
           bool leaf)
{
	const uint8_t *rows = b->bytes + b->ncode;
	const size_t size = h->tables.size[HOTSPOT_SIZE_PC_DESC];
	const int64_t at = (int64_t)(pc - b->code);
	const size_t n = size ? b->got_pcs / size : 0;
	size_t low = ROWS_WHILE(
		n, i,
		(int32_t)hotspot_get(rows + i * size, size,
	                             h->tables.field[HOTSPOT_PC_OFFSET],
	                             4) < at + !leaf);

	if (low >= n)
		return 0;
	return (uint32_t)hotspot_get(rows + low * size, size,
	                             h->tables.field[HOTSPOT_PC_SCOPE], 4);
}

static int
method_place(struct hotspot *h, const struct jit_space *space, uint64_t method,
             uint32_t bci, uint64_t *out)
{
	struct hotspot_method *m;
	int rc = hotspot_method(h, space, method, &m);

	if (!rc)
		*out = interp_place(m->function, bci < m->code_size ? bci : 0);
	return rc;
}

/* Follows the scopes of an address to the compiled method. */
static int
scope_places(struct hotspot *h, const struct jit_space *space,
             const struct hotspot_blob *b, uint32_t scope, uint64_t *out,
             size_t *n)
{
	const uint8_t *scopes = b->bytes + b->ncode + b->npcs,
		      *metadata = scopes + b->nscopes;
	const bool offset = h->tables.major >= 20;
	int rc = 0;

	*n = 0;
	while (scope && *n < JIT_MAX_PLACES && !rc) {
		uint32_t sender, index, bci;
		size_t at = scope;
		uint64_t method;

		if (!hotspot_number(scopes, b->got_scopes, offset, &at,
		                    &sender) ||
		    !hotspot_number(scopes, b->got_scopes, offset, &at,
		                    &index) ||
		    !hotspot_number(scopes, b->got_scopes, offset, &at, &bci))
			return -ESTALE;
		if (!index || index > b->got_metadata / 8 || sender >= scope)
			return -ESTALE;
		method = hotspot_get(metadata, b->got_metadata,
		                     (uint64_t)(index - 1) * 8, 8);
		rc = method_place(h, space, method, bci - 1, &out[*n]);
		*n += !rc;
		scope = sender;
	}
	return rc;
}

static int
read_places(struct hotspot *h, const struct jit_space *space,
            struct hotspot_blob *b, uint64_t pc, bool leaf, uint64_t *out,
            size_t *n)
{
	uint32_t scope = 0;
	int rc;

	if (b->kind == HOTSPOT_KIND_STUB) {
		out[0] = interp_place(b->function, 0);
		*n = 1;
		return 0;
	}
	if (b->kind == HOTSPOT_KIND_METHOD && !hotspot_blob_bytes(h, space, b))
		scope = find_scope(h, b, pc, leaf);
	if (scope && !scope_places(h, space, b, scope, out, n) && *n)
		return 0;
	rc = method_place(h, space, b->method, UINT32_MAX, &out[0]);
	*n = !rc;
	return rc;
}

/* Caches the places of an address. */
static void
keep(struct hotspot *h, uint32_t spot, uint32_t serial, const uint64_t *places,
     size_t n)
{
	if (ROWS_ROOM(h->places, h->places_cap, h->nplaces, n))
		return;
	memcpy(h->places + h->nplaces, places, n * sizeof(*places));
	h->spots[spot] = (struct hotspot_spot){serial, h->nplaces, (uint32_t)n};
	h->nplaces += (uint32_t)n;
}

static int
compiled_names(struct hotspot *h, const struct jit_space *space,
               struct hotspot_blob *b, uint64_t pc, bool leaf, uint64_t *out,
               size_t *n)
{
	const uint32_t serial = b->serial;
	const struct hotspot_spot *s;
	uint32_t spot;
	int rc = pairs_intern(&h->spot_keys, leaf, pc, &spot);

	h->full |= rc == -E2BIG || h->nplaces > HOTSPOT_MAX_SPOTS * 4;
	if (!rc)
		rc = ROWS_REACH(h->spots, h->spots_cap, spot);
	if (rc)
		return rc;
	s = &h->spots[spot];
	if (s->serial == serial) {
		*n = s->n;
		memcpy(out, h->places + s->first, *n * sizeof(*out));
		return 0;
	}
	rc = read_places(h, space, b, pc, leaf, out, n);
	if (!rc)
		keep(h, spot, serial, out, *n);
	return rc;
}

int
hotspot_names(void *runtime, const struct jit_space *space, uint64_t pc,
              uint64_t detail, uint64_t *out, size_t *n)
{
	struct hotspot *h = runtime;
	struct hotspot_blob *b;
	int rc;

	if (detail == HOTSPOT_CALL) {
		*out = interp_place(h->call_stub_function, 0);
		*n = 1;
		return 0;
	}
	if (detail >= HOTSPOT_DETAILS) {
		*n = 1;
		return method_place(h, space, detail >> HOTSPOT_BCI_BITS,
		                    (uint32_t)detail &
		                            ((1 << HOTSPOT_BCI_BITS) - 1),
		                    &out[0]);
	}
	rc = hotspot_blob(h, space, pc, &b);
	return rc ? rc
	          : compiled_names(h, space, b, pc, detail == HOTSPOT_LEAF, out,
	                           n);
}
