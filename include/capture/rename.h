/*
 * Names for the functions of a stored profile: of a capture, from debug files
 * that came to the host later or that a client pushed; of an upload, from files
 * of the host, too.
 *
 * A profile keeps the build-id and address of each frame without a name. Once
 * the host has a debug file with that build-id, all functions of the module are
 * looked up again, since the file also has inlined calls and lines; a pushed
 * file names those that have no name. Samples keep their rows.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/profile.h"

struct elf_image;
struct rename_pushed;
struct symtab;

/* The source of the names of a mapping's functions; all is borrowed. */
struct rename_source {
	const struct elf_image *elf;   /* a program, library or debug file */
	const struct elf_image *debug; /* the debug file of elf, or NULL */
	uint64_t bias; /* from addresses to those of elf; see elf_bias() */
	const struct symtab *kernel;  /* or else the kernel's table, addresses
	                                counting from its first function; or
	                                NULL */
	struct rename_pushed *pushed; /* of the file, if elf was pushed; else
	                                 NULL */
};

struct rename_ask {
	const struct host *host; /* finds files that debug files share */
	struct symbols_cache *symbols;
	/* Finds the source of a mapping. False: it keeps the names it has. */
	bool (*find)(void *arg, const struct profile *p, uint32_t mapping,
	             struct rename_source *out);
	void *arg;
	bool keeps_rows;  /* two samples must not become one */
	bool keeps_names; /* frames that have names keep them */
};

/* Marks mappings that have a location without a name: wanted[in->nmappings]. */
void rename_wanted(const struct profile *in, bool *wanted);
/*
 * Finds how far addresses of a mapping are from those of the image. A profile
 * of Stoker has the addresses of the image itself.
 *   Errors   -ENOENT the image has no code at that place
 */
MUST_CHECK int rename_bias(const struct elf_image *elf, const struct mapping *m,
                           uint64_t *out);

/*
 * Builds the profile anew, with names.
 *
 *   Shape    only frames, symbolized and modules (those with a source) of
 *            *quality are set
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENOMEM, -E2BIG; -EINVAL samples would lose their rows; *out
 *            untouched
 */
MUST_CHECK int rename_by(const struct rename_ask *ask, const struct profile *in,
                         struct profile **out, struct quality *quality);
/* A debug file that a client pushed, which is not trusted. */
struct rename_pushed {
	const char *wanted;   /* build-id of the mappings that it may name */
	const char *build_id; /* one that it must have */
	int fd;               /* borrowed */
	bool used, refused;   /* results: it named a frame; it has another
	                         build-id, or names no function */
};

/* Sources of names, besides the host's debug files. */
struct rename_files {
	const int32_t *pids; /* processes; RENAME_MAX_PIDS are read */
	uint32_t npids;
	struct rename_pushed *pushed;
	uint32_t npushed;
};
#define RENAME_MAX_PIDS 64

/*
 * Opens the pushed file for mappings with a build-id; NULL without one.
 *   Owns     the result is the caller's; elf_free() it. *from is borrowed
 */
struct elf_image *
rename_open_pushed(const struct rename_files *files, const char *wanted,
                   struct rename_pushed **from);
typedef int
rename_function(const struct host *host, struct symbols_cache *symbols,
                const struct rename_files *files, const struct profile *in,
                struct profile **out, struct quality *quality);
/*
 * As rename_by(), from the host's debug files and pushed ones.
 *
 *   Shape    in is a capture as it was stored. Its timeline refers to samples
 *            by their numbers, so each sample keeps its number
 */
MUST_CHECK rename_function rename_profile;
/*
 * Names the frames without a name in a profile from elsewhere, which is not
 * trusted. Files are found by build-id only, among the host's debug files and
 * those that the processes run, if these have debug information, then those
 * that were pushed. Mappings without build-ids are named if they are those of
 * one of the processes.
 *
 *   Shape    in quality, frames and symbolized count the locations of stacks
 */
MUST_CHECK rename_function rename_upload;
