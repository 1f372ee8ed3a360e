/*
 * An object store for tests, in threads of the test: one bucket, in path
 * style, which refuses unsigned requests (lib/sigv4.h). It keeps objects in
 * memory, and misbehaves on demand.
 */
#pragma once

#include "base/conf.h"

#include <stdbool.h>
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
	OBJECTS_BABBLE,       /* bytes that are not HTTP */
	OBJECTS_IGNORE_RANGE, /* 200 with the whole object */
	OBJECTS_CIRCLE,       /* a list whose pages never end */
	OBJECTS_ENDLESS,      /* a list whose pages never end, with new names */
	OBJECTS_CLOSE,        /* hangs up instead of answering */
	OBJECTS_CUT,          /* hangs up in the middle of a body */
	OBJECTS_TRICKLE,      /* sends a byte from time to time */
	OBJECTS_FAIL,         /* 500 */
	OBJECTS_REDIRECT,     /* 307 to another path of this server */
	OBJECTS_HEADERS,      /* headers without end */
	OBJECTS_HEADER,       /* a header without end */
	OBJECTS_CONTINUE,     /* 100 without end */
	OBJECTS_SHORT,        /* half of a body, with the half's length */
	OBJECTS_LONG,         /* a body twice, with the doubled length */
	OBJECTS_OTHER,        /* a body of the same length */
	OBJECTS_TAG,          /* an ETag that is wrong */
	OBJECTS_MOODS
};

struct objects;
/* Starts an object store on a free port of 127.0.0.1. */
struct objects *objects_start(void);
void objects_stop(struct objects *o);
void objects_mood(struct objects *o, enum objects_mood mood);
/* Has the nth request from now answered in a mood, and the others normally. */
void objects_spoil(struct objects *o, enum objects_mood mood, int n);
/* Returns whether that request has come. */
bool objects_spoiled(struct objects *o);
/* Advances its clock. */
void objects_pass(struct objects *o, int64_t seconds);
/* Stores an object under its full name, without a request. */
void objects_plant(struct objects *o, const char *key, const char *text);
size_t objects_count(struct objects *o);
/* Returns why it last refused a signature, or that a redirect was followed, or
 * "". */
const char *objects_refused(struct objects *o);
/* Returns the number of requests. */
int objects_requests(struct objects *o);
/* Returns the number of connections. */
int objects_connections(struct objects *o);
uint16_t objects_port(const struct objects *o);
/* Writes the key file into dir and fills in [s3]; its texts live as long as the
 * object store. */
void objects_conf(struct objects *o, const char *dir, struct conf *out);
