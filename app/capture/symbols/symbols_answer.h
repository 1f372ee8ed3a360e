/*
 * The functions at one address, as a piece of the cache: a later look-up needs
 * neither tables nor DWARF.
 *
 *	struct answer | struct answer_frame[n] | texts, each ended by a NUL
 */
#pragma once

#include "symbols.h"

/*
 * Reads an answer, whose texts point into the piece; false if the piece is not
 * an answer.
 */
MUST_CHECK bool
answer_open(const struct symbols_piece *p, struct sym_frame *out, size_t max,
            size_t *n, bool *lacks);
/* Writes an answer; out is poisoned when there is no memory. lacks: a file that
 * may have inlined functions was missing. */
void answer_write(const struct sym_frame *frames, size_t n, bool lacks,
                  struct buf *out);
