/* The life of one run in the list of runs. */
#include "base/log.h"
#include "runs_private.h"

#include <errno.h>
#include <string.h>

static void
pull_free(struct pull *p)
{
	if (!p)
		return;
	close_ptr(&p->scratch);
	close_ptr(&p->first_top);
	free(p);
}

static void
run_free(struct run *v)
{
	if (!v)
		return;
	job_done(&v->job);
	blob_close(&v->profile);
	blob_close(&v->timeline);
	blob_close(&v->checkpoint);
	pull_free(v->pull);
	free(v);
}

struct run *
runs_find(struct runs *c, const char *id)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->items[i]->ref.session, id))
			return c->items[i];
	return NULL;
}

void
runs_say_look(const struct runs *c, const struct run *v,
              const struct followed *now)
{
	int rc = v->pull ? 0
	                 : worker_may_look(c->events, v->ref.session,
	                                   now ? now->pids : NULL,
	                                   now ? now->starts : NULL,
	                                   now ? now->n : 0);

	if (rc)
		log_debug("%s: the opener takes no messages", v->ref.session);
}

void
runs_drop(struct runs *c, struct run *v)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->items[i] != v)
			continue;
		runs_say_look(c, v, NULL);
		c->items[i] = c->items[--c->n];
		run_free(v);
		return;
	}
}

int
runs_send(struct runs *c, const struct run *v, enum msg_type type, int fd)
{
	struct msg_capture m = {.type = type};

	memcpy(m.id, v->ref.session, sizeof(m.id));
	return msg_send(c->analyser, &m, sizeof(m), &fd, fd >= 0);
}

int
run_refuse(struct store *s, const struct job *job, const char *code,
           const char *text)
{
	struct job_end end = {"failed", code, text, NULL, NULL, NULL, NULL};
	struct job_ref ref = job_ref(job);

	return job_finish(s, &ref, &end);
}

void
runs_fail(struct runs *c, struct run *v, enum capture_error error,
          int sys_error)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	const char *text;
	int rc;

	capture_error_explain(error, c->findings, v->job.service, &line);
	text = buf_str(&line);
	c->failed = true;
	log_warn("%s: %s%s%s", v->ref.session, text, sys_error ? ": " : "",
	         sys_error ? strerror(-sys_error) : "");
	rc = run_refuse(c->store, &v->job, capture_error_code(error), text);
	if (rc && rc != -ESTALE)
		log_err("%s: not stored: %s", v->ref.session, strerror(-rc));
	runs_drop(c, v);
}

/* Makes a run, which takes *job. Without memory, frees *job and returns
 * NULL. */
static struct run *
run_new(struct runs *c, struct job *job, int64_t now_ns)
{
	struct run *v = calloc(1, sizeof(*v));

	if (!v) {
		job_done(job);
		return NULL;
	}
	v->profile = v->timeline = v->checkpoint =
		(struct blob_writer)BLOB_WRITER_INIT;
	v->ref = job_ref(job);
	v->job = *job;
	*job = (struct job){0};
	v->phase = "capturing";
	v->checkpoint_ns = now_ns + CHECKPOINT_NS;
	v->deadline_ns = now_ns + v->job.asked_seconds * NS_PER_S +
	                 c->finish_ns + OVERDUE_NS;
	return v;
}

void
runs_cancelled(struct runs *c, struct run *v)
{
	struct job_end end = {"cancelled", "Cancelled", "cancelled on request",
	                      NULL,        NULL,        NULL,
	                      NULL};
	int rc = job_finish(c->store, &v->ref, &end);

	if (rc && rc != -ESTALE)
		log_err("%s: not stored: %s", v->ref.session, strerror(-rc));
	runs_drop(c, v);
}

int
runs_add(struct runs *c, struct job *job, int64_t now_ns, struct run **out)
{
	struct run *v = run_new(c, job, now_ns);
	int rc;

	if (!v)
		return -ENOMEM;
	if (c->n == WORKER_MAX_CAPTURES) {
		run_free(v);
		return -EMFILE;
	}
	c->items[c->n++] = v;
	rc = blob_create(c->store, BLOB_PPROF, &v->profile);
	if (rc)
		runs_fail(c, v, CAPTURE_WRITE, rc);
	*out = rc ? NULL : v;
	return 0;
}
