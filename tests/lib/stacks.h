/*
 * Goroutine profiles for tests, from text: one line per goroutine, or per n
 * of them.
 *
 *	stacks_of("3 state=waiting,goid=7..|main.f:12 main.main\n")
 *
 * A count, labels, then frames, leaf first. A value "7.." numbers the line's
 * goroutines from 7 on; "7;9" is "7,9"; "main.f:12" is at line 12 of app.go.
 * Aborts when the text is wrong.
 */
#pragma once

#include "profile/profile.h"

struct profile *stacks_of(const char *text);
