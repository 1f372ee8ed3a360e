/*
 * Profiles for tests, from text: one stack per line, root first, then the
 * number of samples.
 *
 * 	profile_of("main;work 3\nmain;idle 1\n")
 *
 * Types are samples/count and cpu/nanoseconds, 10 ms each. A frame "f@lib" lies
 * in module "lib"; others in "/usr/bin/app". Aborts when the text is wrong.
 */
#pragma once

#include "profile/profile.h"

#define FOLDED_PERIOD_NS 10000000

struct profile *profile_of(const char *folded);
