/*
 * Ctrl-C, for commands that have something to undo.
 */
#pragma once

#include <signal.h>

extern volatile sig_atomic_t interrupted;

/* Catches only the first Ctrl-C: a second one ends the program. */
void interrupt_catch(void);
