/* What the files about targets share. */
#pragma once

#include "family.h"
#include "targets.h"

enum matched { MATCHED_NOT, MATCHED_OURS, MATCHED_REFUSED };

/* What is to be found out about a service in one look at the processes. */
struct look {
	struct target *target;
	const struct conf_scope *scope;
	const struct match_reader *reader;
	struct family *family;
	uint8_t *matched; /* enum matched, by row of the family's processes */
};

/*
 * Finds out who descends from the processes that have an ordinal.
 *   Errors   -ENOMEM; the members stay as they were
 */
MUST_CHECK int target_members(const struct look *l);
