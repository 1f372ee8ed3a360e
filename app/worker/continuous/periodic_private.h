/* What the files about periodic profiles share. */
#pragma once

#include "periodic.h"

/* Before another try of what is not going to work soon. */
#define PERIODICS_RETRY_NS (10 * 60 * NS_PER_S)

#define NO_PERIODIC ((struct periodic){.fd = -1, .reading = -1})

/* Back to idle, until the next time. */
void periodic_rest(const struct periodics *t, struct periodic *v);
/* Says in the store that it fails, or does no longer, when that is news. */
void
periodic_tell(struct periodics *t, struct periodic *v, enum capture_error e);
/* Each has its own second of the period, on every host and start. */
int64_t periodic_first_time(const struct periodic *v, int64_t now_ns);

/* --- what is kept on ---------------------------------------------------------
 */

/* Says which processes are to count what v is of, for a while. */
MUST_CHECK int periodic_keep(struct periodics *t, struct periodic *v,
                             const struct targets *targets);
/* Says that they need not any more. */
void periodic_keep_end(struct periodics *t, struct periodic *v);
/* Says it again, of all of which it was said. */
void periodics_keep(struct periodics *t, const struct targets *targets,
                    int64_t now_ns);

/* --- readings --------------------------------------------------------------
 */

/* What comes next has no window. */
void periodic_forget(struct periodic *v);
/* The same for one that is so old that its window would tell nobody when. */
void
periodic_forget_old(struct periodics *t, struct periodic *v, int64_t now_ns);
/* What counts from now on is to be compared to this; fd is taken. */
MUST_CHECK enum capture_error
periodic_reading(struct periodics *t, struct periodic *v, int fd,
                 int64_t now_ns);
/* How long ago the processes of services were looked up. */
uint32_t periodic_known_ms(const struct periodics *t, int64_t now_ns);
/* None of its processes runs: who begins later counts from then on. */
MUST_CHECK int
periodic_nobody(struct periodics *t, struct periodic *v, int64_t now_ns);
