#include "reading.h"

#include "base/file.h"
#include "importer.h"
#include "profile/otlp.h"
#include "profile/pprof.h"
#include "words.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

/* Free memory is kept for the next file: to clear it again costs more than to
 * read a small file. */
#define KEPT_BYTES   (8 << 20)
#define MAPPED_BYTES (4 << 20) /* a larger block is mapped by itself */
#define PAD_BYTES    (1 << 20)
/* An importer collects up to this many bytes before it sends them, so that it
 * wakes the API once. */
#define TOGETHER ((size_t)64 << 10)
/* Limit of the bytes that are sent along with a profile. */
#define BESIDE (TOGETHER + 20 * IMPORTER_TEXT_MAX)

struct reading {
	int socket;
	struct importer_words words;
	char *texts[4];
	char *file;
	uint64_t inflated; /* more than fits; 0: it fits */
	struct buf why;
	struct buf out; /* to be sent; at the end if it is little */
};

static void
reading_done(struct reading *r)
{
	for (size_t i = 0; i < ARRAY_LEN(r->texts); i++)
		free(r->texts[i]);
	free(r->file);
	buf_done(&r->why);
	buf_done(&r->out);
}

/* --- words ---------------------------------------------------------------- */

/* Reads n bytes; false at the end. */
static bool
hear(int socket, void *p, size_t n)
{
	char *to = p;

	while (n) {
		ssize_t got = read(socket, to, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		n -= (size_t)got;
	}
	return true;
}

static int
hear_text(int socket, size_t n, char **out)
{
	char *text = calloc(1, n + 1);

	if (!text)
		return -ENOMEM;
	*out = text;
	return hear(socket, text, n) ? 0 : -EPIPE;
}

/* Reads the texts and the file. A file for which there is no memory is
 * skipped. */
static int
hear_rest(struct reading *r)
{
	const struct importer_words *w = &r->words;
	const uint32_t lengths[] = {w->type, w->format, w->content_type,
	                            w->event};
	char past[4096];
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(lengths) && !rc; i++)
		rc = hear_text(r->socket, lengths[i], &r->texts[i]);
	if (rc)
		return -EPIPE;
	r->file = malloc(w->file + 1);
	if (r->file)
		return hear(r->socket, r->file, w->file) ? 0 : -EPIPE;
	for (uint64_t left = w->file, n; left; left -= n) {
		n = left < sizeof(past) ? left : sizeof(past);
		if (!hear(r->socket, past, n))
			return -EPIPE;
	}
	return -ENOMEM;
}

static int
say(struct reading *r)
{
	int rc = fd_write_all(r->socket, r->out.p, r->out.len);

	buf_clear(&r->out);
	return rc ? -EPIPE : 0;
}

static int
say_end(struct reading *r, int rc)
{
	const struct importer_said s = {
		.end = true,
		.rc = r->inflated ? -EAGAIN : rc,
		.format = -1,
		.type = -1,
		.why = buf_err(&r->why) ? 0 : (uint32_t)r->why.len,
		.inflated = r->inflated,
	};

	buf_add(&r->out, &s, sizeof(s));
	buf_add(&r->out, r->why.p, s.why);
	return buf_err(&r->out) ? -EPIPE : say(r);
}

/* Drops a part that cannot be sent. Its memory is needed to send the reason. */
static int
refuse_part(struct reading *r, size_t place, int rc)
{
	int said;

	r->out.len = place;
	r->out.err = 0;
	said = say(r);
	buf_done(&r->out);
	if (rc == -E2BIG)
		limit_exceeded(&r->why, "it is too large as pprof",
		               r->words.raw_bytes, "max_raw_bytes");
	return said ?: rc;
}

static int
say_part(struct reading *r, const struct importer_part *of,
         const struct profile *p)
{
	struct importer_said s = {
		.format = of->format ? (int32_t)(of->format - inputs) : -1,
		.type = of->type ? (int32_t)(of->type - profile_types) : -1,
		.profiles = of->profiles,
		.service = of->service ? (uint32_t)strlen(of->service) : 0,
		.labels = of->labels ? (uint32_t)strlen(of->labels) : 0,
	};
	struct buf *out = &r->out;
	size_t place = out->len, from;

	buf_add(out, &s, sizeof(s));
	buf_add(out, of->service, s.service);
	buf_add(out, of->labels, s.labels);
	from = out->len;
	pprof_write(p, out);
	s.file = out->len - from;
	if (!buf_err(out) && s.file > r->words.raw_bytes)
		return refuse_part(r, place, -E2BIG);
	if (buf_err(out))
		return refuse_part(r, place, buf_err(out));
	memcpy(out->p + place, &s, sizeof(s));
	return out->len > TOGETHER ? say(r) : 0;
}

