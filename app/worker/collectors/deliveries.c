#include "deliveries.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/log.h"
#include "store/service.h"
#include "store/window.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOOK_NS      (1 * NS_PER_S)
#define UPKEEP_NS    (10 * NS_PER_S)
#define PAUSE_MAX_S  300   /* between two tries */
#define AFTER_MAX_S  3600  /* longest pause that a collector may ask for */
#define ANSWER_MAX   65536 /* bytes */
#define SERVICES_MAX 10000
#define DROP_MAX     1000 /* most deliveries dropped at once */
#define DEATHS_MAX   3
#define PUBLISHED    16 /* problems in a heartbeat */

#define PATH "/v1development/profiles"
static const char headers[] = "Content-Type: application/x-protobuf\n"
			      "Content-Encoding: gzip\n"
			      "Expect:\n";

/* --- troubles ------------------------------------------------------------- */

static struct delivery_trouble *
find_trouble(const struct deliveries *d, const struct delivery *of)
{
	for (size_t i = 0; i < d->ntroubles; i++) {
		struct delivery_trouble *t = &d->troubles[i];

		if (!strcmp(t->service, of->service) &&
		    !strcmp(t->tenant, of->tenant))
			return t;
	}
	return NULL;
}

static void
trouble_done(struct delivery_trouble *t)
{
	free(t->tenant);
	free(t->service);
}

static void
forget_trouble(struct deliveries *d, struct delivery_trouble *t)
{
	if (!t)
		return;
	trouble_done(t);
	*t = d->troubles[--d->ntroubles];
}

/* Finds or adds the trouble of a service; NULL without memory. */
static struct delivery_trouble *
trouble_of(struct deliveries *d, const struct delivery *of)
{
	struct delivery_trouble *t = find_trouble(d, of), *more;

	if (t)
		return t;
	more = reallocarray(d->troubles, d->ntroubles + 1, sizeof(*more));
	if (!more)
		return NULL;
	d->troubles = more;
	t = &more[d->ntroubles];
	*t = (struct delivery_trouble){
		.tenant = strdup(of->tenant),
		.service = strdup(of->service),
		.since_ms = clock_wall_ms(),
	};
	if (!t->tenant || !t->service) {
		trouble_done(t);
		return NULL;
	}
	d->ntroubles++;
	return t;
}

/* Records what is wrong with a service's collector, and logs it if it is
 * new. */
static struct delivery_trouble *
complain(struct deliveries *d, const struct delivery *of, const char *why)
{
	struct delivery_trouble *t = trouble_of(d, of);

	if (t && !strcmp(t->message, why))
		return t;
	log_warn("profiles of %s: %s", of->service, why);
	if (t)
		snprintf(t->message, sizeof(t->message), "%s", why);
	return t;
}

/* --- ends of a delivery --------------------------------------------------- */

static void
clear(struct delivering *v)
{
	free(v->of.source);
	free(v->of.tenant);
	free(v->of.service);
	free(v->of.collector);
	if (v->state >= DELIVERY_ANSWERED)
		close_ptr(&v->reply);
	*v = (struct delivering){DELIVERY_NONE};
}

static void
remove_row(struct deliveries *d, const struct delivery *of)
{
	int rc = delivery_end(d->runs->store, of->tenant, of->source);

	if (rc)
		log_warn("%s: %s", of->source, strerror(-rc));
}

/* Drops a profile that will not be sent. */
static void
drop(struct deliveries *d, const struct delivery *of, const char *why)
{
	struct delivery_trouble *t = complain(d, of, why);

	d->counts.dropped++;
	if (t)
		t->dropped++;
	log_debug("%s is not sent: %s", of->source, why);
	remove_row(d, of);
}

/* Waits before the service's next request, up to a tenth longer, so that hosts
 * do not all send at the same time. */
static void
hold_off(struct deliveries *d, struct delivery_trouble *t, int64_t asked_s,
         int64_t now_ns)
{
	int64_t s = d->runs->conf->collector_retry;
	uint8_t by;

	for (unsigned i = 0; i < t->failures && s < PAUSE_MAX_S; i++)
		s *= 2;
	if (s > PAUSE_MAX_S)
		s = PAUSE_MAX_S;
	if (asked_s > s)
		s = asked_s < AFTER_MAX_S ? asked_s : AFTER_MAX_S;
	random_bytes(&by, sizeof(by));
	t->failures++;
	t->next_ns = now_ns + s * NS_PER_S + s * NS_PER_S / 10 * by / UINT8_MAX;
}

