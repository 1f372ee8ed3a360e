/*
 * The certainty of a sum whose samples were taken only part of the time. Each
 * part also stands for the time between it and its neighbours. The differences
 * between parts show how far the sum may be from the truth by chance, and each
 * sample has a separate upper bound.
 */
#pragma once

#include <stdint.h>

/* Initialize it to zero. */
struct parts {
	uint32_t n;             /* parts that ended, without the first one */
	uint64_t begun_ns;      /* start of the current one; 0: none yet */
	uint64_t last_ns;       /* time of its last sample */
	double value;           /* of its samples */
	double time;            /* since the previous one; 0 in the first */
	double seen, sum, most; /* of all samples */
	double vv, vt, tt;      /* sums of products over parts that ended, */
	double all_v, all_t;    /* and of values and times */
};

/* Adds a sample: its observed value, the value it represents, and the most it
 * may represent. */
void parts_add(struct parts *p, uint64_t time_ns, double seen, double value,
               double most);
/*
 * Returns bounds of the sum: the true sum is between them in 99 % of all cases,
 * if parts differ by chance only.
 */
struct parts_bounds {
	double least, most;
} parts_bounds(const struct parts *p);
