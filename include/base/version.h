/* The release, and the commit that it was built from: "0.1.0", or
 * "0.1.0+20261127.1751.g422a0be" in a git checkout, where later commits have
 * higher versions, as packages need. */
#pragma once

#define VERSION_MAX 64 /* bytes, with the name of a program before it */

/* Not in an archive, since it changes with each commit: programs link a file
 * that the Makefile writes, tests one that never changes. */
extern const char stoker_version[];
