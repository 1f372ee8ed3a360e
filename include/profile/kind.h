/*
 * Kinds of frames that a reader rarely wants to see one by one. kind.def is the
 * table of their functions.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of frames: a row of kind.def named NAME is KIND_NAME. */
enum kind {
#define KIND(name, about) KIND_##name,
#include "profile/model/kind.def"
#undef KIND
	KINDS
};
#define KIND_BIT(kind) (UINT32_C(1) << (kind))

struct kind_row {
	const char *name, *about;
};
extern const struct kind_row kind_rows[KINDS];

/*
 * Returns the bits of the kinds that a frame is of. file is the name of the
 * program or library, source the path of the source file; "" if unknown.
 */
uint32_t kinds_of(const char *function, const char *file, const char *source);
/* True for a source file in a language whose functions belong to an interpreter
 * or a runtime, rather than to a mapped file. */
bool kind_is_script(const char *source);
/* Reads a list of names with ; between them. Returns 0, or -EINVAL. */
MUST_CHECK int kinds_parse(const char *text, uint32_t *out);
/* Appends all names, with a text between them. */
void kinds_list(const char *between, struct buf *out);
