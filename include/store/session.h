/*
 * Sessions: one row per capture or upload, with its result. A capture's
 * session has a job (job.h) whose state is read along with it.
 */
#pragma once

#include "base/json.h"
#include "store/store.h"

#define SESSION_PREFIX       "sess-"
#define SESSION_ALL_ORDINALS (-1)

/* values of status */
#define SESSION_RUNNING   "running"
#define SESSION_COMPLETED "completed"
#define SESSION_FAILED    "failed"
/* values of origin */
#define SESSION_CAPTURE "capture"
#define SESSION_UPLOAD  "upload"
#define SESSION_SAMPLY  "samply"
#define SESSION_WINDOW  "window" /* in no row: a window, shown as a session */

/* A request for a capture or an upload; strings are borrowed. */
struct session_ask {
	const char *tenant, *service, *type;
	const char *origin; /* SESSION_CAPTURE, SESSION_UPLOAD, ... */
	int64_t ordinal;    /* or SESSION_ALL_ORDINALS */
	int64_t seconds, rate;
	const char *labels;     /* JSON object */
	const char *created_by; /* token id or subject */
	/* time of an upload; 0: now */
	int64_t started_ms, completed_ms;
};

/* The result of a capture; strings are borrowed. */
struct session_result {
	int64_t duration_ms, sample_count;
	int64_t age_ms;            /* since sampling began; 0: unknown */
	double rate;               /* per second, achieved */
	const char *top_functions; /* JSON array */
	const char *quality;       /* JSON object */
	/* Build-ids of programs that have frames without names: job_finish()
	 * records them with debug_file_want(). */
	const char *const *unnamed;
	size_t nunnamed;
};

struct session {
	char *id, *tenant, *service, *type, *origin, *status;
	int64_t ordinal, asked_seconds, asked_rate;
	char *labels, *created_by;
	int64_t created_ms, started_ms;
	int64_t completed_ms; /* 0 while running */
	int64_t duration_ms;
	double rate;
	int64_t sample_count;
	char *top_functions, *quality;
	/* from its job; an upload has "done", 1 and "" */
	char *phase;     /* queued, capturing, symbolizing, storing, done,
	                    cancelled, failed */
	double progress; /* 0..1 */
	char *error_code, *error_message, *host;
	int64_t cancel_requested;
	int64_t has_profile; /* 1: blob_of_session() will find it */
	int64_t pinned;      /* 1: retention keeps it */
};
#define CLEANUP_SESSION CLEANUP(session_done)

struct session_list {
	struct session *items;
	size_t n;
	char *next; /* cursor, NULL on the last page */
};
#define CLEANUP_SESSIONS CLEANUP(session_list_done)

struct session_filter {
	const char *tenant;
	const char *service, *type, *status; /* "": any */
	int64_t from_ms, to_ms;              /* 0: open */
	const char *origin;                  /* "" or NULL: any */
};

struct blob;

void session_done(struct session *s);
void session_list_done(struct session_list *l);

MUST_CHECK int session_get(struct store *s, const char *tenant, const char *id,
                           struct session *out);
/* Finds the completed session before this one, of the same service, type and
 * processes. */
MUST_CHECK int
session_before(struct store *s, const struct session *of, struct session *out);
/* Finds sessions by a prefix of their id: at most SESSION_FOUND_MAX, by id. */
#define SESSION_FOUND_MAX 10
MUST_CHECK int session_find(struct store *s, const char *tenant,
                            const char *prefix, struct session_list *out);
/* Lists sessions in order of creation, newest first. */
MUST_CHECK int session_list(struct store *s, const struct session_filter *f,
                            struct page page, struct session_list *out);
/* Lists sessions of one service in order of their start, newest first; an
 * upload has its own time. */
MUST_CHECK int session_history(struct store *s, const struct session_filter *f,
                               struct page page, struct session_list *out);
/* A session that has a listing. */
struct listed_session {
	char *id;
	int64_t started_ms;
};
struct listed_sessions {
	struct listed_session *items;
	size_t n;
};
void listed_sessions_done(struct listed_sessions *l);
/* Lists sessions of a service that have a listing, the newest first: a few. */
MUST_CHECK int session_listed(struct store *s, const char *tenant,
                              const char *service, struct listed_sessions *out);
/*
 * Finds samply runs of one process of a service: the newest run, which may
 * still be running, and the newest that succeeded and is still kept.
 *   Errors   -ENOENT when there is none
 */
MUST_CHECK int
session_samply_newest(struct store *s, const char *tenant, const char *service,
                      int64_t ordinal, struct session *out);
MUST_CHECK int
session_samply_good(struct store *s, const char *tenant, const char *service,
                    int64_t ordinal, struct session *out);
/*
 * Stores an upload: a session that is complete from the start.
 *   Errors   -ENOENT when there is no such service
 */
MUST_CHECK int session_upload(struct store *s, const struct session_ask *ask,
                              const struct session_result *result,
                              const struct blob *blob, char out[static ID_MAX]);
/*
 * Adds labels that a session lacks; those that it has stay as they are.
 *
 *   Shape    labels is an object of texts
 *   Errors   -ENOENT no such session, -E2BIG all labels together would be
 *            longer than those of a series (BLOCK_LABELS_MAX), -ENOMEM
 */
MUST_CHECK int
session_add_labels(struct store *s, const char *id, json_t *labels);
/* Pins or unpins; -ENOENT when there is no such session. */
MUST_CHECK int
session_pin(struct store *s, const char *tenant, const char *id, bool pinned);
/* Deletes a session and marks its blobs for the worker. Returns -EBUSY while it
 * runs, -ETXTBSY while it is a baseline. */
MUST_CHECK int
session_delete(struct store *s, const char *tenant, const char *id);
