/*
 * Captures that are fetched from pages of net/http/pprof, and then read by a
 * finisher.
 */
#include "runs_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/allow.h"
#include "worker/ipc/fetch.h"
#include "worker/ipc/pull_pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#define MAX_STEPS 3 /* all, leaks, and a repetition without leaks */

static const enum capture_error of_fetch[FETCH_ERRORS] = {
#define FETCH_ERROR(code, text) [FETCH_##code] = CAPTURE_FETCH_##code,
#include "worker/ipc/fetch.def"
#undef FETCH_ERROR
};

enum capture_error
runs_fetch_error(uint32_t e)
{
	return e < FETCH_ERRORS ? of_fetch[e] : CAPTURE_FETCH_INTERNAL;
}

double
runs_pull_progress(const struct run *v)
{
	int64_t all = v->job.asked_seconds * NS_PER_S;
	int64_t done = clock_mono_ns() - v->pull->asked_ns;

	if (!v->pull->fetch || !pull_is_timed(v->pull->step))
		return v->progress;
	return done < all ? (double)done / (double)all : 1;
}

/* --- fetching ------------------------------------------------------------- */

int
runs_fetch_ask(struct runs *c, const char *tenant, const char *base,
               uint32_t step, int64_t seconds, struct fetch_ask *out)
{
	const struct conf *conf = c->conf;
	int64_t wait = conf->fetch_timeout;
	struct fetch_ask ask = {
		.type = MSG_FETCH,
		.method = FETCH_GET,
		.purpose = FETCH_PPROF,
		.connect_ms =
			(uint32_t)(conf->fetch_connect_timeout * MS_PER_S),
		.max_bytes = (uint64_t)conf->fetch_max_bytes,
		.id = ++c->last_fetch,
	};
	int rc = pull_url(base, step, seconds, ask.url);

	if (rc)
		return rc;
	if (strlen(tenant) >= sizeof(ask.tenant))
		return -EINVAL;
	strcpy(ask.tenant, tenant);
	if (pull_is_timed(step))
		wait += seconds;
	ask.total_ms = (uint32_t)(wait * MS_PER_S);
	*out = ask;
	return 0;
}

static int
fetch(struct runs *c, struct run *v, enum pull_step step)
{
	struct fetch_ask ask;
	int rc = runs_fetch_ask(c, v->job.tenant, v->pull->base, step,
	                        v->job.asked_seconds, &ask);

	if (!rc)
		rc = c->fetcher < 0
		             ? -EPIPE
		             : msg_send(c->fetcher, &ask, sizeof(ask), NULL, 0);
	if (rc)
		return rc;
	v->pull->step = step;
	v->pull->fetch = ask.id;
	v->pull->asked_ns = clock_mono_ns();
	v->pull->asked_ms = clock_wall_ms();
	return 0;
}

int
runs_pull(struct runs *c, struct job *job, const struct service *of,
          int64_t now_ns)
{
	enum pull_step first = pull_first(job->type);
	CLEANUP_FREE struct pull *p = calloc(1, sizeof(*p));
	struct run *v;
	int rc;

	if (first == PULL_STEPS)
		return -EINVAL;
	rc = p ? runs_add(c, job, now_ns, &v) : -ENOMEM;
	if (rc || !v)
		return rc;
	p->scratch = p->first_top = -1;
	p->leaks = allow_has(of, ALLOW_GOROUTINE_LEAK);
	snprintf(p->base, sizeof(p->base), "%s", of->pprof_url);
	v->pull = TAKE(p);
	v->deadline_ns += c->conf->fetch_timeout * MAX_STEPS * NS_PER_S;
	rc = fetch(c, v, first);
	if (rc)
		runs_fail(c, v,
		          rc == -EPIPE ? CAPTURE_FETCH_DIED : CAPTURE_FETCH_URL,
		          0);
	return 0;
}

void
runs_pull_stop(struct runs *c, struct run *v)
{
	struct fetch_cancel m = {MSG_FETCH_CANCEL, 0, v->pull->fetch};

	if (!v->pull->fetch)
		return; /* a finisher has it: DONE comes soon */
	v->pull->fetch = 0;
	if (c->fetcher >= 0 && msg_send(c->fetcher, &m, sizeof(m), NULL, 0))
		log_debug("%s: the fetcher takes no messages", v->ref.session);
	v->pull->step = PULL_STEPS;
}

bool
runs_pull_ended(const struct run *v)
{
	return v->pull && v->stopping && v->pull->step == PULL_STEPS;
}

/* --- reading -------------------------------------------------------------- */

