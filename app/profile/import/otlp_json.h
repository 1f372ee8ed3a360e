/*
 * OTLP profiles in JSON, rewritten as the protobuf that they stand for, so that
 * one reader reads both.
 *
 * Names of fields are in camel case or with underscores; 64-bit numbers are
 * numbers or strings; fields that Stoker does not read are skipped. Source:
 * protobuf.dev/programming-guides/json; the OTLP specification, section JSON
 * Protobuf Encoding.
 */
#pragma once

#include "otlp_shape.h"

/*
 * Appends p[n] to out.
 *
 *   Shape    *layouts: the layout of the result, as a bit
 *   Errors   -EBADMSG, -EPROTONOSUPPORT, -E2BIG nested too deep, with the
 *            reason in why; those of out, without a reason
 */
MUST_CHECK int otlp_json(const char *p, size_t n, struct buf *out,
                         unsigned *layouts, struct buf *why);
/* True for JSON whose first member is one of ProfilesData. */
bool otlp_json_looks(const char *p, size_t n);
