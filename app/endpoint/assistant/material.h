/* The newest profiles of one type that a text is made from. */
#pragma once

#include "endpoint/call.h"
#include "profile/profile.h"
#include "range/range.h"

struct material {
	const char *type;
	struct range range;     /* planned, if they are windows, or were asked
	                           for as a range */
	struct session capture; /* id NULL: it is a range */
	struct profile *profile;
	double seconds; /* that the profile covers */
};
#define CLEANUP_MATERIAL CLEANUP(material_done)
void material_done(struct material *m);

/*
 * Reads windows of the last hour, or else the newest capture, or else windows
 * of the last days; if the question has a time, all profiles of that range.
 *
 *   Shape    m->range has the tenant, the service and the time that was asked
 *            for, whose from_ms is 0 if none was; session is the id of the only
 *            capture to read, or ""
 *   Errors   -1 with the reply; 0 with profile NULL if nothing was captured
 */
MUST_CHECK int
material_read(struct call *c, const char *session, struct material *m);
/* Appends "capture sess-1 at TIME, 30 s", or the range and what it covers. */
void material_name(const struct material *m, struct buf *out);
/* Appends the signed link to its flame graph. */
MUST_CHECK int
material_link(struct call *c, const struct material *m, struct buf *out);
/* Appends "2026-11-28 09:00:00 UTC". */
void material_time(int64_t ms, struct buf *out);
