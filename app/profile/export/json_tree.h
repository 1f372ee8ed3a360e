/* Parts of a call tree as JSON; each says what it leaves to the caller. */
#pragma once

#include "profile/export.h"

/* Members that tell what it is of, and a comma. */
void json_tree_head(const struct tree *t, const struct export_meta *meta,
                    struct buf *out);
/* "quality":{...}, {} where there is none, after a comma. */
void json_tree_quality(struct buf *out, const char *report);
/* names, packages, files, file, line, depth, name, self, totals. */
void json_tree_columns(const struct tree *t, struct buf *out);
/* "key":[...] */
void json_tree_column(struct buf *out, const char *key, const int64_t *v,
                      uint32_t n);
