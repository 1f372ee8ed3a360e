/*
 * Pushes of clients, whose profiles become windows of a service.
 */
#pragma once

#include "store_upload.h"

/*
 * Finds the service of a push; creates it if the configuration allows it.
 *   Errors   -ENOENT it does not
 */
MUST_CHECK int
pushed_service(struct call *c, const char *name, const char *description);
/*
 * Makes the labels of a series: the client's, and one of the value types, since
 * only the same add up. The types of a recording, p NULL, are those of its
 * reader.
 *   Owns     the text is the caller's; free() it; NULL: out of memory
 */
char *pushed_labels(const char *labels, const struct profile *p);
/*
 * Adds one window for each type of profile, of the first value that fits it:
 * type_of() returns the type of a value, NULL if it fits none. file[n], unless
 * it is NULL, is p as gzipped pprof, borrowed: the window of the value that
 * viewers see by default is stored as it came.
 *   Errors   -EBADMSG no value fits a type, with the reason in why; those of
 *            push_add()
 */
MUST_CHECK int
pushed_types(struct profile *p, const void *file, size_t n,
             const struct type *(*type_of)(const void *arg,
                                           const struct profile *p,
                                           uint32_t at),
             const void *arg, struct push_windows *out, struct buf *why);
/* Sets the times of the windows: now, if the profile does not have a plausible
 * one. */
void pushed_times(const struct taken *t, const struct profile *p,
                  struct push_windows *w);
