/* Profiles that come from elsewhere become sessions. */
#pragma once

#include "endpoint/call.h"
#include "profile/import.h"

/* What a profile is stored as; strings are borrowed. */
struct taken {
	const char *service, *type;
	const char *format;  /* it came in */
	double rate;         /* 0: as the profile's period says */
	int64_t started_ms;  /* 0: as the profile says, else now */
	int64_t duration_ms; /* where the profile does not say */
};

/* The limits of [upload]. */
struct import_limits taken_limits(const struct conf *conf);
/* Refuses a body that was not to be read: 400, 413, 415. */
int taken_refuse(struct call *c, int rc, const char *why);
/*
 * When it was taken, as far as that makes sense.
 *   Shape    *start_ms 0: not known
 */
void taken_times(const struct taken *t, const struct profile *p,
                 int64_t *start_ms, int64_t *length_ms);
/*
 * Stores a profile as a session that is complete, with its audit line.
 *   Errors   0; as call_begin()
 */
MUST_CHECK int taken_store(struct call *c, const struct taken *t,
                           const struct profile *p, char out[static ID_MAX]);
