/*
 * The state of continuous profiling, as workers report it.
 */
#pragma once

#include "base/json.h"
#include "base/json_out.h"
#include "endpoint/call.h"
#include "store/continuous.h"
#include "store/worker.h"

/* Data for a reply about continuous profiling, read once. */
struct continuous_view {
	struct worker_list workers;
	struct continuous_problem_list problems;
};
#define CLEANUP_CONTINUOUS_VIEW CLEANUP(continuous_view_done)

void continuous_view_done(struct continuous_view *v);
/* Reads the data of a service, or of all services of a tenant if service is
 * "". */
MUST_CHECK int
continuous_view(struct store *s, const char *tenant, const char *service,
                struct continuous_view *out);
/* Appends members unsupported, failing and hosts. Returns -errno. */
MUST_CHECK int
continuous_view_put(struct store *s, const struct continuous_view *v,
                    const struct continuous *c, struct buf *out);
/* Appends metrics of every live worker, as Prometheus text. */
void continuous_metrics(const struct worker_list *workers, struct buf *out);
