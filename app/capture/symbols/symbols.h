/*
 * Translates addresses to functions, source lines and inlined calls, by Go's
 * own table if there is one, or else by DWARF and symbol tables.
 *
 * The symbolizer is used once per capture, by a process made for it: its
 * indexes are built when an address first needs them, and are left in the
 * cache. It opens no path. libdw must be expected to fail on hostile DWARF:
 * run this where a crash or unbounded CPU time costs only one capture.
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
	uint32_t line;           /* current line in this function; 0 unknown */
	uint32_t start_line;     /* line of the function's declaration; 0
	                            unknown */
};

/* Makes a symbolizer; the cache is borrowed until symbolizer_free. Returns NULL
 * when out of memory. */
struct symbolizer *symbolizer_new(struct symbols_cache *cache);
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free)
#define CLEANUP_SYMBOLIZER CLEANUP(symbolizer_free_ptr)

/*
 * Adds a module under a number that the caller chooses.
 *
 *   Shape    debug is NULL, or an image for which elf_debug_matches() is 0
 *   Owns     elf and debug are borrowed until symbolizer_free
 *   Errors   -EINVAL module past SYMBOLIZER_MAX_MODULES, -EEXIST, -ENOMEM
 */
MUST_CHECK int
symbolizer_add(struct symbolizer *s, uint32_t module,
               const struct elf_image *elf, const struct elf_image *debug);
/*
 * Adds the file with which the module's debug file shares entries.
 *   Shape    call it before the module's first look-up
 *   Owns     shared is borrowed until symbolizer_free
 */
void symbolizer_share(struct symbolizer *s, uint32_t module,
                      const struct elf_image *shared);
/*
 * Opens files of split DWARF: that of one unit, or the module's .dwp file if
 * name is NULL.
 *   Owns     the caller elf_free()s the result; NULL: there is none
 */
typedef struct elf_image *
symbolizer_open(void *arg, uint32_t module, const char *dir, const char *name);
void symbolizer_split(struct symbolizer *s, symbolizer_open *open, void *arg);
/* True if such a file was missing for an address that was looked up since the
 * last call. */
bool symbolizer_lacked(struct symbolizer *s);
/*
 * Adds the module's unwind table, which bounds functions that have no symbol.
 * It is borrowed until symbolizer_free.
 */
struct unwind_table;
void symbolizer_frames(struct symbolizer *s, uint32_t module,
                       const struct unwind_table *table);
/*
 * Finds the start of the function around vaddr, with or without a name, by the
 * unwind table or by decoding its code.
 *   Errors   false: vaddr is in no code of the module
 */
MUST_CHECK bool symbolizer_function(struct symbolizer *s, uint32_t module,
                                    uint64_t vaddr, uint64_t *start);
/*
 * Finds the functions that run at an address, with inlined calls.
 *
 *   Shape    out[max], innermost inlined function first, the real function
 *            last; returns the number of frames, 0 when nothing is known (show
 *            module+0xoff then)
 *   Units    vaddr: an address of the image: the pc minus elf_bias(). For a
 *            return address pass one byte less, since the call may be the last
 *            instruction of its function
 *   Owns     texts live as long as both the symbolizer and the cache
 */
size_t symbolizer_lookup(struct symbolizer *s, uint32_t module, uint64_t vaddr,
                         struct sym_frame *out, size_t max);
