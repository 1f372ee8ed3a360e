/*
 * Finds the package that a Go function's name starts with.
 */
#pragma once

#include <stddef.h>

/*
 * Returns the length of the package path in name; 0 if name is not a Go
 * function.
 *
 *   Shape    file is the function's source file. If it is unknown (""), only
 *            names that no other language has are taken for Go's
 *   Source   cmd/compile writes path "." symbol, with '.' in the last part of a
 *            path escaped as %2e: cmd/internal/objabi, PathToPrefix
 */
size_t package_len(const char *name, const char *file);
