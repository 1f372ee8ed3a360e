/*
 * One profile being read into groups: what its frames are called and what
 * its labels say, each found once.
 */
#pragma once

#include "groups.h"

struct groups_reader {
	struct groups *g;
	const struct profile *p;
	uint32_t type;          /* value counted */
	uint32_t *line_name;    /* by line: id + 1, 0 not yet known */
	uint32_t *line_at;      /* the same */
	uint32_t *address_name; /* by location without lines: the same */
	uint8_t *keys; /* by string: which label it names, see label_key() */
};

/* A sample's own words: its labels, or else its leaf frames. */
struct group_facts {
	uint32_t state, reason, raw, creator; /* strings of the groups */
	bool leaked;
	int64_t age_s;
	uint64_t id;     /* 0: it has none */
	const char *ids; /* "7,9-12" of the profile, or NULL */
};

/* Reads a sample's labels, and its frames only where labels do not tell. */
MUST_CHECK int
groups_read_facts(struct groups_reader *r, const struct sample *s,
                  struct group_facts *out);
