/*
 * Names and stacks of profiles that were taken elsewhere, from files of this
 * machine: for the command line, which reads what its user may read.
 *
 * A file is used for a mapping with a build-id only if it has that build-id.
 * Files that are added are found by build-id, or by their name for mappings
 * without one; others by the path in the profile. Debug files are found where
 * debuggers look for them.
 */
#pragma once

#include "profile/import.h"

struct local_files;

/*
 * Shape    here: the profile was recorded on this machine: mappings without a
 *          build-id belong to the files at their paths, and the kernel is this
 *          one unless its build-id is another. NULL: out of memory
 */
struct local_files *local_files_new(bool here);
void local_files_free(struct local_files *f);
DEFINE_CLEANUP(struct local_files *, local_files_free)
#define CLEANUP_LOCAL_FILES CLEANUP(local_files_free_ptr)
/*
 * Adds a program or library, or all in a folder and those below it.
 *   Errors   -ENOEXEC it is not one, -errno of opening it, -E2BIG, -ENOMEM
 */
MUST_CHECK int local_files_add(struct local_files *f, const char *path);

struct local_stacks;

/* Creates an unwinder for the stacks of a recording; f is borrowed. Returns
 * NULL when out of memory. */
struct local_stacks *local_stacks_new(struct local_files *f);
void local_stacks_free(struct local_stacks *s);
DEFINE_CLEANUP(struct local_stacks *, local_stacks_free)
#define CLEANUP_LOCAL_STACKS CLEANUP(local_stacks_free_ptr)
/* Returns the unwinder in the form that readers of recordings take. */
struct import_unwinder local_unwinder(struct local_stacks *s);

struct local_names {
	uint64_t frames, named;  /* of all samples */
	uint32_t mappings, used; /* mappings of files that lacked names; those
	                            whose file was found */
};
/*
 * Builds a profile anew, with the names of its functions. Frames of mappings
 * that have names stay as they are.
 *
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENOMEM, -E2BIG; *out untouched
 */
MUST_CHECK int local_name(struct local_files *f, const struct profile *in,
                          struct profile **out, struct local_names *found);
