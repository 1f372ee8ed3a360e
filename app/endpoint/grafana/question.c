#include "question.h"

#include "endpoint/call/kept.h"
#include "endpoint/range/range_call.h"
#include "profile/merge.h"
#include "profile/pprof.h"

#include <errno.h>
#include <string.h>

void
question_done(struct question *q)
{
	selector_done(&q->selector);
	subjects_done(&q->subjects);
	free(q->services);
}

/* --- selectors ------------------------------------------------------------ */

static int
read_selector(struct call *c, const char *text, struct selector *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = selector_read(text, out, &why);

	if (rc == -ENOMEM)
		return fail_memory(c);
	return rc ? fail(c, InvalidMessage, buf_str(&why)) : 0;
}

static int
find_subjects(struct call *c, const struct type *type,
              const struct selector *by, size_t n, struct subjects *out)
{
	int rc = subjects_find(&c->env->store, c->caller.tenant, type, by, n,
	                       out);

	if (rc == -E2BIG)
		return fail(c, TooManySubjects, WINDOW_MAX_SERIES);
	return rc ? fail_store(c, rc) : 0;
}

struct selectors {
	struct selector items[QUESTION_MAX_SELECTORS];
	size_t n;
};

static void
selectors_done(struct selectors *s)
{
	for (size_t i = 0; i < s->n; i++)
		selector_done(&s->items[i]);
}

int
question_subjects(struct call *c, const json_t *asked, struct subjects *out)
{
	CLEANUP(selectors_done) struct selectors by = {0};
	size_t i;
	json_t *v;

	json_array_foreach((json_t *)asked_list(asked, "matchers"), i, v) {
		if (by.n == QUESTION_MAX_SELECTORS)
			return fail(c, InvalidMessage, "too many matchers");
		if (read_selector(c, json_string_value(v), &by.items[by.n++]))
			return -1;
	}
	return find_subjects(c, NULL, by.items, by.n, out);
}

/* --- questions ------------------------------------------------------------ */

static bool
has_service(const struct question *q, const char *name)
{
	for (size_t i = 0; i < q->n; i++)
		if (!strcmp(q->services[i], name))
			return true;
	return false;
}

static int
find_services(struct question *q)
{
	int rc = find_subjects(q->c, q->type, &q->selector, 1, &q->subjects);

	if (rc)
		return rc;
	q->services = calloc(q->subjects.n + 1, sizeof(*q->services));
	if (!q->services)
		return fail_memory(q->c);
	for (size_t i = 0; i < q->subjects.n; i++)
		if (!has_service(q, q->subjects.items[i].service))
			q->services[q->n++] = q->subjects.items[i].service;
	return q->n > QUESTION_MAX_SERVICES
	               ? fail(q->c, TooManySubjects, QUESTION_MAX_SERVICES)
	               : 0;
}

/*
 * Refuses selections that are not supported: an answer about all profiles would
 * be wrong.
 */
static int
check_served(struct call *c, const json_t *asked)
{
	const char *list = "profile_id_selector";

	return json_array_size(asked_list(asked, list))
	               ? fail(c, CallNotServed, list)
	               : 0;
}

int
question_read(struct call *c, const json_t *asked, struct question *out)
{
	const char *id = asked_text(asked, "profile_typeID");

	*out = (struct question){
		.c = c,
		.type = profile_id_find(id),
		.from_ms = asked_int(asked, "start"),
		.to_ms = asked_int(asked, "end"),
		.with_ids =
			json_array_size(asked_list(asked, "span_selector")) ||
			json_array_size(asked_list(asked, "trace_id_selector")),
	};
	if (check_served(c, asked))
		return -1;
	if (!profile_id_valid(id))
		return fail(c, InvalidMessage,
		            "profile_typeID must have five parts with colons "
		            "between them");
	if (out->from_ms < 0 || out->from_ms > out->to_ms)
		return fail(c, InvalidMessage, "start must not be after end");
	if (read_selector(c, asked_text(asked, "label_selector"),
	                  &out->selector))
		return -1;
	return out->type ? find_services(out) : 0;
}

static bool
passes(const struct range *r, const char *host, const char *labels)
{
	const struct question *q = r->only.of;
	struct subject s = subject_make(r->service, q->type, host, labels);
	bool is = subject_passes(&s, &q->selector);

	json_decref(s.labels);
	return is;
}

