/* What the files about windows share. */
#pragma once

#include "watches.h"

struct watch *windows_find(struct windows *w, const char *id);
/* Stores what waits; 0 also when nothing does. */
MUST_CHECK int windows_store(struct windows *w, int64_t now_ns);
/* Says that it fails, or does no longer, when that is news. */
void
windows_tell_watch(struct windows *w, struct watch *v, enum capture_error e);
/* Tells the analyser to end it. */
void windows_unwatch(const struct windows *w, struct watch *v);
