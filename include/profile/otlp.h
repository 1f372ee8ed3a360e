/*
 * OpenTelemetry's profiles: ProfilesData, which is also what is exported to a
 * server (ExportProfilesServiceRequest), in protobuf or JSON, of the layouts of
 * opentelemetry-proto 1.7 to 1.11.
 *
 * The bytes may be hostile: indexes into the dictionary are checked, tables
 * refer to each other in one direction only, and work and memory are within the
 * limits of the import for all profiles of a file together.
 */
#pragma once

#include "profile/import.h"

/* Profiles that add up, as one; strings are borrowed. */
struct otlp_part {
	const char *service; /* service.name, or what stands in for it; "":
	                        neither */
	const char *labels;  /* JSON object */
	uint32_t profiles;   /* how many there were */
};

/* True for bytes that otlp_read() reads as JSON. */
bool otlp_is_json(const char *p, size_t n);
/*
 * Reads p[n], which is not compressed, and calls part() for the profiles of
 * each service that have the same labels, value types and time.
 *
 *   Owns     the profile given to part() is its callee's; it may be TAKEn from
 *            *made
 *   Errors   those of profile_import(), and those of part()
 */
MUST_CHECK int otlp_read(const void *p, size_t n, const struct import_ask *ask,
                         int (*part)(void *arg, const struct otlp_part *of,
                                     struct profile **made),
                         void *arg, struct buf *why);
