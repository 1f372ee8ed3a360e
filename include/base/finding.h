/*
 * The outcome of one check: how it went, in words, and the line that mends
 * it. checks.def lists the checks.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

enum check {
#define CHECK(id, part, name, need, doc) CHECK_##id,
#include "checks.def"
#undef CHECK
	CHECKS
};

/* FINE first: a zeroed finding needs no attention. */
enum verdict {
	FINE,
	WARNING, /* some profiles are poorer, or cost more, than they need */
	BROKEN,  /* captures or requests fail */
	SKIPPED, /* it could not be looked at */
	VERDICTS
};

#define FINDING_TEXT 512

struct finding {
	enum verdict verdict;
	char found[FINDING_TEXT]; /* one line, no full stop */
	char fix[FINDING_TEXT];   /* for a root shell; "" when there is none */
};

/* "ok", "warning", "broken", "skipped". */
const char *verdict_word(enum verdict v);
/* The part and the name of a check, as checks.def has them. */
const char *check_part(enum check c);
const char *check_name(enum check c);
/* The check of that part and name; CHECKS when there is none. */
enum check check_find(const char *part, const char *name);
/* True when no profile can be taken, or none be stored, while it fails. */
bool check_needed(enum check c);

/*
 * Sets a finding. fix is copied as it is; NULL is "".
 *   Shape    texts past FINDING_TEXT are cut
 */
void finding_set(struct finding *f, enum verdict v, const char *fix,
                 const char *fmt, ...) PRINTF(4, 5);
/* Writes the members part, check, verdict, found and fix into an object. */
void finding_json(const struct finding *f, enum check c, struct buf *out);
