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
 * Splits a name.
 *
 *   Shape    labels is a JSON object, without the client's internal labels,
 *            which begin with "__"
 *   Errors   -EINVAL
 */
MUST_CHECK int ingest_name(const char *name, char app[static INGEST_APP_MAX],
                           struct buf *labels);
/* Makes the name of a service from the name of an application, such as
 * team/shop: replaces characters that a service's name cannot have with '-';
 * removes characters other than letters and digits at both ends. */
void ingest_app(char app[static INGEST_APP_MAX], const char *name, size_t n);
/*
 * Returns the profile type at the end of an application's name, such as
 * shop.cpu.
 *   Shape    *len is the length of the text before it; "" is a type that is not
 *            stored; NULL means no type, with *len untouched
 *   Source   convertMetadata() of pkg/ingester/pyroscope/ingest_adapter.go
 */
const char *ingest_type(const char *app, size_t *len);