/* The request failed; it is sent again after a pause. */
static void
failed(struct deliveries *d, struct delivering *v, const char *why,
       int64_t asked_s, int64_t now_ns)
{
	struct delivery_trouble *t = complain(d, &v->of, why);

	d->counts.failures++;
	if (t)
		hold_off(d, t, asked_s, now_ns);
	clear(v);
}

/* The collector refused the request, which therefore must not be sent again.
 * The next one would probably fare no better, so it waits.
 *   Source   opentelemetry.io/docs/specs/otlp, "Failures" */
static void
refused(struct deliveries *d, struct delivering *v, const char *why,
        int64_t now_ns)
{
	struct delivery_trouble *t;

	d->counts.failures++;
	drop(d, &v->of, why);
	t = find_trouble(d, &v->of);
	if (t)
		hold_off(d, t, 0, now_ns);
	clear(v);
}

static void
accepted(struct deliveries *d, struct delivering *v,
         const struct export_row *reply)
{
	struct delivery_trouble *t = find_trouble(d, &v->of);
	char why[sizeof(t->message)];

	d->counts.sent++;
	d->counts.rejected += reply->rejected;
	if (t && t->failures)
		log_info("profiles of %s: the collector accepts them again",
		         v->of.service);
	if (reply->rejected || *reply->message) {
		if (reply->rejected)
			snprintf(why, sizeof(why),
			         "the collector rejected %lld profile%s",
			         (long long)reply->rejected,
			         reply->rejected == 1 ? "" : "s");
		else
			snprintf(why, sizeof(why), "the collector warns");
		if (*reply->message)
			snprintf(why + strlen(why), sizeof(why) - strlen(why),
			         ": %s", reply->message);
		t = complain(d, &v->of, why);
		if (t)
			t->failures = 0;
	} else {
		forget_trouble(d, t);
	}
	remove_row(d, &v->of);
	clear(v);
	d->next_ns = 0;
}

void
deliveries_done(struct deliveries *d)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		clear(&d->items[i]);
	for (size_t i = 0; i < d->ntroubles; i++)
		trouble_done(&d->troubles[i]);
	free(d->troubles);
	d->troubles = NULL;
	d->ntroubles = 0;
}

/* --- sending -------------------------------------------------------------- */

/* Writes the URL of requests: a collector's address without a path gets the
 * path of OTLP over HTTP. */
static int
put_url(const char *collector, char out[static URL_MAX + 1])
{
	size_t n = strlen(collector);
	struct url u;
	int rc = url_parse(collector, &u), len;

	if (rc)
		return rc;
	if (!strcmp(u.path, "/"))
		n--;
	len = snprintf(out, URL_MAX + 1, "%.*s%s", (int)n, collector,
	               *u.path && strcmp(u.path, "/") != 0 ? "" : PATH);
	return len > URL_MAX ? -E2BIG : 0;
}

static int
ask_fetcher(struct deliveries *d, struct delivering *v, int body,
            uint64_t bytes)
{
	const struct conf *conf = d->runs->conf;
	struct fetch_ask ask = {
		.type = MSG_FETCH,
		.method = FETCH_POST,
		.purpose = FETCH_COLLECTOR,
		.connect_ms = (uint32_t)(conf->collector_timeout * MS_PER_S),
		.total_ms = (uint32_t)(conf->collector_timeout * MS_PER_S),
		.max_bytes = ANSWER_MAX,
		.id = ++d->runs->last_fetch,
	};
	int rc = put_url(v->of.collector, ask.url);

	if (!rc && strlen(v->of.tenant) >= sizeof(ask.tenant))
		rc = -E2BIG;
	if (rc)
		return rc;
	strcpy(ask.tenant, v->of.tenant);
	memcpy(ask.headers, headers, sizeof(headers));
	rc = d->want_fetcher(d->arg)
	             ?: msg_send(d->runs->fetcher, &ask, sizeof(ask), &body, 1);
	if (rc)
		return rc;
	v->state = DELIVERY_IS_SENT;
	v->fetch = ask.id;
	v->bytes = bytes;
	return 0;
}

