/* /api/v1/processes: the processes that a match would select, before there is a
 * service. */
#include "store/survey.h"
#include "base/clock.h"
#include "endpoint/call/db_watch.h"
#include "match.h"

#include <errno.h>

#define WAIT_NS INT64_C(3000000000)

struct asked {
	char id[ID_MAX];
	struct survey_list list;
};

static void
asked_done(struct asked *a)
{
	survey_list_done(&a->list);
}

/* Returns 0 when all hosts have answered, or -EAGAIN. */
static int
have_answered(struct call *c, void *arg)
{
	struct asked *a = arg;
	int rc;

	survey_list_done(&a->list);
	rc = survey_read(&c->env->store, a->id, &a->list);
	for (size_t i = 0; i < a->list.n && !rc; i++)
		rc = *a->list.items[i].found ? 0 : -EAGAIN;
	return rc;
}

static int
find(struct call *c, const struct match_rule *rule, struct asked *a)
{
	int64_t deadline = clock_mono_ns() + WAIT_NS;
	int rc = survey_ask(&c->env->store, c->caller.tenant, rule->kind,
	                    rule->value, param_text(c, P_FindProcesses_host),
	                    a->id);

	if (rc)
		return rc;
	rc = db_watch_until(c, have_answered, a, deadline);
	return survey_forget(&c->env->store, a->id) ?: rc;
}

static int
answer(struct call *c, const struct survey_list *list)
{
	struct buf *out = page_begin(c);

	for (size_t i = 0; i < list->n; i++) {
		const struct survey *v = &list->items[i];

		json_open(out, NULL, '{');
		json_put_text(out, "host", v->host);
		json_put_bool(out, "answered", *v->found != '\0');
		json_put_raw(out, "found", v->found, "{}");
		json_close(out, '}');
	}
	return page_end(c, NULL);
}

int
survey_post(struct call *c)
{
	CLEANUP(asked_done) struct asked a = {0};
	struct match_rule rule;
	int rc;

	if (match_of_caller(c, "match", param_json(c, P_FindProcesses_match),
	                    &rule))
		return -1;
	rc = find(c, &rule, &a);
	/*
	 * A timeout is not an error: the reply marks hosts that did not answer.
	 * Without a worker, the list is empty.
	 */
	if (rc && rc != -ETIMEDOUT && rc != -ECANCELED && rc != -EHOSTDOWN)
		return fail_store(c, rc);
	return answer(c, &a.list);
}
