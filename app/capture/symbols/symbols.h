/*
 * Addresses to functions, source lines and inlined calls, by Go's own table
 * where there is one, else by DWARF and symbol tables.
 *
 * The symbolizer is used once per capture, by a process made for it: its
 * indexes are built when an address first needs them, and are left in the
 * cache. It opens no path. libdw must be expected to fail on hostile DWARF:
 * run this where a crash and unbounded CPU cost one capture only.
 *
 *   Threads  one at a time
 */
#pragma once

#include "capture/elf/elf.h"
#include "symbols_cache.h"

#define SYMBOLIZER_MAX_MODULES 65536

struct symbolizer;

struct sym_frame {
	const char *name;        /* for people: demangled, never "" */
	const char *system_name; /* as in the symbol table or DWARF */
	const char *file;        /* source file; "" unknown */
	uint32_t line;           /* where execution is in this function; 0 */
	uint32_t start_line;     /* where the function is declared; 0 */
};

/* The cache is borrowed until symbolizer_free. NULL: out of memory */
struct symbolizer *symbolizer_new(struct symbols_cache *cache);
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free)
#define CLEANUP_SYMBOLIZER CLEANUP(symbolizer_free_ptr)

/*
 * Names a module by a number of the caller's choice.
 *
 *   Shape    debug: NULL, or an image for which elf_debug_matches() is 0
 *   Owns     elf and debug are borrowed until symbolizer_free
 *   Errors   -EINVAL module past SYMBOLIZER_MAX_MODULES, -EEXIST, -ENOMEM
 */
MUST_CHECK int
symbolizer_add(struct symbolizer *s, uint32_t module,
               const struct elf_image *elf, const struct elf_image *debug);
/*
 * Names the file that the module's debug file shares entries with.
 *   Shape    before the module is first looked up
 *   Owns     shared is borrowed until symbolizer_free
 */
void symbolizer_share(struct symbolizer *s, uint32_t module,
                      const struct elf_image *shared);
/*
 * Names the module's unwind table, which tells where functions lie that no
 * symbol tells of. It is borrowed until symbolizer_free.
 */
struct unwind_table;
void symbolizer_frames(struct symbolizer *s, uint32_t module,
                       const struct unwind_table *table);
/*
 * Where the function around vaddr begins, whether it has a name or not: by the
 * unwind table, or as its code looks.
 *   Errors   false: it is in no code of the module
 */
MUST_CHECK bool symbolizer_function(struct symbolizer *s, uint32_t module,
                                    uint64_t vaddr, uint64_t *start);
/*
 * The functions running at one address.
 *
 *   Shape    out[max], innermost inlined function first, the function that
 *            was really called last; the number of frames is returned: 0
 *            when nothing is known (show module+0xoff then)
 *   Units    vaddr: of the image, the address minus its elf_bias(). Of a
 *            return address look up one byte before it: the call may be
 *            the last instruction of its function
 *   Owns     texts live as long as both the symbolizer and the cache
 */
size_t symbolizer_lookup(struct symbolizer *s, uint32_t module, uint64_t vaddr,
                         struct sym_frame *out, size_t max);
