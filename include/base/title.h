/*
 * The name that people know a process by: its unit, the script that its
 * interpreter runs, or its program.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* The titles that are the outermost frames of the stacks of a capture. */
enum titles {
	TITLES_NONE,
	TITLES_OF_PROCESSES,
	TITLES_WITH_KERNEL, /* likewise, and CPU time of threads that run
	                       only in the kernel counts, too */
	TITLES
};

/* Facts about a process; "" if unknown. */
struct title_facts {
	const char *unit;
	const char *exe;     /* path of its program */
	const char *command; /* words joined by spaces */
};

/* Returns the language by the name of the interpreter, or "". */
const char *title_language(const char *exe);
/* True for the unit of a service, rather than of a login or a manager. */
bool title_is_unit(const char *unit);
/* Returns the length of the first two words of the command if the second one is
 * a script for an interpreter; else 0. */
size_t title_script(const struct title_facts *f);
/* Appends the name of the unit, script or program; paths are whole. */
void title_put(const struct title_facts *f, struct buf *out);