/* Copies the request of a row to a separate file, and sends it. */
static int
send_request(struct deliveries *d, struct delivering *v,
             const struct export_row *row, int data)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(EXPORT_MAX_BYTES + 1);
	CLEANUP_FD int body = memfd_create("stoker-delivery", MFD_CLOEXEC);
	int rc = body < 0 ? -errno : 0;

	if (row->length > EXPORT_MAX_BYTES || row->offset > INT64_MAX / 2)
		return -EBADMSG;
	if (!rc)
		rc = fd_read_at(data, (int64_t)row->offset,
		                (int64_t)row->length, &bytes);
	if (!rc)
		rc = fd_write_all(body, bytes.p, bytes.len);
	return rc ? rc : ask_fetcher(d, v, body, bytes.len);
}

static int64_t
seconds_of(const char *retry_after)
{
	char *end;
	long long s = strtoll(retry_after, &end, 10);

	return *end || s < 0 ? 0 : s; /* a date: the usual pause */
}

static bool
may_pass(uint32_t status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

/* True for the reply by which collectors accept everything, an empty message or
 * one with an empty partial success: it need not be parsed. */
static bool
is_plain(int fd, uint64_t bytes)
{
	static const char empty[] = {0x0a, 0x00};
	char p[sizeof(empty)];

	return !bytes ||
	       (bytes == sizeof(p) && pread(fd, p, sizeof(p), 0) == sizeof(p) &&
	        !memcmp(p, empty, sizeof(p)));
}

static void
answered(struct deliveries *d, struct delivering *v,
         const struct fetch_answer *a, int *body, int64_t now_ns)
{
	static const struct export_row whole;
	char why[80];

	snprintf(why, sizeof(why), "the collector answers with %u", a->status);
	if (a->error)
		failed(d, v,
		       a->error == FETCH_INTERNAL
		               ? "sending failed: the worker's log says why"
		               : fetch_error_text(a->error),
		       0, now_ns);
	else if (may_pass(a->status))
		failed(d, v, why, seconds_of(a->retry_after), now_ns);
	else if (a->status < 200 || a->status > 299)
		refused(d, v, why, now_ns);
	else if (*body < 0 || is_plain(*body, a->bytes))
		accepted(d, v, &whole);
	else {
		v->state = DELIVERY_ANSWERED;
		v->fetch = 0;
		v->reply = TAKE_FD(*body);
	}
}

bool
deliveries_fetched(struct deliveries *d, const struct fetch_answer *a,
                   int *body, int64_t now_ns)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++) {
		struct delivering *v = &d->items[i];

		if (v->state != DELIVERY_IS_SENT || v->fetch != a->id)
			continue;
		answered(d, v, a, body, now_ns);
		return true;
	}
	return false;
}

void
deliveries_fetcher_gone(struct deliveries *d, int64_t now_ns)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (d->items[i].state == DELIVERY_IS_SENT)
			failed(d, &d->items[i], fetch_error_text(FETCH_DIED), 0,
			       now_ns);
}

/* --- to the analyser ------------------------------------------------------ */

static int
read_session(struct deliveries *d, const struct delivery *of, json_t **labels,
             struct buf *out)
{
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_FD int fd = -1;
	struct blob blob;
	int rc = session_get(d->runs->store, of->tenant, of->source, &s)
	                 ?: blob_of_session(d->runs->store, of->source,
	                                    BLOB_PPROF, &blob)
	                 ?: blob_open(d->runs->store, &blob, &fd);

	if (!rc && blob.length > (int64_t)EXPORT_MAX_BYTES)
		rc = -E2BIG;
	if (!rc)
		rc = fd_read_at(fd, 0, blob.length, out);
	if (!rc)
		*labels = json_loads(s.labels, 0, NULL);
	return rc;
}

static int
read_window(struct deliveries *d, const struct delivery *of, json_t **labels,
            struct buf *out)
{
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series s = {0};
	int rc = window_get(d->runs->store, of->tenant, of->source, &w, &s)
	                 ?: window_read(d->runs->store, &w, out);

	if (!rc)
		*labels = json_loads(s.labels, 0, NULL);
	return rc;
}

/* Writes the labels of a profile, with those of its service. */
static int
put_labels(struct deliveries *d, const struct delivery *of, json_t *labels,
           struct buf *out)
{
	CLEANUP_SERVICE struct service s = {0};
	CLEANUP_JSON json_t *more = NULL;
	int rc = service_get(d->runs->store, of->tenant, of->service, &s);

	if (rc)
		return rc;
	more = json_loads(s.labels, 0, NULL) ?: json_object();
	if (json_is_object(labels) && json_object_update(more, labels))
		return -ENOMEM;
	return json_write(more, out);
}

