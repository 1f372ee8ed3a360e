/*
 * What the places of a capture are called: asks for debug files, perf maps
 * and kernel symbols when the first address needs them.
 */
#pragma once

#include "capture/process/modules.h"
#include "capture/process/place.h"
#include "capture/quality.h"
#include "capture/symbols/jitdump.h"
#include "capture/symbols/perfmap.h"
#include "capture/symbols/symbols.h"
#include "capture/symbols/symbols_cache.h"
#include "capture/symbols/symtab.h"

struct namer {
	const struct modules *modules;
	const struct host *host;
	struct quality *quality; /* modules and notes are counted there: of
	                            the capture at hand */
	bool patient;            /* a debug file may be late by a minute */
	struct symbols_cache *cache;
	struct symbolizer *symbolizer;
	struct symtab kernel;
	char *text; /* names of the last look-up that were told apart */
	uint64_t java_age_ns; /* how old a JVM's map may be; 0: not at all */
	bool java;            /* one of them is a JVM */
	bool java_stuck;      /* one did not answer: no more are asked */
	struct namer_module {
		bool known; /* the fields below are what can be had */
		struct elf_image *debug;  /* unless the module has it */
		struct elf_image *shared; /* with other debug files */
		struct perfmap *perfmap;
		int32_t old_map;         /* pid of a JVM that may have more to
		                            tell; else 0 */
		struct jitdump *jitdump; /* asked before the perf map */
	} * of;                          /* by module */
};

/* Owns: all is borrowed; namer_free() it. NULL: out of memory */
struct namer *namer_new(const struct modules *modules, const struct host *host,
                        struct symbols_cache *cache);
void namer_free(struct namer *n);
DEFINE_CLEANUP(struct namer *, namer_free)
#define CLEANUP_NAMER CLEANUP(namer_free_ptr)
/* As symbolizer_lookup: innermost first, 0 when nothing is known. A function
 * that has no name but an entry in the unwind tables is called by where it
 * begins in its file, "libc.so.6+0x2a3b0", and has system_name "".
 *   Owns     texts live until the next look-up */
size_t namer_lookup(struct namer *n, struct place at, struct sym_frame *out,
                    size_t max);
