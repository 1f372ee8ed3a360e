#include "importer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/msg.h"
#include "base/utf8.h"
#include "forker.h"
#include "profile/pprof.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define TICK_MS     100
#define OWN_STRINGS 256 /* most strings an importer adds to those of a file */
#define TRY_BYTES   ((size_t)1 << 20)
#define TRY_NS      (5 * NS_PER_S)

struct importer {
	int control;  /* to the forker; -1: it could not be forked */
	int small;    /* to the importer of small files; -1: none */
	char *tenant; /* whose files the small importer reads */
	struct finding finding;
};

/* Records what importers lack. Returns its error. */
static int
lacking(struct importer *im, enum lack lack, int err)
{
	lack_find(lack, err, &im->finding);
	return -ECHILD;
}

const struct finding *
importer_finding(const struct importer *im)
{
	return &im->finding;
}

/* --- the forker ----------------------------------------------------------- */

int
importer_start(struct importer **out)
{
	struct importer *im = calloc(1, sizeof(*im));
	int pair[2];
	pid_t pid;

	if (!im)
		return -ENOMEM;
	*out = im;
	im->control = im->small = -1;
	(void)lacking(im, LACK_NOTHING, 0);
	if (msg_pair(pair)) {
		(void)lacking(im, LACK_SOCKET, errno);
		return 0;
	}
	pid = fork();
	if (!pid) {
		close(pair[0]);
		forker_run(pair[1]);
	}
	close(pair[1]);
	im->control = pair[0];
	if (pid < 0) {
		(void)lacking(im, LACK_FORK, errno);
		close_ptr(&im->control);
	}
	return 0;
}

void
importer_stop(struct importer *im)
{
	if (!im)
		return;
	close_ptr(&im->control);
	close_ptr(&im->small);
	free(im->tenant);
	free(im);
}

static int
ask_forker(struct importer *im, const struct forker_ask *ask, int socket,
           struct forker_reply *out)
{
	size_t nfds = 0;
	int rc;

	if (im->control < 0)
		return -ECHILD;
	rc = msg_send(im->control, ask, sizeof(*ask), &socket,
	              socket >= 0 ? 1 : 0);
	if (rc || msg_recv(im->control, out, sizeof(*out), NULL, &nfds) !=
	                  sizeof(*out)) {
		(void)lacking(im, LACK_FORKER, 0);
		return -ESRCH;
	}
	return out->lack ? lacking(im, out->lack, out->err) : 0;
}

/* Kills an importer. *status says how it ended if it had ended before. */
static int
end(struct importer *im, uint32_t child, int *status)
{
	const struct forker_ask ask = {.child = child};
	struct forker_reply reply;
	int rc = ask_forker(im, &ask, -1, &reply);

	if (child == FORKER_SMALL)
		close_ptr(&im->small);
	if (!rc)
		*status = reply.status;
	return rc;
}

static int
start(struct importer *im, uint32_t child, int64_t memory, int *out)
{
	const struct forker_ask ask = {
		.child = child, .start = true, .memory = memory};
	struct forker_reply reply;
	int pair[2];
	int rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return lacking(im, LACK_SOCKET, errno);
	rc = ask_forker(im, &ask, pair[1], &reply);
	close(pair[1]);
	if (rc)
		close(pair[0]);
	else
		*out = pair[0];
	return rc;
}

/* Starts the importer of small files, unless the tenant has it. If it has died,
 * the next message to it fails. */
static int
start_small(struct importer *im, const char *tenant, bool *fresh)
{
	int status, rc = 0;

	*fresh = im->small < 0 || strcmp(im->tenant, tenant) != 0;
	if (!*fresh)
		return 0;
	if (im->small >= 0)
		rc = end(im, FORKER_SMALL, &status);
	free(im->tenant);
	im->tenant = strdup(tenant);
	if (!im->tenant)
		return -ENOMEM;
	return rc ? rc : start(im, FORKER_SMALL, MEMORY_IMPORTER, &im->small);
}

/* --- words of an importer ------------------------------------------------- */

