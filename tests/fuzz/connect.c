/*
 * Calls of the Connect protocol, up to their reply: pushes, and queries of
 * Grafana about a service with profiles. The first line of an input is the name
 * of an operation, a space and j or p, for JSON or protobuf; the rest is the
 * body. A push stores nothing.
 */
#include "base/clock.h"
#include "base/log.h"
#include "endpoint/call.h"
#include "importer/importer.h"
#include "lib/folded.h"
#include "lib/store.h"
#include "profile/pprof.h"
#include "profile/stored/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MOST ((size_t)1 << 20) /* bytes of a body */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct {
	const char *name;
	int (*handler)(struct call *c);
	enum op op;
} calls[] = {
#define CALL(op, handler)             \
	{                             \
#op, handler, OP_##op \
	}
	CALL(PushProfiles, connect_push),
	CALL(GrafanaProfileTypes, grafana_types),
	CALL(GrafanaLabelNames, grafana_names),
	CALL(GrafanaLabelValues, grafana_values),
	CALL(GrafanaSeries, grafana_series),
	CALL(GrafanaSelectMergeProfile, grafana_pprof),
	CALL(GrafanaSelectSeries, grafana_points),
	CALL(GrafanaDiff, grafana_diff),
	CALL(GrafanaSelectMergeStacktraces, grafana_flame),
#undef CALL
};

static char dir[] = "/tmp/stoker-fuzz.XXXXXX";
static struct conf conf;
static struct env env = {.conf = &conf, .pushes = PUSHES_INIT};
static int stop_fd = -1; /* always readable, so nothing waits */

static void
remove_dir(void)
{
	test_remove(dir);
}

/* Nothing is stored. */
static int
no_begin(struct call *c)
{
	return fail_memory(c);
}

static void
check_reply(const struct call *c)
{
	const struct reply *r = c->reply;

	assert((r->status >= 400) == (r->error != NULL));
	assert(!buf_err(&r->body));
	/* an input that exhausts something gets such a status */
	assert(r->status < 500 || r->status == 501 || r->status == 503);
	if (r->content_type && !strcmp(r->content_type, "application/json") &&
	    r->body.len) {
		CLEANUP_JSON json_t *j = json_loadb(r->body.p, r->body.len,
		                                    JSON_ALLOW_NUL, NULL);

		assert(json_is_object(j));
	}
}

/* Returns the status of the reply. */
static int
ask(size_t which, const char *type, const char *body, size_t n,
    int (*begin)(struct call *c))
{
	struct request r = {.method = METHOD_POST,
	                    .id = "",
	                    .authorization = "",
	                    .tenant = "",
	                    .content_type = type,
	                    .accept = "",
	                    .body = body,
	                    .body_len = n,
	                    .stop_fd = stop_fd,
	                    .peer_fd = -1};
	struct reply reply;
	struct call c = {.env = &env,
	                 .route = &routes[calls[which].op],
	                 .req = &r,
	                 .reply = &reply,
	                 .begin = begin,
	                 .end_ns = clock_mono_ns() + 60 * NS_PER_S,
	                 .caller = {.who = WHO_OPERATOR, .tenant = "default"}};
	int rc;

	reply_init(&reply);
	rc = calls[which].handler(&c);
	assert(rc == 0 || rc == -1);
	check_reply(&c);
	rc = reply.status;
	reply_done(&reply);
	return rc;
}

/* Writes a push of a profile of the service "svc". */
static void
put_push(const char *folded, int64_t at_ms, struct buf *out)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	size_t series = wire_open(out, 1), label = wire_open(out, 1), sample;

	p->time_ns = at_ms * NS_PER_MS;
	p->duration_ns = 10 * NS_PER_S;
	assert(!pprof_encode(p, &file));
	wire_put_bytes(out, 1, "service_name", strlen("service_name"));
	wire_put_bytes(out, 2, "svc", strlen("svc"));
	wire_close(out, label);
	sample = wire_open(out, 2);
	wire_put_bytes(out, 1, file.p, file.len);
	wire_close(out, sample);
	wire_close(out, series);
}

static void
open_env(void)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf push = BUF_INIT(BUF_MAX_REPLY);

	log_setup("fuzz", LOG_ERR_);
	assert(mkdtemp(dir) && !atexit(remove_dir));
	buf_addf(&text, "[store]\ndir = %s\n[api]\nrun_dir = %s\n", dir, dir);
	assert(!conf_parse("fuzz", buf_str(&text), &conf, &why));
	assert(!counters_open(dir, 2, 1, &env.counters));
	assert(!importer_start(&env.importer));
	assert(!store_open(&conf, false, &env.store, &why));
	stop_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert(stop_fd >= 0);

	put_push("main;f;g 30\nmain 10\n", clock_wall_ms() - 20000, &push);
	put_push("main;f;f 60\nmain;h 7\n", clock_wall_ms() - 10000, &push);
	assert(ask(0, "application/proto", push.p, push.len, NULL) == 200);
	conf.upload_create_services = false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *line = (const char *)data;
	const char *end = n ? memchr(data, '\n', n) : NULL;
	const char *body = end ? end + 1 : line;
	CLEANUP_FREE char *copy = NULL;

	if (!end || end - line < 3 || n > MOST)
		return 0;
	if (stop_fd < 0)
		open_env();
	n -= (size_t)(body - line);
	copy = malloc(n + 1); /* exactly that long, so that ASan sees its end */
	assert(copy);
	memcpy(copy, body, n);
	copy[n] = '\0'; /* as requests have it */
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (strlen(calls[i].name) == (size_t)(end - line) - 2 &&
		    !memcmp(calls[i].name, line, strlen(calls[i].name)))
			ask(i,
			    end[-1] == 'j' ? "application/json"
			                   : "application/proto",
			    copy, n, no_begin);
	return 0;
}
