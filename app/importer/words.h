/*
 * Messages between an API process, its forker and its importers.
 *
 * The API sends to both, and trusts the forker. What an importer sends is
 * hostile: it may have been taken over by the file that it reads.
 */
#pragma once

#include "base/finding.h"

#include <stdint.h>

enum { FORKER_SMALL, FORKER_LARGE, FORKER_CHILDREN };

/* To the forker, with the child's end of a socket if it is to be started; the
 * child is killed otherwise. */
struct forker_ask {
	uint32_t child, start;
	int64_t memory;
};

/* A thing that importers need, and that this machine lacks. */
enum lack {
	LACK_NOTHING,
#define LACK(id, what, fix) LACK_##id,
#include "lacks.def"
#undef LACK
	LACKS
};

/* Makes the finding of a lack; err is errno, or 0 if it is not known. */
void lack_find(enum lack lack, int err, struct finding *out);

/* The child's id, after its end with the status of waitpid(2); or what it
 * lacks, with errno. */
struct forker_reply {
	int32_t pid, status;
	uint32_t lack;
	int32_t err;
};

/* To an importer; its texts and the file follow. */
struct importer_words {
	uint32_t task;
	uint32_t type, format, content_type, event; /* lengths of texts */
	uint32_t ratio, strings, samples;
	uint8_t lines, deltas, untyped, unused[5];
	double rate;
	uint64_t raw_bytes, memory, fits;
	uint64_t file; /* its length */
};

#define IMPORTER_TEXT_MAX ((size_t)64 << 10)

/* From an importer: a profile, with its texts and its pprof form, or the end,
 * with what is in why. */
struct importer_said {
	uint32_t end;
	int32_t rc, format, type; /* rows; -1: none */
	uint32_t profiles;
	uint32_t service, labels, why; /* lengths of texts */
	uint64_t inflated, file;
};
