/*
 * The topFunctions list, which the worker stores with a profile and the API
 * returns.
 */
#pragma once

#include "profile/tree.h"

#define SUMMARY_FUNCTIONS 100 /* stored with a session */
/* Name of the function that stands for stacks past the ceiling of a call
 * tree. */
#define SUMMARY_TRUNCATED "[truncated]"
/*
 * The module of the frames that name the program of a stack, in a profile of a
 * host.
 */
#define SUMMARY_PROGRAMS "[program]"

/*
 * Appends a JSON array of the functions with the highest self values.
 *
 *   Shape    at most max (0: all) of
 *            {"funcName","package","selfPct","cumulativePct","sampleCount"};
 *            sampleCount is a string, in samples
 *   Units    percent of the tree's total, with at most two decimals
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 *   Source   the seed's topFunctions table
 */
MUST_CHECK int summary_top(const struct tree *t, uint32_t max, struct buf *out);
