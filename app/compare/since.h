/* Since when the functions that a comparison lists cost more or less. */
#pragma once

#include "compare/compared.h"

/*
 * Looks for shifts from the beginning of the base to the end of the comparison,
 * and records those that explain the verdict. Nothing is noted when the sides
 * belong to different services, when they overlap, or when looking fails or
 * takes too long.
 */
void since_find(struct compared *x);
