/*
 * Importers: children of an API process that read files of other tools, so that
 * a file which breaks its reader costs one upload.
 *
 * An importer has no capability, file or socket, and its memory is bounded. It
 * sends profiles back as pprof, which the API decodes as any other file. It is
 * forked by a forker, which is as old as the API process and holds none of its
 * secrets.
 *
 * An importer reads the small files of a tenant, one after the other, as long
 * as nothing goes wrong. A file that may take more memory has its own
 * importer.
 */
#pragma once

#include "base/finding.h"
#include "profile/import.h"

struct importer;

/*
 * Starts the forker, or notes why it cannot be. Call this before anything is
 * read or opened that importers must not see.
 *   Owns     *out is the caller's; importer_stop() it
 *   Errors   -ENOMEM
 */
MUST_CHECK int importer_start(struct importer **out);
/* Ends the forker and its children. */
void importer_stop(struct importer *im);

/* A profile of a file; strings are borrowed. */
struct importer_part {
	const struct input *format;
	const struct type *type;      /* NULL: it was not chosen */
	const char *service, *labels; /* of otlp_read() */
	uint32_t profiles;            /* of otlp_read(), too */
};

enum importer_task {
	IMPORTER_FILE, /* profile_import() */
	IMPORTER_PUSH, /* the reader of is.format, or of the format that the
	                  bytes have; a recording is a profile for each of its
	                  types */
	IMPORTER_OTLP, /* otlp_read() */
};

struct importer_ask {
	enum importer_task task;
	/* Without unwinder and as_is. limits.inflated is not called: a file
	 * that inflates to more than fits ends with -EAGAIN. */
	struct import_ask is;
	const char *tenant;
	uint64_t fits;  /* bytes that a file may inflate to */
	int64_t memory; /* bytes that the file may take; 0: it is small */
	int64_t end_ns; /* deadline, by clock_mono_ns(); 0: none */
	/* Called from time to time; a value other than 0 ends the reading with
	 * -ECANCELED. */
	int (*go_on)(void *arg);
	/* Called for each profile, which may be TAKEn from *made. */
	int (*part)(void *arg, const struct importer_part *of,
	            struct profile **made);
	void *arg;
};

/*
 * Reads p[n].
 *
 *   Errors   those of profile_import() or otlp_read(), and those of part();
 *            -EAGAIN: no part was given out, and the file needs more: *inflated
 *            bytes, or more memory if that is 0; -ETIME past end_ns;
 *            -EOWNERDEAD: the importer died, with the reason in why;
 *            -ECHILD: no importer can be started, see importer_finding();
 *            -ESRCH: the same, since the forker is gone
 */
MUST_CHECK int
importer_read(struct importer *im, const struct importer_ask *ask,
              const void *p, size_t n, uint64_t *inflated, struct buf *why);
/* Reads a small file in a new importer, as a check. */
void importer_try(struct importer *im);
/* Returns whether importers could be started when one was last needed. */
const struct finding *importer_finding(const struct importer *im);
