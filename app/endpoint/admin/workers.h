/*
 * Hosts of a fleet, as /metrics shows them.
 */
#pragma once

#include "base/buf.h"
#include "store/worker.h"

/* Appends metrics of those of a tenant, as Prometheus text; "": of all. Returns
 * -errno. */
MUST_CHECK int
workers_metrics(struct store *s, const char *tenant, struct buf *out);
