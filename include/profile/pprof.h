/*
 * pprof files: gzipped profile.proto, in and out.
 *
 * Input is hostile: every length, index and count is checked, and work and
 * memory are bounded by the caller's limit before they are spent. Source:
 * profile.proto of github.com/google/pprof; RFC 1952 for gzip.
 */
#pragma once

#include "profile/profile.h"

/*
 * Decodes raw or gzipped bytes, of one or more members. Rows are kept as in the
 * file: equal samples are not merged. Fields that struct profile does not have
 * are skipped.
 *
 *   Units    max_bytes bounds the inflated size, and memory to about 5x it
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -EBADMSG malformed, -E2BIG past a bound, -ENOMEM; with a one-line
 *            explanation in why; *out untouched
 */
MUST_CHECK int pprof_decode(const void *p, size_t n, size_t max_bytes,
                            struct profile **out, struct buf *why);
/* Limits of pprof_decode_within(), which decodes raw bytes only. They are keys
 * of [upload] in stoker.conf, which refusals name. */
struct pprof_limits {
	size_t bytes;              /* of the file */
	size_t memory;             /* of the decoded rows */
	uint32_t strings, samples; /* 0: limited by bytes and memory alone */
	/* NULL: stacks of more than PROFILE_MAX_FRAMES are refused. Else they
	 * lose the frames nearest to the root, and are counted here. */
	uint64_t *cut;
};
MUST_CHECK int
pprof_decode_within(const void *p, size_t n, const struct pprof_limits *limits,
                    struct profile **out, struct buf *why);
/* Appends what is too large, and the key of [upload] that limits it to most. */
void limit_exceeded(struct buf *why, const char *what, uint64_t most,
                    const char *key);
/*
 * Appends p as a gzipped file; out bounds the size. Equal profiles give equal
 * bytes.
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int pprof_encode(const struct profile *p, struct buf *out);
/* Likewise with gzip_deflate_fast(), for files that are soon replaced. */
MUST_CHECK int pprof_encode_fast(const struct profile *p, struct buf *out);
/* Appends p as a message that is not compressed. */
void pprof_write(const struct profile *p, struct buf *out);
