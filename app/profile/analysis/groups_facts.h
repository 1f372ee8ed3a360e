/*
 * Reads a profile into groups; frame names and labels are looked up once each.
 */
#pragma once

#include "groups.h"

struct groups_reader {
	struct groups *g;
	const struct profile *p;
	uint32_t type;          /* value type that is counted */
	uint32_t *line_name;    /* by line: id + 1; 0 if not looked up */
	uint32_t *line_at;      /* by line: likewise */
	uint32_t *address_name; /* by location without lines: likewise */
	uint8_t *keys; /* by string: the label with that key, see label_key() */
};

/* Facts about a sample, from its labels or its leaf frames. */
struct group_facts {
	uint32_t state, reason, raw, creator; /* strings of the groups */
	bool leaked;
	int64_t age_s;
	uint64_t id;     /* goroutine number, 0 if none */
	uint64_t target; /* address that it waits for; 0 if unknown */
	const char *ids; /* numbers as in the profile, "7,9-12", or NULL */
};

/* Reads the facts of a sample; examines its frames only if its labels are not
 * enough. */
MUST_CHECK int
groups_read_facts(struct groups_reader *r, const struct sample *s,
                  struct group_facts *out);
