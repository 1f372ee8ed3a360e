/*
 * The outcome of one check: a verdict, a line that explains it, and a command
 * or setting that repairs it. checks.def lists the checks.
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
	WARNING, /* some profiles are poorer, or cost more, than necessary */
	BROKEN,  /* captures or requests fail */
	SKIPPED, /* the check could not be run */
	VERDICTS
};

#define FINDING_TEXT 512

struct finding {
	enum verdict verdict;
	char found[FINDING_TEXT]; /* one line, no full stop */
	char fix[FINDING_TEXT];   /* for a root shell; "" if there is none */
};

/* Returns "ok", "warning", "broken" or "skipped". */
const char *verdict_word(enum verdict v);
/* The part and the name of a check, as in checks.def. */
const char *check_part(enum check c);
const char *check_name(enum check c);
/* Finds a check by part and name; returns CHECKS if there is none. */
enum check check_find(const char *part, const char *name);
/* True when no profile can be captured or stored while the check fails. */
bool check_needed(enum check c);

/*
 * Sets a finding. fix is copied; NULL means "". Texts longer than FINDING_TEXT
 * are truncated.
 */
void finding_set(struct finding *f, enum verdict v, const char *fix,
                 const char *fmt, ...) PRINTF(4, 5);
/* Writes the finding and its fix in one line. Returns false, and writes
 * nothing, if the check succeeded. */
bool finding_explain(const struct finding *f, struct buf *out);
/* Writes the members part, check, verdict, found and fix into an object. */
void finding_json(const struct finding *f, enum check c, struct buf *out);
