/*
 * Kills a scheduler or an analyser that hangs.
 *
 * Both send ALIVE (host.def) several times within [worker] watchdog. A part
 * that is silent for that long is killed. The opener then starts a new
 * analyser; without a scheduler the worker ends, and the service manager starts
 * it again. Nothing waits for a killed part that does not go (opener_ended.h).
 * Any question counts as a sign of life, and a part that waits for an
 * answer of the opener is not silent. Time in which the opener itself did not
 * run does not count. A part is watched from its first ALIVE on.
 *
 * The opener in turn notifies the service manager's watchdog.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCHDOG_LOOKS 4 /* while a part may be silent */

struct opener;

struct watchdog {
	int64_t next_ns; /* time of the next look; 0: none yet */
	struct watched {
		bool watched, heard;
		unsigned silent; /* looks since it was heard */
	} scheduler, analyser;
};

/* Watches a part from now on, or notes that it was heard. */
void watchdog_alive(struct opener *o, int client);
/* Notes a question of a part, or that it waits for an answer. */
void watchdog_heard(struct opener *o, int client);
/* Returns what ALIVE answers. */
uint32_t watchdog_hanging(const struct opener *o);
/* Looks at the parts when it is time. Returns the ms until the next look. */
int watchdog_look(struct opener *o);
