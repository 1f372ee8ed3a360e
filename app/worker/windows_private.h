/* What the files about windows share. */
#pragma once

#include "windows.h"

struct watch *windows_find(struct windows *w, const char *id);
/* Stores what waits; 0 also when nothing does. */
MUST_CHECK int windows_store(struct windows *w, int64_t now_ns);
/* Tells the analyser to end it. */
void windows_unwatch(const struct windows *w, struct watch *v);
