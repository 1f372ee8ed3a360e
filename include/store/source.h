/*
 * The source of a service's profiles of a type: ways.def.
 */
#pragma once

#include "base/buf.h"
#include "base/finding.h"
#include "store/service.h"

enum source {
	SOURCE_NONE, /* no source fits */
	SOURCE_OUTSIDE,
	SOURCE_ENDPOINT,
};

enum source source_of(const struct service *s, const char *type);
/*
 * Lists the checks that profiles of a type depend on, by the source that
 * source_of() returns: one for each kind of program or way to take it.
 *   Shape    out[n], n at most SOURCE_CHECKS; CHECKS if nothing is needed
 */
#define SOURCE_CHECKS 8
size_t source_checks(const struct service *s, const char *type,
                     enum check out[static SOURCE_CHECKS]);
/* Returns which setting a service lacks if source_of() returned SOURCE_NONE. */
const char *source_missing(const struct service *s, const char *type);
/* Appends what to do, usually a command; nothing if no setting helps. */
void source_fix(const struct service *s, const char *type, struct buf *out);