/* Writes a profile as a piece for the analyser. */
static int
put_profile(struct deliveries *d, const struct delivery *of, struct buf *out)
{
	CLEANUP_JSON json_t *labels = NULL;
	CLEANUP_BUF struct buf origin = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf bytes = BUF_INIT(EXPORT_MAX_BYTES + 1);
	struct export_piece piece = {0};
	int rc = window_is(of->source) ? read_window(d, of, &labels, &bytes)
	                               : read_session(d, of, &labels, &bytes);

	if (!rc)
		rc = put_labels(d, of, labels, &text);
	if (rc)
		return rc;
	json_open(&origin, NULL, '{');
	json_put_text(&origin, "service", of->service);
	json_put_text(&origin, "host", d->host);
	json_put_text(&origin, "id", of->source);
	json_put_raw(&origin, "labels", buf_str(&text), "{}");
	json_close(&origin, '}');
	piece.origin = (uint32_t)origin.len;
	piece.length = (uint32_t)bytes.len;
	buf_add(out, &piece, sizeof(piece));
	buf_add(out, origin.p, origin.len);
	buf_add(out, bytes.p, bytes.len);
	return buf_err(&origin) ?: buf_err(out);
}

/* Writes a reply as a piece for the analyser. */
static int
put_reply(int fd, struct buf *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(ANSWER_MAX + 1);
	struct export_piece piece = {0};
	int rc = lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, &bytes);

	if (rc)
		return rc;
	piece.length = (uint32_t)bytes.len;
	buf_add(out, &piece, sizeof(piece));
	buf_add(out, bytes.p, bytes.len);
	return buf_err(out);
}

/* Explains why a stored profile cannot be sent; NULL if it can be read
 * later. */
static const char *
why_lost(int rc)
{
	switch (rc) {
	case -ENOENT:
		return "a profile was removed before it was sent";
	case -EBADMSG:
		return "a stored profile is damaged";
	case -E2BIG:
		return "a profile is too large to be sent";
	default:
		return NULL;
	}
}

/* Adds what one item needs from the analyser. If too much is on its way
 * already, a profile waits for the next batch.
 *   Errors   -errno of writing: the file may end within a piece */
static int
add_piece(struct deliveries *d, struct delivering *v, int fd, size_t *bytes)
{
	CLEANUP_BUF struct buf piece = BUF_INIT(2 * EXPORT_MAX_BYTES);
	bool profile = v->state == DELIVERY_WAITS;
	int rc;

	if ((!profile && v->state != DELIVERY_ANSWERED) ||
	    (profile && *bytes > EXPORT_MAX_BYTES))
		return 0;
	rc = profile ? put_profile(d, &v->of, &piece)
	             : put_reply(v->reply, &piece);
	if (rc && profile && why_lost(rc)) {
		drop(d, &v->of, why_lost(rc));
		clear(v);
		return 0;
	}
	if (rc) {
		log_warn("%s: %s", v->of.source, strerror(-rc));
		clear(v); /* it is looked up again */
		return 0;
	}
	rc = fd_write_all(fd, piece.p, piece.len);
	if (rc)
		return rc;
	*bytes += piece.len;
	v->state = profile ? DELIVERY_IS_MADE : DELIVERY_IS_READ;
	return 0;
}

static bool
is_asked(const struct delivering *v)
{
	return v->state == DELIVERY_IS_MADE || v->state == DELIVERY_IS_READ;
}

static void
forget_batch(struct deliveries *d)
{
	d->asked = false;
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (d->items[i].state == DELIVERY_IS_MADE)
			d->items[i].state = DELIVERY_WAITS;
		else if (d->items[i].state == DELIVERY_IS_READ)
			d->items[i].state = DELIVERY_ANSWERED;
}

void
deliveries_analyser_gone(struct deliveries *d)
{
	forget_batch(d);
}

/* Returns the bytes of requests that are being sent. */
static uint64_t
sent_bytes(const struct deliveries *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (d->items[i].state == DELIVERY_IS_SENT)
			sum += d->items[i].bytes;
	return sum;
}

