/*
 * Opens files by their places. A place (O_PATH) is looked at first: even
 * opening a device or a pipe may have effects.
 */
#pragma once

#include "base/cleanup.h"

/*
 * Opens the file of a place for reading, if it is a regular one.
 *   Owns     *out is the caller's; place stays the caller's
 *   Errors   -EINVAL not a regular file, -EFBIG past HOST_MAX_FILE, -errno
 */
MUST_CHECK int opener_reopen(int place, int *out);
