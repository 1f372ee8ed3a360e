/*
 * Orders the children of a node by name.
 */
#pragma once

#include "strings.h"

/*
 * Sorts words by their upper halves; words whose upper halves are alike keep
 * their order. room has n words, too.
 */
void words_sort(uint64_t *v, uint32_t n, uint64_t *room);
/*
 * Ranks strings by their bytes.
 *   Shape    (*out_rank)[id] is the rank, (*out_sorted)[rank] the id
 *   Owns     both are the caller's; free() them
 *   Errors   -ENOMEM
 */
MUST_CHECK int names_rank(const struct strings *names, uint32_t **out_rank,
                          uint32_t **out_sorted);
