/*
 * One call of an operation: what its handler gets, and how it answers.
 *
 *	int
 *	handler(struct call *c)
 *	{
 *		...
 *		if (rc == -ENOENT)
 *			return fail(c, UnknownProfile, id);
 *		out = answer_json(c);
 *		json_put_text(out, "id", id);
 *		return answer_end(c);
 *	}
 *
 * A handler returns 0 with a finished reply, or -1 from a fail function.
 * Parameters were checked against params.def before it runs.
 */
#pragma once

#include "base/json.h"
#include "base/json_out.h"
#include "endpoint/call/counters.h"
#include "endpoint/call/kept.h"
#include "endpoint/call/links.h"
#include "endpoint/call/pushes.h"
#include "endpoint/reply.h"
#include "endpoint/request.h"
#include "store/job.h"
#include "store/store.h"

#include <string.h>

struct service;

/* Things that live as long as the process. */
struct env {
	const struct conf *conf;
	struct store store;
	struct counters *counters;
	struct kept *kept; /* NULL: no results are kept */
	struct link_keys links;
	struct pushes pushes;
	struct importer *importer;
	struct lease_clock leases;                 /* see call_expire_jobs() */
	struct finding store_finding;              /* see checks.h */
	int64_t store_tried_ns, importer_tried_ns; /* 0: not yet */
};

#define CALLER_LINK "link"

/* The authenticated caller; tenant is the one that this request is about. */
struct caller {
	enum who who;
	char id[ID_MAX]; /* token id, "jwt:SUBJECT", "sso:USER" or CALLER_LINK */
	char tenant[STORE_TENANT_MAX];
	char home[STORE_TENANT_MAX]; /* the token's default tenant */
	char *tenants; /* all tenants of the token, separated by spaces */
	char browser_session[ID_MAX]; /* of a cookie or link; "": neither */
	const char *sign_in_link;     /* NULL: none was sent */
	int64_t expires_ms; /* of token, cookie or a link's session; 0: never */
	char host[CONF_HOST_MAX]; /* of a worker's key */
};

struct value {
	bool given;
	int64_t i;          /* INT, BOOL; TIME in epoch ms, SPAN in ms */
	const char *s;      /* texts and choices */
	const json_t *json; /* WORDS, LABELS, OBJECT */
};

struct call {
	struct env *env;
	const struct route *route;
	const struct request *req;
	struct reply *reply;
	/* Reads the body into *req; returns 0 or -EPIPE. Called only once the
	 * caller is known, and the length is within bounds. */
	int (*receive)(struct call *c);
	/* Set for a call that must take effect only once: see call_begin(). */
	int (*begin)(struct call *c);
	bool begun, repeated;
	bool busy;      /* the database was busy: the call may be run again */
	bool dropped;   /* the request is incomplete, or the client has gone: no
	                   reply is awaited */
	uint64_t reads; /* bytes; see call_reads() */
	int64_t end_ns; /* deadline; 0: none */
	struct caller caller;
	json_t *body;
	struct value values[P_COUNT];
};

/* True for a user of a single sign-on: nginx sent neither key nor cookie. */
static inline bool
call_is_sso(const struct call *c)
{
	return !*c->req->authorization && !*c->caller.browser_session;
}

/* True for the holder of a signed link, who has no key. */
static inline bool
call_is_link(const struct call *c)
{
	return !strcmp(c->caller.id, CALLER_LINK);
}

/* --- parameters ---------------------------------------------------------- */

/* Returns the parameter's value, or the row's default. */
static inline int64_t
param_int(const struct call *c, enum param p)
{
	return c->values[p].i;
}

/* Returns the text, or the row's default when it is absent. */
static inline const char *
param_text(const struct call *c, enum param p)
{
	return c->values[p].s;
}

static inline bool
param_given(const struct call *c, enum param p)
{
	return c->values[p].given;
}

/* Returns NULL when the parameter is absent. */
static inline const json_t *
param_json(const struct call *c, enum param p)
{
	return c->values[p].json;
}

/*
 * Reads a member of an object, or of an object in a list, by its row of
 * members.def: its value, or the row's default if it is absent.
 *   Errors   -1 with the reply
 */
MUST_CHECK int
member_read(struct call *c, const char *object, const json_t *from,
            const char *name, struct value *out);
/* Gets the i-th KEY=VALUE of a MATCHES row, without the row's name; false when
 * there are no more. */
bool param_match(const struct call *c, enum param p, size_t i,
                 struct query_pair *out);
/* Returns the segment of the path in the place of {name}, or NULL. */
const char *path_param(const struct call *c, const char *name);
/* True for a valid name of a service. */
bool name_valid(const char *s);
/* Checks and reads all parameters of the route. Returns 0, or -1 with the
 * reply. */
MUST_CHECK int params_read(struct call *c);

/*
 * Begins a call that must take effect only once. A handler whose body is a
 * profile calls this after it has read the profile and before it stores
 * anything, so that the slow part is done before the store is locked.
 *   Errors   -1 with the reply, which may be that of an earlier equal call: the
 *            handler returns -1
 */
MUST_CHECK static inline int
call_begin(struct call *c)
{
	return c->begin ? c->begin(c) : 0;
}

/* Rolls back what was begun, so that others can write meanwhile. The handler
 * calls call_begin() again before it stores anything. */
