/*
 * Containers as matches see them: facts that their runtimes keep about them,
 * and the conditions of a match.
 *
 * A condition is a pattern of a fact or a label, in which * stands for any text
 * and ? for a character.
 *   Source   glob(7), without brackets
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_LABELS 64  /* kept of one container */
#define CONTAINER_TEXT   512 /* bytes of a fact, key or value, and a NUL */
#define CONTAINER_WANTS  16  /* conditions of one match */

enum container_fact {
#define FACT(name, text) CONTAINER_##name,
#include "container.def"
#undef FACT
	CONTAINER_FACTS
};
extern const char *const container_fact_names[CONTAINER_FACTS];

struct container_label {
	char *key, *value;
};

struct container_facts {
	char *facts[CONTAINER_FACTS]; /* NULL: unknown */
	struct container_label labels[CONTAINER_LABELS];
	size_t nlabels;
};

void container_facts_done(struct container_facts *f);
/* Returns a fact, or "". NULL stands for no container. */
const char *
container_fact(const struct container_facts *f, enum container_fact fact);
/* True for a text that can be a fact: UTF-8 without control characters, not
 * empty and shorter than CONTAINER_TEXT. */
bool container_text_ok(const char *s, size_t n);

/*
 * Labels of profiles from facts about a container: image, version, namespace
 * and pod. version is the label org.opencontainers.image.version. Only captures
 * have the label pod: each pod has another name, and a job that runs every
 * minute would have a series of windows for each run.
 *   Source   OCI image-spec, annotations.md
 */
#define CONTAINER_PROFILE_LABELS     4
#define CONTAINER_PROFILE_LABEL_TEXT 256 /* longer ones are left out */
/* Returns the value of label i and sets its key, or NULL: the container has
 * none. */
const char *container_profile_label(const struct container_facts *f, size_t i,
                                    const char **key);
/* True if label i differs at each start of a container. */
bool container_label_of_start(size_t i);

struct container_match {
	struct {
		enum container_fact fact;
		char *label; /* NULL: the fact is compared */
		char *pattern;
	} wants[CONTAINER_WANTS];
	size_t n;
};

/* True for a kind of match that selects containers. */
bool container_match_is(const char *kind);
/* True if the value of such a match is a text, not an object. */
bool container_match_is_text(const char *kind);
/*
 * Parses a match as in a service: value is a text or, for kinds with members, a
 * JSON object of texts.
 *   Owns     container_match_done(out)
 *   Errors   -EINVAL, -ENOMEM; *out untouched
 */
MUST_CHECK int container_match_init(const char *kind, const char *value,
                                    struct container_match *out);
void container_match_done(struct container_match *m);
bool container_matches(const struct container_match *m,
                       const struct container_facts *f);
/* True if one of the space-separated patterns matches the text. */
bool container_list_has(const char *patterns, const char *text);
