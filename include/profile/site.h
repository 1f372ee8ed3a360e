/*
 * The site of a stack: its first frame, from the innermost, that is not of an
 * allocator, a lock, a system call or a language's runtime. It names the code
 * that allocates, or that waits. site.def is the table of such frames.
 */
#pragma once

#include <stdbool.h>

/*
 * True for a frame that is not a site. file is the name of the program or
 * library that has the function; "" if unknown.
 */
bool site_skips(const char *function, const char *file);
/*
 * True for a function without a name that an allocator, a lock or a runtime of
 * the same file calls: in a stripped program it is a part of that. Functions of
 * C++ call those of the program.
 */
bool site_is_part(const char *function, const char *caller);
/* True if name equals pattern, or begins like a pattern that ends in "...". */
bool site_matches_rest(const char *pattern, const char *name);
static inline bool
site_matches(const char *pattern, const char *name)
{
	return *pattern == *name && site_matches_rest(pattern, name);
}
