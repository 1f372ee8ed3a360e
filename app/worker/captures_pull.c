/* Captures that are pulled: fetched, then read by a finisher. */
#include "captures_private.h"

#include "base/clock.h"
#include "base/log.h"
#include "fetch.h"
#include "pull.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

struct pull {
	char base[URL_MAX + 1];
	enum pull_step step;
	uint64_t fetch; /* its id; 0: nothing is being fetched */
	int64_t asked_ns, asked_ms;
	int64_t took_ms;
	int scratch; /* what the second step writes into; -1: at the first */
	struct msg_done first; /* what the first step gave */
	int first_top;
};

static const enum capture_error of_fetch[FETCH_ERRORS] = {
#define FETCH_ERROR(code, text) [FETCH_##code] = CAPTURE_FETCH_##code,
#include "fetch.def"
#undef FETCH_ERROR
};

enum capture_error
captures_fetch_error(uint32_t e)
{
	return e < FETCH_ERRORS ? of_fetch[e] : CAPTURE_FETCH_INTERNAL;
}

void
captures_pull_free(struct pull *p)
{
	if (!p)
		return;
	close_ptr(&p->scratch);
	close_ptr(&p->first_top);
	free(p);
}

double
captures_pull_progress(const struct capture *v)
{
	int64_t all = v->job.asked_seconds * NS_PER_S;
	int64_t done = clock_mono_ns() - v->pull->asked_ns;

	if (!v->pull->fetch || !pull_is_timed(v->pull->step))
		return v->progress;
	return done < all ? (double)done / (double)all : 1;
}

/* --- fetching --------------------------------------------------------------
 */

int
captures_fetch_ask(struct captures *c, const char *base, uint32_t step,
                   int64_t seconds, struct fetch_ask *out)
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
	if (pull_is_timed(step))
		wait += seconds;
	ask.total_ms = (uint32_t)(wait * MS_PER_S);
	*out = ask;
	return 0;
}

