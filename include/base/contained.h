/*
 * Whether this program runs in a container, where what it lacks is granted by
 * options of the container, not by lines of a unit.
 *
 * Source: systemd's Container Interface, container=; the images that
 * conf/packages/image makes set it, and so does podman.
 */
#pragma once

#include <stdbool.h>

bool is_contained(void);
