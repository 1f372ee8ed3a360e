/*
 * Grafana's names for types of profiles:
 * "process_cpu:cpu:nanoseconds:cpu:nanoseconds".
 *
 *   Source   pkg/og/ingestion/pprof of github.com/grafana/pyroscope
 */
#pragma once

#include "profile/types.h"

#define ID_PART_MAX 32

/* The parts of a name. */
enum id_part {
	ID_NAME,
	ID_SAMPLE,
	ID_UNIT,
	ID_PERIOD,
	ID_PERIOD_UNIT,
	ID_PARTS
};

const char *profile_id(const struct type *t);
/* Finds the type with a name; NULL if there is none. */
const struct type *profile_id_find(const char *id);
void profile_id_part(const char *id, enum id_part part,
                     char out[static ID_PART_MAX]);
/* True for a text of five parts. */
bool profile_id_valid(const char *id);
