#include "webhooks.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LOOK_NS    (1 * NS_PER_S)
#define ANSWER_MAX 65536 /* bytes; ignored */
#define BACKOFF    4     /* factor from one pause to the next */

/* --- the request ---------------------------------------------------------- */

static int
write_body(struct webhooks *w, const struct firing *f, struct buf *out)
{
	CLEANUP_BUF struct buf link = BUF_INIT(LINK_URL_MAX);
	const struct conf *conf = w->runs->conf;
	int rc = link_flamegraph(w->runs->store, &w->links,
	                         conf->api_public_url, f->tenant, f->session,
	                         clock_wall_ms(), conf->api_link_ttl, &link);

	if (rc)
		return rc;
	json_open(out, NULL, '{');
	json_put_text(out, "firing", f->id);
	json_put_text(out, "trigger", f->trigger);
	json_put_text(out, "service", f->service);
	json_put_text(out, "kind", f->kind);
	json_put_text(out, "function", f->function);
	json_put_real(out, "value", f->value);
	json_put_real(out, "threshold", f->threshold);
	json_put_time(out, "firedAt", f->fired_ms);
	if (f->since_ms) {
		json_put_time(out, "since", f->since_ms);
		json_put_time(out, "sinceEarliest", f->earliest_ms);
		json_put_time(out, "sinceLatest", f->latest_ms);
		json_put_time_or_null(out, "restartedAt", f->restart_ms);
	}
	json_put_text(out, "profileId", f->session);
	json_put_text(out, "status", f->status);
	json_put_text(out, "flameGraphUrl", buf_str(&link));
	json_close(out, '}');
	return buf_err(out);
}

static int
open_body(struct webhooks *w, const struct firing *f)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FD int fd = memfd_create("stoker-webhook", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : write_body(w, f, &text);

	if (!rc)
		rc = fd_write_all(fd, text.p, text.len);
	return rc ? rc : TAKE_FD(fd);
}

static int
post(struct webhooks *w, const struct firing *f, uint64_t id)
{
	const struct conf *conf = w->runs->conf;
	struct fetch_ask ask = {
		.type = MSG_FETCH,
		.method = FETCH_POST,
		.purpose = FETCH_WEBHOOK,
		.connect_ms = (uint32_t)(conf->webhook_timeout * MS_PER_S),
		.total_ms = (uint32_t)(conf->webhook_timeout * MS_PER_S),
		.max_bytes = ANSWER_MAX,
		.id = id,
		.headers = "Content-Type: application/json\n",
	};
	CLEANUP_FD int body = -1;
	int rc;

	if (strlen(f->url) > URL_MAX || strlen(f->tenant) >= sizeof(ask.tenant))
		return -E2BIG;
	strcpy(ask.tenant, f->tenant);
	memcpy(ask.url, f->url, strlen(f->url) + 1);
	body = open_body(w, f);
	if (body < 0)
		return body;
	rc = w->want_fetcher(w->arg);
	return rc ? rc
	          : msg_send(w->runs->fetcher, &ask, sizeof(ask), &body, 1);
}

/* --- the answer ----------------------------------------------------------- */

static void
ended(struct webhooks *w, struct webhook *v, bool good, const char *why)
{
	const struct conf *conf = w->runs->conf;
	int64_t delay = conf->webhook_retry * MS_PER_S;
	bool last = v->tries + 1 >= conf->webhook_tries;
	int rc;

	for (int64_t i = 0; i < v->tries; i++)
		delay *= BACKOFF;
	if (!good)
		log_warn("webhook of %s: %s%s", v->firing, why,
		         last ? "; it is given up" : "");
	rc = firing_tried(w->runs->store, v->firing,
	                  good   ? "sent"
	                  : last ? "failed"
	                         : "waiting",
	                  delay);
	if (rc)
		log_warn("webhook of %s: %s", v->firing, strerror(-rc));
	v->fetch = 0;
	w->waits = true;
}

bool
webhooks_fetched(struct webhooks *w, const struct fetch_answer *a)
{
	char why[160];

	for (size_t i = 0; i < WEBHOOKS_MAX; i++) {
		struct webhook *v = &w->items[i];

		if (!v->fetch || v->fetch != a->id)
			continue;
		snprintf(why, sizeof(why), "answered with %u", a->status);
		ended(w, v, !a->error && a->status >= 200 && a->status < 300,
		      a->error ? fetch_error_text(a->error) : why);
		return true;
	}
	return false;
}

void
webhooks_fetcher_gone(struct webhooks *w)
{
	for (size_t i = 0; i < WEBHOOKS_MAX; i++)
		if (w->items[i].fetch)
			ended(w, &w->items[i], false,
			      fetch_error_text(FETCH_DIED));
}

/* --- time ----------------------------------------------------------------- */

static struct webhook *
unused(struct webhooks *w)
{
	for (size_t i = 0; i < WEBHOOKS_MAX; i++)
		if (!w->items[i].fetch)
			return &w->items[i];
	return NULL;
}

static bool
is_under_way(const struct webhooks *w, const char *firing)
{
	for (size_t i = 0; i < WEBHOOKS_MAX; i++)
		if (w->items[i].fetch && !strcmp(w->items[i].firing, firing))
			return true;
	return false;
}

static void
send_due(struct webhooks *w)
{
	CLEANUP_FIRINGS struct firing_list l = {0};
	int rc = firing_due(w->runs->store, w->host, WEBHOOKS_MAX, &l);

	for (size_t i = 0; i < l.n && !rc; i++) {
		const struct firing *f = &l.items[i];
		struct webhook *v = unused(w);
		int error;

		if (!v || is_under_way(w, f->id))
			continue;
		v->fetch = ++w->runs->last_fetch;
		v->tries = f->tries;
		snprintf(v->firing, sizeof(v->firing), "%s", f->id);
		error = post(w, f, v->fetch);
		if (error)
			ended(w, v, false, strerror(-error));
	}
	if (rc || (rc = firing_waits(w->runs->store, w->host, &w->waits)))
		log_warn("webhooks: %s", strerror(-rc));
}

void
webhooks_step(struct webhooks *w, int64_t now_ns)
{
	if (!w->waits || now_ns < w->next_ns)
		return;
	w->next_ns = now_ns + LOOK_NS;
	send_due(w);
}
