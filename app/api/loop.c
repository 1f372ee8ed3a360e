#include "loop.h"

#include "base/clock.h"
#include "base/log.h"
#include "dispatch.h"
#include "fcgi.h"

#include <errno.h>
#include <fastcgi.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define LINE_MAX_BYTES ((size_t)8 << 10)

static void
put_line(struct buf *out, const struct call *c, int64_t us)
{
	const struct reply *r = c->reply;

	json_open(out, NULL, '{');
	json_put_time(out, "time", clock_wall_ms());
	json_put_text(out, "requestId", c->req->id);
	json_put_text(out, "method", method_names[c->req->method]);
	json_put_text(out, "route", c->route ? c->route->path : "");
	json_put_int(out, "status", r->status);
	json_put_int(out, "us", us);
	json_put_int(out, "bytes", (int64_t)r->body.len);
	json_put_text(out, "tenant", c->caller.tenant);
	json_put_text(out, "token", c->caller.id);
	if (r->error)
		json_put_text(out, "error", r->error);
	if (r->cause.len)
		json_put_text(out, "cause", buf_str(&r->cause));
	json_close(out, '}');
	buf_putc(out, '\n');
}

/* True for a successful poll, which each host of a fleet sends every second. */
static bool
is_everyday(const struct call *c)
{
	return c->route && c->route->op == OP_PollAgent && !c->reply->error;
}

/*
 * Writes one line of JSON per request to stderr. The line has the route's
 * pattern, not the target: a target may contain the signature of a link.
 */
static void
access_log(const struct call *c, int64_t us)
{
	static struct buf line = BUF_INIT(LINE_MAX_BYTES);

	if (is_everyday(c))
		return;
	buf_clear(&line);
	put_line(&line, c, us);
	if (!buf_err(&line) && write(STDERR_FILENO, line.p, line.len) < 0)
		return; /* there is nowhere to report this */
}

#define LISTENER   0
#define BEGIN_MS   10000             /* from the connection to the first byte */
#define KEPT_BYTES ((size_t)1 << 20) /* most memory of a body that is reused */

/*
 * For malloc(): the size from which a block is mapped by itself, the free
 * memory to keep, and the step by which the heap grows.
 */
#define MAPPED_BYTES (32 << 20)
#define FREE_BYTES   (8 << 20)
#define PAD_BYTES    (1 << 20)

struct loop {
	struct env *env;
	struct jwt_keys *keys;
	int stop_fd;
	struct request request;
	struct reply reply;
	struct buf body;
};

/* If a signal interrupted a request, libfcgi would read too little, or deliver
 * truncated parameters. */
int
loop_signals(int *out_fd)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1,
	                              SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	*out_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *out_fd < 0 ? -errno : 0;
}

