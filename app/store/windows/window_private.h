/* What the files of window.h share. */
#pragma once

#include "store/db/row.h"
#include "store/window.h"

#define SEGMENT_PREFIX "seg-"
#define SEGMENT_SUFFIX ".seg"
#define SEGMENT_NAME   (ID_MAX + sizeof(SEGMENT_SUFFIX))

extern const struct row_type window_type;

/* Its file, below segments/; -EBADMSG for an id that we did not make. */
MUST_CHECK int segment_name(const char *id, char out[static SEGMENT_NAME]);
/* Rows of one statement as windows. */
MUST_CHECK int
window_rows(struct store *s, enum sql sql, const struct db_value *v, size_t n,
            struct window_list *out);
