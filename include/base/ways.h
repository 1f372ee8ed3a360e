/*
 * Ways to take a profile of a type, as the rows of ways.def define them.
 *
 * Ways of one type make a set, as bits, whose lowest is to be tried first.
 */
#pragma once

#include "base/finding.h"

#include <stdbool.h>
#include <stdint.h>

enum way_program { PROGRAM_go = 1, PROGRAM_native = 2, PROGRAM_any = 3 };

enum way_engine {
	ENGINE_RECORDER,
	ENGINE_BUCKETS,
	ENGINE_HEAP,
	ENGINE_SNAPSHOT,
	ENGINE_PAGES,
	ENGINES
};

enum way_id {
#define WAY(type, program, engine, check) WAY_##type##_##program##_##engine,
#include "ways.def"
#undef WAY
	WAYS
};

struct way_row {
	const char *type;
	enum way_program program;
	enum way_engine engine;
	enum check check;
};

extern const struct way_row way_rows[WAYS];

/*
 * The kind to pass to the functions below for a service that stands for all
 * programs of a host: it is sampled, and never stopped or probed.
 */
#define WAYS_HOST "host"

/* Returns whether a way is for services of a kind. */
bool ways_fit(const struct way_row *way, const char *service_kind);
/* Returns the ways from outside that fit services of a kind; 0 for an unknown
 * type. */
uint64_t ways_outside(const char *service_kind, const char *type);
/* Returns the ways in which continuous profiling takes a type: BUCKETS or, if
 * there are none, the RECORDER; a gauge in any way but the RECORDER. */
uint64_t
ways_all_the_time(const char *service_kind, const char *type, bool gauge);
/* Returns whether profiles of a type can be captured. */
bool ways_exist(const char *type);
/* Returns whether profiles of a type show one moment, whatever the program. */
bool ways_at_once(const char *type);
/* Returns the ways of a set that an engine has. */
uint64_t ways_of(uint64_t set, enum way_engine engine);
/* Returns the way to try first; the set must not be empty. */
static inline enum way_id
ways_first(uint64_t set)
{
	return (enum way_id)__builtin_ctzll(set);
}
