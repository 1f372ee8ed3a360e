/*
 * An object store for tests, in threads of the test: one bucket, path style,
 * which refuses what is not signed (lib/sigv4.h). It keeps objects in memory,
 * and misbehaves when it is told to.
 */
#pragma once

#include "base/conf.h"

#include <stdint.h>

#define OBJECTS_KEY    "AKTEST"
#define OBJECTS_SECRET "se/cr+et"
#define OBJECTS_BUCKET "bucket"

enum objects_mood {
	OBJECTS_FINE,
	OBJECTS_HANG,         /* never answers */
	OBJECTS_STALL,        /* stops in the middle of a body */
	OBJECTS_REFUSE,       /* 503 */
	OBJECTS_FORBID,       /* 403, whatever the signature */
	OBJECTS_NO_BUCKET,    /* 404 NoSuchBucket */
	OBJECTS_FLOOD,        /* a body without end */
	OBJECTS_BABBLE,       /* no HTTP */
	OBJECTS_IGNORE_RANGE, /* 200 with all of it */
	OBJECTS_CIRCLE,       /* a list whose pages never end */
};

struct objects;
/* Starts one on a free port of 127.0.0.1. */
struct objects *objects_start(void);
void objects_stop(struct objects *o);
void objects_mood(struct objects *o, enum objects_mood mood);
/* Moves its clock on. */
void objects_pass(struct objects *o, int64_t seconds);
/* Puts an object by its whole name, without a request. */
void objects_plant(struct objects *o, const char *key, const char *text);
size_t objects_count(struct objects *o);
/* Why it refused a signature last; "" when it never did. */
const char *objects_refused(struct objects *o);
/* Requests that came. */
int objects_requests(struct objects *o);
/* Connections that were accepted. */
int objects_connections(struct objects *o);
uint16_t objects_port(const struct objects *o);
/* Writes the key file into dir, and fills [s3] in: its texts live as long as
 * the object store. */
void objects_conf(struct objects *o, const char *dir, struct conf *out);
