/*
 * Offsets in struct _PyInterpreterFrame, for the kernel's program and for
 * reading threads at rest.
 *
 *   Source   interp_ring.h
 */
#pragma once

#include "capture/interp/interp_ring.h"

#define PYTHON_FRAME_BYTES 72 /* bytes of a frame that are read */

/* Offsets by layout. In 3.11 mark is is_entry; later it is owner. */
static const struct python_layout_of {
	int code, previous, instr, mark;
} python_layouts[] = {
	[PYTHON_3_11] = {32, 48, 56, 68},
	[PYTHON_3_12] = {0, 8, 56, 70},
};
