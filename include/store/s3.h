/*
 * An object store that speaks S3, as a driver of bytes (store/bytes.h): the
 * [s3] section of stoker.conf.
 *
 * Uploads and pushes to the API go there. A worker writes its captures to files
 * of its host, since the scheduler has no network; their rows say "file", and
 * nginx or the API of that host serves them.
 *
 * The object store may be slow, stopped or hostile. Each call ends within [s3]
 * timeout and by store.until_ns, whichever comes first, and takes no more bytes
 * than it asked for. Names of objects are never used twice, and objects never
 * change: the store only needs to return what was just written. Objects have no
 * lock: they count as held while younger than S3_SETTLED_MS by the object
 * store's own clock.
 *
 * Source: Amazon S3 API Reference; Signature Version 4 by libcurl, whose 7.88
 * sorts no queries, signs empty headers, and signs the hash of nothing unless
 * x-amz-content-sha256 says otherwise.
 */
#pragma once

#include "base/conf.h"
#include "store/bytes.h"

#define BYTES_S3      "s3"
#define S3_SETTLED_MS (INT64_C(2) * 86400 * 1000)

struct s3;

/*
 * Prepares the configured object store without connecting to it. Call it before
 * threads are started.
 *
 *   Owns     *out is the caller's; s3_free() it
 *   Errors   -EINVAL, -EPERM when others may read the key file, -errno; one
 *            line in *why
 */
MUST_CHECK int
s3_new(const struct conf *conf, struct s3 **out, struct buf *why);
void s3_free(struct s3 *s3);
/*
 * Attaches the configured object store, if there is one, to a store, and sets
 * where new bytes go. s3_free() s->s3 after the store is closed.
 *   Errors   as s3_new(); -EINVAL for a driver that is not known or configured
 */
MUST_CHECK int
bytes_configure(struct store *s, const struct conf *conf, struct buf *why);

/*
 * Writes the path and query by which an object may be read for a minute without
 * a key, to be appended to the endpoint.
 *   Units    now_ms since 1970; an object store refuses one that differs from
 *            its own clock by a quarter of an hour
 *   Source   Authenticating Requests: Using Query Parameters (AWS SigV4)
 */
MUST_CHECK int s3_presign(const struct s3 *s3, const char *name, int64_t now_ms,
                          struct buf *out);
