/* Drops root privileges, so that new files in a directory belong to its
 * owner. */
#pragma once

#include "base/cleanup.h"

/*
 * If root runs this program, switches to the user and group of dir. A database
 * created by root would not be accessible to the API.
 *   Errors   -errno
 */
MUST_CHECK int become_owner(const char *dir);
