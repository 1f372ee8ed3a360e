/*
 * What the functions at one address turned out to be, as a piece of the
 * cache: for whoever looks it up again, tables and DWARF stay closed.
 *
 *	struct answer | struct answer_frame[n] | texts, each ended by a NUL
 */
#pragma once

#include "symbols.h"

/* False: it is no answer. Texts point into the piece. */
MUST_CHECK bool answer_open(const struct symbols_piece *p,
                            struct sym_frame *out, size_t max, size_t *n);
/* Poisons out when there is no memory. */
void answer_write(const struct sym_frame *frames, size_t n, struct buf *out);
