/*
 * Readable names of C++ and Rust functions.
 *
 * C++ functions are named without parameters, const, ref and clone suffixes,
 * but with all template arguments: "std::sort<int*>". Parameters rarely tell
 * overloads apart in a profile and drown the name in a flame graph; the mangled
 * name stays beside it. Rust loses its hash. The part from an "@" on is kept
 * ("f@plt"). Any other name, such as a C name ("f.constprop.0"), is its own
 * readable name, as in perf.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

/* Longer names are not demangled. Source: libiberty refuses names whose parts
 * could pass its DEMANGLE_RECURSION_LIMIT. */
#define DEMANGLE_MAX_INPUT 1024
#define DEMANGLE_MAX       2048 /* bytes of a result, its NUL included */

/*
 * Writes the readable form; false when name is not a mangled one. A form
 * longer than DEMANGLE_MAX is cut and ends in "...": a short mangled name
 * can stand for gigabytes of text.
 */
MUST_CHECK bool demangle(const char *name, char out[DEMANGLE_MAX]);

/*
 * Remembers demangled names, so that equal names are demangled once.
 *   Threads  one at a time
 */
struct demangle_cache;

struct demangle_cache *demangle_cache_new(void); /* NULL: out of memory */
void demangle_cache_free(struct demangle_cache *c);
/* Returns the readable form of name, or name itself when it is not mangled or
 * memory is short. The result is valid as long as both name and the cache. */
const char *demangle_cached(struct demangle_cache *c, const char *name);