/* Copies a finisher's profile, whose length is not trusted. */
static int
copy_file(int from, int to)
{
	off_t at = 0;
	off_t end = lseek(from, 0, SEEK_END);

	if (end > BLOB_MAX_BYTES)
		return -EFBIG;
	if (end < 0 || ftruncate(to, 0) || lseek(to, 0, SEEK_SET))
		return -errno;
	while (at < end) {
		ssize_t n = sendfile(to, from, &at, (size_t)(end - at));

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

/* Opens the file for the second step's result, with a copy of the first step's
 * if it is to be extended. */
static int
open_scratch(struct run *v)
{
	struct pull *p = v->pull;

	close_ptr(&p->scratch);
	p->scratch = memfd_create("stoker-pulled", MFD_CLOEXEC);
	if (p->scratch < 0)
		return -errno;
	return pull_adds(p->step) ? copy_file(v->profile.fd, p->scratch) : 0;
}

static bool
is_second(const struct run *v)
{
	return v->pull->step != pull_first(v->job.type);
}

static int
give_to_finisher(struct runs *c, struct run *v, const struct fetch_answer *a,
                 int body)
{
	struct pull *p = v->pull;
	struct msg_pull m = {
		.type = MSG_PULL,
		.step = p->step,
		.status = a->status,
		.attempt = (uint32_t)v->ref.attempt,
		.start_ms = p->asked_ms,
		.elapsed_ms = (clock_mono_ns() - p->asked_ns) / NS_PER_MS,
	};
	int fds[] = {v->profile.fd, body};
	int rc = is_second(v) ? open_scratch(v) : 0;

	if (rc)
		return rc;
	if (is_second(v))
		fds[0] = p->scratch;
	memcpy(m.id, v->ref.session, sizeof(m.id));
	v->phase = "symbolizing";
	return msg_send(c->analyser, &m, sizeof(m), fds, ARRAY_LEN(fds));
}

static void
take_first(struct runs *c, struct run *v)
{
	struct msg_done done = v->pull->first;
	CLEANUP_FD int top = TAKE_FD(v->pull->first_top);

	v->pull->step = PULL_STEPS;
	runs_take(c, v, &done, (const int[]){top, -1});
}

/* Gives up a second step that failed. If it was for both states and leaks,
 * fetches the states alone; otherwise the first step's profile is the
 * result. */
static void
give_up_second(struct runs *c, struct run *v)
{
	enum pull_step step = v->pull->step;

	if (step != PULL_STEP_DUMP)
		v->notes |= QUALITY_NOTE_OF(NO_LEAKS);
	if (step != PULL_STEP_LEAK_DUMP || v->stopping ||
	    fetch(c, v, PULL_STEP_DUMP))
		take_first(c, v);
}

static void
take_answer(struct runs *c, struct run *v, const struct fetch_answer *a,
            int body)
{
	enum capture_error e;
	int rc = 0;

	v->pull->fetch = 0;
	e = runs_fetch_error(a->error);
	if (!e && body < 0)
		e = CAPTURE_FETCH_INTERNAL;
	if (!e && (rc = give_to_finisher(c, v, a, body)))
		e = CAPTURE_ANALYSER_DIED;
	if (e && is_second(v))
		give_up_second(c, v);
	else if (e)
		runs_fail(c, v, e, rc);
}

static struct run *
fetched_for(struct runs *c, uint64_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (id && c->items[i]->pull && c->items[i]->pull->fetch == id)
			return c->items[i];
	return NULL;
}

int
runs_fetched(struct runs *c)
{
	CLEANUP_FD int body = -1;
	size_t nfds = 1;
	struct fetch_answer a;
	struct run *v;
	ssize_t n = msg_recv(c->fetcher, &a, sizeof(a), &body, &nfds);

	if (n == 0 || n == -EPIPE || n == -ECONNRESET)
		return -EPIPE;
	if (n < 0)
		body = -1;
	if (n != sizeof(a) || a.type != MSG_FETCHED)
		return n < 0 && n != -EMSGSIZE ? (int)n : 0;
	v = fetched_for(c, a.id);
	if (v)
		take_answer(c, v, &a, body);
	else if (c->other_fetched) /* otherwise its run was given up */
		c->other_fetched(c->other_arg, &a, &body);
	return 0;
}

void
runs_fetcher_gone(struct runs *c)
{
	const struct fetch_answer died = {.error = FETCH_DIED};

	close_ptr(&c->fetcher);
	for (size_t i = c->n; i-- > 0;)
		if (c->items[i]->pull && c->items[i]->pull->fetch)
			take_answer(c, c->items[i], &died, -1);
}

/* --- results -------------------------------------------------------------- */

/* Chooses the second step, or PULL_STEPS for none. If there are few goroutines,
 * another request fetches the state of each. */
static enum pull_step
second_step(const struct runs *c, const struct run *v,
            const struct msg_done *done)
{
	bool few = done->quality.kept <= c->conf->fetch_goroutines;

	if (v->pull->step != PULL_STEP_GOROUTINE || done->error ||
	    v->stopping || done->quality.kept <= 0)
		return PULL_STEPS;
	if (v->pull->leaks)
		return few ? PULL_STEP_LEAK_DUMP : PULL_STEP_LEAKS;
	return few ? PULL_STEP_DUMP : PULL_STEPS;
}

static bool
fetch_second(struct runs *c, struct run *v, enum pull_step step,
             const struct msg_done *done, int top_fd)
{
	v->pull->first = *done;
	v->pull->first_top = dup(top_fd);
	return v->pull->first_top >= 0 && !fetch(c, v, step);
}

bool
runs_pull_done(struct runs *c, struct run *v, const struct msg_done *done,
               int top_fd)
{
	enum pull_step next = second_step(c, v, done);
	int rc;

	if (next != PULL_STEPS)
		return fetch_second(c, v, next, done, top_fd);
	if (v->pull->step == PULL_STEPS || !is_second(v))
		return false;
	if (done->error) {
		give_up_second(c, v);
		return true;
	}
	v->pull->step = PULL_STEPS;
	rc = copy_file(v->pull->scratch, v->profile.fd);
	if (rc)
		runs_fail(c, v, CAPTURE_WRITE, rc);
	return rc != 0;
}
