/*
 * Makes requests for collectors: a child reads stored profiles from one file
 * and writes them as profiles of OpenTelemetry to another. It also reads
 * replies, which are untrusted.
 */
#include "analyser.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "profile/gzip.h"
#include "profile/merge.h"
#include "profile/otlp_out.h"

#include <errno.h>
#include <string.h>

#define MAX_RAW ((size_t)256 << 20) /* bytes of a profile, or of a request */

_Static_assert(EXPORT_MESSAGE == OTLP_MESSAGE_MAX, "one message");

/* Reads any stored profile, packed or not. */
static int
read_profile(const char *p, size_t n, struct profile **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PACKED struct packed made = {0};
	CLEANUP_MERGE struct merge *m = NULL;
	int rc = packed_decode(p, n, MAX_RAW, &made, &why);

	if (rc)
		log_debug("export: %s", buf_str(&why));
	if (!rc && !made.nnodes) {
		*out = TAKE(made.p);
		return 0;
	}
	return rc ?: merge_new(MAX_RAW, &m)
	                     ?: merge_add_packed(m, &made) ?: merge_end(m, out);
}

static int
make_request(const char *origin, size_t origin_n, const char *p, size_t n,
             struct buf *out)
{
	CLEANUP_JSON json_t *j = json_loadb(origin, origin_n, 0, NULL);
	CLEANUP_PROFILE struct profile *profile = NULL;
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_RAW);
	const struct otlp_origin of = {
		.service = json_member(j, "service"),
		.host = json_member(j, "host"),
		.id = json_member(j, "id"),
		.labels = json_object_get(j, "labels"),
	};

	return read_profile(p, n, &profile)
	               ?: otlp_out(profile, &of, &raw)
	               ?: gzip_deflate(raw.p, raw.len, out);
}

static int
write_row(const struct analyser_batch *b, const struct export_piece *piece,
          const char *at, struct export_row *row)
{
	CLEANUP_BUF struct buf made =
		BUF_INIT(EXPORT_MAX_BYTES - (size_t)row->offset);
	const char *bytes = at + piece->origin;
	struct otlp_reply reply = {0};
	int rc;

	if (piece->origin)
		rc = make_request(at, piece->origin, bytes, piece->length,
		                  &made);
	else
		rc = otlp_out_reply(bytes, piece->length, &reply);
	if (rc == -E2BIG && row->offset)
		return rc; /* the next batch has room */
	row->failed = rc != 0;
	row->length = rc ? 0 : made.len;
	row->rejected = reply.rejected;
	memcpy(row->message, reply.message, sizeof(row->message));
	rc = fd_write_all(b->data, made.p, (size_t)row->length)
	             ?: fd_write_all(b->rows, row, sizeof(*row));
	row->offset += row->length;
	return rc;
}

static int
write_rows(const struct analyser_batch *b, const char *p, size_t n)
{
	struct export_row row = {0};
	struct export_piece piece;
	int rc = 0;

	while (!rc && n >= sizeof(piece)) {
		memcpy(&piece, p, sizeof(piece));
		p += sizeof(piece);
		n -= sizeof(piece);
		if (piece.origin > n || piece.length > n - piece.origin)
			return -EBADMSG;
		rc = write_row(b, &piece, p, &row);
		p += piece.origin + piece.length;
		n -= piece.origin + piece.length;
	}
	return rc;
}

const struct analyser_batch_kind analyser_export = {
	MSG_EXPORTED, "requests for collectors", write_rows};
