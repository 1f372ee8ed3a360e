/*
 * Names of systemd units.
 */
#pragma once

#include <stdbool.h>

/* True if the name ends with the type of a unit, such as ".service": without
 * one, as in "nginx" or "php8.2-fpm", it is the name of a service. */
bool unit_has_type(const char *name);
/*
 * True if name refers to the unit: it is the unit's full name, that name
 * without ".service", or the template of an instance ("app@.service" refers to
 * "app@1.service").
 *   Source   systemd.unit(5)
 */
bool unit_means(const char *name, const char *unit);
/* True if any of the space-separated names refers to the unit; "*" refers to
 * every unit. */
bool unit_list_means(const char *names, const char *unit);
