/*
 * The facts that workers publish about deliveries to collectors: problems of a
 * service, and metrics.
 */
#pragma once

#include "store/service.h"
#include "store/worker.h"

#include <jansson.h>

/*
 * Collects the problems that live workers report, each with its host.
 *   Owns     *out is the caller's; json_decref() it
 */
MUST_CHECK int
collectors_problems(const struct worker_list *workers, json_t **out);
/* Writes the problems of a service as the member collectorProblems. */
void collectors_put(const json_t *problems, const struct service *s,
                    struct buf *out);
void collectors_metrics(const struct worker_list *workers, struct buf *out);
