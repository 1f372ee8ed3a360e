/*
 * Helpers of the files about watches.
 */
#pragma once

#include "watches.h"

struct watch *watches_find(struct watches *w, const char *id);
/* Sends a message that names a watch, or "", to the analyser. */
MUST_CHECK int
watches_send(const struct watches *w, enum msg_type type, const char *id);
/* Has the analyser watch the processes that the last look found. */
void watches_follow(const struct watches *w, struct watch *v,
                    const struct targets *targets, int64_t now_ns);
/* Stores windows that wait; returns 0 if there are none. */
MUST_CHECK int watches_store(struct watches *w, int64_t now_ns);
/* Records in the store that a watch fails or works again, when that changes. */
void
watches_report_watch(struct watches *w, struct watch *v, enum capture_error e);
/* Has the analyser end a watch. */
void watches_unwatch(const struct watches *w, struct watch *v);
