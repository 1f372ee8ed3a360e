/*
 * Selects the nodes of a tree to show: the largest.
 */
#pragma once

#include <stdint.h>

/* Returns the number of nodes that a tree has room for, so that the `most`
 * largest are among them. */
uint32_t shown_room(uint32_t most);
/* Moves the largest `most` of n numbers to the front, and returns the smallest
 * of these. */
int64_t shown_least(int64_t *v, uint32_t n, uint32_t most);
