/*
 * Texts, headers and labels of goroutine dumps.
 */
#pragma once

#include "profile/godump.h"
#include "profile/goroutine.h"

#include <string.h>

#define GODUMP_MAX_LABEL ((size_t)4 << 10) /* bytes of a key, of a value */

struct text {
	const char *p;
	size_t n;
};
/* A literal to compare with. */
#define TEXT(s) ((struct text){s, sizeof(s) - 1})

/* The parts of the line "goroutine N [STATE, …] {labels}:". */
struct godump_head {
	uint64_t goid;
	struct text raw;     /* state or wait reason in the runtime's words */
	struct text labels;  /* between { and }, as written */
	struct text bubble;  /* digits; empty if none */
	uint64_t minutes;    /* 0 if not printed */
	bool locked, leaked; /* locked to a thread; found leaked by the
	                        garbage collector */
};

/* A dump while it is read. */
struct dump {
	struct profile *p;
	struct godump_seen seen;
	uint32_t keys[GOROUTINE_LABELS];
	uint32_t elided; /* location of GODUMP_ELIDED */
	struct buf a, b; /* scratch buffers for texts */
	struct godump_head head;
	bool open;      /* within a goroutine */
	bool ancestors; /* in frames of the goroutines that created this one */
	bool cut;       /* some frames are missing */
	bool unavailable; /* all frames are missing */
	uint32_t stack[PROFILE_MAX_FRAMES];
	uint32_t nstack;
	struct line inlined[PROFILE_MAX_LINES];
	uint32_t ninlined;
	struct text function, creator, created_at;
	uint64_t parent;
	bool is_creator, is_inlined, expects_file;
};

/* Makes the labels of the current goroutine; *n is their number. */
MUST_CHECK int
godump_labels(struct dump *d, struct label out[static PROFILE_MAX_LABELS],
              uint32_t *n);

/* True if line is the header of a goroutine; fills *out. */
bool godump_head(struct text line, struct godump_head *out);
/*
 * Takes the next label off *rest, which starts as head.labels.
 *   Shape    key and value are cleared and filled, up to their ceiling
 *   Errors   returns false at the end, or if *rest does not begin with a label
 */
bool godump_label(struct text *rest, struct buf *key, struct buf *value);

/* Takes s off the start of t. Returns false if t does not begin with s. */
static inline bool
text_skip(struct text *t, struct text s)
{
	if (t->n < s.n || memcmp(t->p, s.p, s.n) != 0)
		return false;
	t->p += s.n;
	t->n -= s.n;
	return true;
}

static inline bool
text_ends(struct text t, struct text s)
{
	return t.n >= s.n && !memcmp(t.p + t.n - s.n, s.p, s.n);
}

/* Returns the index of s in t, or t.n. */
static inline size_t
text_find(struct text t, struct text s)
{
	const char *at = memmem(t.p, t.n, s.p, s.n);

	return at ? (size_t)(at - t.p) : t.n;
}

/* Takes a decimal number off the start of t. Returns false if there is none, or
 * if it is too large. */
bool text_number(struct text *t, uint64_t *out);
