/*
 * Names that JIT compilers give their code, told apart into function and
 * source. What is not of a known kind is a function's name as it stands.
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
	const char *name, *file; /* file: "" unknown */
	uint32_t line;           /* where the function begins; 0 unknown */
};

/*
 * Tells a name apart. The same function compiled by another tier has the
 * same name.
 *
 *   Shape    writes to text, which must not be ""
 *   Owns     *out points into text, or is static
 */
void jit_name_split(char *text, struct jit_name *out);