static inline void
call_pause(struct call *c)
{
	if (c->begun)
		store_rollback(&c->env->store);
	c->begun = false;
}

/* --- answers ------------------------------------------------------------- */

/* Starts the route's success reply, a JSON object: write its members. */
struct buf *answer_json(struct call *c);
/* Ends the reply. */
MUST_CHECK int answer_end(struct call *c);
/* Answers with success and no body. */
MUST_CHECK int answer_empty(struct call *c, int status);
/* Sets the ETag. Returns true when the client has this version already: then
 * return answer_empty(c, 304). */
bool answer_etag(struct call *c, const char *fmt, ...) PRINTF(2, 3);

/* Adds a member to the details of the next error. */
void detail_text(struct call *c, const char *name, const char *value);
void detail_int(struct call *c, const char *name, int64_t value);
/* Adds a line to warnings[]. */
void warn_client(struct call *c, const char *fmt, ...) PRINTF(2, 3);

/* Replaces the reply by the error; always -1. The arguments are those of
 * the row's message. */
#define fail(c, code, ...) \
	fail_as((c), E_##code, error_text_##code, ##__VA_ARGS__)
#define ERROR(code, status, message, remedy) \
	static const char error_text_##code[] __attribute__((unused)) = message;
#include "errors.def"
#undef ERROR
int fail_as(struct call *c, enum error e, const char *fmt, ...) PRINTF(3, 4);
/* Fails like fail(), with a Retry-After header. */
#define fail_retry(c, seconds, code, ...) \
	(reply_retry((c), (seconds)), fail((c), code, ##__VA_ARGS__))
void reply_retry(struct call *c, int seconds);
/* Fails with InvalidParameter, for a check that no row can express. */
int fail_param(struct call *c, const char *name, const char *expected,
               const char *got);
/* Fails with InvalidParameter for a value in the body, whose first bytes are
 * shown. */
int fail_value(struct call *c, const char *name, const char *expected,
               const json_t *got);
/* Fails with the error that a store call's -errno means to a client; an
 * unexpected one is logged. */
int fail_store(struct call *c, int rc);
/* The same; -ENOENT means that nothing has the id that this parameter is. */
int fail_id(struct call *c, int rc, enum param p);
/* The same; -ENOENT means that the caller's tenant has no such service. */
int fail_service(struct call *c, int rc, const char *name);
/*
 * Finds a service of the caller's tenant.
 *   Owns     service_done() it; out may be NULL
 *   Errors   -1 with the reply
 */
MUST_CHECK int
call_service(struct call *c, const char *name, struct service *out);

/* --- what one call may take ----------------------------------------------- */

/*
 * Returns 0 while the call may go on; -1 with the reply when its client has
 * gone, or when its time is over. Ask before work starts and between its
 * stages: one stage takes a second at most.
 */
MUST_CHECK int call_go_on(struct call *c);
/*
 * Announces how many bytes of profiles, inflated, the call is about to read.
 * Above CALL_LIGHT in total the call is heavy: it then waits for a place, if
 * none is free and it may wait. Until then it should use little memory.
 *   Errors   -1 with the reply: all places are taken, or call_go_on()
 */
#define CALL_LIGHT (UINT64_C(2) << 20)
MUST_CHECK int call_reads(struct call *c, uint64_t bytes);
/* Fails for a request that needs more memory than it may use. */
int fail_memory(struct call *c);

/* --- lists: {"items":[...],"nextCursor":...} ------------------------------ */

/* The page that the caller of operation op asked for. */
#define PAGE_OF(c, op)                                        \
	((struct page){                                       \
		.limit = (int)param_int((c), P_##op##_limit), \
		.cursor = param_text((c), P_##op##_cursor),   \
	})

/* Starts the reply; the caller writes the items. */
struct buf *page_begin(struct call *c);
/* Ends the reply; next is NULL on the last page. */
MUST_CHECK int page_end(struct call *c, const char *next);
/* Fails for a list call: either the cursor is bad, or the store failed. */
int page_fail(struct call *c, int rc, const char *cursor);

/* --- hosts of a fleet ----------------------------------------------------- */

/*
 * Checks that a call may be made for a host: where nginx requires certificates,
 * its own must have been shown.
 *   Errors   -1 with the reply
 */
MUST_CHECK int call_check_certificate(struct call *c, const char *host);

/* Gives up the jobs of workers that have been silent for long; does so at most
 * every 10 s, and only while expired leases count (lease_clock_check()). */
MUST_CHECK int call_expire_jobs(struct call *c);

/* --- the audit log -------------------------------------------------------- */

/* Counts the caller's lines of the last within_ms: those of one operation, or
 * all of them if action is "". */
MUST_CHECK int audit_lines(struct call *c, const char *action,
                           int64_t within_ms, int64_t *out);
/* Records in the audit log that the caller did this operation to target; detail
 * is a JSON object. Call it in the transaction of the change. Returns
 * -ETOOMANYREFS past CHANGES_MAX, since lines stay for a year. */
#define CHANGES_MAX 10000 /* of one caller within an hour */
MUST_CHECK int
audit_note(struct call *c, const char *target, const char *detail);
/* Ends the transaction of a change: with audit_note(), unless rc is -errno. */
MUST_CHECK int
audit_end(struct call *c, int rc, const char *target, const char *detail);
