/* Private to the builder: the memory and the hashes behind struct profile. */
#pragma once

#include "base/table.h"
#include "profile/profile.h"

struct profile_index {
	uint64_t key; /* of the hashes */
	struct table mappings, functions, locations, samples;
	uint32_t next_location; /* behind the one found or added last */
	struct {
		uint32_t mappings, functions, lines, locations, samples, stack,
			values, labels, comments;
	} cap; /* rows there is memory for */
};

void profile_index_free(struct profile_index *index);

/*
 * Makes room for more rows behind the used ones: *rows is a pointer to the
 * array's pointer.
 *   Errors   -ENOMEM, -E2BIG past PROFILE_MAX_ROWS; array as before
 */
MUST_CHECK int rows_room(void *rows, uint32_t *cap, uint64_t used,
                         uint64_t more, size_t row_size);
/* Room for more rows of one of the profile's arrays. */
#define ROOM(p, field, used, more)                                 \
	rows_room(&(p)->field, &(p)->index->cap.field, used, more, \
	          sizeof(*(p)->field))

/* Adds values to a sample; -EOVERFLOW, the sample as before. */
MUST_CHECK int rows_sum(struct profile *p, uint32_t at, const int64_t *values);
/* profile_sample_row() of a packed profile: stack is nodes. */
MUST_CHECK int
rows_sample(struct profile *p, const uint32_t *stack, uint32_t nstack,
            const struct label *labels, uint32_t nlabels, const int64_t *values,
            uint32_t *out);