static int
epoll_watch(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* Opens an epoll with EPOLLEXCLUSIVE, so that a connection wakes one process,
 * not the whole pool. */
static int
open_epoll(int stop_fd, int *out_fd)
{
	CLEANUP_FD int fd = epoll_create1(EPOLL_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;

	if (!rc && fcntl(LISTENER, F_SETFL, O_NONBLOCK))
		rc = -errno;
	if (!rc)
		rc = epoll_watch(fd, stop_fd, EPOLLIN);
	if (!rc)
		rc = epoll_watch(fd, LISTENER, EPOLLIN | EPOLLEXCLUSIVE);
	if (!rc)
		*out_fd = TAKE_FD(fd);
	return rc;
}

/* A call and the FastCGI request that its body is read from. */
struct loop_call {
	struct call call;
	struct loop *loop;
	FCGX_Request *from;
};

static int
receive(struct call *c)
{
	struct loop_call *s = (struct loop_call *)(void *)c;

	return fcgi_body(s->from, &s->loop->request, &s->loop->body);
}

/* Keeps the memory of light calls for the next ones: the system would have to
 * clear it for each call. */
static void
keep_memory(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, FREE_BYTES);
	(void)mallopt(M_TOP_PAD, PAD_BYTES);
}

/* Returns the memory of a heavy call to the system, before its place is given
 * to another call. */
static void
give_back(struct loop *l)
{
	reply_clear(&l->reply);
	malloc_trim(0);
}

/* Serves a request, or refuses it for a reason. */
static void
serve(struct loop *l, FCGX_Request *f, int refused)
{
	struct loop_call s = {
		.call = {.env = l->env,
	                 .req = &l->request,
	                 .reply = &l->reply,
	                 .receive = receive},
		.loop = l,
		.from = f,
	};
	struct call *c = &s.call;
	int64_t start_ns = clock_mono_ns(), us;
	int rc = fcgi_receive(f, &l->request) ?: refused;

	l->request.stop_fd = l->stop_fd;
	c->end_ns = start_ns + l->env->conf->api_request_time * NS_PER_S;
	store_until(&l->env->store, c->end_ns);
	counters_busy(l->env->counters, true);
	reply_clear(&l->reply);
	if (rc)
		dispatch_refuse(c, rc);
	else
		dispatch(c, l->keys);
	if (!c->dropped)
		fcgi_send(f, &l->request, &l->reply);
	us = (clock_mono_ns() - start_ns) / 1000;
	counters_request(l->env->counters, c->route ? c->route->op : OP_COUNT,
	                 l->reply.status, us);
	counters_busy(l->env->counters, false);
	access_log(c, us);
	store_until(&l->env->store, 0);
	if (l->body.cap > KEPT_BYTES)
		buf_done(&l->body);
	if (c->reads > CALL_LIGHT)
		give_back(l);
	dispatch_done(c);
}

/*
 * Accepts a connection and waits until its request begins. FCGX_Accept_r()
 * would give up after 100 ms; if nginx gets no CPU for that long, its client
 * gets a 502.
 *   Source   libfcgi 2.4.2, os_unix.c, OS_Accept
 */
static int
accept_connection(int *out)
{
	CLEANUP_FD int fd = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd begins = {fd, POLLIN, 0};

	if (fd < 0)
		return -errno;
	if (poll(&begins, 1, BEGIN_MS) != 1)
		return -ECONNABORTED;
	*out = TAKE_FD(fd);
	return 0;
}

/*
 * Reads the start of a connection's request. With ipcFd set, FCGX_Accept_r()
 * accepts no connection; keepConnection stops it from closing this one first.
 *   Source   fcgiapp.h, ipcFd and keepConnection; fcgiapp.c, FCGX_Accept_r
 */
static int
begin_request(FCGX_Request *f, int fd)
{
	f->ipcFd = fd;
	f->keepConnection = 1;
	return FCGX_Accept_r(f) < 0 ? -EPROTO : 0;
}

/*
 * True for a request that was read as a whole, with its body and nothing left
 * in the socket. Its connection can be closed at once. Others are shut down
 * first, and closed when nginx has closed its side, because closing a socket
 * with unread bytes would discard the reply. libfcgi does that unless
 * FCGX_Detach() was called.
 *   Source   libfcgi 2.4.2, os_unix.c, OS_Close; fcgiapp.c, FCGX_Free
 */
static bool
was_read(const struct request *r)
{
	int unread;

	return (int64_t)r->body_len == r->content_length &&
	       !ioctl(r->peer_fd, FIONREAD, &unread) && !unread;
}

/* Serves one connection. Also returns 0 if another process was quicker, or if
 * no request could be read. */
static int
accept_one(struct loop *l, FCGX_Request *f)
{
	int fd = -1, rc = accept_connection(&fd);

	if (!rc)
		rc = begin_request(f, fd);
	if (rc == -EAGAIN || rc == -EINTR || rc == -ECONNABORTED ||
	    rc == -EMFILE || rc == -EPROTO)
		return 0;
	if (rc)
		return rc;
	rc = store_refresh(&l->env->store);
	if (rc && rc != -EPROTONOSUPPORT) {
		log_warn("store: %s", strerror(-rc));
		rc = 0;
	}
	/* rc is 0 also for a request that was cut off */
	if (f->role == FCGI_RESPONDER && !FCGX_GetError(f->in)) {
		serve(l, f, rc);
		if (was_read(&l->request))
			(void)FCGX_Detach(f);
	}
	/* An open connection would occupy this process until nginx closes
	 * it. */
	f->keepConnection = 0;
	FCGX_Finish_r(f);
	return rc;
}

static int
accept_loop(struct loop *l, int epoll_fd)
{
	FCGX_Request f;

	if (FCGX_InitRequest(&f, -1, 0))
		return -ENOMEM;
	for (bool first = true;; first = false) {
		struct epoll_event events[2];
		bool waits = false, stop = false;
		int rc, n = epoll_wait(epoll_fd, events, 2, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			if (events[i].data.fd == LISTENER)
				waits = true;
			else
				stop = true;
		if (stop && !(first && waits))
			return 0;
		rc = waits ? accept_one(l, &f) : 0;
		if (rc)
			return rc;
	}
}

int
loop_run(struct env *env, struct jwt_keys *keys, int signals_fd)
{
	CLEANUP_FD int epoll_fd = -1;
	static struct loop l;
	int rc = open_epoll(signals_fd, &epoll_fd);

	if (!rc && FCGX_Init())
		rc = -ENOMEM;
	if (rc)
		return rc;
	keep_memory();
	l.env = env;
	l.keys = keys;
	l.stop_fd = signals_fd;
	l.body =
		BUF_INIT(env->conf->upload_max_bytes > (int64_t)REQUEST_MAX_BODY
	                         ? (size_t)env->conf->upload_max_bytes
	                         : REQUEST_MAX_BODY);
	reply_init(&l.reply);
	rc = accept_loop(&l, epoll_fd);
	reply_done(&l.reply);
	buf_done(&l.body);
	return rc;
}
