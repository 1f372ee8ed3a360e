/*
 * A capture's report on itself. A poor profile says so.
 */
#pragma once

#include "base/finding.h"
#include "base/json.h"

enum quality_note {
#define QUALITY_NOTE(bit, weight, check, text) QUALITY_BIT_##bit,
#include "capture/host/quality.def"
#undef QUALITY_NOTE
	QUALITY_NOTES
};
typedef unsigned __int128 quality_notes __attribute__((aligned(8)));
#define QUALITY_NOTE_OF(bit) ((quality_notes)1 << QUALITY_BIT_##bit)

/* Reasons why stacks break off in a module. */
enum quality_why {
#define QUALITY_BREAK(why, text) QUALITY_BREAK_##why,
#include "capture/host/quality.def"
#undef QUALITY_BREAK
	QUALITY_BREAKS
};
/* Allocators of which a profile lacks memory. */
enum quality_hidden {
#define QUALITY_HIDDEN(of, text) QUALITY_HIDDEN_##of,
#include "capture/host/quality.def"
#undef QUALITY_HIDDEN
};
/* Languages of which some runtimes can't be read. */
enum quality_runtime {
#define QUALITY_RUNTIME(of, language, how, text) QUALITY_RUNTIME_##of,
#include "capture/host/quality.def"
#undef QUALITY_RUNTIME
};
#define QUALITY_MAX_BREAKS 4 /* modules that a report names */

struct quality_break {
	char module[64]; /* its file's name, NUL-terminated */
	int64_t stacks;
	uint32_t why; /* enum quality_why */
	uint32_t reserved;
};

/* How the profile was taken: "source" of the report. */
enum quality_source { QUALITY_OUTSIDE, QUALITY_ENDPOINT };

struct quality {
#define QUALITY(field, unit, json, doc) int64_t field;
#include "capture/host/quality.def"
#undef QUALITY
	quality_notes notes; /* QUALITY_NOTE_OF() bits */
	uint32_t source;     /* enum quality_source */
	uint32_t nbreaks;
	uint32_t hidden;   /* bits of enum quality_hidden */
	uint32_t runtimes; /* and of enum quality_runtime */
	/* Modules where most stacks break off, most first. */
	struct quality_break breaks[QUALITY_MAX_BREAKS];
	char unwatched[128]; /* names of functions, NUL-terminated */
	char unnamed[192];   /* files of most frames without a name */
};

/* Sets what follows from the numbers of a profile of a type, by its name in
 * types.def: the achieved rate and the notes. For a profile without samples,
 * TARGET_GONE and used_ms give the reason. */
void quality_conclude(struct quality *q, const char *type);
/* Returns the number of samples of the value that the profile shows: in
 * profiles of memory in use from probes, allocations that were not released. */
int64_t quality_samples(const struct quality *q);
/* Notes that a profile of a type is empty. */
void quality_nothing(struct quality *q, const char *type);
/* Sets how many processes of the service were left out, with their notes. */
void quality_left(struct quality *q, int64_t other_unit, int64_t out_of_scope,
                  int64_t too_many);
/* Sets how many processes were found some time after they began. */
void quality_late(struct quality *q, int64_t late);
/* Sets the notes about stacks and names alone, for profiles that have no rate.
 */
void quality_conclude_stacks(struct quality *q);
/*
 * Writes {"verdict", "source", "askedRate", …, "stackBreaks", "reasons",
 * "notes"}: verdict is "poor" when there are reasons to doubt the profile, else
 * "good". The numbers of a report may come from a source that is not trusted.
 *
 *   Shape    findings[CHECKS] of the worker, or NULL when it has none: if a
 *            failed check explains a note, the finding's text replaces the note;
 *            service is named in commands of notes, or NULL
 */
void quality_json(const struct quality *q, const struct finding *findings,
                  const char *service, struct buf *out);
/*
 * Corrects the numbers of a report after its profile was symbolized again.
 *   Errors   -ENOMEM
 */
MUST_CHECK int quality_named(json_t *report, int64_t frames, int64_t named);
/* Writes " name number" lines and notes, for a terminal. */
void quality_text(const struct quality *q, struct buf *out);
