/*
 * Notices a scheduler or an analyser that hangs.
 *
 * Both say ALIVE (host.def) several times in every [worker] watchdog. A part
 * that was silent for that long is killed: the opener starts an analyser anew,
 * and without its scheduler the worker ends, so that the service manager starts
 * it again. Any question counts as a sign of life, and a part that waits for
 * the opener's own answer is not silent. Time in which the opener itself did
 * not run counts for nobody. A part is watched from its first ALIVE on.
 *
 * While it runs, the opener tells the service manager so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WATCHDOG_LOOKS 4 /* in the time that a part may be silent */

struct opener;

struct watchdog {
	int64_t next_ns; /* of the next look; 0: none yet */
	struct watched {
		bool watched, heard;
		unsigned silent; /* looks since it was heard */
	} scheduler, analyser;
};

/* Watches a part from now on, or notes that it was heard. */
void watchdog_alive(struct opener *o, int client);
/* Notes a question of a part, or that it waits for an answer. */
void watchdog_heard(struct opener *o, int client);
/* Looks at the parts when it is time. Returns the ms until the next look. */
int watchdog_look(struct opener *o);
