#include "agent.h"

#include "agent_parts.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "store/worker.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define UNASKED_MS 1000 /* until the next poll if the reply sets no time */

/* --- when ----------------------------------------------------------------- */

int
agent_wait_ms(const struct agent *a, int64_t now_ns, int max_ms)
{
	int64_t ms = (a->next_ns - now_ns) / NS_PER_MS + 1;

	if (!agent_is(a) || a->poll || ms > max_ms)
		return max_ms;
	return ms > 1 ? (int)ms : 1;
}

/* --- logging -------------------------------------------------------------- */

static void
poll_failed(struct agent *a, const char *why, int64_t now_ns)
{
	agent_complain(a, why);
	a->failures++;
	a->next_ns = now_ns + agent_pause_ns(a->failures);
}

static void
result_failed(struct agent *a, const char *why, int64_t now_ns)
{
	agent_complain(a, why);
	a->send_failures++;
	a->send_ns = now_ns + agent_pause_ns(a->send_failures);
}

static int
send_poll(struct agent *a, const struct agent_held_list *l, int64_t now_ns)
{
	CLEANUP_BUF struct buf text = BUF_INIT(AGENT_POLL_MAX);
	CLEANUP_FD int fd = memfd_create("stoker-poll", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : agent_put_poll(a, l, now_ns, &text);

	if (!rc)
		rc = fd_write_all(fd, text.p, text.len);
	a->asked_ms = clock_wall_ms();
	return rc ? rc
	          : agent_ask(a, "/agent/poll", "application/json",
	                      AGENT_ORDER_MAX, fd, &a->poll);
}

/* Reports to the centre that a profile can't be read, instead of sending it. */
static int
unreadable(struct agent *a, const struct agent_held *h, int rc)
{
	if (rc == -EBUSY || h->refused)
		return rc;
	log_warn("centre: %s cannot be read: %s", h->session, strerror(-rc));
	return agent_refuse(a->store, h->session);
}

static int
send_result(struct agent *a, const struct agent_held *h)
{
	CLEANUP_FD int fd = -1;
	char path[64 + ID_MAX];
	int rc = agent_open_result(a, h, &fd);

	if (rc)
		return unreadable(a, h, rc);
	snprintf(path, sizeof(path), "/agent/result/%s", h->session);
	snprintf(a->sending, sizeof(a->sending), "%s", h->session);
	return agent_ask(a, path, "application/octet-stream", AGENT_ANSWER_MAX,
	                 fd, &a->result);
}

/* --- answers -------------------------------------------------------------- */

static int
read_orders(struct agent *a, int body, int64_t *out_poll_ms)
{
	CLEANUP_BUF struct buf text = BUF_INIT(AGENT_ORDER_MAX);
	int rc = body < 0 || lseek(body, 0, SEEK_SET)
	                 ? -EBADMSG
	                 : fd_read_all(body, &text);

	return rc ? rc
	          : agent_take_orders(a, buf_str(&text), text.len, out_poll_ms);
}

/* Records that the centre has received the data of the poll. */
static void
note_reported(struct agent *a, int64_t now_ns)
{
	if (a->beats)
		a->beat_ns = now_ns + a->lease_ms * NS_PER_MS / 3;
	if (a->polled)
		a->processes = a->polled;
	a->looked = 0;
}

static void
take_poll(struct agent *a, const struct fetch_answer *f, int body,
          int64_t now_ns)
{
	int64_t poll_ms = UNASKED_MS;
	char why[sizeof(a->why)];
	bool well;
	int rc;

	a->poll = 0;
	if (f->error || f->status != 200) {
		agent_why_not(f, body, why, sizeof(why));
		poll_failed(a, why, now_ns);
		return;
	}
	note_reported(a, now_ns);
	rc = read_orders(a, body, &poll_ms);
	if (rc) {
		snprintf(why, sizeof(why), "its orders could not be taken: %s",
		         strerror(-rc));
		poll_failed(a, why, now_ns);
		return;
	}
	well = !a->send_failures && !a->block_failures;
	if (a->failures || (well && *a->why))
		log_info("centre: it answers");
	if (well)
		a->why[0] = '\0';
	a->failures = 0;
	a->next_ns = now_ns + agent_jitter_ns(poll_ms);
}

static int
find(struct agent *a, const char *session, struct agent_held_list *l,
     const struct agent_held **out)
{
	int rc = agent_held(a->store, l);

	*out = NULL;
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].session, session))
			*out = &l->items[i];
	return rc ? rc : *out ? 0 : -ENOENT;
}

/* Handles the answer to a result. A result that the centre has stored or does
 * not want is removed here; one that it can't store stays, and its failure is
 * sent instead. */
