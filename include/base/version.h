/* The release, and the commit that it was built from: "0.1.0", or
 * "0.1.0+20261127.1751.g422a0be" in a git checkout, where later commits have
 * higher versions, as packages need. */
#pragma once

#define VERSION_MAX 64 /* bytes, with the name of a program before it */

/* In no archive, since it changes with each commit: programs link the file that
 * the Makefile makes, tests have one that stays. */
extern const char stoker_version[];