struct talk {
	const struct importer_ask *ask;
	int socket;
	bool gone;   /* it closed its end: it has died */
	bool unread; /* it died before a reader saw the file */
	bool parted; /* a part was given out */
	bool ended;  /* the end was received, and the importer may be reused */
	struct buf *why;
};

static int
is_late(const struct talk *t)
{
	int64_t end_ns = t->ask->end_ns;

	return end_ns && clock_mono_ns() >= end_ns ? -ETIME : 0;
}

/* Returns why the reading must end now, or 0. */
static int
must_end(const struct talk *t)
{
	const struct importer_ask *a = t->ask;

	return is_late(t) ?: a->go_on && a->go_on(a->arg) ? -ECANCELED : 0;
}

/* Waits until the importer can be read from or written to. One that never stops
 * sending, however little, is late as well. */
static int
wait_for(const struct talk *t, short events)
{
	struct pollfd fd = {t->socket, events, 0};

	for (;;) {
		int ready = poll(&fd, 1, TICK_MS);
		int rc = ready > 0 ? is_late(t) : must_end(t);

		if (rc || ready > 0)
			return rc;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

static int
died(struct talk *t, bool unread)
{
	t->gone = true;
	t->unread |= unread;
	return -EOWNERDEAD;
}

static void
skip(struct iovec **v, size_t *nv, size_t n)
{
	while (*nv && n >= (*v)->iov_len) {
		n -= (*v)->iov_len;
		(*v)++;
		(*nv)--;
	}
	if (*nv) {
		(*v)->iov_base = (char *)(*v)->iov_base + n;
		(*v)->iov_len -= n;
	}
}

static int
say(struct talk *t, struct iovec *v, size_t nv)
{
	skip(&v, &nv, 0);
	while (nv) {
		const struct msghdr m = {.msg_iov = v, .msg_iovlen = nv};
		ssize_t n = sendmsg(t->socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		int rc = 0;

		if (n >= 0)
			skip(&v, &nv, (size_t)n);
		else if (errno == EAGAIN)
			rc = wait_for(t, POLLOUT);
		else if (errno != EINTR)
			rc = died(t, true);
		if (rc)
			return rc;
	}
	return 0;
}

/* The socket of a process that dies is reset if it has unread bytes. Source:
 * unix_release_sock() of Linux. */
static int
hear(struct talk *t, void *p, size_t n)
{
	char *to = p;

	while (n) {
		ssize_t got = recv(t->socket, to, n, MSG_DONTWAIT);
		int rc = 0;

		if (got > 0) {
			to += got;
			n -= (size_t)got;
		} else if (got < 0 && errno == EAGAIN) {
			rc = wait_for(t, POLLIN);
		} else if (!got || errno != EINTR) {
			rc = died(t, got < 0 && errno == ECONNRESET);
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int
hear_buf(struct talk *t, uint64_t n, struct buf *out)
{
	char *to = buf_reserve(out, n);
	int rc = to ? hear(t, to, n) : buf_err(out);

	if (!rc)
		out->len += n;
	return rc;
}

/* As hear_buf(), for a text. */
static int
hear_text(struct talk *t, uint64_t n, struct buf *out)
{
	size_t from = out->len;
	int rc = n ? hear_buf(t, n, out) : 0;

	if (!rc && n &&
	    (memchr(out->p + from, 0, n) || !utf8_valid(out->p + from, n)))
		rc = -EOWNERDEAD;
	buf_putc(out, '\0');
	return rc ? rc : buf_err(out);
}

/* True for a message that an importer may send unless it was taken over. */
static bool
is_sound(const struct importer_ask *a, const struct importer_said *s)
{
	static const int results[] = {0,          -EBADMSG, -E2BIG,
	                              -EOVERFLOW, -ENOMEM,  -EPROTONOSUPPORT,
	                              -ENODATA,   -EAGAIN};
	bool known = !s->end;

	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		known |= s->rc == results[i];
	return known && s->end <= 1 && s->why <= IMPORTER_TEXT_MAX &&
	       s->service <= IMPORTER_TEXT_MAX &&
	       s->labels <= IMPORTER_TEXT_MAX * 16 &&
	       s->file <= a->is.limits.raw_bytes && s->format >= -1 &&
	       s->format < (int64_t)ninputs && s->type >= -1 &&
	       s->type < (int64_t)profile_ntypes &&
	       (a->task != IMPORTER_FILE || s->end ||
	        (s->format >= 0 && (s->type >= 0 || a->is.untyped)));
}

/* Decodes a part. This process must limit it, since it can rely on no limit of
 * an importer. */
static int
decode(const struct talk *t, const struct buf *file, struct profile **out)
{
	const struct import_limits *l = &t->ask->is.limits;
	const struct pprof_limits limits = {
		.bytes = l->raw_bytes,
		.memory = l->memory,
		.strings = l->strings + OWN_STRINGS,
		.samples = l->samples,
	};

	return pprof_decode_within(file->p, file->len, &limits, out, t->why);
}

static int
hear_part(struct talk *t, const struct importer_said *s)
{
	CLEANUP_BUF struct buf file = BUF_INIT(s->file + 1);
	CLEANUP_BUF struct buf texts = BUF_INIT(IMPORTER_TEXT_MAX * 20);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct importer_part of = {
		.format = s->format < 0 ? NULL : &inputs[s->format],
		.type = s->type < 0 ? NULL : &profile_types[s->type],
		.profiles = s->profiles,
	};
	int rc = hear_text(t, s->service, &texts)
	                 ?: hear_text(t, s->labels, &texts)
	                 ?: hear_buf(t, s->file, &file)
	                 ?: decode(t, &file, &p);

	if (rc)
		return rc;
	buf_done(&file);
	of.service = texts.p;
	of.labels = texts.p + s->service + 1;
	t->parted = true;
	return t->ask->part(t->ask->arg, &of, &p);
}

static int
hear_end(struct talk *t, const struct importer_said *s, uint64_t *inflated)
{
	CLEANUP_BUF struct buf why = BUF_INIT(IMPORTER_TEXT_MAX + 2);
	int rc = hear_text(t, s->why, &why);

	/* A second try must ask for more memory than the first, within the
	 * limit. */
	if (!rc && s->rc == -EAGAIN &&
	    (s->inflated <= t->ask->fits ||
	     s->inflated > t->ask->is.limits.raw_bytes))
		rc = -EOWNERDEAD;
	if (rc)
		return rc;
	buf_puts(t->why, why.p);
	t->ended = s->rc != -EAGAIN && s->rc != -ENOMEM;
	*inflated = s->inflated;
	if (s->rc == -ENOMEM && !t->ask->memory && !t->parted) {
		*inflated = 0;
		return -EAGAIN;
	}
	return s->rc == -EAGAIN && t->parted ? -EOWNERDEAD : s->rc;
}

static int
hear_all(struct talk *t, uint64_t *inflated)
{
	for (;;) {
		struct importer_said s;
		int rc = must_end(t) ?: hear(t, &s, sizeof(s));

		if (!rc && !is_sound(t->ask, &s))
			rc = -EOWNERDEAD;
		if (rc)
			return rc;
		if (s.end)
			return hear_end(t, &s, inflated);
		rc = hear_part(t, &s);
		if (rc)
			return rc;
	}
}

static uint32_t
length(const char *text)
{
	return text ? (uint32_t)strlen(text) : 0;
}

static int
say_all(struct talk *t, const void *p, size_t n)
{
	const struct importer_ask *a = t->ask;
	const struct import_ask *is = &a->is;
	struct importer_words words = {
		.task = a->task,
		.type = length(is->type),
		.format = length(is->format),
		.content_type = length(is->content_type),
		.event = length(is->event),
		.ratio = is->limits.ratio,
		.strings = is->limits.strings,
		.samples = is->limits.samples,
		.lines = is->lines,
		.deltas = is->deltas,
		.untyped = is->untyped,
		.rate = is->rate,
		.raw_bytes = is->limits.raw_bytes,
		.memory = is->limits.memory,
		.fits = a->fits,
		.file = n,
	};
	struct iovec v[] = {
		{&words, sizeof(words)},
		{(void *)is->type, words.type},
		{(void *)is->format, words.format},
		{(void *)is->content_type, words.content_type},
		{(void *)is->event, words.event},
		{(void *)p, n},
	};

	return say(t, v, ARRAY_LEN(v));
}

/* --- one file ------------------------------------------------------------- */

static void
put_death(const struct talk *t, int status, struct buf *why)
{
	buf_clear(why);
	if (!t->gone)
		buf_puts(why, "it sent what a reader of files does not send");
	else if (WIFSIGNALED(status))
		buf_addf(why, "signal %d: %s", WTERMSIG(status),
		         strsignal(WTERMSIG(status)));
	else
		buf_addf(why, "status %d", WEXITSTATUS(status));
}

/* True if a new importer lacks something, which its status names. It can be
 * believed: it has read no file yet. */
static bool
is_lack(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) > LACK_NOTHING &&
	       WEXITSTATUS(status) < LACKS;
}

/* Reads the file once. *idle is set if an importer that waited for files died
 * before it could read this one. */
static int
read_once(struct importer *im, const struct importer_ask *ask, const void *p,
          size_t n, uint64_t *inflated, bool *idle, struct buf *why)
{
	uint32_t child = ask->memory ? FORKER_LARGE : FORKER_SMALL;
	struct talk t = {.ask = ask, .why = why};
	CLEANUP_FD int large = -1;
	bool fresh = true;
	int status = 0, ended = 0,
	    rc = ask->memory ? start(im, child, ask->memory, &large)
	                     : start_small(im, ask->tenant, &fresh);

	if (rc)
		return rc;
	t.socket = ask->memory ? large : im->small;
	rc = say_all(&t, p, n);
	if (!rc || rc == -EOWNERDEAD)
		rc = hear_all(&t, inflated);
	if (!t.ended || ask->memory)
		ended = end(im, child, &status);
	if (ended)
		return rc == -EOWNERDEAD ? ended : rc;
	*idle = t.unread && !fresh;
	if (rc == -EOWNERDEAD && t.unread && fresh && is_lack(status))
		return lacking(im, (enum lack)WEXITSTATUS(status), 0);
	if (rc == -EOWNERDEAD)
		put_death(&t, status, why);
	return rc;
}

int
importer_read(struct importer *im, const struct importer_ask *ask,
              const void *p, size_t n, uint64_t *inflated, struct buf *why)
{
	bool idle = false;
	int rc = read_once(im, ask, p, n, inflated, &idle, why);

	if (rc == -EOWNERDEAD && idle) {
		buf_clear(why);
		rc = read_once(im, ask, p, n, inflated, &idle, why);
	}
	if (!rc)
		(void)lacking(im, LACK_NOTHING, 0);
	return rc;
}

static int
take_nothing(void *arg, const struct importer_part *of, struct profile **made)
{
	(void)arg;
	(void)of;
	(void)made;
	return 0;
}

void
importer_try(struct importer *im)
{
	static const char file[] = "tried 1\n";
	const struct importer_ask ask = {
		.task = IMPORTER_PUSH,
		.is = {.type = "",
	               .format = "folded",
	               .content_type = "",
	               .limits = {TRY_BYTES, TRY_BYTES, 100, 100, 100}},
		.memory = MEMORY_IMPORTER,
		.fits = TRY_BYTES,
		.end_ns = clock_mono_ns() + TRY_NS,
		.part = take_nothing,
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	uint64_t inflated;
	int rc = importer_read(im, &ask, file, sizeof(file) - 1, &inflated,
	                       &why);

	if (rc && rc != -ECHILD && rc != -ESRCH)
		finding_set(&im->finding, BROKEN,
		            "see why: journalctl -u stoker-api, journalctl -k",
		            "one was tried, and failed: %s",
		            why.len ? buf_str(&why) : strerror(-rc));
}
