/*
 * A profile while it is read into groups; the names of frames and the labels
 * are looked up once.
 */
#pragma once

#include "groups.h"

struct groups_reader {
	struct groups *g;
	const struct profile *p;
	uint32_t type;          /* value type that is counted */
	uint32_t *line_name;    /* by line: id + 1, 0 unknown */
	uint32_t *line_at;      /* by line: likewise */
	uint32_t *address_name; /* by location without lines: likewise */
	uint8_t *keys; /* by string: the label with that key, see label_key() */
};

/* A sample's facts, from its labels or its leaf frames. */
struct group_facts {
	uint32_t state, reason, raw, creator; /* strings of the groups */
	bool leaked;
	int64_t age_s;
	uint64_t id;     /* 0: no number */
	uint64_t target; /* address of what it waits for; 0: none is known */
	const char *ids; /* "7,9-12", from the profile, or NULL */
};

/* Reads a sample's labels, and its frames only if the labels are not enough. */
MUST_CHECK int
groups_read_facts(struct groups_reader *r, const struct sample *s,
                  struct group_facts *out);
