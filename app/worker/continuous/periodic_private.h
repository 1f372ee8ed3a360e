/* What the files about takes share. */
#pragma once

#include "periodic.h"

/* Before another try of what is not going to work soon. */
#define TAKES_RETRY_NS (10 * 60 * NS_PER_S)

#define NO_TAKE ((struct take){.fd = -1, .reading = -1})

/* Back to idle, until the next time. */
void take_rest(struct take *v);
/* Says in the store that it fails, or does no longer, when that is news. */
void take_tell(struct takes *t, struct take *v, enum capture_error e);
/* Each has its own second of the period, on every host and start. */
int64_t take_first_time(const struct take *v, int64_t now_ns);

/* --- what is kept on ---------------------------------------------------------
 */

/* Says which processes are to count what v is of, for a while. */
MUST_CHECK int
take_keep(struct takes *t, struct take *v, const struct targets *targets);
/* Says that they need not any more. */
void take_keep_end(struct takes *t, struct take *v);
/* Says it again, of all of which it was said. */
void takes_keep(struct takes *t, const struct targets *targets, int64_t now_ns);

/* --- readings --------------------------------------------------------------
 */

/* What comes next has no window. */
void take_forget(struct take *v);
/* The same for one that is so old that its window would tell nobody when. */
void take_forget_old(struct takes *t, struct take *v, int64_t now_ns);
/* What counts from now on is to be compared to this; fd is taken. */
MUST_CHECK enum capture_error
take_reading(struct takes *t, struct take *v, int fd, int64_t now_ns);
/* How long ago the processes of services were looked up. */
uint32_t take_known_ms(const struct takes *t, int64_t now_ns);
/* None of its processes runs: who begins later counts from then on. */
MUST_CHECK int take_nobody(struct takes *t, struct take *v, int64_t now_ns);
