#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "collector_headers.h"
#include "fetcher_transfer.h"
#include "sandbox/sandbox.h"
#include "worker/ipc/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#define MAX_CA      ((size_t)8 << 20)
#define MAX_HEADERS ((size_t)256 << 10)

static const char *const texts[] = {
	"",
#define FETCH_ERROR(code, text) text,
#include "worker/ipc/fetch.def"
#undef FETCH_ERROR
};

const char *
fetch_error_text(enum fetch_error e)
{
	return e < FETCH_ERRORS ? texts[e] : texts[FETCH_INTERNAL];
}

/* --- answers -------------------------------------------------------------- */

static void
say(const struct fetcher *f, const struct fetch_answer *a, int fd)
{
	if (msg_send(f->socket, a, sizeof(*a), &fd, fd >= 0))
		log_debug("the scheduler takes no messages");
}

static void
refuse(const struct fetcher *f, uint64_t id, enum fetch_error e)
{
	struct fetch_answer a = {.type = MSG_FETCHED, .error = e, .id = id};

	say(f, &a, -1);
}

static struct transfer **
slot_of(struct fetcher *f, const struct transfer *t)
{
	for (size_t i = 0; i < FETCH_MAX; i++)
		if (f->transfers[i] == t)
			return &f->transfers[i];
	return NULL;
}

static void
drop(struct fetcher *f, struct transfer *t)
{
	curl_multi_remove_handle(f->multi, t->easy);
	*slot_of(f, t) = NULL;
	transfer_free(t);
}

static void
end(struct fetcher *f, struct transfer *t, CURLcode code)
{
	enum fetch_error e = transfer_result(t, code);
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	t->answer.error = e;
	t->answer.status = (uint32_t)status;
	if (e)
		log_debug("fetch: %s (%s)", fetch_error_text(e),
		          curl_easy_strerror(code));
	say(f, &t->answer, e ? -1 : t->out);
	drop(f, t);
}

static void
take_ended(struct fetcher *f)
{
	const CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(f->multi, &left))) {
		CURLcode code = m->data.result;
		struct transfer *t = NULL;

		if (m->msg == CURLMSG_DONE &&
		    !curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t))
			end(f, t, code);
	}
}

/* --- questions ------------------------------------------------------------ */

static void
start(struct fetcher *f, const struct fetch_ask *ask, int *in)
{
	struct transfer **slot = slot_of(f, NULL), *t = NULL;
	enum fetch_error e = slot ? transfer_new(f, ask, TAKE_FD(*in), &t)
	                          : FETCH_BUSY;

	if (!e && curl_multi_add_handle(f->multi, t->easy)) {
		transfer_free(t);
		e = FETCH_INTERNAL;
	}
	if (e)
		refuse(f, ask->id, e);
	else
		*slot = t;
}

static void
cancel(struct fetcher *f, uint64_t id)
{
	for (size_t i = 0; i < FETCH_MAX; i++)
		if (f->transfers[i] && f->transfers[i]->answer.id == id)
			drop(f, f->transfers[i]);
}

static int
take_message(struct fetcher *f)
{
	union {
		uint32_t type;
		struct fetch_ask ask;
		struct fetch_cancel cancel;
	} m;
	CLEANUP_FD int fd = -1;
	size_t nfds = 1;
	ssize_t n = msg_recv(f->socket, &m, sizeof(m), &fd, &nfds);

	if (n <= 0)
		return n ? (int)n : -EPIPE;
	if (!nfds)
		fd = -1;
	if (n == sizeof(m.ask) && m.type == MSG_FETCH)
		start(f, &m.ask, &fd);
	else if (n == sizeof(m.cancel) && m.type == MSG_FETCH_CANCEL)
		cancel(f, m.cancel.id);
	return 0;
}

/* --- the process ---------------------------------------------------------- */

static int
turn(struct fetcher *f)
{
	int wait_ms =
		(int)(fetch_silence_s(f->conf) * WORKER_ALIVE_NS / NS_PER_MS);
	struct curl_waitfd asked = {f->socket, CURL_WAIT_POLLIN, 0};
	int running;

	if (eventfd_write(f->alive, 1) && errno != EAGAIN)
		return -errno;
	if (curl_multi_perform(f->multi, &running))
		return -EIO;
	take_ended(f);
	if (curl_multi_poll(f->multi, &asked, 1, wait_ms, NULL))
		return -EIO;
	return asked.revents ? take_message(f) : 0;
}

/* Reads certificates. Without them, every https server is refused; the log has
 * the reason. */
static void
read_certificates(struct fetcher *f)
{
	int rc = file_read(AT_FDCWD, f->ca_file, &f->ca);

	if (rc) {
		log_warn("%s: %s: no https", f->ca_file, strerror(-rc));
		buf_clear(&f->ca);
	}
}

static int
enter_sandbox(void)
{
	int rc = memory_bound(MEMORY_FETCHER)
	                 ?: sandbox_enter_network(FETCHER_ADDRESSES);

	if (rc > 0)
		log_warn("this kernel has no Landlock: hosts are reached by "
		         "address only");
	return rc < 0 ? rc : 0;
}

static int
prepare(struct fetcher *f)
{
	signal(SIGINT, SIG_IGN); /* from a terminal; the scheduler decides */
	signal(SIGTERM, SIG_IGN);
	read_certificates(f);
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	f->multi = curl_multi_init();
	if (!f->multi)
		return -ENOMEM;
	return enter_sandbox();
}

int
fetcher_serve(struct fetcher *f)
{
	int rc;

	f->ca = (struct buf)BUF_INIT(MAX_CA);
	rc = prepare(f);
	/* The process ends after this call, and so frees all memory. */
	while (!rc)
		rc = turn(f);
	return rc;
}

/* Reads the headers for collectors. Without them, nothing is sent to any. */
static void
read_headers(struct fetcher *f, int fd)
{
	const char *path = f->conf->collector_header_file;
	unsigned line;
	int rc;

	f->headers = (struct buf)BUF_INIT(MAX_HEADERS);
	if (!*path)
		return;
	rc = fd < 0 ? -ENOENT : fd_read_all(fd, &f->headers);
	if (!rc && strlen(buf_str(&f->headers)) != f->headers.len)
		rc = -EBADMSG;
	f->no_headers = rc != 0;
	if (rc)
		log_err("%s: %s: nothing is sent to collectors", path,
		        rc == -ENOENT ? "there is no such file, or it cannot "
		                        "be read"
		                      : strerror(-rc));
	line = rc ? 0 : collector_headers_check(buf_str(&f->headers));
	if (line)
		log_warn("%s: line %u is not TENANT HOST Name: value", path,
		         line);
}

int
fetcher_run(const struct conf *conf, const char *own, int socket, int alive,
            const struct fetch_secrets *secrets)
{
	struct fetcher f = {
		.conf = conf,
		.own = own,
		.socket = socket,
		.alive = alive,
		.ca_file = conf->fetch_ca_file,
	};

	prctl(PR_SET_NAME, FETCHER_NAME);
	read_headers(&f, secrets->headers);
	if (secrets->headers >= 0)
		close(secrets->headers);
	return fetcher_serve(&f);
}
