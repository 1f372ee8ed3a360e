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
#include "endpoint/call/links.h"
#include "endpoint/call/pushes.h"
#include "endpoint/reply.h"
#include "endpoint/request.h"
#include "store/store.h"

/* What lives as long as the process. */
struct env {
	const struct conf *conf;
	struct store store;
	struct counters *counters;
	struct link_keys links;
	struct pushes pushes;
	struct finding store_finding; /* see checks.h */
	int64_t store_tried_ns;       /* 0: not yet */
};

/* Who calls; tenant is the one this request is about. */
struct caller {
	enum who who;
	char id[ID_MAX]; /* token id, or "jwt:SUBJECT" */
	char tenant[STORE_TENANT_MAX];
	char *tenants; /* words; all that the token holds */
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
	/* Reads the body into *req: 0 or -EPIPE. Only once it is known who
	 * asks, and that its length is within bounds. */
	int (*receive)(struct call *c);
	/* Of a call that is to be done once: see call_begin(). */
	int (*begin)(struct call *c);
	bool begun, repeated;
	bool dropped; /* it did not arrive whole: nobody waits for a reply */
	struct caller caller;
	json_t *body;
	struct value values[P_COUNT];
};

/* --- parameters ---------------------------------------------------------- */

/* Its value or the row's default. */
static inline int64_t
param_int(const struct call *c, enum param p)
{
	return c->values[p].i;
}

/* The text, the row's default when it is absent. */
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

/* NULL when absent. */
static inline const json_t *
param_json(const struct call *c, enum param p)
{
	return c->values[p].json;
}

/* The i-th KEY=VALUE of a MATCHES row, without the row's name; false when
 * there are no more. */
bool param_match(const struct call *c, enum param p, size_t i,
                 struct query_pair *out);
/* The segment of the path that stands at {name}; NULL: there is none. */
const char *path_param(const struct call *c, const char *name);
/* What a service may be called. */
bool name_valid(const char *s);
/* Checks and reads all parameters of the route: 0, or -1 with the reply. */
MUST_CHECK int params_read(struct call *c);

/*
 * Where the body is a profile, the handler calls this between reading it and
 * storing anything: what takes long is done before the store is locked.
 *   Errors   0; 1 where the reply is one from before: the handler returns 0;
 *            -1 with the reply
 */
MUST_CHECK static inline int
call_begin(struct call *c)
{
	return c->begin ? c->begin(c) : 0;
}

/* Ends what was begun, so that others can write meanwhile: the handler
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
/* Ends it. */
MUST_CHECK int answer_end(struct call *c);
/* Success without a body. */
MUST_CHECK int answer_empty(struct call *c, int status);
/* Sets the ETag; true when the client has this version: return
 * answer_empty(c, 304). */
bool answer_etag(struct call *c, const char *fmt, ...) PRINTF(2, 3);

/* Adds to the details of the error that follows. */
void detail_text(struct call *c, const char *name, const char *value);
void detail_int(struct call *c, const char *name, int64_t value);
/* Adds a line to warnings[]. */
void warn_client(struct call *c, const char *fmt, ...) PRINTF(2, 3);

/* Replaces the reply by the error; always -1. The arguments are those of
 * the row's message. */
#define fail(c, code, ...) \
	fail_as((c), E_##code, error_text_##code, ##__VA_ARGS__)
#define ERROR(code, status, message) \
	static const char error_text_##code[] __attribute__((unused)) = message;
#include "errors.def"
#undef ERROR
int fail_as(struct call *c, enum error e, const char *fmt, ...) PRINTF(3, 4);
/* The same with Retry-After. */
#define fail_retry(c, seconds, code, ...) \
	(reply_retry((c), (seconds)), fail((c), code, ##__VA_ARGS__))
void reply_retry(struct call *c, int seconds);
/* InvalidParameter for a check that no row can express. */
int fail_param(struct call *c, const char *name, const char *expected,
               const char *got);
/* The same of a value in the body, of which the first bytes are shown. */
int fail_value(struct call *c, const char *name, const char *expected,
               const json_t *got);
/* What a store call's -errno means to a client; the rest goes to the log. */
int fail_store(struct call *c, int rc);

/* --- lists: {"items":[...],"nextCursor":...} ------------------------------ */

/* The page that the caller asked operation op for. */
#define PAGE_OF(c, op)                                        \
	((struct page){                                       \
		.limit = (int)param_int((c), P_##op##_limit), \
		.cursor = param_text((c), P_##op##_cursor),   \
	})

/* Starts the reply: write the items. */
struct buf *page_begin(struct call *c);
/* Ends the reply; next is NULL on the last page. */
MUST_CHECK int page_end(struct call *c, const char *next);
/* Answers for a failed list call: a bad cursor, or the store's trouble. */
int page_fail(struct call *c, int rc, const char *cursor);

/* --- the audit log -------------------------------------------------------- */

/* Notes that the caller did this operation to target; detail is a JSON
 * object. Call it in the change's transaction. */
MUST_CHECK int
audit_note(struct call *c, const char *target, const char *detail);
