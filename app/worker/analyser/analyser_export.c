/*
 * Makes requests for collectors: a child reads stored profiles from one file
 * and writes them as profiles of OpenTelemetry to another. It also reads
 * replies, which come from strangers.
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
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_RAW ((size_t)256 << 20) /* bytes of a profile, or of a request */

_Static_assert(EXPORT_MESSAGE == OTLP_MESSAGE_MAX, "one message");

/* --- in the child --------------------------------------------------------- */

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

static const char *
text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static int
make_request(const char *origin, size_t origin_n, const char *p, size_t n,
             struct buf *out)
{
	CLEANUP_JSON json_t *j = json_loadb(origin, origin_n, 0, NULL);
	CLEANUP_PROFILE struct profile *profile = NULL;
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_RAW);
	const struct otlp_origin of = {
		.service = text_of(j, "service"),
		.host = text_of(j, "host"),
		.id = text_of(j, "id"),
		.labels = json_object_get(j, "labels"),
	};

	return read_profile(p, n, &profile)
	               ?: otlp_out(profile, &of, &raw)
	               ?: gzip_deflate(raw.p, raw.len, out);
}

static int
write_row(const struct analyser_export *e, const struct export_piece *piece,
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
	rc = fd_write_all(e->data, made.p, (size_t)row->length)
	             ?: fd_write_all(e->rows, row, sizeof(*row));
	row->offset += row->length;
	return rc;
}

static int
write_rows(const struct analyser_export *e, const char *p, size_t n)
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
		rc = write_row(e, &piece, p, &row);
		p += piece.origin + piece.length;
		n -= piece.origin + piece.length;
	}
	return rc;
}

static bool
be_exporter(const struct analyser *a, const struct host *host, void *arg)
{
	const struct analyser_export *e = arg;
	struct stat st;
	void *p;

	(void)host;
	recorder_drop_trees(a->captures, NULL);
	if (fstat(e->input, &st) || !st.st_size)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, e->input, 0);
	if (p == MAP_FAILED)
		return false;
	if (write_rows(e, p, (size_t)st.st_size))
		log_debug("requests for collectors are not written");
	return false;
}

/* --- in the analyser ------------------------------------------------------ */

static void
clear(struct analyser_export *e)
{
	close_ptr(&e->input);
	close_ptr(&e->data);
	close_ptr(&e->rows);
	*e = (struct analyser_export){.input = -1, .data = -1, .rows = -1};
}

static void
send_exported(const struct analyser *a, enum capture_error error)
{
	const struct analyser_export *e = &a->export;
	struct msg_exported m = {.type = MSG_EXPORTED, .error = error};
	int fds[] = {e->data, e->rows};

	if (msg_send(a->socket, &m, sizeof(m), fds,
	             e->rows < 0 ? 0 : ARRAY_LEN(fds)))
		log_debug("nobody hears of requests for collectors");
}

static int
start(struct analyser *a)
{
	struct analyser_export *e = &a->export;

	if (e->input < 0)
		return -EBADF;
	e->data = memfd_create("stoker-exports", MFD_CLOEXEC);
	e->rows = memfd_create("stoker-export-rows", MFD_CLOEXEC);
	if (e->data < 0 || e->rows < 0)
		return -errno;
	return analyser_fork(a, be_exporter, e, &e->pid);
}

void
analyser_export(struct analyser *a, int input)
{
	int rc;

	if (a->export.pid) { /* the last answer is not sent yet */
		close_ptr(&input);
		return;
	}
	clear(&a->export);
	a->export.input = input;
	rc = start(a);
	if (rc) {
		clear(&a->export);
		send_exported(a, analyser_error(rc));
	}
}

void
analyser_export_ended(struct analyser *a, pid_t pid, bool good)
{
	if (!a->export.pid || a->export.pid != pid)
		return;
	send_exported(a, good ? CAPTURE_OK : CAPTURE_FINISH_DIED);
	clear(&a->export);
}
