/*
 * The programs and libraries that followed processes run, each opened once.
 *
 * A file is opened when a mapping of it is first seen and kept, so that it can
 * be read after the process, or the file, is gone. It is used only when it is
 * the one that was mapped: same build-id as the kernel reported, else the same
 * first page as in the target's memory, else the same inode. A file that can't
 * be opened stays as a module with a name and no image. Separate debug files
 * are opened at once as well: a file in the target's root vanishes with the
 * target, and may describe frames.
 */
#pragma once

#include "base/clock.h"
#include "capture/contexts/query.h"
#include "capture/contexts/thread_tls.h"
#include "capture/elf/elf.h"
#include "capture/host.h"
#include "capture/interp/interp_codes.h"
#include "capture/jit/jit.h"
#include "capture/unwind/unwind.h"
#include "maps.h"
#include "place.h"

#include <sys/stat.h>

#define MODULES_MAX        4096
#define MODULES_MAX_TRIES  3 /* to open a file */
#define MODULES_MAX_ANSWER 4 /* processes through which a file is tried */
#define MODULES_MAX_CPU    (3 * NS_PER_S) /* to open a process's files, */
#define MODULES_CPU_SHARE  16 /* and this fraction (1/N) after that */
#define MODULES_MAX_TABLES ((size_t)128 << 20) /* for its unwind tables */
#define MODULES_SPENDERS   256

/* Modules without a file. */
enum {
	MODULE_KERNEL,
	MODULE_UNKNOWN,
	MODULE_TRUNCATED,
	MODULE_LOCK,      /* the address of a lock */
	MODULE_WAIT,      /* what a thread waits for: wait_names.h */
	MODULE_TITLE,     /* whose stack it is: process_title.h */
	MODULE_CONTEXT,   /* what it works for: recorder/context_rows.h */
	MODULE_LANGUAGES, /* one per interpreter: its functions */
	/* One per runtime: functions compiled at run time. */
	MODULE_JITS = MODULE_LANGUAGES + LANGUAGES,
	MODULE_FIRST = MODULE_JITS + JITS
};

struct module {
	char *path; /* as the target sees it; "[kernel]", ... */
	uint32_t build_id_size;
	uint8_t build_id[HOST_BUILD_ID]; /* as reported by the kernel */
	uint64_t inode;
	uint32_t major, minor;
	int32_t pid;           /* for generated code: its process; else 0 */
	struct maps stretches; /* of such code: adjacent mappings as one */
	bool described;        /* capture/jit or, if elf is set, the process
	                          describes such code: no perf map is needed */
	const char *guest;     /* name of such code if only a map has its
	                          names (jit.h); or NULL */
	bool is_32;            /* a 32-bit program or library: not read */
	bool replaced;         /* elf is no longer the file at path */
	bool guessed;          /* addresses in it count from the start of the
	                          file, for want of an image */
	bool outdated;         /* it has such addresses; another row has the
	                          image: set_apart() */
	uint32_t tries;
	int32_t opened_by;           /* process that elf was opened through */
	struct timespec changed;     /* of the file when opened */
	struct elf_image *elf;       /* NULL: not read */
	bool copied;                 /* elf is a copy: HOST_FILE, */
	bool from_memory;            /* or what a process has in memory */
	bool uncopied;               /* a copy of its file would be too large */
	struct elf_image *debug;     /* its separate debug file, or NULL */
	struct elf_image *shared;    /* file in the target's root that these
	                                share entries with, or NULL */
	uint64_t looked_ns;          /* when debug was looked for;
	                                CLOCK_MONOTONIC */
	struct unwind_table *table;  /* NULL: no unwind table */
	int32_t tabled_by;           /* process that it was built for */
	size_t untabled;             /* bytes of a table for which no process
	                                has had room; 0: none */
	const char *symbol_of;       /* modules_symbol() was asked for it, */
	uint64_t symbol;             /* and found this */
	struct interp_image *interp; /* NULL: no interpreter */
	struct jit_image *jit;       /* NULL: compiles nothing at run time */
	struct thread_tls *tls;      /* NULL: defines no context variable */
	struct query_at *query;      /* NULL: not a PostgreSQL server */
	bool allocator_looked; /* the next two were looked for; NULL: none */
	struct allocator *allocator;    /* its allocation functions */
	struct memory_sampler *sampler; /* its static probes for samples */
};

/* True for libstoker-heap.so. */
bool module_is_heap(const struct module *m);

struct modules {
	const struct host *host;
	struct module *rows[MODULES_MAX]; /* NULL: unused */
	uint32_t n;
	struct interp_codes *codes; /* functions of interpreters seen so far */
	struct wait_names *waits;   /* likewise */
	struct place kernel_title;  /* process_title.h */
	/* CPU time spent reading files and code of a process, in the row
	 * chosen by its pid. */
	struct modules_spent {
		int32_t pid;
		int64_t ns, at_ns; /* at: CLOCK_MONOTONIC */
	} spent[MODULES_SPENDERS];
	/* By module: when naming its functions found no debug file; 0: never.
	 * The memory is shared among child processes. */
	int64_t *undebugged_ns;
};

MUST_CHECK int modules_new(const struct host *host, struct modules **out);
void modules_free(struct modules *m);

/*
 * Finds the module of a mapping, and opens its file when the module is new.
 *
 *   Shape    pids[npids] can open the file: the process itself, then others
 *            that share its files, for when it is gone already
 *   Errors   -E2BIG past MODULES_MAX, -ENAMETOOLONG past HOST_MAX_PATH,
 *            -ENOMEM. A file that can't be read gives a module without an
 *            image; so does one of a process whose files took too long to read
 */
MUST_CHECK int
modules_resolve(struct modules *m, const int32_t *pids, size_t npids,
                const struct map_seen *seen, struct map *out);
/*
 * Finds the module of code that a program moved from its file to other memory,
 * such as huge pages, between mappings of that file.
 *
 *   Shape    moved is the mapping with the code, file the mapping of the file
 *            before it; out describes moved
 *   Errors   -ENOENT the file has no code at that place; as modules_resolve()
 */
MUST_CHECK int
modules_resolve_moved(struct modules *m, const int32_t *pids, size_t npids,
                      const struct map_seen *file, const struct map_seen *moved,
                      struct map *out);
/*
 * Charges a process for CPU time besides that of its files; ns may be 0. False
 * if its budget is spent, and it must wait.
 */
bool modules_spend(struct modules *m, int32_t pid, int64_t ns);
/*
 * Adds code that a process has generated and described by an object file. The
 * caller counts the time.
 *
 *   Owns     elf is the module's on success
 *   Errors   -E2BIG past MODULES_MAX, -ENOMEM
 */
MUST_CHECK int modules_describe(struct modules *m, int32_t pid,
                                struct elf_image *elf, uint32_t *out);
/* Returns the vaddr of a variable that is in the dynamic symbols of a module's
 * file or, for a program with few symbols, in its symbol table; 0: none, or
 * the process's budget is spent for now. */
uint64_t modules_symbol(struct modules *m, int32_t pid, uint32_t module,
                        const char *name);
/* Forgets modules that are not in use; their rows are used again. */
void modules_sweep(struct modules *m, const bool in_use[static MODULES_MAX]);
