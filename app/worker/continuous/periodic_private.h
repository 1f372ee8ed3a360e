/*
 * Helpers of the files about periodic profiles.
 */
#pragma once

#include "periodic.h"

/* Delay after a failure that is likely to last. */
#define PERIODICS_RETRY_NS (10 * 60 * NS_PER_S)

#define NO_PERIODIC ((struct periodic){.fd = -1, .reading = -1})

/* Makes v idle until its next turn. */
void periodic_rest(const struct periodics *t, struct periodic *v);
/* Records in the store that v fails or works again, when that changes. */
void
periodic_report(struct periodics *t, struct periodic *v, enum capture_error e);
/* Returns the time of the first turn, at v's own second of the period. */
int64_t periodic_first_time(const struct periodic *v, int64_t now_ns);

/* --- programs that are made to count -------------------------------------- */

/* Has the opener keep v's processes counting, for a limited time. */
MUST_CHECK int periodic_keep(struct periodics *t, struct periodic *v,
                             const struct targets *targets);
/* Lets v's processes stop counting. */
void periodic_keep_end(struct periodics *t, struct periodic *v);
/* Renews periodic_keep() for all that keep processes counting. */
void periodics_keep(struct periodics *t, const struct targets *targets,
                    int64_t now_ns);

/* --- readings ------------------------------------------------------------- */

/* Forgets the reading: the next one gives no window. */
void periodic_forget(struct periodic *v);
/* Forgets a reading that is so old that its window would be too wide to be
 * useful. */
void
periodic_forget_old(struct periodics *t, struct periodic *v, int64_t now_ns);
/* Keeps a reading, at which the next window starts. Owns: fd is taken. */
MUST_CHECK enum capture_error
periodic_reading(struct periodics *t, struct periodic *v, int fd,
                 int64_t now_ns);
/* Returns how many ms ago the processes of services were looked up. */
uint32_t periodic_known_ms(const struct periodics *t, int64_t now_ns);
/* Keeps a reading without processes, so that processes that start later are
 * counted from their start. */
MUST_CHECK int
periodic_nobody(struct periodics *t, struct periodic *v, int64_t now_ns);
