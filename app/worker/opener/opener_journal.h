/*
 * Journals of changes to targets. If the opener is killed, the next opener
 * undoes the changes.
 *
 * The next opener acts on a journal with all its capabilities. So the journal
 * is in a directory to which no other user may write (state_dir of [worker]).
 * The store's directory won't do: the API's user may write there.
 */
#pragma once

#include "base/cleanup.h"

#define BOOT_ID 40

/*
 * Opens a journal in state_dir, or creates it.
 *   Owns     *out is the caller's; it is locked until it is closed
 *   Errors   -EACCES others may have written there; -EWOULDBLOCK another worker
 *            has it; -errno
 */
MUST_CHECK int journal_open(const char *state_dir, const char *name, int *out);
/* Gets the id of this boot. Errors: -errno it cannot be read */
MUST_CHECK int journal_boot_id(char out[static BOOT_ID]);
