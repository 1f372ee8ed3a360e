/* API keys in replies. */
#pragma once

#include "base/buf.h"

/* Writes the member tenants: first, then the others of a list of words. */
void tokens_put_tenants(struct buf *out, const char *first, const char *all);