/* --- tasks ---------------------------------------------------------------- */

static int
inflated(void *arg, size_t bytes)
{
	struct reading *r = arg;

	if (bytes > r->words.fits)
		r->inflated = bytes;
	return bytes > r->words.fits;
}

static int
read_file(struct reading *r, const struct import_ask *ask)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct importer_part of = {0};
	int rc = profile_import(r->file, r->words.file, ask, &p, &of.format,
	                        &of.type, &r->why);

	return rc ? rc : say_part(r, &of, p);
}

/* Finds out why a recording has no profile of any type. */
static int
explain_recording(struct reading *r, const struct input *format,
                  struct import_ask ask)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc;

	buf_clear(&r->why);
	ask.type = "";
	rc = format->read(r->file, r->words.file, &ask, &p, &r->why);
	return rc && rc != -ENODATA ? rc : -EBADMSG;
}

/* Reads a recording once for each type. */
static int
read_recording(struct reading *r, const struct input *format,
               struct import_ask ask)
{
	bool said = false;
	int rc = 0;

	for (uint32_t i = 0; i < profile_ntypes && !rc; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;
		const struct importer_part of = {.format = format,
		                                 .type = &profile_types[i]};

		buf_clear(&r->why);
		ask.type = profile_types[i].name;
		rc = format->read(r->file, r->words.file, &ask, &p, &r->why);
		said |= !rc;
		rc = rc == -ENODATA ? 0 : rc ? rc : say_part(r, &of, p);
	}
	return rc || said ? rc : explain_recording(r, format, ask);
}

static int
read_push(struct reading *r, const struct import_ask *ask)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct importer_part of = {.format = input_find(ask->format)};
	int rc;

	if (!of.format)
		return -EPROTONOSUPPORT;
	if (!strcmp(of.format->name, "jfr"))
		return read_recording(r, of.format, *ask);
	rc = of.format->read(r->file, r->words.file, ask, &p, &r->why);
	return rc ? rc : say_part(r, &of, p);
}

static int
take_part(void *arg, const struct otlp_part *of, struct profile **made)
{
	const struct importer_part part = {
		.service = of->service,
		.labels = of->labels,
		.profiles = of->profiles,
	};

	return say_part(arg, &part, *made);
}

static int
read_otlp(struct reading *r, const struct import_ask *ask)
{
	return otlp_read(r->file, r->words.file, ask, take_part, r, &r->why);
}

static int
read_task(struct reading *r)
{
	const struct importer_words *w = &r->words;
	const struct import_ask ask = {
		.type = r->texts[0],
		.format = r->texts[1],
		.content_type = r->texts[2],
		.event = r->texts[3],
		.rate = w->rate,
		.lines = w->lines,
		.deltas = w->deltas,
		.untyped = w->untyped,
		.limits = {.raw_bytes = w->raw_bytes,
	                   .memory = w->memory,
	                   .ratio = w->ratio,
	                   .strings = w->strings,
	                   .samples = w->samples,
	                   .inflated = inflated,
	                   .arg = r},
	};

	switch ((enum importer_task)w->task) {
	case IMPORTER_FILE:
		return read_file(r, &ask);
	case IMPORTER_PUSH:
		return read_push(r, &ask);
	case IMPORTER_OTLP:
		return read_otlp(r, &ask);
	}
	return -EINVAL;
}

static bool
read_one(int socket)
{
	CLEANUP(reading_done)
	struct reading r = {.socket = socket,
	                    .why = BUF_INIT(IMPORTER_TEXT_MAX)};
	int rc;

	if (!hear(socket, &r.words, sizeof(r.words)))
		return false;
	r.out = BUF_INIT(r.words.raw_bytes + BESIDE);
	rc = hear_rest(&r);
	if (!rc)
		rc = read_task(&r);
	return rc != -EPIPE && !say_end(&r, rc);
}

void
reading_run(int socket)
{
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	(void)mallopt(M_TOP_PAD, PAD_BYTES);
	while (read_one(socket))
		;
	_exit(0);
}
