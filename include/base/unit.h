/*
 * Names of systemd's units.
 */
#pragma once

#include <stdbool.h>

/*
 * True when a name refers to a unit: by the unit's full name; without
 * ".service"; or by the template of an instance, as "app@.service" refers to
 * "app@1.service".
 *   Source   systemd.unit(5)
 */
bool unit_means(const char *name, const char *unit);
/* True when any of the names, separated by spaces, refers to the unit; "*"
 * refers to every unit. */
bool unit_list_means(const char *names, const char *unit);
