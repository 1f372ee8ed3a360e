/*
 * Names under which Pyroscope's clients push: "app{key=value,...}".
 * Source: pkg/og/storage/segment/key.go of grafana/pyroscope.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

#define INGEST_MAX_LABELS 32
#define INGEST_APP_MAX    64 /* with its NUL */

/*
 * Takes a name apart.
 *
 *   Shape    labels is a JSON object; those that begin with "__" are the
 *            client's own and left out
 *   Errors   -EINVAL
 */
MUST_CHECK int ingest_name(const char *name, char app[static INGEST_APP_MAX],
                           struct buf *labels);
/*
 * The profile type that an application's name ends in, as shop.cpu does.
 *   Shape    *len is the length of what stands before it; "" is a type that
 *            is none here, NULL no type, *len is untouched then
 *   Source   convertMetadata() of pkg/ingester/pyroscope/ingest_adapter.go
 */
const char *ingest_type(const char *app, size_t *len);
