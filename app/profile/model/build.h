/*
 * Memory and hashes of struct profile, private to its builders.
 */
#pragma once

#include "base/rows.h"
#include "base/table.h"
#include "profile/profile.h"

struct profile_index {
	uint64_t key; /* key of the hashes */
	struct table mappings, functions, locations, samples;
	uint32_t next_location; /* the row after the one found or added last */
	struct {
		uint32_t mappings, functions, lines, locations, samples, stack,
			values, labels, comments;
	} cap; /* allocated rows */
};

void profile_index_free(struct profile_index *index);

/* Makes room for more rows in one of the profile's arrays. */
#define ROOM(p, field, used, more) \
	ROWS_ROOM((p)->field, (p)->index->cap.field, used, more)

/* Adds values to a sample; on -EOVERFLOW the sample is unchanged. */
MUST_CHECK int rows_sum(struct profile *p, uint32_t at, const int64_t *values);
/* As profile_sample_row(), for a packed profile: stack holds nodes. */
MUST_CHECK int
rows_sample(struct profile *p, const uint32_t *stack, uint32_t nstack,
            const struct label *labels, uint32_t nlabels, const int64_t *values,
            uint32_t *out);