static int
settle(struct agent *a, const struct fetch_answer *f, int body)
{
	CLEANUP_HELD struct agent_held_list l = {0};
	const struct agent_held *h;
	char why[sizeof(a->why)];
	int rc = find(a, a->sending, &l, &h);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (f->status == 200) {
		log_info("centre: %s is stored", h->session);
		return agent_forget(a->store, h, h->refused);
	}
	agent_why_not(f, body, why, sizeof(why));
	log_warn("centre: %s: %s", h->session, why);
	if (agent_is_refusal(f->status))
		return h->refused ? agent_forget(a->store, h, true)
		                  : agent_refuse(a->store, h->session);
	return agent_forget(a->store, h, false);
}

static void
take_result(struct agent *a, const struct fetch_answer *f, int body,
            int64_t now_ns)
{
	bool settled = !f->error &&
	               (f->status == 200 || f->status == 404 ||
	                f->status == 409 || agent_is_refusal(f->status));
	char why[sizeof(a->why)];
	int rc;

	a->result = 0;
	if (!settled) {
		agent_why_not(f, body, why, sizeof(why));
		result_failed(a, why, now_ns);
		return;
	}
	rc = settle(a, f, body);
	if (rc) {
		snprintf(why, sizeof(why), "%s: %s", a->sending, strerror(-rc));
		result_failed(a, why, now_ns);
		return;
	}
	a->send_failures = 0;
	a->send_ns = now_ns;
}

int
agent_fetched(struct agent *a, int64_t now_ns)
{
	struct fetch_answer f;
	CLEANUP_FD int body = -1;
	size_t nfds = 1;
	ssize_t n = msg_recv(a->courier, &f, sizeof(f), &body, &nfds);

	if (n <= 0)
		return -EPIPE;
	if (!nfds)
		body = -1;
	if (n != sizeof(f) || f.type != MSG_FETCHED)
		return 0;
	if (a->poll && f.id == a->poll)
		take_poll(a, &f, body, now_ns);
	else if (a->result && f.id == a->result)
		take_result(a, &f, body, now_ns);
	else if (a->block && f.id == a->block)
		agent_take_block(a, &f, body, now_ns);
	return 0;
}

void
agent_courier_gone(struct agent *a, int64_t now_ns)
{
	if (a->courier < 0)
		return;
	close_ptr(&a->courier);
	a->poll = a->result = a->block = 0;
	poll_failed(a, "the courier is gone; its own line says why", now_ns);
}

/* --- time ----------------------------------------------------------------- */

/* Reports a look to the centre as soon as it has finished. */
static int
follow_look(struct agent *a, int64_t now_ns)
{
	int64_t wanted, looked;
	int rc;

	if (!a->look)
		return 0;
	rc = worker_look(a->store, a->host, &wanted, &looked);
	if (rc || looked < a->look_ms)
		return rc == -ENOENT ? 0 : rc;
	a->looked = a->look;
	a->look = 0;
	a->next_ns = now_ns;
	return 0;
}

/* Removes results that the centre does not want, and sends the others. */
static int
send_ended(struct agent *a, const struct agent_held_list *l, int64_t now_ns)
{
	int rc = 0;

	for (size_t i = 0; i < l->n && !rc; i++) {
		const struct agent_held *h = &l->items[i];

		if (!agent_has_ended(h))
			continue;
		if (h->dropped)
			rc = agent_forget(a->store, h, false);
		else if (!a->result && !a->failures && a->courier >= 0 &&
		         a->max_bytes && now_ns >= a->send_ns)
			rc = send_result(a, h);
	}
	return rc;
}

static int
want_courier(struct agent *a)
{
	return a->courier < 0 ? a->want_courier(a->arg) : 0;
}

static int
step(struct agent *a, int64_t now_ns)
{
	CLEANUP_HELD struct agent_held_list l = {0};
	bool due = !a->poll && now_ns >= a->next_ns;
	int rc = follow_look(a, now_ns);

	if (!rc && (a->holds || due))
		rc = agent_held(a->store, &l);
	if (rc)
		return rc;
	a->holds = l.n > 0 || (a->holds && !due);
	if (due)
		rc = want_courier(a) ?: send_poll(a, &l, now_ns);
	return rc ? rc : send_ended(a, &l, now_ns);
}

void
agent_step(struct agent *a, int64_t now_ns)
{
	char why[sizeof(a->why)];
	int rc;

	if (!agent_is(a))
		return;
	rc = step(a, now_ns);
	if (!rc)
		agent_send_blocks(a, now_ns);
	if (!rc || now_ns < a->next_ns)
		return;
	snprintf(why, sizeof(why), "%s", strerror(-rc));
	poll_failed(a, why, now_ns);
}
