/*
 * A request as nginx passes it on, up to its reply: a line "NAME=value" for
 * every parameter of FastCGI. There is no body, so only calls without one store
 * anything. The only callers are users of single sign-on.
 */
#include "api/dispatch.h"
#include "api/fcgi.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "lib/store.h"
#include "store/link.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MAX_PARAMS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char dir[] = "/tmp/stoker-fuzz.XXXXXX";
static struct conf conf;
static struct env env = {.conf = &conf, .pushes = PUSHES_INIT};
static int stop_fd = -1; /* always readable, so nothing waits */

static void
remove_dir(void)
{
	test_remove(dir);
}

static void
open_env(void)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	log_setup("fuzz", LOG_ERR_);
	assert(mkdtemp(dir) && !atexit(remove_dir));
	buf_addf(&text,
	         "[store]\ndir = %s\n[api]\nrun_dir = %s\nsso_admins = ops\n"
	         "sso_operators = dev\nsso_viewers = all\n"
	         "sso_tenants = default other\n",
	         dir, dir);
	assert(!conf_parse("fuzz", buf_str(&text), &conf, &why));
	assert(!counters_open(dir, 2, 1, &env.counters));
	assert(!store_open(&conf, false, &env.store, &why));
	assert(!link_key_make(&env.store));
	stop_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert(stop_fd >= 0);
}

static int
no_body(struct call *c)
{
	(void)c;
	return -EPIPE;
}

/* Nothing that a client sent may become another header. */
static void
check_headers(const struct buf *headers)
{
	const char *at = buf_str(headers), *end = at + headers->len;

	assert(!buf_err(headers) && strlen(at) == headers->len);
	while (at < end) {
		const char *colon = strstr(at, ": ");
		const char *stop = strstr(at, "\r\n");

		assert(colon && stop && colon < stop);
		for (const char *p = at; p < stop; p++)
			assert((unsigned char)*p >= ' ');
		at = stop + 2;
	}
}

static void
check_reply(const struct call *c)
{
	const struct reply *r = c->reply;

	assert(strcmp(fcgi_reason(r->status), "Unknown") != 0);
	assert((r->status >= 400) == (r->error != NULL));
	assert(!buf_err(&r->body));
	check_headers(&r->headers);
	if (r->is_json) {
		CLEANUP_JSON json_t *j = json_loadb(
			r->body.p, r->body.len, JSON_REJECT_DUPLICATES, NULL);

		assert(json_is_object(j));
	}
}

/* A caller has only roles and tenants from the configuration, and has no rights
 * without them. */
static void
check_caller(const struct call *c)
{
	const struct request *r = c->req;
	const struct caller *who = &c->caller;
	bool is_open = !c->route || c->route->who == WHO_ANYONE ||
	               (c->route->who == WHO_SCRAPER && r->metrics_allowed);

	if (who->who >= WHO_VIEWER)
		assert(*r->sso_user && *r->sso_groups && !*r->authorization &&
		       conf_list_has(conf.api_sso_tenants, who->tenant));
	else
		assert(is_open || c->reply->status >= 400);
	if (c->route && !is_open && c->reply->status < 400) {
		assert(who->who >= c->route->who);
		assert(c->route->method == METHOD_GET ||
		       request_same_origin(r));
	}
}

static void
check_cookie(const struct request *r)
{
	char cookie[32];

	if (!request_cookie(r, cookie, sizeof(cookie)))
		assert(strlen(cookie) < sizeof(cookie) &&
		       !strchr(cookie, ';') && strstr(r->cookie, cookie));
}

static void
ask(FCGX_Request *f)
{
	static struct request r;
	struct reply reply;
	struct call c = {.env = &env,
	                 .req = &r,
	                 .reply = &reply,
	                 .receive = no_body,
	                 .end_ns = clock_mono_ns() + 60 * NS_PER_S};
	int rc = fcgi_receive(f, &r);

	r.stop_fd = stop_fd;
	reply_init(&reply);
	assert(strlen(r.id) <= REQUEST_MAX_ID && r.content_length >= -1);
	check_cookie(&r);
	if (rc)
		dispatch_refuse(&c, rc);
	else
		dispatch(&c, NULL);
	check_reply(&c);
	check_caller(&c);
	dispatch_done(&c);
	reply_done(&reply);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_FREE char *text = strndup((const char *)data, n);
	char *envp[MAX_PARAMS + 1] = {NULL}, *rest = text, *line;
	FCGX_Request f = {.envp = envp, .ipcFd = -1};
	size_t nparams = 0;

	if (stop_fd < 0)
		open_env();
	while (nparams < MAX_PARAMS && (line = strsep(&rest, "\n")))
		if (strchr(line, '='))
			envp[nparams++] = line;
	ask(&f);
	return 0;
}
