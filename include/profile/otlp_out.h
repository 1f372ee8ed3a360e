/*
 * Profiles for a server of OpenTelemetry: the request that is sent to it
 * (ExportProfilesServiceRequest, which is ProfilesData), and its reply.
 */
#pragma once

#include "base/json.h"
#include "profile/profile.h"

/* The source of a profile; texts are UTF-8 and borrowed. */
struct otlp_origin {
	const char *service;
	const char *host;     /* "" or NULL: not known */
	const char *id;       /* of the session or window; "" or NULL: none */
	const json_t *labels; /* an object of texts, or NULL */
};

/*
 * Appends the request in the layout of opentelemetry-proto 1.10 and 1.11, not
 * compressed: one resource with the service's name, host and labels, one scope,
 * and in it one profile for each type of values, whose profile_id is made from
 * the origin's id.
 *
 * Facts of pprof that OpenTelemetry has no field for are attributes, by its
 * conventions for pprof, so that a file that is read again is the same profile.
 * Rows of the dictionary are written once, and only those that are used.
 *
 *   Errors   -ENOMEM, -E2BIG past out->max; out is poisoned
 *   Source   profiles.proto of opentelemetry-proto, v1.11.0; semantic
 *            conventions of resources; profcheck of open-telemetry/
 *            sig-profiling
 */
MUST_CHECK int otlp_out(const struct profile *p, const struct otlp_origin *of,
                        struct buf *out);

#define OTLP_MESSAGE_MAX 200 /* bytes of a reply's message, with its NUL */
struct otlp_reply {
	int64_t rejected; /* profiles; 0: none, message may be a warning */
	char message[OTLP_MESSAGE_MAX]; /* UTF-8 without control characters */
};
/*
 * Reads an ExportProfilesServiceResponse.
 *   Errors   -EBADMSG it is another message; *out untouched
 *   Source   profiles_service.proto of opentelemetry-proto, v1.11.0
 */
MUST_CHECK int otlp_out_reply(const void *p, size_t n, struct otlp_reply *out);
