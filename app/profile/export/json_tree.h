/*
 * Writes parts of a call tree as JSON. The caller writes the braces and other
 * members.
 */
#pragma once

#include "profile/export.h"

/* Writes members that describe the profile, and a comma. */
void json_tree_head(const struct tree *t, const struct export_meta *meta,
                    struct buf *out);
/* Writes a comma and "quality":{...}; the object is empty without a report. */
void json_tree_quality(struct buf *out, const char *report);
/* Writes the members names, packages, files, file, line and kinds. */
void json_tree_names(const struct tree *t, struct buf *out);
/* Writes a comma and "formats":{...}: the formats offered to people. */
void json_tree_formats(struct buf *out);
/* Writes the members of json_tree_names(), depth, name, self and totals. */
void json_tree_columns(const struct tree *t, struct buf *out);
/* Writes "key":[...]. */
void json_tree_column(struct buf *out, const char *key, const int64_t *v,
                      uint32_t n);
