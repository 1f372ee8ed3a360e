/* Since when functions cost more or less. */
#pragma once

#include "compare/compared.h"

/*
 * Looks for shifts from the beginning of the base to the end of the comparison,
 * and records those that explain the verdict. If nothing changed between the
 * sides, looks within the comparison, if it is a range: a program that became
 * slower halfway through differs too much from itself to differ from the base.
 * Nothing is noted when the sides belong to different services, when they
 * overlap, or when looking fails or takes too long.
 */
void since_find(struct compared *x);
