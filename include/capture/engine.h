/*
 * Engines: each takes profiles of processes in its own way, in a process that
 * ends with the profile (include/ways.def).
 *
 *	engine->open(&ask, &state)			the first look
 *	engine->join(state, pids, n)			as processes join
 *	engine->finish(state, &profile, &quality)	the second look
 *	engine->free(state)
 *
 * The profile of a gauge shows the moment of finish(), which follows at once
 * unless counts() is true; other profiles cover the time since open().
 */
#pragma once

#include "base/ways.h"
#include "capture/host.h"
#include "capture/quality.h"
#include "profile/types.h"

struct modules;
struct process;
struct symbols_cache;

struct engine_ask {
	const struct host *host;
	struct symbols_cache *symbols; /* gets results of reading files */
	enum profile_type_id type;
	enum way_program program; /* whose profile is wanted */
	bool turn_on; /* also count events that the program does not count,
	                 if the host allows it */
	const int32_t *pids;
	uint32_t npids;
	uint32_t known_ms; /* for grow(): how long ago pids was complete */
};

struct engine {
	/*
	 * Takes the first look.
	 *
	 *   Owns     *out is the caller's; free() it; all of ask but the pids
	 *            is borrowed
	 *   Errors   -ENOEXEC the engine takes none of the processes, -ESRCH
	 *            no process is left, -EXDEV not allowed to see them,
	 *            -ENOMEM, -errno, and errors listed in the engine's header
	 */
	int (*open)(const struct engine_ask *ask, void **out);
	/* True if processes count only for this profile: then even one of a
	 * gauge takes the capture's time. NULL: they never do. */
	bool (*counts)(const void *state);
	/*
	 * Adds processes that have joined the service since. Known ones, and
	 * those that the engine does not take, are skipped; the latter may be
	 * passed again.
	 *   Errors   -ENOMEM, -E2BIG
	 */
	int (*join)(void *state, const int32_t *pids, size_t n);
	/*
	 * Takes the second look, and builds the profile.
	 *   Owns     *out is the caller's; profile_free() it
	 *   Errors   as open(); outputs untouched
	 */
	int (*finish)(void *state, struct profile **out,
	              struct quality *quality);
	/*
	 * Takes one look, and builds a profile of what came since the last
	 * reading. NULL: the engine keeps no readings.
	 *
	 *   Shape    last[n], n is 0 when there is no last reading; *next is
	 *            empty, with room for READING_MAX_BYTES or more; npids may
	 *            be 0; quality->processes: the number of processes in the
	 *            profile; 0: no process has earlier counts to compare with,
	 *            so there is no window
	 *   Owns     *out is the caller's; profile_free() it
	 *   Errors   as open(), and -EFBIG the reading would be too large;
	 *            outputs but *next untouched
	 */
	int (*grow)(const struct engine_ask *ask, const void *last, size_t n,
	            struct buf *next, struct profile **out,
	            struct quality *quality);
	void (*free)(void *state); /* accepts NULL */
};

/* --- what engines share --------------------------------------------------- */

/* Limit of processes that join one capture. */
#define ENGINE_MAX_JOINED 256

/*
 * Creates a process with its current mappings.
 *   Owns     *out is the caller's; process_free() it
 *   Errors   -ESRCH, -EXDEV not allowed to see it, -ENOMEM
 */
MUST_CHECK int
engine_process(struct modules *modules, int32_t pid, struct process **out);
/* Returns -EXDEV if the host's error rc means "not allowed to see the process",
 * else rc. */
int engine_error(int rc);
/* Names a process in a profile: "process 42: /usr/bin/server". */
MUST_CHECK int engine_name(const struct process *proc, struct profile *p);
/*
 * Reads the resources that a process has used, and when it began.
 *   Errors   -ESRCH, -ENOMEM
 */
MUST_CHECK int
engine_usage(const struct host *host, int32_t pid, struct host_usage *out);
/* Returns CLOCK_BOOTTIME, the clock of struct host_usage. */
uint64_t engine_boot_ns(void);
