/* Java's HotSpot as a language that compiles at run time. */
#include "hotspot.h"

#include "capture/elf/elf.h"
#include "capture/host/memory.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_INTERPRETER ((uint32_t)64 << 20) /* bytes of its code */

/* Addresses in the image. */
struct image {
	uint64_t symbol[HOTSPOT_SYMBOLS];
};

static int
recognise(const struct elf_image *elf, struct jit_image *out)
{
	struct elf_wanted want[HOTSPOT_SYMBOLS] = {
#define SYMBOL(id, name) [HOTSPOT_SYMBOL_##id] = {name, 0, 0},
#include "hotspot_symbols.def"
#undef SYMBOL
	};
	struct image *image;
	int rc = elf->machine == EM_X86_64
	                 ? elf_find_symbols(elf, SHT_DYNSYM, want,
	                                    HOTSPOT_SYMBOLS)
	                 : -ENOENT;

	for (size_t i = 0; i < HOTSPOT_SYMBOLS && !rc; i++)
		if (!want[i].value)
			rc = -ENOENT;
	if (rc)
		return rc;
	image = malloc(sizeof(*image));
	if (!image)
		return -ENOMEM;
	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++)
		image->symbol[i] = want[i].value;
	out->data = image;
	out->size = sizeof(*image);
	return 0;
}

static void
detach(void *runtime)
{
	struct hotspot *h = runtime;

	if (!h)
		return;
	hotspot_clear(h);
	free(h->blobs);
	free(h->places);
	free(h);
}
DEFINE_CLEANUP(void *, detach)

static int
find_interpreter(struct hotspot *h, const struct memory *m)
{
	const uint64_t *f = h->tables.field;
	uint64_t queue;
	int32_t limit;
	int rc = memory_copy(m, f[HOTSPOT_INTERPRETER], &queue, 8);

	if (!rc && !queue)
		rc = -EAGAIN;
	if (!rc)
		rc = memory_copy(m, queue + f[HOTSPOT_QUEUE_BUFFER],
		                 &h->interpreter, 8);
	if (!rc)
		rc = memory_copy(m, queue + f[HOTSPOT_QUEUE_LIMIT], &limit, 4);
	if (!rc && (!h->interpreter || limit <= 0 ||
	            (uint32_t)limit > MAX_INTERPRETER))
		rc = -EAGAIN;
	if (!rc)
		h->interpreter_end = h->interpreter + (uint32_t)limit;
	return rc;
}

/* Reads an address that only some versions have; 0: none. */
static int
read_optional(const struct hotspot *h, const struct memory *m,
              enum hotspot_field field, uint64_t *out)
{
	return h->tables.field[field] == HOTSPOT_LACKS
	               ? 0
	               : memory_copy(m, h->tables.field[field], out, 8);
}

static int
find_stubs(struct hotspot *h, const struct jit_space *space)
{
	const struct memory *m = space->memory;
	int rc = read_optional(h, m, HOTSPOT_CALL_STUB, &h->call_stub);

	if (!rc)
		rc = read_optional(h, m, HOTSPOT_ENTRY_PC, &h->entry);
	if (!rc && h->tables.field[HOTSPOT_ENTRY_PC] != HOTSPOT_LACKS &&
	    !h->entry)
		rc = -EAGAIN;
	return rc ? rc
	          : hotspot_keep_name(space, "call_stub",
	                              &h->call_stub_function);
}

static int
attach(const struct jit_space *space, void **runtime)
{
	const struct image *image = space->image->data;
	CLEANUP(detach_ptr) void *owned = calloc(1, sizeof(struct hotspot));
	struct hotspot *h = owned;
	uint64_t symbol[HOTSPOT_SYMBOLS];
	int rc;

	if (!h)
		return -ENOMEM;
	hotspot_clear(h);
	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++)
		symbol[i] = image->symbol[i] + space->bias;
	rc = hotspot_tables(space->memory, symbol, &h->tables);
	if (!rc)
		rc = find_interpreter(h, space->memory);
	if (!rc)
		rc = hotspot_heaps(h, space);
	if (!rc)
		rc = find_stubs(h, space);
	h->checked_ns = space->now_ns;
	if (!rc)
		*runtime = TAKE(owned);
	return rc;
}

const struct jit hotspot_jit = {
	.id = JIT_JAVA,
	.recognise = recognise,
	.forget = free,
	.attach = attach,
	.detach = detach,
	.step = hotspot_step,
	.names = hotspot_names,
	.line = hotspot_line,
};
