/*
 * Walks to files of this host through folders that may be any user's. Only
 * links of root and of this user are followed, and only file systems that
 * cannot block (opener_local.h) are entered.
 */
#pragma once

#include "base/cleanup.h"

struct opener;

/*
 * Opens the root of the nearest ancestor outside the container: the runtime's
 * process that started it, perhaps through an init. It is visible only if
 * processes of the host are.
 *   Errors   -ESRCH no ancestor that is visible has another root, -errno
 */
MUST_CHECK int opener_find_host(struct opener *o);

/*
 * Finds the place (O_PATH) of an absolute path.
 *   Owns     *out is the caller's
 *   Errors   -EINVAL not absolute, or a file system that may block, or whose
 *            files the kernel makes; -ELOOP a link of another user, or too many;
 *            -errno
 */
MUST_CHECK int opener_walk(const struct opener *o, const char *path, int *out);
