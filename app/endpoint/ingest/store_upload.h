/*
 * Makes sessions of profiles that come from elsewhere.
 */
#pragma once

#include "endpoint/call.h"
#include "endpoint/call/multipart.h"
#include "importer/importer.h"
#include "profile/import.h"

/* Facts about a profile to store; strings are borrowed. */
struct taken {
	const char *service, *type;
	const char *format;  /* format of the upload */
	const char *notes;   /* a line each, of profile_import() */
	double rate;         /* 0: from the profile's period */
	int64_t started_ms;  /* 0: from the profile, else now */
	int64_t duration_ms; /* used when the profile has none */
};

/* Returns the limits of [upload], for one import. */
struct import_limits taken_limits(struct call *c);
typedef int
taken_part(void *arg, const struct importer_part *of, struct profile **made);
/*
 * Reads a file in an importer, and calls part() for each profile in it. The
 * call becomes heavy if the file turns out to need it.
 *   Errors   of importer_read() but for -EAGAIN; for taken_refuse()
 */
MUST_CHECK int taken_read(struct call *c, enum importer_task task,
                          const struct import_ask *is, const struct part *file,
                          taken_part *part, void *arg, struct buf *why);
/* Refuses a body that can't be read: 400, 413, 415, 422. */
int taken_refuse(struct call *c, int rc, const char *why);
/*
 * Finds when a profile was taken, if that is plausible.
 *   Shape    *start_ms is 0 when unknown
 */
void taken_times(const struct taken *t, const struct profile *p,
                 int64_t *start_ms, int64_t *length_ms);
/*
 * Stores a profile as a completed session, with its audit line.
 *   Errors   -1 with the reply, as call_begin()
 */
MUST_CHECK int taken_store(struct call *c, const struct taken *t,
                           const struct profile *p, char out[static ID_MAX]);
