/*
 * Metrics of hosts of a fleet.
 */
#pragma once

#include "base/buf.h"
#include "store/worker.h"

/* Appends metrics of a tenant's hosts, or of all hosts if tenant is "", as
 * Prometheus text. Returns -errno. */
MUST_CHECK int
workers_metrics(struct store *s, const char *tenant, struct buf *out);
