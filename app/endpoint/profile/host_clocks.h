/*
 * Hosts whose clock is wrong: windows have the times of their host.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

#include <stdbool.h>

/* True if a series has windows of a host, or of all hosts. */
bool host_clocks_has(const void *series, const char *host);
/*
 * Appends a note about the first few of a tenant's hosts for which is_meant()
 * is true and whose clock differs from the store's now; nothing if all agree,
 * or if the store cannot be read, since a profile is worth more than the note.
 */
void host_clocks_note(struct store *s, const char *tenant,
                      bool (*is_meant)(const void *arg, const char *host),
                      const void *arg, struct buf *out);