/* Sends the analyser one batch of everything that waits for it. */
static void
ask_analyser(struct deliveries *d)
{
	struct msg_capture m = {.type = MSG_EXPORT};
	CLEANUP_FD int fd = memfd_create("stoker-export", MFD_CLOEXEC);
	size_t bytes = sent_bytes(d), before = bytes;
	int rc = fd < 0 ? -errno : 0;

	for (size_t i = 0; i < DELIVERIES_MAX && !rc; i++)
		rc = add_piece(d, &d->items[i], fd, &bytes);
	if (!rc && bytes == before)
		return;
	if (!rc)
		rc = msg_send(d->runs->analyser, &m, sizeof(m), &fd, 1);
	if (rc) {
		log_debug("deliveries: %s", strerror(-rc));
		forget_batch(d);
	}
	d->asked = !rc;
}

static bool
needs_analyser(const struct deliveries *d)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (d->items[i].state == DELIVERY_WAITS ||
		    d->items[i].state == DELIVERY_ANSWERED)
			return true;
	return false;
}

/* --- from the analyser ---------------------------------------------------- */

/* Counts a process's death at the first piece that it did not finish; a piece
 * at which others have died is given up. */
static void
note_death(struct deliveries *d, struct delivering *v, int64_t now_ns)
{
	if (strcmp(d->deadly.source, v->of.source) != 0)
		d->deadly.deaths = 0;
	snprintf(d->deadly.source, sizeof(d->deadly.source), "%s",
	         v->of.source);
	if (++d->deadly.deaths < DEATHS_MAX)
		return;
	if (v->state == DELIVERY_IS_READ)
		return failed(d, v, "the reply of the collector cannot be read",
		              0, now_ns);
	drop(d, &v->of, "a profile cannot be converted");
	clear(v);
}

static void
take_row(struct deliveries *d, struct delivering *v,
         const struct export_row *row, int data, int64_t now_ns)
{
	int rc;

	if (v->state == DELIVERY_IS_READ) {
		if (row->failed)
			failed(d, v,
			       "the server answers, but not as a collector "
			       "does",
			       0, now_ns);
		else
			accepted(d, v, row);
		return;
	}
	if (row->failed) {
		drop(d, &v->of, "a profile cannot be converted");
		clear(v);
		return;
	}
	rc = send_request(d, v, row, data);
	if (rc)
		failed(d, v, strerror(-rc), 0, now_ns);
}

/* Checks a row, since the analyser is not trusted. */
static bool
read_row(int fd, off_t i, struct export_row *out)
{
	if (fd < 0 || pread(fd, out, sizeof(*out), i * (off_t)sizeof(*out)) !=
	                      sizeof(*out))
		return false;
	if (out->rejected < 0 || out->rejected > INT32_MAX)
		out->rejected = INT32_MAX;
	out->message[sizeof(out->message) - 1] = '\0';
	utf8_mend(out->message, strlen(out->message));
	return true;
}

void
deliveries_take(struct deliveries *d, const struct msg_batch *m, int data,
                int rows, int64_t now_ns)
{
	struct export_row row;
	off_t n = 0;
	bool whole = true;

	if (m->error && m->error != CAPTURE_FINISH_DIED)
		log_debug("deliveries: %s", capture_error_text(m->error));
	for (size_t i = 0; i < DELIVERIES_MAX && d->asked && whole; i++) {
		struct delivering *v = &d->items[i];

		if (!is_asked(v))
			continue;
		whole = read_row(rows, n++, &row);
		if (whole)
			take_row(d, v, &row, data, now_ns);
		else if (m->error == CAPTURE_FINISH_DIED)
			note_death(d, v, now_ns);
	}
	forget_batch(d);
	if (!whole)
		d->next_ns = now_ns + LOOK_NS;
	close_ptr(&data);
	close_ptr(&rows);
}

/* --- what is due ---------------------------------------------------------- */

static struct delivering *
unused(struct deliveries *d)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (!d->items[i].state)
			return &d->items[i];
	return NULL;
}

static bool
is_under_way(const struct deliveries *d, const struct delivery *of)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (d->items[i].state &&
		    !strcmp(d->items[i].of.service, of->service) &&
		    !strcmp(d->items[i].of.tenant, of->tenant))
			return true;
	return false;
}

/* Begins the delivery of a row, which it takes, unless its service has another
 * one under way or has to wait. Drops a row that has waited too long. */
static void
begin(struct deliveries *d, struct delivery *of, int64_t now_ms, int64_t now_ns)
{
	const struct delivery_trouble *t = find_trouble(d, of);
	struct delivering *v = unused(d);

	if (is_under_way(d, of))
		return;
	if (now_ms - of->queued_ms > d->runs->conf->collector_keep * MS_PER_S) {
		drop(d, of,
		     t && *t->message ? t->message
		                      : "a profile has waited too long");
		d->next_ns = 0;
		return;
	}
	if (!v || (t && now_ns < t->next_ns))
		return;
	*v = (struct delivering){.state = DELIVERY_WAITS, .of = *of};
	*of = (struct delivery){0};
}

