/*
 * Helpers of the files about watches.
 */
#pragma once

#include "watches.h"

struct watch *windows_find(struct windows *w, const char *id);
/* Stores windows that wait; returns 0 also when there are none. */
MUST_CHECK int windows_store(struct windows *w, int64_t now_ns);
/* Records in the store that a watch fails, or works again,
 * when that changes. */
void
windows_tell_watch(struct windows *w, struct watch *v, enum capture_error e);
/* Tells the analyser to end a watch. */
void windows_unwatch(const struct windows *w, struct watch *v);
