/* Splits names of JIT-compiled code, for fuzzers. */
#pragma once

#include "base/cleanup.h"
#include "capture/symbols/jit_names.h"

#include <stdlib.h>
#include <string.h>

/* Splits a name and reads all of its parts; returns the sum of their lengths
 * and the line. */
static inline size_t
jit_split(const char *name)
{
	CLEANUP_FREE char *text = strdup(name);
	struct jit_name parts;

	if (!text)
		return 0;
	jit_name_split(text, &parts);
	return strlen(parts.name) + strlen(parts.file) + parts.line;
}