static bool
is_in_progress(const struct deliveries *d, const char *source)
{
	for (size_t i = 0; i < DELIVERIES_MAX; i++)
		if (d->items[i].state && !strcmp(d->items[i].of.source, source))
			return true;
	return false;
}

static int
drop_excess(struct deliveries *d, const struct delivery *of)
{
	CLEANUP_DELIVERIES struct delivery_list l = {0};
	int rc = delivery_excess(d->runs->store, d->host, of->tenant,
	                         of->service, d->runs->conf->collector_waiting,
	                         DROP_MAX, &l);

	for (size_t i = 0; i < l.n; i++)
		if (!is_in_progress(d, l.items[i].source))
			drop(d, &l.items[i],
			     "more profiles wait than [collector] waiting "
			     "allows");
	return rc;
}

/* Forgets what waits for collectors that services no longer have, and their
 * troubles. */
static int
forget_unwanted(struct deliveries *d)
{
	CLEANUP_DELIVERIES struct delivery_list l = {0};
	int rc = delivery_unwanted(d->runs->store, d->host, DROP_MAX, &l);

	for (size_t i = 0; i < l.n; i++)
		if (!is_in_progress(d, l.items[i].source))
			remove_row(d, &l.items[i]);
	for (size_t i = d->ntroubles; i-- > 0 && !rc;) {
		CLEANUP_SERVICE struct service s = {0};
		struct delivery_trouble *t = &d->troubles[i];

		rc = service_get(d->runs->store, t->tenant, t->service, &s);
		if (rc == -ENOENT || (!rc && !*s.collector)) {
			forget_trouble(d, t);
			rc = 0;
		}
	}
	return rc;
}

static int
look(struct deliveries *d, int64_t now_ns)
{
	CLEANUP_DELIVERIES struct delivery_list l = {0};
	bool upkeep = now_ns >= d->upkeep_ns;
	int64_t now_ms = 0;
	int rc = upkeep ? forget_unwanted(d) : 0;

	if (!rc)
		rc = delivery_oldest(d->runs->store, d->host, SERVICES_MAX, &l);
	if (!rc && l.n)
		rc = store_now(d->runs->store, &now_ms);
	if (upkeep)
		d->upkeep_ns = now_ns + UPKEEP_NS;
	for (size_t i = 0; i < l.n && !rc; i++) {
		if (upkeep)
			rc = drop_excess(d, &l.items[i]);
		if (!rc)
			begin(d, &l.items[i], now_ms, now_ns);
	}
	return rc;
}

void
deliveries_step(struct deliveries *d, int64_t now_ns)
{
	int rc = 0;

	if (now_ns >= d->next_ns) {
		d->next_ns = now_ns + LOOK_NS;
		rc = look(d, now_ns);
	}
	if (rc)
		log_warn("deliveries: %s", strerror(-rc));
	if (!d->asked && d->runs->analyser >= 0 && needs_analyser(d))
		ask_analyser(d);
}

/* --- what is published ---------------------------------------------------- */

static void
put_problem(const struct delivery_trouble *t, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&text, t->message);
	if (t->dropped)
		buf_addf(&text, "; %lld profile%s dropped",
		         (long long)t->dropped,
		         t->dropped == 1 ? " was" : "s were");
	json_open(out, NULL, '{');
	json_put_text(out, "tenant", t->tenant);
	json_put_text(out, "service", t->service);
	json_put_text(out, "message", buf_str(&text));
	json_put_int(out, "since", t->since_ms);
	json_close(out, '}');
}

void
deliveries_json(struct deliveries *d, struct buf *out)
{
	d->counts.failing = 0;
	for (size_t i = 0; i < d->ntroubles; i++)
		d->counts.failing += d->troubles[i].failures > 0;
	if (delivery_waiting(d->runs->store, d->host, &d->counts.waiting))
		d->counts.waiting = 0;
	json_open(out, "collectors", '{');
	delivery_host_put(&d->counts, out);
	json_open(out, "problems", '[');
	for (size_t i = 0; i < d->ntroubles && i < PUBLISHED; i++)
		put_problem(&d->troubles[i], out);
	json_close(out, ']');
	json_close(out, '}');
}
