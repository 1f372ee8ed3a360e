/*
 * The programs and libraries that followed processes run, each opened once.
 *
 * A file is opened when a mapping of it is first seen and kept, so that it
 * can be read after the process, or the file, is gone. It is used only when
 * it is the one that was mapped: same build-id as the kernel reported, else
 * the same first page as in the target's memory, else the same inode. What
 * can't be had stays as a module with a name and no image. Separate debug files
 * are opened at once as well: one in the target's root is gone with it, and
 * it may describe frames.
 */
#pragma once

#include "capture/elf/elf.h"
#include "capture/host.h"
#include "capture/python/python.h"
#include "capture/unwind/unwind.h"
#include "maps.h"

#include <sys/stat.h>

#define MODULES_MAX        4096
#define MODULES_MAX_TRIES  3 /* to open a file that can't be had */
#define MODULES_MAX_ANSWER 4 /* processes through which it is tried */

/* Modules that no file stands for. */
enum {
	MODULE_KERNEL,
	MODULE_UNKNOWN,
	MODULE_TRUNCATED,
	MODULE_PYTHON,
	MODULE_FIRST
};

struct module {
	char *path; /* as the target sees it; "[kernel]", ... */
	uint32_t build_id_size;
	uint8_t build_id[HOST_BUILD_ID]; /* as the kernel reported it */
	uint64_t inode;
	uint32_t major, minor;
	int32_t pid; /* of memory without a file: whose it is; else 0 */
	uint32_t tries;
	struct timespec changed;     /* of the file when opened */
	struct elf_image *elf;       /* NULL: not read */
	struct elf_image *debug;     /* its separate debug file, or NULL */
	uint64_t looked_ns;          /* for debug; CLOCK_MONOTONIC */
	struct unwind_table *table;  /* NULL: it has none */
	struct python_image *python; /* NULL: it is no interpreter */
};

struct modules {
	const struct host *host;
	struct module *rows[MODULES_MAX]; /* NULL: swept */
	uint32_t n;
	struct python_codes *python; /* functions that were seen */
	/* By module, 0: never. When whoever named its functions found no
	 * debug file of it: children tell each other, so this is shared. */
	int64_t *undebugged_ns;
};

MUST_CHECK int modules_new(const struct host *host, struct modules **out);
void modules_free(struct modules *m);

/*
 * The module of a mapping, opened if need be.
 *
 *   Shape    pids[npids] can open the file: the process itself, then others
 *            that share its files, for when it is gone already
 *   Errors   -E2BIG past MODULES_MAX, -ENOMEM. A file that can't be read is
 *            none: the module is without image
 */
MUST_CHECK int
modules_resolve(struct modules *m, const int32_t *pids, size_t npids,
                const struct map_seen *seen, struct map *out);
/* Forgets those that are not in use; their rows serve others. */
void modules_sweep(struct modules *m, const bool in_use[static MODULES_MAX]);
