/*
 * Pushes of clients, whose profiles become windows of a service.
 */
#pragma once

#include "ingest_name.h"
#include "store_upload.h"

/*
 * Finds the service of a push; creates it if the configuration allows it.
 *   Errors   -ENOENT it does not
 */
MUST_CHECK int
pushed_service(struct call *c, const char *name, const char *description);
/*
 * Makes the labels of a series: the client's, and one of the value types,
 * since only equal types add up. The types of a recording, p NULL, are those
 * of its reader.
 *   Owns     the text is the caller's; free() it; NULL: out of memory
 */
char *pushed_labels(const char *labels, const struct profile *p);
/*
 * Adds a window for each type that a value of the profile has; if several
 * values have it, for the first of them. type_of() returns the type of a value,
 * or NULL. file[n] is p as gzipped pprof, borrowed, or NULL: it becomes,
 * unchanged, the window of the value that viewers show first.
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

/* The profiles of a request that has any number of them. */
struct pushed_list {
	struct call *c;
	uint32_t most; /* profiles */
	struct pushed_part {
		char app[INGEST_APP_MAX];
		char *labels;
	} * parts;
	struct push_windows *windows; /* of all parts, in order */
	uint32_t n, part_room, window_room;
};
void pushed_list_done(struct pushed_list *l);
/*
 * Adds the windows of a profile, of the types to which its values belong. It
 * is the last of the list even if this fails, but for -E2BIG and -ENOMEM.
 *
 *   Shape    app is the service's name; labels is a JSON object
 *   Errors   -E2BIG past most; those of pushed_types(), with a line in why
 */
MUST_CHECK int
pushed_add(struct pushed_list *l, const char *app, const char *labels,
           struct profile *p, struct buf *why);
/* Stores the windows of all parts: see pushes_store(). */
MUST_CHECK int pushed_store(struct pushed_list *l);