static int
fetch(struct captures *c, struct capture *v, enum pull_step step)
{
	struct fetch_ask ask;
	int rc = captures_fetch_ask(c, v->pull->base, step,
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
captures_pull(struct captures *c, struct job *job, const char *base,
              int64_t now_ns)
{
	enum pull_step first = pull_first(job->type);
	CLEANUP_FREE struct pull *p = calloc(1, sizeof(*p));
	struct capture *v;
	int rc;

	if (first == PULL_STEPS)
		return -EINVAL;
	v = p ? captures_add(c, job, now_ns) : NULL;
	if (!v)
		return -ENOMEM;
	p->scratch = p->first_top = -1;
	snprintf(p->base, sizeof(p->base), "%s", base);
	v->pull = TAKE(p);
	v->deadline_ns += c->conf->fetch_timeout * 2 * NS_PER_S;
	rc = fetch(c, v, first);
	if (rc)
		captures_fail(c, v,
		              rc == -EPIPE ? CAPTURE_FETCH_DIED
		                           : CAPTURE_FETCH_URL,
		              0);
	return rc;
}

void
captures_pull_stop(struct captures *c, struct capture *v)
{
	struct fetch_cancel m = {MSG_FETCH_CANCEL, 0, v->pull->fetch};

	if (!v->pull->fetch)
		return; /* a finisher has it: DONE comes soon */
	v->pull->fetch = 0;
	if (c->fetcher >= 0 && msg_send(c->fetcher, &m, sizeof(m), NULL, 0))
		log_debug("%s: nobody to cancel it", v->ref.session);
	v->pull->step = PULL_STEPS;
}

bool
captures_pull_ended(const struct capture *v)
{
	return v->pull && v->stopping && v->pull->step == PULL_STEPS;
}

/* --- reading ---------------------------------------------------------------
 */

static int
give_to_finisher(struct captures *c, struct capture *v,
                 const struct fetch_answer *a, int body)
{
	struct pull *p = v->pull;
	struct msg_pull m = {
		.type = MSG_PULL,
		.step = p->step,
		.status = a->status,
		.start_ms = p->asked_ms,
		.elapsed_ms = (clock_mono_ns() - p->asked_ns) / NS_PER_MS,
	};
	int fds[] = {v->profile.fd, body};

	if (p->step == PULL_STEP_DUMP) {
		p->scratch = memfd_create("stoker-dump", MFD_CLOEXEC);
		if (p->scratch < 0)
			return -errno;
		fds[0] = p->scratch;
	}
	memcpy(m.id, v->ref.session, sizeof(m.id));
	v->phase = "symbolizing";
	return msg_send(c->analyser, &m, sizeof(m), fds, ARRAY_LEN(fds));
}

/* The second step came to nothing: the first one's profile is good. */
static void
take_first(struct captures *c, struct capture *v)
{
	struct msg_done done = v->pull->first;
	CLEANUP_FD int top = TAKE_FD(v->pull->first_top);

	v->pull->step = PULL_STEPS;
	captures_take(c, v, &done, top);
}

static void
take_answer(struct captures *c, struct capture *v, const struct fetch_answer *a,
            int body)
{
	bool second = v->pull->step == PULL_STEP_DUMP;
	enum capture_error e;
	int rc = 0;

	v->pull->fetch = 0;
	e = captures_fetch_error(a->error);
	if (!e && body < 0)
		e = CAPTURE_FETCH_INTERNAL;
	if (!e && (rc = give_to_finisher(c, v, a, body)))
		e = CAPTURE_ANALYSER_DIED;
	if (e && second)
		take_first(c, v);
	else if (e)
		captures_fail(c, v, e, rc);
}

static struct capture *
fetched_for(struct captures *c, uint64_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (id && c->items[i]->pull && c->items[i]->pull->fetch == id)
			return c->items[i];
	return NULL;
}

int
captures_fetched(struct captures *c)
{
	CLEANUP_FD int body = -1;
	size_t nfds = 1;
	struct fetch_answer a;
	struct capture *v;
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
	else if (c->other_fetched) /* or given up meanwhile */
		c->other_fetched(c->other_arg, &a, &body);
	return 0;
}

void
captures_fetcher_gone(struct captures *c)
{
	const struct fetch_answer died = {.error = FETCH_DIED};

	close_ptr(&c->fetcher);
	c->fetcher = -1;
	for (size_t i = c->n; i-- > 0;)
		if (c->items[i]->pull && c->items[i]->pull->fetch)
			take_answer(c, c->items[i], &died, -1);
}

/* --- what was read ---------------------------------------------------------
 */

/* Few goroutines: each is worth its state. */
static bool
wants_dump(const struct captures *c, const struct capture *v,
           const struct msg_done *done)
{
	return v->pull->step == PULL_STEP_GOROUTINE && !done->error &&
	       !v->stopping && done->quality.kept > 0 &&
	       done->quality.kept <= c->conf->fetch_goroutines;
}

static bool
fetch_dump(struct captures *c, struct capture *v, const struct msg_done *done,
           int top_fd)
{
	v->pull->first = *done;
	v->pull->first_top = dup(top_fd);
	return v->pull->first_top >= 0 && !fetch(c, v, PULL_STEP_DUMP);
}

static int
copy_scratch(const struct capture *v)
{
	off_t at = 0;
	off_t end = lseek(v->pull->scratch, 0, SEEK_END);

	if (end < 0 || ftruncate(v->profile.fd, 0) ||
	    lseek(v->profile.fd, 0, SEEK_SET))
		return -errno;
	while (at < end) {
		ssize_t n = sendfile(v->profile.fd, v->pull->scratch, &at,
		                     (size_t)(end - at));

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

bool
captures_pull_done(struct captures *c, struct capture *v,
                   const struct msg_done *done, int top_fd)
{
	int rc;

	if (wants_dump(c, v, done))
		return fetch_dump(c, v, done, top_fd);
	if (v->pull->step != PULL_STEP_DUMP)
		return false;
	if (done->error) {
		take_first(c, v);
		return true;
	}
	v->pull->step = PULL_STEPS;
	rc = copy_scratch(v);
	if (rc)
		captures_fail(c, v, CAPTURE_WRITE, rc);
	return rc != 0;
}
