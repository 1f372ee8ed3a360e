/*
 * Finds out if this program runs in a container of Stoker's image. There,
 * what it lacks is granted by options of the container, not by lines of a
 * unit.
 *
 * Source: STOKER_CONTAINER=, which conf/packages/image sets. A package in LXC
 * or nspawn has container= in its environment, but is run by units there.
 */
#pragma once

#include <stdbool.h>

bool is_contained(void);
