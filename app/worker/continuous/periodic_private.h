/*
 * Helpers of the files about periodic profiles.
 */
#pragma once

#include "periodic.h"

/* Time before the next try of a capture that will not work soon. */
#define PERIODICS_RETRY_NS (10 * 60 * NS_PER_S)

#define NO_PERIODIC ((struct periodic){.fd = -1, .reading = -1})

/* Back to idle, until the next time. */
void periodic_rest(const struct periodics *t, struct periodic *v);
/* Says in the store that it fails, or does no longer, when that is news. */
void
periodic_tell(struct periodics *t, struct periodic *v, enum capture_error e);
/* Each has its own second of the period, on every host and start. */
int64_t periodic_first_time(const struct periodic *v, int64_t now_ns);

/* --- what is kept on ------------------------------------------------------ */

/* Tells the opener which processes have to count for v, for a limited time. */
MUST_CHECK int periodic_keep(struct periodics *t, struct periodic *v,
                             const struct targets *targets);
/* Tells the opener that they need not count any more. */
void periodic_keep_end(struct periodics *t, struct periodic *v);
/* Says it again, of all of which it was said. */
void periodics_keep(struct periodics *t, const struct targets *targets,
                    int64_t now_ns);

/* --- readings ------------------------------------------------------------- */

/* Forgets the reading: the next one gives no window. */
void periodic_forget(struct periodic *v);
/* Forgets a reading that is so old that its window would be too wide to be of
 * use. */
void
periodic_forget_old(struct periodics *t, struct periodic *v, int64_t now_ns);
/* Keeps a reading, from which the next window starts; fd is taken. */
MUST_CHECK enum capture_error
periodic_reading(struct periodics *t, struct periodic *v, int fd,
                 int64_t now_ns);
/* Returns how long ago the processes of services were looked up. */
uint32_t periodic_known_ms(const struct periodics *t, int64_t now_ns);
/* Keeps a reading without processes: processes that begin later count from
 * their start. */
MUST_CHECK int
periodic_nobody(struct periodics *t, struct periodic *v, int64_t now_ns);
