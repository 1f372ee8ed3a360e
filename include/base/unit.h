/*
 * Names of systemd's units.
 */
#pragma once

#include <stdbool.h>

/*
 * True when a name means a unit: its own name; its name without ".service"; or
 * the template of which it is an instance, "app@.service" for
 * "app@1.service".
 *   Source   systemd.unit(5)
 */
bool unit_means(const char *name, const char *unit);
/* The same of any of the names, separated by spaces; "*" means every unit. */
bool unit_list_means(const char *names, const char *unit);
