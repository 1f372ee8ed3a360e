/*
 * Parses copies of CPython's objects.
 *
 *   Source   CPython 3.8 to 3.15: Include/cpython/code.h (3.8:
 *            Include/code.h), Include/cpython/unicodeobject.h; for lines
 *            Objects/lnotab_notes.txt up to 3.10, then Objects/locations.md
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define PYTHON_CODE_BYTES 208 /* bytes read of a code object */
#define PYTHON_MAX_CODE \
	((uint64_t)1 << 20)     /* of instructions, where their
                                                   size is not read */
#define PYTHON_STRING_BYTES 80  /* most bytes of a string before its text */
#define PYTHON_BYTES_HEAD   32  /* of a bytes object before its contents */
#define PYTHON_MAX_TEXT     512 /* bytes; cut there */
#define PYTHON_MAX_LINES    ((size_t)64 << 10) /* bytes of a line table */

enum python_version {
#define PYTHON(minor, ...) PYTHON_3##minor = minor,
#include "python_versions.def"
#undef PYTHON
	PYTHON_VERSIONS
};

/* The layout of a version's frames (enum python_layout), and the offsets of the
 * members of struct PyCodeObject. */
struct python_version_row {
	uint16_t frame, first_line, file, name, lines, begin;
};
extern const struct python_version_row python_versions[PYTHON_VERSIONS];

/* The head of a code object. */
struct python_code_head {
	uint64_t type;              /* address of its type object */
	uint64_t name, file, lines; /* addresses of objects */
	uint64_t begin;             /* offset of the instructions in the
	                               object */
	uint64_t size;              /* and their bytes */
	uint64_t first_line;
};

void python_code_head(const uint8_t p[PYTHON_CODE_BYTES], enum python_version v,
                      struct python_code_head *out);
/*
 * Appends the text of a str as UTF-8.
 *
 *   Shape    p[n] is as much of the object as could be read
 *   Errors   -EBADMSG p can't be a str; out untouched
 */
MUST_CHECK int python_string(const uint8_t *p, size_t n, enum python_version v,
                             struct buf *out);
/* Reads the length of a bytes object; false when p can't be one. */
bool python_bytes_size(const uint8_t *p, size_t n, uint64_t *out);
/*
 * Returns the line of an instruction.
 *   Shape    the first byte of the table is the enum python_version; at counts
 *            instructions, of two bytes each; 0 when there is no line
 */
uint32_t
python_line(const uint8_t *table, size_t n, uint32_t first_line, uint32_t at);
