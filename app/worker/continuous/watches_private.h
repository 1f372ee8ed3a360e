/*
 * Helpers of the files about watches.
 */
#pragma once

#include "watches.h"

struct watch *windows_find(struct windows *w, const char *id);
/* Sends a message that names a watch, or "", to the analyser. */
MUST_CHECK int
windows_send(const struct windows *w, enum msg_type type, const char *id);
/* Has the analyser watch the processes that the last look found. */
void windows_follow(const struct windows *w, struct watch *v,
                    const struct targets *targets, int64_t now_ns);
/* Stores windows that wait; returns 0 if there are none. */
MUST_CHECK int windows_store(struct windows *w, int64_t now_ns);
/* Records in the store that a watch fails or works again, when that changes. */
void
windows_report_watch(struct windows *w, struct watch *v, enum capture_error e);
/* Has the analyser end a watch. */
void windows_unwatch(const struct windows *w, struct watch *v);
