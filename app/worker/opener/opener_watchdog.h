/*
 * Kills parts that hang.
 *
 * The scheduler and the analyser send ALIVE (host.def) several times within
 * [worker] watchdog; the fetcher and the courier write to an eventfd
 * (fetch.h). A part that is silent for that long is killed. The opener then
 * starts a new analyser; the scheduler asks for another fetcher or courier
 * when it needs one; without a scheduler the worker ends, and the service
 * manager starts it again. Nothing waits for a killed part that does not end
 * (opener_ended.h). Any question counts as a sign of life, and a part that
 * waits for an answer of the opener is not silent. Time in which the opener
 * itself did not run does not count. A part is watched from its first sign of
 * life on.
 *
 * The opener in turn notifies the service manager's watchdog.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCHDOG_LOOKS 4 /* looks in the time for which a part may be silent */

struct opener;

struct watchdog {
	int64_t next_ns; /* time of the next look; 0: none yet */
	struct watched {
		int64_t next_ns; /* time of the next look at this part */
		bool watched, heard;
		unsigned silent; /* looks since it was heard */
	} scheduler, analyser, fetcher, courier;
};

/* Watches a part from now on, or notes that it was heard. */
void watchdog_alive(struct opener *o, int client);
/* Notes a question of a part, or that it waits for an answer. */
void watchdog_heard(struct opener *o, int client);
/* Returns what ALIVE answers. */
uint32_t watchdog_hanging(const struct opener *o);
/* Looks at the parts when it is time. Returns the ms until the next look. */
int watchdog_look(struct opener *o);
