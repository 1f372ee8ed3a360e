/*
 * Marks: files and offsets where probers inserted probes, and may have left
 * breakpoints. They are cleared once no prober or repair is left.
 *
 * They are in a journal in shared memory (opener_journal.h), so they outlive
 * the worker. Without a journal, as when another worker has it, they end with
 * the opener.
 */
#pragma once

#include "capture/allocs.h"
#include "opener_journal.h"

#define MARKS_MAX     256 /* files; more replace the oldest */
#define MARKS_JOURNAL "probes"

struct mark {
	uint64_t device, inode; /* 0: unused */
	uint32_t n, reserved;
	struct mark_place {
		uint64_t offset, counter; /* as in struct allocs_place */
	} places[ALLOCS_MAX_PLACES];
};

struct marks {
	char boot_id[BOOT_ID];
	uint64_t next; /* row */
	struct mark all[MARKS_MAX];
};

/*
 * Opens the journal, and empties it if it is of another boot. Returns NULL
 * without memory. *out_rc is why there is no journal, or 0.
 *   Owns     the marks and the journal's lock last until the process ends;
 *            its children have neither
 */
struct marks *marks_open(const char *state_dir, int *out_rc);
/* Returns a copy for a child, to be freed by free(); NULL without memory. */
struct marks *marks_copy(const struct marks *m);
bool marks_any(const struct marks *m);
/* Shape: n is at most ALLOCS_MAX_PLACES. Errors: -errno the file can't be
 * examined */
MUST_CHECK int marks_add(struct marks *m, int file, uint32_t n,
                         const struct allocs_place *places);
void marks_clear(struct marks *m);
/* Removes breakpoints that were left at the marks: looks at the mapped files of
 * all processes.
 *   Errors   -errno some places could not be tried. A place that is gone
 *            is not a failure */
MUST_CHECK int marks_repair(const struct marks *m, const struct allocs *with);
