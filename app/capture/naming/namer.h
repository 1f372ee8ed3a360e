/*
 * Names the places of a capture: asks for debug files, perf maps and kernel
 * symbols when the first address needs them.
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

#define NAMER_USERS   64
#define NAMER_MAPS_NS (INT64_C(6) * 1000000000) /* for all users */

struct namer {
	const struct modules *modules;
	const struct host *host;
	struct quality *quality; /* of the current capture: modules and notes
	                            are counted there */
	bool patient;            /* a debug file may be up to a minute late */
	struct symbols_cache *cache;
	struct symbolizer *symbolizer;
	struct symtab kernel;
	char *text;           /* memory of the last look-up's names */
	uint32_t locks;       /* looked for in symbol tables so far */
	uint64_t java_age_ns; /* greatest age of a JVM's map; 0: always a new
	                         one */
	bool java_stuck;      /* a JVM did not answer: no other is asked */
	/* CPU time spent on files in which programs describe code that they
	 * generate, and how much of it each user's files took. The last row
	 * counts for all further users. */
	int64_t maps_ns;
	struct namer_user {
		uid_t uid;
		dev_t device; /* of root's files; else 0 */
		int64_t ns, files_ns;
	} users[NAMER_USERS];
	size_t nusers;
	/* Likewise for their programs and debug files; and the limit for all
	 * files but those that root installed. */
	int64_t files_ns, files_max_ns;
	struct namer_module {
		bool known; /* the fields below are as complete as possible */
		struct elf_image *debug;  /* NULL when the module holds it */
		struct elf_image *shared; /* shared by several debug files */
		struct perfmap *perfmap;
		int32_t old_map;          /* pid of a JVM whose map may be out
		                            of date; else 0 */
		struct jitdump *jitdump;  /* looked up before the perf map */
		struct namer_user *owner; /* NULL: root installed the file */
	} * of;                           /* by module */
};

/*
 * Makes a namer, which borrows all arguments; namer_free() it.
 *
 *   Shape    patient: see above; java_age_ns is 0 or an age
 *   Errors   NULL when out of memory
 */
struct namer *namer_new(const struct modules *modules, const struct host *host,
                        struct symbols_cache *cache, struct quality *quality,
                        bool patient, uint64_t java_age_ns);
/* Counts in another capture's quality from now on. */
void namer_count(struct namer *n, struct quality *quality);
void namer_free(struct namer *n);
DEFINE_CLEANUP(struct namer *, namer_free)
#define CLEANUP_NAMER CLEANUP(namer_free_ptr)
/*
 * Finds the functions at a place like symbolizer_lookup(): innermost first, 0
 * when unknown. A function without a name, but with an entry in the unwind
 * tables, is named by the place where it begins, "libc.so.6+0x2a3b0", and has
 * system_name "". Texts are valid until the next look-up.
 */
size_t namer_lookup(struct namer *n, struct place at, struct sym_frame *out,
                    size_t max);
/*
 * Makes one frame for code that namer_lookup() finds no function for, named by
 * its file; generated code also has the start of the contiguous memory that it
 * lies in, as "[anon]+0x7f31c0000000".
 *
 *   Owns     as namer_lookup()
 *   Errors   returns 0 when memory runs out, else 1
 */
size_t namer_unknown(struct namer *n, struct place at, struct sym_frame *out);
/* True for code of the kernel or of a file that was read. A function that has
 * no name there is in no symbol table. */
bool namer_knows_code(const struct namer *n, struct place at);