/* True if a matcher is about hosts: a sum over hosts cannot answer it. */
static bool
is_by_host(const struct question *q)
{
	for (size_t i = 0; i < q->selector.n; i++)
		if (subject_is_host(q->selector.items[i].name))
			return true;
	return false;
}

struct range
question_range(const struct question *q, const char *service)
{
	return (struct range){
		.store = &q->c->env->store,
		.tenant = q->c->caller.tenant,
		.service = service,
		.type = q->type->name,
		.host = "",
		.origin = "auto",
		.from_ms = q->from_ms,
		.to_ms = q->to_ms,
		.with_ids = q->with_ids,
		.end_ns = q->c->end_ns,
		.peer = &q->c->req->peer_fd,
		.only = {passes, q, is_by_host(q)},
	};
}

/* --- sums ----------------------------------------------------------------- */

/*
 * Profiles Drilldown asks for up to 16 call sites of a flame graph, and for
 * sandwiches, of one range: its sum is kept, under a name of all its parts.
 */

/* Appends what identifies the parts of a service's plan. */
static void
put_made_of(const struct range *r, int rc, struct buf *out)
{
	if (rc != -ENODATA)
		buf_addf(out, "%s %016llx %.3f\n", r->service,
		         (unsigned long long)range_hash(r), r->covered_ms);
}

/* Finds the sum of a question in what earlier calls have kept, or the name to
 * keep it under. */
static int
find_kept(const struct question *q, struct buf *of, struct profile **out)
{
	CLEANUP_BUF struct buf file = BUF_INIT(RANGE_MAX_MERGED);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(of, "%s\n", q->type->name);
	for (size_t i = 0; i < q->n; i++) {
		CLEANUP_RANGE struct range r =
			question_range(q, q->services[i]);
		int rc = range_plan(&r);

		if (rc && rc != -ENODATA)
			return range_fail(q->c, &r, rc, NULL);
		put_made_of(&r, rc, of);
	}
	if (kept_read(q->c, of, &file) &&
	    pprof_decode(file.p, file.len, RANGE_MAX_MERGED, out, &why))
		*out = NULL;
	return 0;
}

/* Keeps a sum that was costly, unless its parts have changed meanwhile. */
static void
keep(const struct question *q, const struct buf *of, const struct buf *now,
     const struct profile *p)
{
	CLEANUP_BUF struct buf file = BUF_INIT(RANGE_MAX_MERGED);

	if (q->c->reads <= CALL_LIGHT || buf_err(of) || of->len != now->len ||
	    memcmp(of->p, now->p, of->len) != 0)
		return;
	pprof_write(p, &file);
	kept_write(q->c, of, &file);
}

/* Adds the profile of one service, if it has one. */
static int
add_service(const struct question *q, const char *service, struct merge *m,
            struct buf *made_of, struct profile **only)
{
	CLEANUP_RANGE struct range r = question_range(q, service);
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = range_plan(&r);

	put_made_of(&r, rc, made_of);
	if (rc)
		return rc == -ENODATA ? 0 : range_fail(q->c, &r, rc, NULL);
	if (range_merged(q->c, &r, &p))
		return -1;
	if (!m) {
		*only = TAKE(p);
		return 0;
	}
	/* services may count other values besides the one that is shown */
	rc = profile_reduce(p, q->type) ?: merge_add(m, p);
	return rc == -ENODATA ? 0 : rc ? range_fail(q->c, &r, rc, NULL) : 0;
}

/* Adds all services. */
static int
add_services(const struct question *q, struct buf *made_of,
             struct profile **out)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = q->n > 1 ? merge_new(RANGE_MAX_MERGED, &m) : 0;

	if (rc)
		return fail_store(q->c, rc);
	buf_addf(made_of, "%s\n", q->type->name);
	for (size_t i = 0; i < q->n; i++)
		if (add_service(q, q->services[i], m, made_of, &p))
			return -1;
	rc = m ? merge_end(m, &p) : 0;
	if (rc && rc != -ENODATA)
		return fail_store(q->c, rc);
	*out = TAKE(p);
	return 0;
}

int
question_merge(const struct question *q, struct profile **out)
{
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf now = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_PROFILE struct profile *p = NULL;

	if (!q->n) {
		*out = NULL;
		return 0;
	}
	if (find_kept(q, &of, &p))
		return -1;
	if (!p) {
		if (add_services(q, &now, &p))
			return -1;
		if (p)
			keep(q, &of, &now, p);
	}
	*out = TAKE(p);
	return 0;
}
