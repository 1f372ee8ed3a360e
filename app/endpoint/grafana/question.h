/*
 * Questions about profiles: a type, a selector and a range of time. The
 * profiles of all services that the selector lets pass are added up.
 */
#pragma once

#include "connect.h"
#include "range/range.h"
#include "subjects.h"

#define QUESTION_MAX_SERVICES  1000
#define QUESTION_MAX_SELECTORS 16

struct question {
	struct call *c;
	const struct type *type; /* NULL: one that Stoker does not have */
	struct selector selector;
	struct subjects subjects;
	const char **services; /* of the subjects, each once */
	size_t n;
	int64_t from_ms, to_ms;
	bool with_ids; /* as in struct range */
};
#define CLEANUP_QUESTION CLEANUP(question_done)
void question_done(struct question *q);

/*
 * Reads the members profile_typeID, label_selector, start and end, and finds
 * the services.
 *   Errors   -1 with the reply
 */
MUST_CHECK int
question_read(struct call *c, const json_t *asked, struct question *out);
/* Returns the range of one service, neither planned nor read. */
struct range question_range(const struct question *q, const char *service);
/*
 * Adds up all profiles.
 *   Owns     *out is the caller's, NULL if there are none; profile_free() it
 *   Errors   -1 with the reply
 */
MUST_CHECK int question_merge(const struct question *q, struct profile **out);

/* Finds the subjects that the list of selectors named matchers lets pass.
 * Errors: -1 with the reply. */
MUST_CHECK int
question_subjects(struct call *c, const json_t *asked, struct subjects *out);
