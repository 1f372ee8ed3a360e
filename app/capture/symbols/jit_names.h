/*
 * Splits names that JIT compilers give their code into function and source. A
 * name of an unknown kind is a function's name.
 *
 *   Source   V8 12, src/logging/log.cc, Logger::CodeCreateEvent: "JS:" (before
 *            V8 10 "LazyCompile:", "Function:"), the tier's mark, the name,
 *            " file:line:column". CPython 3.12,
 *            Python/perf_trampoline.c, perf_map_write_entry:
 *            "py::qualname:file"
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

struct jit_name {
	const char *name, *file; /* file is "" when unknown */
	uint32_t line;           /* first line of the function; 0 unknown */
};

/*
 * Splits a name. A function has the same name in every tier.
 *
 *   Shape    writes to text, which must not be ""
 *   Owns     *out points into text, or is static
 */
void jit_name_split(char *text, struct jit_name *out);
