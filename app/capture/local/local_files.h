/* The files of this machine, for the modules of capture/local. */
#pragma once

#include "capture/local.h"

#include "capture/elf/elf.h"
#include "capture/host.h"
#include "capture/symbols/symtab.h"

struct local_image {
	struct elf_image *elf, *debug; /* NULL: none */
	struct unwind_table *table;    /* NULL: none, or not needed yet */
	bool tabled;                   /* table was looked for */
};

/* Finds the file of a mapping; elf is NULL if there is none. Returns NULL when
 * out of memory. */
struct local_image *
local_image(struct local_files *f, const char *path, const char *build_id);
/* Returns the functions of the kernel; NULL: it is not known to be the one with
 * this build-id, or its addresses are secret. */
const struct symtab *local_kernel(struct local_files *f, const char *build_id);
/* Finds debug files for the modules of capture/symbols. */
const struct host *local_host(const struct local_files *f);
