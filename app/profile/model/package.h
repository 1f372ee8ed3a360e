/*
 * Finds the package that a Go function's name starts with.
 */
#pragma once

#include <stddef.h>

/*
 * Returns the length of the package path in name, 0 when name is no Go
 * function.
 *
 *   Shape    file is the function's source file. When it is unknown, "", only
 *            names that no other language has count
 *   Source   cmd/compile writes path "." symbol, and no '.' in the last part
 *            of a path (there it is %2e): cmd/internal/objabi, PathToPrefix
 */
size_t package_len(const char *name, const char *file);
