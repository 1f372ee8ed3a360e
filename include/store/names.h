/*
 * Names of frames that were stored without one: by clients that send addresses
 * and build-ids, such as profilers that do not read symbols, and in windows of
 * programs whose debug files a client pushed later.
 *
 * Windows keep the addresses. The tenant has a row for each address that was
 * pushed without a name, or read in such a window, in modules: places of a
 * file with a build-id. A worker finds the names (worker/captures/naming.h), at
 * once or when files with these build-ids come to its host. They are put in
 * when windows are read (range/names.h), so that sums made before have them,
 * too.
 *
 * The addresses of a program that is not at a fixed address differ between
 * processes; its modules are therefore stored as if they began at NAMES_BASE.
 */
#pragma once

#include "store/store.h"

#define NAMES_BASE        (UINT64_C(1) << 40)
#define NAMES_MOVED_FROM  (UINT64_C(1) << 32) /* lower ones are fixed */
#define NAMES_MAX_MODULES 1000                /* of a tenant */
#define NAMES_MAX_FRAMES  200000              /* likewise */
#define NAMES_MAX_OF_ONE  32768               /* of a module */
#define NAMES_MAX_TEXT    16384 /* bytes of the lines of a frame */
#define NAMES_TRIES       3

/* A place of a file; texts are borrowed. */
struct names_place {
	const char *build_id, *file;
	uint64_t start, limit, offset;
};

/*
 * Returns how much is subtracted from the addresses of a module that starts
 * here before they are stored.
 */
static inline uint64_t
names_shift(uint64_t start)
{
	return start < NAMES_MOVED_FROM ? 0 : start - NAMES_BASE;
}

/* Frames of one module that have no name. */
struct names_wanted {
	struct names_place place;
	const uint64_t *addresses;
	uint32_t n;
};

/*
 * Asks for names of a service's frames; those that were asked for before are
 * unchanged. What exceeds a limit stays without a name.
 *   Errors   those of the store
 */
MUST_CHECK int
names_want(struct store *s, const char *tenant, const char *service,
           const struct names_wanted *w, uint32_t n);

/*
 * Leaves out the addresses for which names were asked before, and sorts the
 * others.
 */
MUST_CHECK int names_leave_asked(struct store *s, const char *tenant,
                                 const struct names_place *place,
                                 uint64_t *addresses, uint32_t *n);

/* Gets a number that changes whenever frames of the tenant get names. */
MUST_CHECK int names_version(struct store *s, const char *tenant, int64_t *out);

/* The frames of a module that have names, in order of address. */
struct names {
	struct names_frame {
		int64_t address;
		char *lines; /* names_line_next() */
	} * items;
	size_t n;
};
#define CLEANUP_NAMES CLEANUP(names_done)
void names_done(struct names *l);
/* Reads the frames; a module that is not there is not an error. */
MUST_CHECK int names_get(struct store *s, const char *tenant,
                         const struct names_place *place, struct names *out);

/* A line of a frame, innermost inlined first. */
struct names_line {
	char *name, *system_name, *file;
	int64_t line, start_line;
};
/* Appends a line to the text of a frame. */
void names_line_put(const struct names_line *l, struct buf *out);
/* Takes the next line off a text, which is cut into strings; false at its
 * end. */
bool names_line_next(char **text, struct names_line *out);

/* --- the worker's side ---------------------------------------------------- */

struct names_module {
	char *id, *tenant, *service, *build_id, *file;
	int64_t start, limit, offset;
};
#define CLEANUP_NAMES_MODULE CLEANUP(names_module_done)
void names_module_done(struct names_module *m);
/*
 * Claims the module that has waited longest of the tenant whose turn it is, and
 * gets its addresses without a name. The turn is that of the next tenant after
 * the one that was served last; "" for none.
 *   Owns     *addresses is the caller's; free() it
 *   Errors   -ENOENT when there is none
 */
MUST_CHECK int
names_claim(struct store *s, const char *host, const char *last,
            struct names_module *out, uint64_t **addresses, uint32_t *n);
/* Ends the work on a module: lines[i] has the names of addresses[i]; NULL or ""
 * if none were found. */
MUST_CHECK int
names_finish(struct store *s, const struct names_module *m,
             const uint64_t *addresses, char *const *lines, uint32_t n);
/*
 * Queues again the modules that a worker left unfinished; returns 0 or -errno.
 */
MUST_CHECK int names_take_over(struct store *s, const char *host);
/*
 * Queues again all modules of the host that lack names, since new files have
 * arrived.
 */
MUST_CHECK int names_again(struct store *s, const char *host);
/*
 * Removes modules that have not been pushed for this long; returns their
 * number.
 */
MUST_CHECK int names_prune(struct store *s, int64_t age_ms);
