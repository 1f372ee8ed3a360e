/* Identifiers by which profiles name an ELF file. */
#pragma once

#include "elf.h"

#define ELF_ID_MAX 512 /* with its NUL */

/*
 * Get an identifier of a file as profiles write it: its build-id in
 * hexadecimal, Go's build ID, or htlhash. "": it has none.
 */
void elf_gnu_id(const struct elf_image *e, char out[static ELF_ID_MAX]);
void elf_go_id(const struct elf_image *e, char out[static ELF_ID_MAX]);
/* Returns -EIO if the file is truncated meanwhile. */
MUST_CHECK int
elf_htlhash(const struct elf_image *e, char out[static ELF_ID_MAX]);
/*
 * True if a file has this identifier: its build-id in hexadecimal, Go's build
 * ID, or the htlhash of OpenTelemetry: the first 16 bytes, in hexadecimal, of
 * SHA-256 over the first and the last 4096 bytes of the file and its length.
 *
 *   Source   cmd/internal/buildid of Go; OpenTelemetry's specification,
 *            profiles/mappings.md
 */
bool elf_has_id(const struct elf_image *e, const char *id);
/* True for a text that may be an identifier other than a build-id. */
bool elf_id_is_other(const char *id);
