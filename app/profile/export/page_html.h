/*
 * The flame graph page, with data from the caller.
 */
#pragma once

#include "base/buf.h"
#include "base/cleanup.h"

/* Appends a JSON document in which '<' is escaped. On failure, poisons out. */
typedef void page_data(const void *arg, struct buf *out);

MUST_CHECK int page_html(page_data *data, const void *arg, struct buf *out);
