/*
 * A profile without some of its stacks or frames, chosen by the names of
 * functions or packages, or by labels of samples.
 *
 * Names are those that views show: profile_frame_name() and tree_package(). A
 * list has ; between names, and a ; in a name is written as a colon.
 */
#pragma once

#include "profile/profile.h"

#define SIFT_NAMES  16 /* of a list */
#define SIFT_LABELS 64

/* A condition on frames that lists of names do not express. */
struct sift_frames {
	/* Returns the bits of a frame by its name. */
	uint32_t (*bits)(const void *of, const char *name);
	const void *of;
	uint32_t all; /* bits that a stack must have of all its frames */
};
#define SIFT_OUT (UINT32_C(1) << 31) /* bit: no stacks through the frame */

struct sift_label {
	const char *key, *value;
};

struct sift {
	const char *focus; /* only stacks through each of these functions */
	const char *hide;  /* no stacks through any of these */
	const char *fold;  /* without frames of these: their callers have the
	                      cost */
	const char *fold_package; /* likewise frames of these packages */
	const char *fold_kind;    /* and of these kinds: see kind.h */
	/* Functions that a text finds, as a search does: a regular expression
	 * that matches the name, or a part of it, in any case. */
	const char *focus_text, *hide_text, *fold_text;
	const char *const *under; /* only stacks that begin with these
	                             functions, outermost first */
	uint32_t nunder;
	/* Only samples that have, for each key, one of its values. */
	struct sift_label labels[SIFT_LABELS];
	uint32_t nlabels;
	struct sift_frames frames; /* bits NULL: none */
	int64_t end_ns;            /* of clock_mono_ns(): when it gives up; 0:
	                              never */
};

static inline bool
sift_is_any(const struct sift *s)
{
	return s->focus || s->hide || s->fold || s->fold_package ||
	       s->fold_kind || s->focus_text || s->hide_text || s->fold_text ||
	       s->nunder || s->nlabels || s->frames.bits;
}

/*
 * Removes stacks and frames. Rows of samples move, so that no timeline fits the
 * profile any longer, and nothing may be added to it.
 *
 *   Shape    lists of s are NULL or lists
 *   Errors   -EINVAL more than SIFT_NAMES names in a list, an empty name, or an
 *            unknown kind, -ETIME after end_ns, -ENOMEM; p is unchanged.
 *            With the kind recursion, -E2BIG past TREE_MAX_FRAMES of all
 *            samples together, or -ENOMEM: only free p
 */
MUST_CHECK int sift_profile(struct profile *p, const struct sift *s);
