/*
 * In a profile of several programs, the outermost frame of a stack names its
 * program: the unit, script or program of base/title.h. A process that ended
 * before it could be asked about has the name of the program that it ran, or
 * its parent's.
 */
#pragma once

#include "process.h"

/* Finds the place of a process's title; NULL when there is no room for its
 * name. */
const struct place *process_title(struct process *proc);
/* Finds the place of the title of threads that run only in the kernel. */
const struct place *process_title_of_kernel(struct modules *m);
