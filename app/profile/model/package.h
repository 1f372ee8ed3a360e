/*
 * Finds the package of a frame: the path that a Go function's name starts with,
 * or else the module.
 */
#pragma once

#include "profile/profile.h"

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
/*
 * Returns the package of a frame in a location; "" if unknown.
 *
 *   Shape    name and file are those of the frame's function; file may be "".
 *            The text is valid as long as name and p; its length is in *n
 */
const char *package_of(const struct profile *p, uint32_t location,
                       const char *name, const char *file, size_t *n);
