/* Formats a value for people: "1.25 s", "3.4 MiB", "12 count". */
#pragma once

#include "base/buf.h"

void quantity(struct buf *out, int64_t v, const char *unit);
