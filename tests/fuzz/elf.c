/* A hostile ELF image, all of which is read. */
#include "capture/elf/elf_object.h"
#include "capture/probes/allocators.h"
#include "capture/probes/memory_sampler.h"
#include "capture/symbols/symbols.h"
#include "capture/symbols/symtab.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define BASE UINT64_C(0x7f0000000000)

static volatile uint64_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
look_up(struct symbolizer *s, uint64_t vaddr)
{
	struct sym_frame f[16];
	size_t n = symbolizer_lookup(s, 0, vaddr, f, 16);
	uint64_t start;

	for (size_t i = 0; i < n; i++) {
		if (!*f[i].name || !*f[i].system_name)
			abort();
		sink += strlen(f[i].name) + strlen(f[i].system_name) +
		        strlen(f[i].file);
	}
	if (symbolizer_function(s, 0, vaddr, &start) && start > vaddr)
		abort();
}

static void
walk_symbols(const struct elf_image *e)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct symtab t;

	if (symtab_build(e, NULL, &bytes))
		return;
	if (symtab_open(&(struct symbols_piece){bytes.p, bytes.len}, &t))
		abort();
	for (uint32_t i = 0; i < t.n; i++) {
		const char *name = symtab_lookup(&t, t.rows[i].start);

		if (!name || !*name)
			abort();
	}
}

static void
walk_places(const struct elf_image *e)
{
	const struct elf_segment *s;
	uint64_t bias, offset, left, vaddr;
	char byte;

	for (uint32_t i = 0; i < e->nsegments; i++) {
		s = &e->segments[i];
		if (elf_offset_of(e, s->vaddr, &offset, &left) &&
		    (elf_read(e, offset + left - 1, &byte, 1) ||
		     !elf_vaddr_of(e, offset, &vaddr)))
			abort();
		if (!elf_bias(e, BASE, s->offset, PF_X, &bias))
			sink += bias;
	}
}

static void
walk_probes(const struct elf_image *e)
{
	struct memory_sampler s;
	struct allocator a;

	if (!allocator_find(e, &a) && a.n > ALLOCS_MAX_PLACES)
		abort();
	if (!memory_sampler_find(e, &s) && (!s.n || s.n > ALLOCS_MOST_STATIC))
		abort();
}

static int
read_code(void *arg, uint64_t addr, void *out, size_t n)
{
	(void)arg;
	if (addr & 1)
		return -EFAULT;
	memset(out, (int)addr, n);
	return 0;
}

/* The same bytes, as an object file that a program has loaded. */
static void
walk_object(const uint8_t *data, size_t n)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	int rc = elf_open_object(data, n, read_code, NULL, &e);

	if (rc)
		return;
	if (!elf_segment(e, PT_LOAD, 0))
		abort();
	walk_places(e);
	walk_symbols(e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = c ? symbolizer_new(c) : NULL;
	char name[ELF_MAX_NAME];
	uint32_t crc;

	if (!s || elf_open_memory(data, n, &e))
		return 0;
	walk_places(e);
	walk_symbols(e);
	walk_probes(e);
	walk_object(data, n);
	if (!elf_debuglink(e, name, &crc) && !strlen(name))
		abort();
	if (elf_debug_matches(e, e) && e->build_id_size)
		abort();
	if (symbolizer_add(s, 0, e, NULL))
		return 0;
	for (uint32_t i = 0; i < e->nsegments; i++)
		for (uint64_t at = 0; at < 256; at += 7)
			look_up(s, e->segments[i].vaddr + at);
	symbolizer_free(TAKE(s)); /* before the image that it borrows */
	return 0;
}
