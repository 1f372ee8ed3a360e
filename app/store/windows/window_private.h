/*
 * Helpers of window.c, window_plan.c and their neighbours, which all implement
 * window.h.
 */
#pragma once

#include "store/db/row.h"
#include "store/window.h"

#define SEGMENT_PREFIX "seg-" /* for a file; elsewhere BYTES_SEGMENT_PREFIX */
#define SEGMENT_SUFFIX ".seg"
#define SEGMENT_NAME   (ID_MAX + sizeof(SEGMENT_SUFFIX))

extern const struct row_type window_type;

/* Names a segment's file below segments/; -EBADMSG for an id that Stoker does
 * not make. */
MUST_CHECK int segment_name(const char *id, char out[static SEGMENT_NAME]);
/* True for a segment that lies in the database. */
bool segment_in_db(const char *id);
/* The host of the segments that this store can read: "" for those in the
 * database. */
const char *segment_host(const struct store *s);
/* Fills in where the bytes of a window are, after its row has been read. */
MUST_CHECK int window_place(struct window *w);
/* Deletes the windows of a series and level that begin at a time. */
MUST_CHECK int window_forget(struct store *s, const char *series,
                             enum window_level level, int64_t start_ms);
/* Inserts the row of a segment, or updates its length. */
MUST_CHECK int window_put_segment(struct store *s, const struct segment *g);
/* Inserts the row of a window; -ENOENT if its series is gone. */
MUST_CHECK int window_insert(struct store *s, const struct segment *g,
                             const struct window_ask *w, const char *id);
/* Orders windows by their start, for qsort(). */
int window_by_time(const void *a, const void *b);
/* Reads the rows of a statement as windows. */
MUST_CHECK int
window_rows(struct store *s, enum sql sql, const struct db_value *v, size_t n,
            struct window_list *out);
